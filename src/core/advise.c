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

/*
 * What is the same for all containers of a pod. Refused are its targets, though somebody may hold them, or what a
 * deploy would ask for, so that whoever tells the one and whoever tells the other do not differ.
 */
struct pod_facts {
        bool guaranteed;
        bool refused[RESOURCES]; /* less than the originals would be, as a whole */
};

/* What a pod asks for and may use of a resource, a container at a time. */
struct pod_sum {
        __int128 request, limit, sidecars, init;
};

static void sum_add(struct pod_sum *sum, const struct advise_container *c, enum resource r, struct amount request)
{
        int64_t limit = c->limit[r].set ? c->limit[r].value : 0;
        if (c->role == ROLE_INIT) {
                sum->init = limit > sum->init ? limit : sum->init;
                return;
        }
        sum->request += request.set ? request.value : 0;
        sum->limit += limit;
        sum->sidecars += c->role == ROLE_SIDECAR ? limit : 0;
}

/* Of a pod that asks as a whole, the class goes by that. */
static bool by_containers(const struct advise_facts *f)
{
        return !f->pod_asks[CPU] && !f->pod_asks[MEMORY];
}

/*
 * By a LimitRange of type Pod. What an init container asks for, should it be more than the others together, is left
 * out: that is only more careful.
 */
static bool is_refused(const struct advise_facts *f, enum resource r, const struct pod_sum *sum)
{
        struct amount least = f->pod_min[r], ratio = f->pod_ratio[r];
        if (f->pod_asks[r])
                return false;
        __int128 limit = sum->init + sum->sidecars > sum->limit ? sum->init + sum->sidecars : sum->limit;
        return (least.set && sum->request < least.value) || (ratio.set && limit * 1000 > sum->request * ratio.value);
}

static struct correct_facts correct_facts_of(const struct advise_facts *f, const struct advise_container *c,
                                             enum resource r, const struct pod_facts *pod)
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
                .pod_refused = pod->refused[r],
                .guaranteed = pod->guaranteed,
                .keep_guaranteed = f->workload.apply->keep_guaranteed,
        };
}

static struct gate_facts gate_facts_of(const struct advise_facts *f, const struct advise_container *c, enum resource r,
                                       const struct correction *of)
{
        struct gate_facts facts = f->workload;
        facts.resource = r;
        facts.hpa_holds = f->hpa_holds[r];
        facts.pod_asks = f->pod_asks[r];
        facts.hpa_stands = f->hpa_stands[r];
        facts.current = c->current[r];
        facts.original = c->original[r];
        facts.target = of->target;
        facts.rule = of->reason;
        return facts;
}

/* What a deploy before wrote is not kept where admission would refuse it by now. Returns the reason, REASON_NONE where
 * the rule's own stands. */
static enum reason judge_deploy(const struct gate_facts *f, const struct correct_facts *of, struct amount *ret_request)
{
        struct gate_facts facts = *f;
        struct deploy_verdict verdict;
        if (f->current.set && f->current.value < correct_floor(of))
                facts.current.set = false;
        gate_deploy(&facts, &verdict);
        *ret_request = verdict.value;
        return verdict.hold ? verdict.hold : verdict.below_min_change ? REASON_BELOW_MIN_CHANGE : REASON_NONE;
}

/* Nothing is started by us, so an open gate only tells what the next deploy gets. */
static void pass_deploy_gates(const struct gate_facts *f, const struct correct_facts *of, struct gate_verdict *ret)
{
        struct gate_facts facts = *f;
        struct amount request;
        facts.current.set = f->current.set && f->current.value < f->original.value; /* else no deploy wrote it */
        enum reason hold = judge_deploy(&facts, of, &request);
        *ret = (struct gate_verdict){.hold = hold, .value = request.value};
}

static enum reason reason_shown(const struct advise_facts *f, enum resource r, const struct correction *of,
                                const struct gate_verdict *g)
{
        if (g->hold)
                return g->hold;
        if (f->workload.guarded)
                return REASON_GUARD;
        if (f->hpa_holds[r])
                return REASON_HPA_HOLD;
        return g->step_limited ? REASON_STEP_LIMITED : of->reason;
}

static void advise_judge(const struct advise_facts *f, const struct advise_container *c, enum resource r,
                         const struct pod_facts *pod, struct advice *ret)
{
        struct correct_facts facts = correct_facts_of(f, c, r, pod);
        correct(&facts, &ret->of[r]);
        struct gate_facts change = gate_facts_of(f, c, r, &ret->of[r]);
        if (f->workload.apply->mode == APPLY_ON_DEPLOY)
                pass_deploy_gates(&change, &facts, &ret->gate[r]);
        else
                gate(&change, &ret->gate[r]);
        ret->reason[r] = reason_shown(f, r, &ret->of[r], &ret->gate[r]);
}

bool advise(const struct advise_facts *f, const struct advise_container *c, size_t n, struct advice *ret)
{
        struct pod_facts pod = {.guaranteed = by_containers(f) && advise_guaranteed(c, n)};
        bool any = false, deploys = f->workload.apply->mode == APPLY_ON_DEPLOY;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct pod_sum targets = {0}, requests = {0};
                for (size_t i = 0; i < n; i++) {
                        advise_judge(f, &c[i], r, &pod, &ret[i]);
                        sum_add(&targets, &c[i], r, ret[i].of[r].target);
                        sum_add(&requests, &c[i], r, (struct amount){true, ret[i].gate[r].value});
                }
                pod.refused[r] = is_refused(f, r, &targets) || (deploys && is_refused(f, r, &requests));
                for (size_t i = 0; i < n; i++) {
                        if (pod.refused[r])
                                advise_judge(f, &c[i], r, &pod, &ret[i]);
                        any |= !deploys && !ret[i].gate[r].hold;
                }
        }
        return any;
}

static void advise_answer(const struct advise_facts *f, const struct advise_container *c, enum resource r,
                          const struct pod_facts *pod, struct deploy_advice *ret)
{
        struct correct_facts facts = correct_facts_of(f, c, r, pod);
        correct(&facts, &ret->of[r]);
        struct gate_facts deploy = gate_facts_of(f, c, r, &ret->of[r]);
        enum reason why = judge_deploy(&deploy, &facts, &ret->request[r]);
        ret->reason[r] = why ? why : ret->of[r].reason;
        ret->ours[r] = ret->request[r].set && ret->request[r].value < c->original[r].value;
        ret->guaranteed = pod->guaranteed;
        ret->pod_refused[r] = pod->refused[r];
}

bool advise_deploy(const struct advise_facts *f, const struct advise_container *c, size_t n, struct deploy_advice *ret)
{
        struct pod_facts pod = {.guaranteed = by_containers(f) && advise_guaranteed(c, n)};
        bool any = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct pod_sum targets = {0}, requests = {0};
                for (size_t i = 0; i < n; i++) {
                        advise_answer(f, &c[i], r, &pod, &ret[i]);
                        sum_add(&targets, &c[i], r, ret[i].of[r].target);
                        sum_add(&requests, &c[i], r, ret[i].request[r]);
                }
                pod.refused[r] = is_refused(f, r, &targets) || is_refused(f, r, &requests);
                for (size_t i = 0; i < n; i++) {
                        if (pod.refused[r])
                                advise_answer(f, &c[i], r, &pod, &ret[i]);
                        any |= ret[i].ours[r];
                }
        }
        return any;
}
