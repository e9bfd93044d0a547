/*
 * Discovery of a kind whose CRD may be installed or removed at any time. As long as the kind is not watched, halflife
 * looks for it by discovery. halflife looks again after a 404 for the watch's path: the CRD was removed, or serves
 * another version now.
 */
#ifndef HALFLIFE_KUBE_KIND_LOOKUP_H
#define HALFLIFE_KUBE_KIND_LOOKUP_H

#include "kube/client.h"

enum kind_lookup_state {
        LOOKUP_UNKNOWN, /* not watched: discovery has not answered yet, or no watch is needed */
        LOOKUP_MISSING, /* not watched: the server has no such kind */
        LOOKUP_WATCHED,
        LOOKUP_LOST,    /* watched, but the path gives 404: discovery has to say why */
        LOOKUP_REMOVED, /* watched, but discovery says that the kind is gone; the watch keeps trying */
        LOOKUP_STATES
};

struct kind_lookup;
/* Receives discovery's answer. r: the kind, with err code 0; NULL with ERR_NOTFOUND: there is no such kind; NULL with
 * another error: there was no answer. before: the state before the answer. */
typedef void kind_lookup_answer(struct kind_lookup *l, enum kind_lookup_state before, const struct api_resource *r,
                                const struct err *err);

struct kind_lookup {
        enum kind_lookup_state state;
        bool asking; /* a lookup is under way: the struct must not move until its answer or client_free */
        struct mono asked;
        const char *group, *kind; /* borrowed */
        kind_lookup_answer *answered;
        void *arg; /* argument of answered */
};

/* Ask discovery for the kind, if it is time: while the kind is not watched, as often as discovery may have another
 * answer; while the watch's path gives 404, once in 5 s. */
void kind_lookup_ask(struct kind_lookup *l, struct client *c, const char *group, const char *kind,
                     kind_lookup_answer *answered, void *arg);
/* Tell the lookup that a watch of the kind was begun, with the path from discovery, or that the watch ended. */
void kind_lookup_began(struct kind_lookup *l);
void kind_lookup_ended(struct kind_lookup *l);
/* Tell the lookup that the watch failed with the error `code`; 0: the watch works. */
void kind_lookup_heard(struct kind_lookup *l, int code);

#endif
