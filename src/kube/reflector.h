/*
 * The state machine of list and watch, without I/O. It gives the next request, takes the bytes and the end of each
 * answer, and passes objects and failures to its owner. The informer does the I/O; tests drive it byte by byte.
 *
 *     reflector_begin -> reflector_data … -> reflector_end -> wait -> reflector_begin -> …
 */
#ifndef HALFLIFE_KUBE_REFLECTOR_H
#define HALFLIFE_KUBE_REFLECTOR_H

#include "kube/informer.h"
#include "kube/list_bound.h"
#include "net/retry.h"
#include "net/stream.h"
#include "objects/decode.h"

enum reflector_state {
        WATCH_LISTING, /* a watch-list: a watch that still sends its initial events */
        PAGING,        /* a list, in pages or in one answer */
        WATCHING,
        REFLECTOR_STATES
};

struct reflector {
        const char *path, *selector; /* owned by the informer */
        struct informer_owner owner;
        struct informer_stats stats;

        enum reflector_state state;
        uint32_t epoch;          /* of the current list, or of the last one */
        struct buf version;      /* resourceVersion to continue the watch from */
        struct buf page;         /* PAGING: the continue token; empty: the first page */
        struct buf listed;       /* PAGING: the resourceVersion of the first page */
        struct list_bound bound; /* PAGING: of the current list */
        struct mono listing;     /* when its first request began; ns 0: not yet */
        int64_t list_left;       /* PAGING: bytes that may still arrive, over all pages */
        int expired_pages;       /* how often a page of this list expired; after two the list is not paged */
        bool no_watch_list;      /* the server does not support watch-lists */
        bool pages_this_time;    /* use pages until a list is complete */
        struct mono relisted;    /* when a list was last begun because a version had expired; ns 0: never */
        struct retry retry;
        bool ended_early;  /* the last watch ended as it should within a second, with events */
        unsigned failures; /* consecutive failures */
        int trouble;       /* code of the failure last reported to the owner; 0: none, or recovered */

        /* of the current request */
        struct stream stream;
        struct arena arena; /* reset for each event */
        struct mono begun;
        struct mono took; /* when the last event or item arrived, readable or not */
        uint64_t values;  /* events and items so far */
        int saw;          /* enum saw: how an event ended the request before the body ended; -1: no event has */
        struct err why;
};

void reflector_init(struct reflector *r, const char *path, const char *selector, const struct informer_owner *owner);
void reflector_release(struct reflector *r);
/* Make the next request a new list; stats.synced is false until that list is complete. Only while no request is in
 * progress. */
void reflector_relist(struct reflector *r);

/* Begin a request: append its percent-encoded query to ret_query, an empty buffer. True if it is a watch. */
bool reflector_begin(struct reflector *r, struct mono now, struct buf *ret_query);
/* Take in bytes of a 2xx response. Returns < 0 if the caller must end the request, also if the bytes of two minutes
 * make no complete object. */
int reflector_data(struct reflector *r, const char *p, size_t len, struct mono now);
/* Report that the server accepted the current request a while ago. A watch then counts as working without an event. */
void reflector_steady(struct reflector *r);
/* End a request, with the answer from client_stream. Returns the wait before the next reflector_begin, in ms. */
int64_t reflector_end(struct reflector *r, const struct client_answer *a, bool whole, struct mono now);

#endif
