/*
 * The limits that a plan advises people to set. halflife writes none of them.
 */
#include "cache/limit_harms.h"
#include "plan/plan.h"

static struct limit_advice limit_plan_memory(const struct plan *p, const struct plan_container *c,
                                             const struct limit_harm *harm)
{
        const struct history *h = history_find(p->target, c->name);
        const struct resource_policy *policy = &c->facts.policy[MEMORY];
        return limit_advise_memory(&(struct limit_memory_facts){
                .now = p->now,
                .policy = policy,
                .limit = c->facts.limit[MEMORY],
                .kill = harm->kill,
                .held = h ? usage_kill_hold(&h->usage, policy, p->now) : 0,
        });
}

const struct plan_container *plan_limit_too_low(const struct plan *p, struct limit_kill *ret_kill, int64_t *ret_advised)
{
        const struct plan_container *newest = NULL;
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                const struct limit_harm *harm = limit_harms_find(p->target, c->name);
                bool counts = harm && plan_counts(c); /* only containers that plan_limits gives advice for */
                struct limit_advice advice = counts ? limit_plan_memory(p, c, harm) : (struct limit_advice){0};
                if (advice.reason == LIMIT_FINE || (newest && harm->kill.at_ms <= ret_kill->at_ms))
                        continue;
                newest = c;
                *ret_kill = harm->kill;
                *ret_advised = advice.advised;
        }
        return newest;
}

static struct limit_advice limit_plan_cpu(const struct plan_container *c, const struct limit_harm *harm)
{
        const struct estimate *e = &c->facts.learned.of[CPU];
        return limit_advise_cpu(&(struct limit_cpu_facts){
                .policy = &c->facts.policy[CPU],
                .limit = c->facts.limit[CPU],
                .model = {e->known, e->model},
                .throttled_percent = harm->throttled_percent,
                .throttled_limit = harm->throttled_limit,
        });
}

static void limit_plan_add(const struct plan *p, int at, enum resource r, const struct limit_harm *harm,
                           struct status_limits *to)
{
        const struct plan_container *c = &p->container[at];
        struct limit_advice advice = r == MEMORY ? limit_plan_memory(p, c, harm) : limit_plan_cpu(c, harm);
        if (advice.reason == LIMIT_FINE)
                return;
        to->row[to->rows++] = (struct status_limit){
                .container = (uint8_t)at,
                .resource = (uint8_t)r,
                .reason = (uint8_t)advice.reason,
                .percent = r == CPU ? harm->throttled_percent : 0,
                .current = status_amount_of(c->facts.limit[r]),
                .advised = advice.advised,
                .needed = r == MEMORY ? advice.needed : -1,
                .at_ms = r == MEMORY ? harm->kill.at_ms : 0,
        };
}

/* Init containers and those that the profile ignores get no advice. */
struct status_limits *plan_limits(const struct plan *p, struct arena *a)
{
        if (!p->target->limit_harms)
                return NULL;
        struct status_limits *to = status_limits_new(a, (size_t)p->containers * RESOURCES);
        for (int i = 0; i < p->containers; i++) {
                const struct limit_harm *harm = limit_harms_find(p->target, p->container[i].name);
                for (enum resource r = CPU; harm && plan_counts(&p->container[i]) && r < RESOURCES; r++)
                        limit_plan_add(p, i, r, harm, to);
        }
        return to->rows > 0 ? to : NULL;
}
