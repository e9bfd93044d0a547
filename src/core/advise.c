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

static struct correct_facts correct_facts_of(const struct advise_facts *f, const struct advise_container *c,
                                             enum resource r, bool guaranteed)
{
        return (struct correct_facts){
                .resource = r,
                .policy = &c->policy[r],
                .overcommit = f->workload.apply->overcommit,
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
}

static struct gate_facts gate_facts_of(const struct advise_facts *f, const struct advise_container *c, enum resource r,
                                       const struct correction *of)
{
        struct gate_facts facts = f->workload;
        facts.resource = r;
        facts.hpa_holds = f->hpa_holds[r];
        facts.current = c->current[r];
        facts.original = c->original[r];
        facts.target = of->target;
        facts.rule = of->reason;
        return facts;
}

/* Nothing is started by us, so an open gate only tells what the next deploy gets. */
static void pass_deploy_gates(const struct gate_facts *f, struct gate_verdict *ret)
{
        struct gate_facts facts = *f;
        struct deploy_verdict verdict;
        facts.current.set = f->current.set && f->current.value < f->original.value; /* else no deploy wrote it */
        gate_deploy(&facts, &verdict);
        enum reason kept = verdict.below_min_change ? REASON_BELOW_MIN_CHANGE : REASON_NONE;
        *ret = (struct gate_verdict){.hold = verdict.hold ? verdict.hold : kept, .value = verdict.value.value};
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
        bool guaranteed = advise_guaranteed(c, n), any = false, deploys = f->workload.apply->mode == APPLY_ON_DEPLOY;
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        struct correct_facts facts = correct_facts_of(f, &c[i], r, guaranteed);
                        correct(&facts, &ret[i].of[r]);
                        struct gate_facts change = gate_facts_of(f, &c[i], r, &ret[i].of[r]);
                        if (deploys)
                                pass_deploy_gates(&change, &ret[i].gate[r]);
                        else
                                gate(&change, &ret[i].gate[r]);
                        ret[i].reason[r] = reason_shown(f, r, &ret[i].of[r], &ret[i].gate[r]);
                        any |= !deploys && !ret[i].gate[r].hold;
                }
        return any;
}

static void answer(const struct advise_facts *f, const struct advise_container *c, enum resource r, bool guaranteed,
                   struct deploy_advice *ret)
{
        struct correct_facts facts = correct_facts_of(f, c, r, guaranteed);
        correct(&facts, &ret->of[r]);
        struct gate_facts deploy = gate_facts_of(f, c, r, &ret->of[r]);
        if (deploy.current.set && deploy.current.value < correct_floor(&facts))
                deploy.current.set = false; /* admission would refuse it by now */
        struct deploy_verdict verdict;
        gate_deploy(&deploy, &verdict);
        ret->request[r] = verdict.value;
        ret->reason[r] = verdict.hold               ? verdict.hold
                         : verdict.below_min_change ? REASON_BELOW_MIN_CHANGE
                                                    : ret->of[r].reason;
        ret->ours[r] = verdict.value.set && verdict.value.value < c->original[r].value;
}

bool advise_deploy(const struct advise_facts *f, const struct advise_container *c, size_t n, struct deploy_advice *ret)
{
        bool guaranteed = advise_guaranteed(c, n), any = false;
        for (size_t i = 0; i < n; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        answer(f, &c[i], r, guaranteed, &ret[i]);
                        any |= ret[i].ours[r];
                }
        return any;
}
