#ifndef HALFLIFE_SAFETY_SAFETY_PRIVATE_H
#define HALFLIFE_SAFETY_SAFETY_PRIVATE_H

#include "base/log.h"
#include "cache/bookkeeping.h"
#include "cache/budget_account.h"
#include "safety/safety.h"

struct spending {
        int64_t at_ms, millicores;
        char *profile; /* key of the profile whose budget paid; "": no profile */
        char *ns;      /* the workload's namespace; "": not known, as in a row stored by an old version */
};

/* The fuse of the cluster, and the guards (changes taken back) that it and the fuses of profiles count (fuse_state.c).
 * The blown fuses of a profile are in its struct profile. */
struct fuse {
        char *blown; /* when and why the fuse blew, as in the Lease's annotation; NULL: it is not blown */
        int64_t blown_ms, reset_ms; /* when the fuse blew; when it was last reset; 0: never, or unknown */
        struct fuse_guard *guard;   /* the guards of the last hour, the oldest first */
        int guards;
        json_t *loaded;                /* blown fuses of profiles, from the database, until the first fuse_settle */
        char *shown;                   /* UID of the Lease that reported the fuse as blown; NULL: none did */
        char reset[WALL_TEXT_MAX + 8]; /* the text for the Lease's annotation after a reset: "reset TIME" */
};

enum { SPENDINGS_APART = 4096 };

/* A rollout of halflife that is under way. progress: digest of its figures. since: when they last changed. key: the
 * target's. */
struct rolling {
        uint64_t progress;
        struct mono since;
        bool seen; /* a target of this key still rolls; used within budget_settle */
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
        /* The cost of the last hour's changes: an entry for each minute, profile and namespace. From SPENDINGS_APART
         * entries on, an entry for each minute and profile. */
        struct spending *spent;
        size_t spendings;
        bool spent_unstored;          /* `spent` has changed, and the next pass stores it */
        struct budget_account budget; /* what counts against the cluster's budget */
        struct map rolling;           /* struct rolling by the target's key: the rollouts of halflife under way */
};

void canary_settle(struct safety *safety); /* call after budget_settle: chooses the workloads that go first or wait */

void fuse_settle(struct safety *safety); /* take over other leaders' fuses, and reset those that hold no more */
void fuse_store(struct safety *safety);
void fuse_load(struct safety *safety, struct text value);
void fuse_release(struct fuse *f);

/* The list of guards (fuse_guards.c). */
void fuse_guards_add(struct fuse *f, int64_t at_ms, const char *name, const char *profile, enum fuse_scope reach);
void fuse_guards_forget_old(struct fuse *f, int64_t now_ms); /* forget guards older than an hour */
/* Call when a profile's fuse blew or was reset, in one namespace or in all (ns NULL): the fuses of profiles no longer
 * count the profile's guards there. The cluster's fuse still counts the guards that it has counted. */
void fuse_guards_end(struct fuse *f, const char *profile, const char *ns);
void fuse_guards_release(struct fuse *f);
/* The text "6 guards within an hour", for the guards that the fuse of this scope counts with `of`. named: the newest
 * workloads follow. The caller frees it. */
char *fuse_guards_words(const struct fuse *f, const struct fuse_guard *of, enum fuse_scope scope, bool named);
json_t *fuse_guards_json(const struct fuse *f);
void fuse_guards_read(struct fuse *f, const json_t *list);

void budget_settle(struct safety *safety); /* count the workloads in a rollout and the hour's cores */
void budget_store(struct safety *safety);
void budget_load(struct safety *safety, struct text value);
void budget_release(struct safety *safety);

#endif
