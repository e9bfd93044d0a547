/*
 * Safety keeps changes from doing harm and takes back changes that did. Its means are canaries, the guard, the fuse,
 * budgets, and the detection of conflicts with others that write the same requests. Each means judges one target at a
 * time, from the target's plan.
 */
#ifndef HALFLIFE_SAFETY_SAFETY_H
#define HALFLIFE_SAFETY_SAFETY_H

#include "cache/checkpointer.h"
#include "cache/guard_state.h"
#include "cache/live_settings.h"
#include "cache/oom_kill.h"
#include "core/fuse_verdict.h"
#include "notices/notices.h"
#include "plan/plan.h"

struct safety;
struct safety_options { /* all pointers are the caller's and must stay valid until safety_free */
        struct loop *loop;
        struct cache *cache;
        const struct live_settings *live;
        struct checkpointer *checkpointer;
        struct leadership *leadership;
        struct notices *notices;
};
struct safety *safety_new(const struct safety_options *o);
void safety_free(struct safety *safety); /* NULL: does nothing */

/* Call before a pass decides: counts spent budgets, chooses canaries, and takes over and resets fuses. */
void safety_settle(struct safety *safety);
/* Load a note ("budget" or "fuse") from the store; other names are ignored. safety_store writes both notes again, after
 * the database was replaced. */
void safety_load(struct safety *safety, struct text name, struct text value);
void safety_store(struct safety *safety);

struct safety_counts {
        uint64_t guards[GUARD_CAUSES]; /* changes that the guard took back since the start, by cause */
        uint64_t conflicts;            /* conflicts begun since the start */
};
const struct safety_counts *safety_counts(const struct safety *safety);

/* --- conflicts (conflict.c): somebody puts halflife's value back --- */

/* Look for requests or autoscaler targets that somebody put back, and begin a conflict if that happens too often. */
void conflict_watch(struct safety *safety, struct target *t, const struct plan *p);
/* Begin a conflict at once, because admission changed what halflife wrote. what: the reason, for people; copied. */
void conflict_changed(struct safety *safety, struct target *t, const char *what);
/* Begin a conflict if err is a refusal by halflife's own policy (manifests/base/policy.yaml). What halflife writes
 * keeps to the policy, so another webhook must have altered it, and would alter the next try as well. Returns whether
 * it is one. */
bool conflict_refused(struct safety *safety, struct target *t, const struct err *err);

/* --- canaries (canary_progress.c) --- */

/* Call after a target's decision: note since when its last change is in force on the canary. */
void canary_watch(struct safety *safety, struct target *t, const struct plan *p);
/* Call before new requests are set on running pods. Returns the requests that the pods outside the canary keep, and
 * that new pods get, as JSON (the caller frees it). NULL: no canary, all pods get the new requests. */
char *canary_rest(const struct safety *safety, const struct plan *p);
/* Call before a target's decision: choose the canary's pods again, or end the canary once it has passed. */
void canary_follow(struct safety *safety, struct target *t);

/* --- the guard (guard_revert.c) --- */

/* Watch a target from now on, because halflife has changed it. before: from guard_state_survey, made before the change
 * was sent; taken over. */
void guard_changed(struct target *t, struct guard_state *before, struct wall now);
/* Requests of halflife's arrived with a deploy, not by a write of this process. Call before the apply state is updated,
 * because the old state shows whether the owner changed the template as well. */
void guard_deployed(struct target *t, struct wall now);
/* A pod of t was evicted for memory, or a container of it was killed. Call before the kill is stored. t NULL: does
 * nothing. */
void guard_killed(struct safety *safety, struct target *t, const struct pod *p, const struct oom_kill *k);
/* Whether the last change did harm. If so, it is held from now on, and the caller must decide about the target again.
 */
bool guard_look(struct safety *safety, struct target *t, const struct plan *p);
/* Like guard_look, but always false while this process may not write, because then the leader judges. */
bool guard_watch(struct safety *safety, struct target *t, const struct plan *p);

/* --- the fuses (fuse_state.c): blow when the guard has taken back too many changes within an hour --- */

/* When and why the cluster's fuse blew, as in the Lease's annotation; NULL: it is not blown. */
const char *fuse_blown(const struct safety *safety);
size_t fuse_profiles_blown(const struct safety *safety); /* number of blown fuses of profiles */
/* Count a change that the guard took back. owner_changed: the owner released shortly before, so it does not count. Nor
 * does it where a blown fuse holds the target already. */
void fuse_count(struct safety *safety, const struct target *t, bool owner_changed);
/* Read the Lease's annotation. *ret_at_ms: its time, 0 if unreadable. Any text but a reset means that the fuse is
 * blown.
 */
enum fuse_word fuse_read(struct text note, int64_t *ret_at_ms);
/* Compare the fuse with the annotation of the Lease (NULL: none). Returns the text that the annotation must get; NULL:
 * it stays. arg: struct safety; uid: of the Lease. */
const char *fuse_noted(void *arg, const char *uid, const char *note);

/* --- budgets (budget.c) --- */

bool budget_allows(struct safety *safety, const struct plan *p); /* the plan's change fits all budgets */
/* The last gate: hold the plan's change if it exceeds a budget. Call after the other gates. */
void budget_gate(struct safety *safety, struct plan *p);
/* Charge the plan's change to the budgets. Returns its cost: millicores of request changed, over all replicas. */
int64_t budget_spend(struct safety *safety, const struct plan *p);
/* A pod of the target was resized: its rollout still goes on, and keeps its place in the budgets. */
void budget_goes_on(struct safety *safety, const struct target *t);
/* Give back the cost of a change that was refused. profile: key of the profile that paid. Works from the next settle.
 */
void budget_refund(struct safety *safety, struct target *t, const char *profile, int64_t cost);

#endif
