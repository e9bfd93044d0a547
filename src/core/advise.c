#include "core/advise.h"

static bool same_positive(struct amount a, struct amount b)
{
        return a.set && b.set && a.value == b.value && a.value > 0;
}

static bool is_fixed(const struct advise_container *c)
{
        return same_positive(c->original[CPU], c->limit[CPU]) && same_positive(c->original[MEMORY], c->limit[MEMORY]);
}

bool advise_guaranteed(const struct advise_container *c, size_t n)
{
        size_t fixed = 0;
        while (fixed < n && is_fixed(&c[fixed]))
                fixed++;
        return n > 0 && fixed == n;
}

static void judge(const struct advise_facts *f, const struct advise_container *c, enum resource r, bool guaranteed,
                  struct correction *ret)
{
        struct correct_facts facts = {
                .resource = r,
                .policy = &c->policy[r],
                .role = c->role,
                .ignored = c->ignored,
                .unasked = c->unasked,
                .state = c->learned.state,
                .estimate = c->learned.of[r],
                .original = c->original[r],
                .limit = c->limit[r],
                .range_min = f->range_min[r],
                .range_ratio = f->range_ratio[r],
                .last_good = c->last_good[r],
                .guaranteed = guaranteed,
                .keep_guaranteed = f->workload.apply->keep_guaranteed,
        };
        correct(&facts, ret);
}

static void pass_gates(const struct advise_facts *f, const struct advise_container *c, enum resource r,
                       const struct correction *of, struct gate_verdict *ret)
{
        struct gate_facts facts = f->workload;
        facts.resource = r;
        facts.hpa_holds = f->hpa_holds[r];
        facts.current = c->current[r];
        facts.original = c->original[r];
        facts.target = of->target;
        facts.rule = of->reason;
        gate(&facts, ret);
}

static enum reason reason_shown(const struct advise_facts *f, enum resource r, const struct correction *of,
                                const struct gate_verdict *g)
{
        if (g->hold)
                return g->hold;
        if (f->hpa_holds[r])
                return REASON_HPA_HOLD;
        return g->step_limited ? REASON_STEP_LIMITED : of->reason;
}

bool advise(const struct advise_facts *f, const struct advise_container *c, size_t n, struct advice *ret)
{
        bool guaranteed = advise_guaranteed(c, n), any = false;
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        judge(f, &c[i], r, guaranteed, &ret[i].of[r]);
                        pass_gates(f, &c[i], r, &ret[i].of[r], &ret[i].gate[r]);
                        ret[i].reason[r] = reason_shown(f, r, &ret[i].of[r], &ret[i].gate[r]);
                        any |= !ret[i].gate[r].hold;
                }
        return any;
}
