/*
 * Turns a plan into the status of its Recommendation.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/guard_state.h"
#include "cache/node_target.h"
#include "cache/pod_canary.h"
#include "cache/pod_namespace_targets.h"
#include "cache/profile_fuse.h"
#include "core/pod_request_sum.h"
#include "plan/plan.h"

/* The request that halflife applied, if below the original, else -1. During a pod canary: the request that new pods
 * get. */
static status_amount plan_standing(const struct target *t, const struct plan_container *c, enum resource r)
{
        struct amount current = c->facts.current[r], original = c->facts.original[r];
        const struct record_row *baseline = pod_canary_baseline(t, c->name);
        if (t->apply_state.pod_canary)
                current = baseline ? baseline->request[r] : (struct amount){0};
        return current.set && original.set && current.value < original.value ? current.value : -1;
}

static struct status_numbers plan_numbers(const struct plan *p, const struct plan_container *c, enum resource r)
{
        const struct amount target = plan_amount_of(c, r, PLAN_TARGET), original = plan_amount_of(c, r, PLAN_ORIGINAL);
        bool at_original = original.set && target.value >= original.value;
        return (struct status_numbers){
                .original = status_amount_of(original),
                .current = status_amount_of(plan_amount_of(c, r, PLAN_CURRENT)),
                .model = status_amount_of(plan_amount_of(c, r, PLAN_MODEL)),
                .target = status_amount_of(target),
                .lower = status_amount_of(plan_amount_of(c, r, PLAN_LOWER)),
                .upper = status_amount_of(plan_amount_of(c, r, PLAN_UPPER)),
                .applied = plan_standing(p->target, c, r),
                .limit = c->facts.limit[r].set ? c->facts.limit[r].value : 0,
                .reason = (uint8_t)c->advice.reason[r],
                .gate = (uint8_t)c->advice.gate[r].gate,
                .learned = target.set && !at_original && !reason_acts_at_deploys(c->advice.of[r].reason),
                .early = target.set && !at_original && c->advice.of[r].reason == REASON_EARLY,
                .by_kill = c->facts.learned.of[r].by_kill,
                .more = c->facts.learned.of[r].more,
                .read = plan_reader(p, c, r) != NULL,
                .heap_start = r == MEMORY ? status_heap_start(c->facts.heap_start) : 0,
        };
}

static void plan_status_containers(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        const struct workload *wl = p->target->workload;
        ret->containers = (uint8_t)p->containers;
        ret->container = arena_new(a, (size_t)p->containers * sizeof *ret->container);
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                ret->container[i] = (struct status_container){
                        .name = c->name,
                        .role = (uint8_t)c->role,
                        .state = (uint8_t)c->facts.learned.state,
                        .ignored = c->facts.ignored,
                        .of = {plan_numbers(p, c, CPU), plan_numbers(p, c, MEMORY)},
                };
        }
        ret->pod = arena_new(a, RESOURCES * sizeof *ret->pod);
        status_pod_numbers(ret->container, (size_t)ret->containers, ret->pod);
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (workload_more(wl)->pod_asks[r].set)
                        ret->pod[r].original = ret->pod[r].current = ret->pod[r].target =
                                status_amount_of(workload_more(wl)->pod_asks[r]);
}

/* What a pod would request if learning ended now. A container of which nothing is known yet counts with its target
 * value. */
static void plan_status_so_far(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        struct amount of[RESOURCES] = {0};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct pod_sum sum = {0};
                bool any = false;
                for (int i = 0; i < p->containers; i++) {
                        const struct plan_container *c = &p->container[i];
                        struct amount so_far = c->advice.so_far[r];
                        any |= so_far.set;
                        pod_sum_add(&sum, c->role, so_far.set ? so_far : c->advice.of[r].target);
                }
                if (any && !workload_more(p->target->workload)->pod_asks[r].set)
                        of[r] = pod_sum_total(&sum);
        }
        if (!of[CPU].set && !of[MEMORY].set)
                return;
        ret->so_far = arena_new(a, RESOURCES * sizeof *ret->so_far);
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret->so_far[r] = status_amount_of(of[r]);
}

static uint32_t plan_transition_s(const struct plan *p, const struct plan_condition *c)
{
        const struct published *before = p->target->published;
        for (int i = 0; before && i < before->status.conditions; i++) {
                const struct status_condition *of = &before->status.condition[i];
                if (strcmp(of->type, c->type) == 0 && of->status == c->status && of->since_s > 0)
                        return of->since_s;
        }
        return seconds_of(p->now.ms);
}

static void plan_status_conditions(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        ret->conditions = (uint8_t)p->conditions;
        ret->condition = arena_new(a, (size_t)p->conditions * sizeof *ret->condition);
        for (int i = 0; i < p->conditions; i++) {
                const struct plan_condition *c = &p->condition[i];
                ret->condition[i] = (struct status_condition){
                        c->type, c->reason, c->message, plan_transition_s(p, c), c->status,
                };
        }
}

