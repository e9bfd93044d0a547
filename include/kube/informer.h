/*
 * List and watch one resource: a state machine that keeps its owner's cache equal to the server's state.
 *
 * Objects are handed over as JSON, one by one, as they arrive; the owner keeps only the parts it uses. Each carries the
 * epoch of its list. Objects that were deleted during an outage are removed only when a list is complete: `swept` then
 * names the epoch, and all objects without it are gone. So an incomplete list does no harm, and no list is held in
 * memory twice.
 *
 * A list comes as a watch-list if the server supports it (422: it does not), else in pages of 500 without
 * resourceVersion. If a page expires, the list starts again, and the next time without pages. A 410, as a status or as
 * an event, starts a new list. A watch that ends regularly continues from the last version. After 429, 5xx or a lost
 * connection the informer waits with jitter and watches on from the same version. An object that cannot be read is
 * counted and skipped. Versions are opaque text.
 */
#ifndef HALFLIFE_KUBE_INFORMER_H
#define HALFLIFE_KUBE_INFORMER_H

#include "kube/client.h"

struct informer_owner {
        /* An object from the list, or from an ADDED or MODIFIED event. Returns < 0 if the object is unreadable, which
         * is counted in refused. */
        int (*upsert)(void *arg, struct text object, uint32_t epoch, struct err *err);
        /* A DELETED event, with the object's last state. */
        void (*remove)(void *arg, struct text object);
        /* A list is complete: every object not upserted with this epoch, or since, is gone. */
        void (*swept)(void *arg, uint32_t epoch);
        /* A failure that deserves a log line, or the recovery from it (err code 0). May be NULL. */
        void (*trouble)(void *arg, const struct err *err);
        void *arg;
};

struct informer_stats {
        uint64_t lists, watches, events, refused, failures;
        bool synced;        /* a list was read to its end, after the last informer_relist if there was one */
        bool in_trouble;    /* the last request failed, and none has succeeded since */
        struct err refusal; /* why the newest refused object was unreadable; code 0: none was refused */
};

struct informer;
/* Start to list and watch. `path`: that of a collection, by path_of. `selector`: a query part such as
 * "fieldSelector=…"; NULL: all objects. */
struct informer *informer_new(struct client *c, const char *path, const char *selector,
                              const struct informer_owner *owner);
void informer_free(struct informer *in);
/* Send the next request now, if the informer is waiting before a retry. */
void informer_hurry(struct informer *in);
/* List everything again from the server; the owner's cache stays as it is meanwhile. */
void informer_relist(struct informer *in);
const struct informer_stats *informer_stats(const struct informer *in);
const char *informer_path(const struct informer *in);

#endif
