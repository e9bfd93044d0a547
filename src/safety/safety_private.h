#ifndef HALFLIFE_SAFETY_SAFETY_PRIVATE_H
#define HALFLIFE_SAFETY_SAFETY_PRIVATE_H

#include "base/log.h"
#include "safety/safety.h"

struct spending {
        int64_t at_ms, millicores;
        char *profile; /* its key */
};

/* Guards that fired, and what came of too many (fuse.c). */
struct fuse {
        char *blown;                /* when and why, as the Lease says it; NULL: it is whole */
        int64_t blown_ms, reset_ms; /* the last reset; 0: none */
        int64_t *at_ms;             /* of guards, the oldest first */
        char **name;                /* whose: "ns/Kind/name" */
        int guards;
        char *shown;                   /* UID of the Lease that was seen to say so; NULL */
        char reset[WALL_TEXT_MAX + 8]; /* what it is to say of a reset */
};

struct safety {
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct leadership *leadership;
        struct report *report;
        struct safety_counts count;
        struct fuse fuse;
        bool canaries; /* some profile had them at the last canary_settle */
        struct spending *spent;
        size_t spendings;
        int64_t spent_millicores, rolling; /* of the whole cluster */
};

void canary_settle(struct safety *safety); /* after budget_settle: who comes first, and who waits */

void fuse_settle(struct safety *safety); /* settings may reset it */
void fuse_store(struct safety *safety);
void fuse_load(struct safety *safety, struct text value);
void fuse_release(struct fuse *f);

void budget_settle(struct safety *safety); /* counts afresh what is rolling and what the last hour spent */
void budget_store(struct safety *safety);
void budget_load(struct safety *safety, struct text value);
void budget_release(struct safety *safety);

#endif
