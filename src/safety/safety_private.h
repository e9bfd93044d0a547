#ifndef HALFLIFE_SAFETY_SAFETY_PRIVATE_H
#define HALFLIFE_SAFETY_SAFETY_PRIVATE_H

#include "base/log.h"
#include "cache/bookkeeping.h"
#include "cache/budget_account.h"
#include "safety/safety.h"

struct spending {
        int64_t at_ms, millicores;
        char *profile; /* key of the profile that paid; "": none */
        char *ns;      /* of the workload; "": stored by a version that did not tell */
};

/* The fuse of the cluster, and the changes taken back that it and the fuses of profiles count (fuse_state.c). The blown
 * fuses of a profile are in its struct profile. */
struct fuse {
        char *blown;                /* when and why, as in the Lease's annotation; NULL: not blown */
        int64_t blown_ms, reset_ms; /* when it blew; when it was last reset; 0: never, or unknown */
        struct fuse_guard *guard;   /* the changes taken back, the oldest first */
        int guards;
        json_t *loaded;                /* blown fuses of profiles, from the database, until the first fuse_settle */
        char *shown;                   /* UID of the Lease that was seen to report the fuse as blown; NULL: none */
        char reset[WALL_TEXT_MAX + 8]; /* annotation that reports a reset: "reset TIME" */
};

enum { SPENDINGS_APART = 4096 };

/* A rollout of halflife that is under way, and since when its figures have stood still. */
struct rolling {
        uint64_t progress;
        struct mono since;
        bool seen; /* used within budget_settle */
        char key[];
};

struct safety {
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct leadership *leadership;
        struct notices *notices;
        struct safety_counts count;
        struct fuse fuse;
        bool canaries; /* some profile had a canary of workloads at the last canary_settle */
        /* the last hour's changes: an entry for each minute, profile and namespace; from SPENDINGS_APART on, for each
         * minute and profile */
        struct spending *spent;
        size_t spendings;
        bool spent_unstored;          /* the next pass stores them */
        struct budget_account budget; /* of the whole cluster */
        struct map rolling;           /* struct rolling by the target's key: the rollouts of halflife under way */
};

void canary_settle(struct safety *safety); /* after budget_settle: choose the workloads that go first or wait */

void fuse_settle(struct safety *safety); /* reset the fuses that settings turned off, and those that a reset ended */
void fuse_store(struct safety *safety);
void fuse_load(struct safety *safety, struct text value);
void fuse_release(struct fuse *f);

/* The list of guards (fuse_guards.c). */
void fuse_guards_add(struct fuse *f, int64_t at_ms, const char *name, const char *profile, enum fuse_scope reach);
void fuse_guards_forget_old(struct fuse *f, int64_t now_ms); /* forget what is older than an hour */
/* A profile's fuse blew or was reset, in a namespace or in all (ns NULL). Profile fuses no longer count its guards; the
 * cluster's fuse still counts those that it has counted. */
void fuse_guards_end(struct fuse *f, const char *profile, const char *ns);
void fuse_guards_release(struct fuse *f);
/* "6 guards within an hour", and if named the newest workloads. The caller frees it. */
char *fuse_guards_words(const struct fuse *f, const struct fuse_guard *of, enum fuse_scope scope, bool named);
json_t *fuse_guards_json(const struct fuse *f);
void fuse_guards_read(struct fuse *f, const json_t *list);

void budget_settle(struct safety *safety); /* count again the workloads rolling and the cores spent in the last hour */
void budget_store(struct safety *safety);
void budget_load(struct safety *safety, struct text value);
void budget_release(struct safety *safety);

#endif
