/*
 * Canaries in a plan: which pods are changed before the others, and the conditions about that. This file chooses canary
 * pods of a workload (struct pod_canary); canary_settle chooses canary workloads of a profile. No I/O.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cache/pod_canary.h"
#include "plan/plan.h"

bool canary_among(const struct profile *p)
{
        const struct apply_policy *a = &p->spec->apply;
        return a->canary.percent < 100 && (a->mode == APPLY_ROLLOUT || a->mode == APPLY_ON_DEPLOY);
}

/* --- pods --- */

struct ranked {
        bool later; /* the pod does not have the new requests */
        uint32_t rank;
        struct pod *pod;
};

static int canary_compare(const void *a, const void *b)
{
        const struct ranked *x = a, *y = b;
        if (x->later != y->later)
                return x->later - y->later;
        return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : strcmp(x->pod->name, y->pod->name);
}

/* Does the pod have the new requests? It then stays a canary, although pods that came and went changed the ranking. */
static bool canary_has(const struct target *t, const struct pod *p)
{
        for (int i = 0; i < p->containers; i++) {
                const struct pod_container *c = &p->container[i];
                const struct record_row *set = target_setting(t, c->name), *baseline = pod_canary_baseline(t, c->name);
                for (enum resource r = CPU; p->ours && set && r < RESOURCES; r++)
                        if (set->request[r].set && pod_request(c, r).value == set->request[r].value &&
                            !(baseline && baseline->request[r].value == set->request[r].value))
                                return true;
        }
        return false;
}

void canary_mark(struct target *t)
{
        size_t n = 0;
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p)) {
                pod_set_canary(p, false);
                n += p->running;
        }
        if (!t->apply_state.pod_canary || !t->profile || !n)
                return;
        AUTO(mem_free) struct ranked *by = mem_new_array(n, sizeof *by);
        size_t share = canary_share(n, t->profile->spec->apply.canary.percent);
        n = 0;
        for (struct pod *p = t->pods; p; p = target_next_pod(t, p))
                if (p->running)
                        by[n++] = (struct ranked){!canary_has(t, p), canary_rank(text_of(p->ns), text_of(p->name)), p};
        qsort(by, n, sizeof *by, canary_compare);
        for (size_t i = 0; i < n && (i < share || !by[i].later); i++)
                pod_set_canary(by[i].pod, true);
}

struct amount canary_share_of(const struct target *t, const struct plan_container *c, const struct pod *pod,
                              enum resource r)
{
        if (!t->apply_state.pod_canary || pod->canary)
                return c->facts.current[r];
        const struct record_row *baseline = pod_canary_baseline(t, c->name);
        return baseline && baseline->request[r].set ? baseline->request[r] : c->facts.original[r];
}

/* --- conditions --- */

static bool is_watched(const struct plan *p)
{
        const struct target *t = p->target;
        if (t->apply_state.pod_canary)
                return true;
        return t->canary && t->apply_state.passed_ms != 0 &&
               !canary_passed(t->apply_state.passed_ms, p->now.ms, t->profile->spec->apply.guard.watch_ms);
}

static void say_watched(const struct plan *p, char out[static PLAN_WORDS])
{
        const struct apply_state *d = &p->target->apply_state;
        const char *what = d->pod_canary ? "some pods get the new requests before the others and new pods"
                                         : "this workload is changed before others of the profile";
        char until[WALL_TEXT_MAX];
        if (d->passed_ms > 0)
                snprintf(out, PLAN_WORDS, "%s; the others follow from %s on, unless the change is taken back", what,
                         wall_print((struct wall){d->passed_ms + p->target->profile->spec->apply.guard.watch_ms},
                                    until));
        else
                snprintf(out, PLAN_WORDS, "%s; the change is not in force yet", what);
}

void canary_says(struct plan *p)
{
        const struct target *t = p->target;
        if (!t->profile)
                return;
        if (t->waits)
                snprintf(plan_say(p, "Canary", true, "Waiting")->message, PLAN_WORDS,
                         "others of the profile are changed first; the profile's status.canary has their progress");
        else if (is_watched(p))
                say_watched(p, plan_say(p, "Canary", true, "Watched")->message);
}

bool canary_applies(struct plan *p)
{
        if (!p->target->apply_state.pod_canary)
                return false;
        say_watched(p, plan_say(p, "Applied", false, reason_name(REASON_CANARY))->message);
        return true;
}
