/*
 * List and watch of one resource: a state machine that keeps its owner's cache equal to the server's.
 *
 * Objects are handed over as JSON, one by one, while they arrive; the owner cuts them down and keeps what it uses. What
 * vanished while nobody looked goes only when a list is whole: every object handed over carries the list's epoch, and
 * `swept` names the epoch whose absentees are gone. So a list that is cut costs nothing, and no list is ever held
 * twice.
 *
 * Watch-list where the server has it (422: not), else pages of 500 without resourceVersion; an expired page: once more
 * from the start, then unpaged. 410 in both forms lists afresh; a clean end watches on from the last version; 429, 5xx
 * and a lost connection wait with jitter and watch on from the same version; an object that cannot be read is counted
 * and skipped, the rest goes on. Versions are opaque text.
 */
#ifndef HALFLIFE_KUBE_INFORMER_H
#define HALFLIFE_KUBE_INFORMER_H

#include "kube/client.h"

struct informer_owner {
        /* An object of the list or an ADDED or MODIFIED event. < 0: not readable (counted in refused). */
        int (*upsert)(void *arg, struct text object, uint32_t epoch, struct err *err);
        /* A DELETED event: the last state. */
        void (*remove)(void *arg, struct text object);
        /* A list is whole: everything not upserted with this epoch (or since) is gone. */
        void (*swept)(void *arg, uint32_t epoch);
        /* Something went wrong or well again, worth one log line; err code 0: recovered. May be NULL. */
        void (*trouble)(void *arg, const struct err *err);
        void *arg;
};

struct informer_stats {
        uint64_t lists, watches, events, refused, failures;
        bool synced; /* a list was whole, once or since informer_relist */
        bool in_trouble;
        struct err refusal; /* of the newest refused; code 0: none was */
};

struct informer;
/* path as path_of gives it (a collection); selector: a query part such as "fieldSelector=…" or NULL. Starts at once. */
struct informer *informer_new(struct client *c, const char *path, const char *selector,
                              const struct informer_owner *owner);
void informer_free(struct informer *in);
/* Waits to try again: tries now. */
void informer_hurry(struct informer *in);
/* Read everything again from the server; what is cached meanwhile stays as it is. */
void informer_relist(struct informer *in);
const struct informer_stats *informer_stats(const struct informer *in);
const char *informer_path(const struct informer *in);

#endif