static void plan_status_quota(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        if (!p->quota_hard[CPU].set && !p->quota_hard[MEMORY].set)
                return;
        ret->quota = arena_new(a, RESOURCES * sizeof *ret->quota);
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret->quota[r] =
                        (struct status_quota){status_amount_of(p->quota_hard[r]), status_amount_of(p->quota_used[r])};
}

static int16_t plan_percent(int64_t part, int64_t of)
{
        __int128 percent = of > 0 ? (__int128)part * 100 / of : -1;
        return percent > INT16_MAX ? INT16_MAX : (int16_t)percent;
}

static void plan_status_node(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        const struct node *n = p->node;
        struct node_load load;
        if (!n)
                return;
        node_ring_load(&n->facts->ring, n->facts->capacity, p->now, &load);
        ret->node = arena_new(a, RESOURCES * sizeof *ret->node);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t capacity = n->facts->capacity[r], requested = n->facts->whole->requested[r];
                ret->node[r] = (struct status_node){
                        .capacity = capacity > 0 ? capacity : -1,
                        .allocatable = status_amount_of(n->allocatable[r]),
                        .original = n->facts->whole->original[r],
                        .requested = requested,
                        .peak = status_amount_of(plan_amount_of(&p->container[0], r, PLAN_MODEL)),
                        .packing = plan_percent(requested, n->allocatable[r].set ? n->allocatable[r].value : 0),
                        .utilization = load.samples ? plan_percent(load.mean[r], 1000) : -1,
                };
        }
}

static void plan_status_guard(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        const struct guard_state *g = p->target->apply_state.guard;
        if (!p->guarded)
                return;
        ret->guard = arena_new(a, sizeof *ret->guard);
        *ret->guard = (struct status_guard){g->cause, g->fired_ms, g->until_ms, g->why};
}

/* The mode by which halflife applied its last change. A change from before the profile's mode became InPlace was a
 * rollout. */
static enum apply_mode plan_applied_mode(const struct target *t)
{
        enum apply_mode mode = t->profile ? t->profile->spec->apply.mode : APPLY_RECOMMEND;
        if (t->apply_state.in_place)
                return APPLY_IN_PLACE;
        return mode == APPLY_IN_PLACE ? APPLY_ROLLOUT : mode;
}

static struct status_decision plan_decision(const struct plan *p)
{
        const struct workload *wl = p->target->workload;
        const struct amount *asks = workload_more(wl)->pod_asks;
        return (struct status_decision){
                .contested = p->contested,
                .orphaned = p->orphaned,
                .opted_out = wl->apply_never,
                .other_autoscaler = wl->other_autoscaler != NULL,
                .in_place_only = wl->in_place_only,
                .waits = p->target->waits,
                .profile_fused = target_fused(p->target),
                .never_written = !dimension_writes(p->target),
                .starts_original = p->starts && !p->startup_bar,
                .hpa_shared = {p->hpa_shared[CPU], p->hpa_shared[MEMORY]},
                .pod_asks = {asks[CPU].set, asks[MEMORY].set},
        };
}

static char *plan_admitted(const struct target *t, struct arena *a)
{
        if (!t->apply_state.made.rows)
                return NULL;
        AUTO(json_decref) json_t *rows = record_set_rows(&t->apply_state.made);
        char *text = json_dumps(rows, JSON_SORT_KEYS | JSON_COMPACT), *copy = arena_text(a, text_of(text));
        free(text); /* free, not mem_free: jansson allocated the text */
        return copy;
}

void plan_status(const struct plan *p, struct arena *a, struct recommendation_status *ret)
{
        const struct apply_state *d = &p->target->apply_state;
        const bool applied = d->changed_ms && p->carries;
        *ret = (struct recommendation_status){
                .state = (uint8_t)p->state,
                .decision = plan_decision(p),
                .mode = p->target->profile ? (uint8_t)plan_mode_of(p->target) : APPLY_MODES,
                .confidence_percent = (int16_t)p->confidence_percent,
                .samples = p->samples,
                .since_ms = p->since_ms,
                .last_ms = p->last_ms,
                .kills = status_count_of(p->kills),
                .last_kill_ms = p->target->kill_ms,
                .saving = {plan_saving(p, CPU), plan_saving(p, MEMORY)},
                .applied_ms = d->changed_ms,
                .applied_mode = (uint8_t)plan_applied_mode(p->target),
                .applied = applied ? d->containers : NULL,
                .admitted = applied ? plan_admitted(p->target, a) : NULL,
                .passed_ms = d->passed_ms,
                .rest = d->pod_canary ? d->pod_canary->containers : NULL,
        };
        plan_status_containers(p, a, ret);
        plan_status_so_far(p, a, ret);
        plan_status_conditions(p, a, ret);
        plan_status_quota(p, a, ret);
        plan_status_node(p, a, ret);
        plan_status_guard(p, a, ret);
        ret->left = p->target->workload->other_autoscaler ? p->target->workload->other_autoscaler->policy : NULL;
        ret->limits = plan_limits(p, a);
}
