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
void safety_free(struct safety *safety); /* safety_free(NULL) does nothing */

/* Call before each pass decides about targets: counts the spent budgets, chooses canaries, and takes over and resets
 * fuses. */
void safety_settle(struct safety *safety);
/* Load a note ("budget" or "fuse") from the store; a note of another name is ignored. safety_store writes both notes
 * again, for a database that was replaced. */
void safety_load(struct safety *safety, struct text name, struct text value);
void safety_store(struct safety *safety);

struct safety_counts {
        uint64_t guards[GUARD_CAUSES]; /* changes that the guard took back since this process started, by cause */
        uint64_t conflicts;            /* conflicts begun since this process started */
};
const struct safety_counts *safety_counts(const struct safety *safety);

/* --- conflicts (conflict.c): somebody puts halflife's value back --- */

/* Look for requests or utilization targets that somebody put back after halflife's change, and begin a conflict if that
 * happens too often. */
void conflict_watch(struct safety *safety, struct target *t, const struct plan *p);
/* Begin a conflict at once, because admission changed what halflife wrote. what: the reason, for people; the function
 * copies it. */
void conflict_changed(struct safety *safety, struct target *t, const char *what);
/* Begin a conflict if err is a refusal by halflife's own policy (manifests/base/policy.yaml). halflife's own writes
 * keep to the policy, so another webhook must have altered the write, and would alter the next try as well. Returns
 * whether err is such a refusal. */
bool conflict_refused(struct safety *safety, struct target *t, const struct err *err);

/* --- canaries (canary_progress.c) --- */

/* Call after halflife has decided about a target: stores since when the target's last change is in force on the
 * canary. */
void canary_watch(struct safety *safety, struct target *t, const struct plan *p);
/* Call before new requests are set on running pods. Returns the present requests, as JSON that the caller frees: the
 * pods outside the canary keep them, and new pods get them. NULL: there is no canary, and all pods get the new
 * requests. */
char *canary_rest(const struct safety *safety, const struct plan *p);
/* Call before halflife decides about a target: chooses its canary pods again, or ends the pod canary once it has
 * passed. */
void canary_follow(struct safety *safety, struct target *t);

/* --- the guard (guard_revert.c) --- */

/* Watch a target from now on, because halflife has changed it. before: the survey of its pods by guard_state_survey,
 * from before the change was sent. The function takes `before` over. */
void guard_changed(struct target *t, struct guard_state *before, struct wall now);
/* Call when requests of halflife's arrived with a deploy, not by a write of this process, and before the apply state is
 * updated: the old state shows whether the owner changed the template as well. */
void guard_deployed(struct target *t, struct wall now);
/* Call when a pod of t was evicted for memory or a container of it was killed, before the kill is stored. t NULL: does
 * nothing. */
void guard_killed(struct safety *safety, struct target *t, const struct pod *p, const struct oom_kill *k);
/* Whether halflife's last change did harm to the target. If so, the guard holds the target from now on, and the caller
 * must decide about the target again. */
bool guard_look(struct safety *safety, struct target *t, const struct plan *p);
/* Like guard_look, but always false while this process may not write, because then the leader judges. */
bool guard_watch(struct safety *safety, struct target *t, const struct plan *p);

/* --- the fuses (fuse_state.c): blow when the guard has taken back too many changes within an hour --- */

/* When and why the cluster's fuse blew, as in the Lease's annotation; NULL: the fuse is not blown. */
const char *fuse_blown(const struct safety *safety);
size_t fuse_profiles_blown(const struct safety *safety); /* how many fuses of profiles are blown */
/* Count a change that the guard took back. Two kinds do not count: where the owner released shortly before
 * (owner_changed), and where a blown fuse already holds the target. */
void fuse_count(struct safety *safety, const struct target *t, bool owner_changed);
/* Read the text of the Lease's annotation about the fuse. *ret_at_ms: the time in it, wall ms; 0: unreadable. Any text
 * that is not a reset means that the fuse is blown. */
enum fuse_word fuse_read(struct text note, int64_t *ret_at_ms);
/* Compare the fuse with the Lease's annotation (note; NULL: none). Returns the text that the annotation must get; NULL:
 * the annotation stays as it is. arg: struct safety. uid: of the Lease. */
const char *fuse_noted(void *arg, const char *uid, const char *note);

/* --- budgets (budget.c) --- */

bool budget_allows(struct safety *safety, const struct plan *p); /* whether the plan's change fits all budgets */
/* The last gate: hold the plan's change back if it exceeds a budget. Call after all other gates. */
void budget_gate(struct safety *safety, struct plan *p);
/* Charge the plan's change to the budgets. Returns the cost: the millicores by which the CPU requests change, over all
 * replicas. */
int64_t budget_spend(struct safety *safety, const struct plan *p);
/* Call when a pod of the target was resized: the target's rollout makes progress, and so keeps its place in the
 * budgets. */
void budget_goes_on(struct safety *safety, const struct target *t);
/* Give the cost of a refused change back to the budgets. profile: key of the profile that paid. The budgets have the
 * room from the next safety_settle on. */
void budget_refund(struct safety *safety, struct target *t, const char *profile, int64_t cost);

#endif
