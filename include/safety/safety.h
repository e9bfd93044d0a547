/*
 * What keeps changes from doing harm, and takes back those that did: canaries, the guard, the fuse, conflicts with
 * others who write the same requests, and budgets. Each decides about one target at a time, from its plan.
 */
#ifndef HALFLIFE_SAFETY_SAFETY_H
#define HALFLIFE_SAFETY_SAFETY_H

#include "cache/checkpointer.h"
#include "cache/guard_state.h"
#include "cache/live_settings.h"
#include "cache/oom_kill.h"
#include "core/fuse.h"
#include "plan/plan.h"
#include "report/report.h"

struct safety;
struct safety_options { /* all is the caller's and stays */
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct leadership *leadership;
        struct report *report;
};
struct safety *safety_new(const struct safety_options *o);
void safety_free(struct safety *safety); /* NULL: nothing */

/* Before a pass decides: what is spent, who comes first, whether settings reset the fuse. */
void safety_settle(struct safety *safety);
/* What the store keeps: loaded by name, and stored anew when its database was replaced. */
void safety_load(struct safety *safety, struct text name, struct text value);
void safety_store(struct safety *safety);

struct safety_counts {
        uint64_t guards[GUARD_CAUSES], conflicts; /* since the start */
};
const struct safety_counts *safety_counts(const struct safety *safety);

/* --- conflicts (conflict.c): who put our value back --- */

void conflict_watch(struct safety *safety, struct target *t, const struct plan *p); /* sees resets */
void conflict_changed(struct safety *safety, struct target *t, const char *what);   /* admission changed our patch */

/* --- canaries (canary.c) --- */

/* What was decided of a target tells since when its last change stands. */
void canary_watch(struct safety *safety, struct target *t, const struct plan *p);
/* Before something is set on pods: what those keep and new ones get that it is not tried on, as JSON (the caller's);
 * NULL: all get it. */
char *canary_rest(const struct safety *safety, const struct plan *p);
void canary_follow(struct safety *safety, struct target *t); /* before it is decided: which pods come first, or all */

/* --- the guard (guard.c) --- */

/* We changed it: it is watched from now on. before: guard_state_survey's, taken over; made before the server was told.
 */
void guard_changed(struct target *t, struct guard_state *before, struct wall now);
/* Requests of ours came otherwise; before the apply state tells. */
void guard_deployed(struct target *t, struct wall now);
/* A pod was evicted for memory, or a container of it killed; t NULL: nothing. Before that is stored. */
void guard_killed(struct safety *safety, struct target *t, const struct pod *p, const struct oom_kill *k);
/* Did the last change do harm? Then it is held from now on, and to be decided about afresh. */
bool guard_watch(struct safety *safety, struct target *t, const struct plan *p); /* only whoever writes looks */
bool guard_look(struct safety *safety, struct target *t, const struct plan *p);

/* --- the fuse (fuse.c): guards that fired, and what came of too many --- */

const char *fuse_blown(const struct safety *safety); /* when and why, as the Lease says it; NULL: it is whole */
/* A guard fired on a target. owner_changed: soon after a change of its owner's own, so that it does not count. */
void fuse_count(struct safety *safety, struct target *t, bool owner_changed);
/* What the Lease says; *ret_at_ms: since when, 0 where that cannot be read. Anything but a reset says that it is blown.
 */
enum fuse_word fuse_read(struct text note, int64_t *ret_at_ms);
/* The Lease was seen with this annotation (NULL: none): what it is to say instead; NULL: nothing else. arg: struct
 * safety. */
const char *fuse_noted(void *arg, const char *uid, const char *note);

/* --- budgets (budget.c) --- */

bool budget_allows(const struct safety *safety, const struct plan *p);
/* The last gate, asked of a plan that was judged: what it would change beyond the budget is held. */
void budget_gate(const struct safety *safety, struct plan *p);
/* Returns what it costs: millicores of request changed, over all replicas. */
int64_t budget_spend(struct safety *safety, const struct plan *p);
/* The change was refused: what it cost its profile (by key) is free again, from the next settle on. */
void budget_refund(struct safety *safety, struct target *t, const char *profile, int64_t cost);

#endif
