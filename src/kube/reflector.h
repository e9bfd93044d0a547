/*
 * The state machine of list and watch, without any I/O: it says what to ask next, takes the bytes and the ending of
 * each answer, and tells its owner what came of it. The informer puts it on the wire; tests drive it byte by byte.
 *
 *     reflector_begin -> reflector_data … -> reflector_end -> wait -> reflector_begin -> …
 */
#ifndef HALFLIFE_KUBE_REFLECTOR_H
#define HALFLIFE_KUBE_REFLECTOR_H

#include "kube/informer.h"
#include "net/retry.h"
#include "net/stream.h"
#include "objects/decode.h"

enum reflector_state {
        WATCH_LISTING, /* a watch whose initial events are not over */
        PAGING,        /* a list in pages, or whole */
        WATCHING,
        REFLECTOR_STATES
};

struct reflector {
        const char *path, *selector; /* the informer's */
        struct informer_owner owner;
        struct informer_stats stats;

        enum reflector_state state;
        uint32_t epoch;       /* of the list under way or done last */
        struct buf version;   /* to watch on from */
        struct buf page;      /* PAGING: the continue token; empty: the first page */
        struct buf listed;    /* PAGING: the version of the first page */
        int pages;            /* PAGING: read of this list */
        int64_t list_left;    /* PAGING: bytes that may still come, over all pages */
        int expired_pages;    /* of this list; twice: unpaged */
        bool no_watch_list;   /* the server has none: remembered */
        bool pages_this_time; /* until a list is whole */
        struct mono relisted; /* when a list was begun because a version had expired; ns 0: never */
        struct retry retry;
        unsigned failures; /* in a row */
        int trouble;       /* the code told last; 0: all is well */

        /* of the request under way */
        struct stream stream;
        struct arena arena; /* of one event */
        struct mono begun;
        struct mono took; /* an event or item last, readable or not */
        uint64_t values;  /* events and items taken */
        int saw;          /* what an event said before the body ended; -1: nothing yet */
        struct err why;
};

void reflector_init(struct reflector *r, const char *path, const char *selector, const struct informer_owner *owner);
void reflector_release(struct reflector *r);
/* With no request under way: what is known is old, the next request lists afresh; not synced until that is whole. */
void reflector_relist(struct reflector *r);

/* What to ask: the query (escaped) into ret_query, an empty buffer; true when it is a watch. */
bool reflector_begin(struct reflector *r, struct mono now, struct buf *ret_query);
/* Bytes of a 2xx answer. < 0: end the request; so do bytes that make no whole object for two minutes. */
int reflector_data(struct reflector *r, const char *p, size_t len, struct mono now);
/* The request under way was taken by the server a while ago. */
void reflector_steady(struct reflector *r);
/* How it ended: answer as client_stream gives it. Returns how long to wait before the next reflector_begin, in ms. */
int64_t reflector_end(struct reflector *r, const struct client_answer *a, bool whole, struct mono now);

#endif
