#include "core/decide_requests.h"

static bool same_positive(struct amount a, struct amount b)
{
        return a.set && b.set && a.value == b.value && a.value > 0;
}

static bool is_fixed(const struct decide_container *c)
{
        return same_positive(c->original[CPU], c->limit[CPU]) && same_positive(c->original[MEMORY], c->limit[MEMORY]);
}

bool decide_guaranteed(const struct decide_container *c, size_t n)
{
        size_t fixed = 0;
        while (fixed < n && is_fixed(&c[fixed]))
                fixed++;
        return n > 0 && fixed == n;
}

/*
 * The facts of a pod that are the same for all its containers. `refused` is judged by the targets, even those that a
 * gate holds, and by the requests of a deploy, so that the status and a deploy tell the same target.
 */
struct pod_facts {
        bool guaranteed;
        bool refused[RESOURCES]; /* a LimitRange of type Pod would refuse the pod with lowered requests */
};

/* The requests and limits of a pod for one resource, summed over its containers. */
struct request_sum {
        __int128 request, limit, sidecars, init;
};

static void sum_add(struct request_sum *sum, const struct decide_container *c, enum resource r, struct amount request)
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

/* Whether the containers decide the QoS class. Where the pod's own spec.resources has requests, those decide it. */
static bool by_containers(const struct decide_facts *f)
{
        return !f->pod_asks[CPU] && !f->pod_asks[MEMORY];
}

/* Whether limit / request > ratio, in thousandths. The function divides, because request * ratio exceeds 128 bits where
 * three containers ask for the most that a quantity holds. */
static bool is_above_ratio(__int128 limit, __int128 request, struct amount ratio)
{
        return limit > 0 && (request == 0 || (limit * 1000 - 1) / request >= ratio.value);
}

/*
 * Whether a LimitRange of type Pod refuses the pod. Kubernetes counts an init container's request only where it exceeds
 * the sum of the pod's main containers. Here init containers' requests are left out: a smaller sum is refused sooner,
 * which is the careful side.
 */
static bool is_refused(const struct decide_facts *f, enum resource r, const struct request_sum *sum)
{
        struct amount least = f->pod_min[r], ratio = f->pod_ratio[r];
        if (f->pod_asks[r])
                return false;
        __int128 limit = sum->init + sum->sidecars > sum->limit ? sum->init + sum->sidecars : sum->limit;
        return (least.set && sum->request < least.value) || (ratio.set && is_above_ratio(limit, sum->request, ratio));
}

static struct correct_facts correct_facts_of(const struct decide_facts *f, const struct decide_container *c,
                                             enum resource r, const struct pod_facts *pod)
{
        struct estimate estimate = c->learned.of[r];
        if (f->workload.state == STATE_HELD) /* a held status does not tell an early target from a learned one */
                estimate.early = 0;
        bool heeds = r == MEMORY && f->workload.apply->runtime == RUNTIME_RESPECT;
        return (struct correct_facts){
                .resource = r,
                .policy = &c->policy[r],
                .overcommit = f->workload.apply->overcommit,
                .role = c->role,
                .ignored = c->ignored,
                .unasked = c->unasked,
                .state = c->learned.state,
                .estimate = estimate,
                .original = c->original[r],
                .limit = c->limit[r],
                .range_min = f->range_min[r],
                .range_ratio = f->range_ratio[r],
                .last_good = c->last_good[r],
                .heap_start = heeds ? c->heap_start : (struct amount){0},
                .pod_refused = pod->refused[r],
                .guaranteed = pod->guaranteed,
                .keep_guaranteed = f->workload.apply->keep_guaranteed,
        };
}

static struct gate_facts gate_facts_of(const struct decide_facts *f, const struct decide_container *c, enum resource r,
                                       const struct correction *of)
{
        struct gate_facts facts = f->workload;
        facts.resource = r;
        facts.hpa_holds = f->hpa_holds[r];
        facts.hpa_shared = f->hpa_shared[r];
        facts.pod_asks = f->pod_asks[r];
        facts.other_autoscaler = c->other_autoscaler[r];
        facts.hpa_stands = f->hpa_stands[r];
        if (f->workload.apply->runtime == RUNTIME_RESPECT)
                facts.read_least = c->read_least[r];
        facts.current = c->current[r];
        facts.original = c->original[r];
        facts.target = of->target;
        facts.rule = of->reason;
        return facts;
}

/* Ask the gates of a deploy. The previous deploy's value is not kept where admission would refuse it now, a container
 * would read another value than the owner's, or the heap begins larger. */
static void judge_deploy(const struct gate_facts *f, const struct correct_facts *of, struct deploy_verdict *ret)
{
        struct gate_facts facts = *f;
        int64_t least = correct_floor(of);
        if (f->read_least.value > least)
                least = f->read_least.value;
        if (of->heap_start.value > least)
                least = of->heap_start.value;
        if (f->current.set && f->current.value < least)
                facts.current.set = false;
        gates_ask_deploy(&facts, ret);
}

/* Under OnDeploy halflife starts no change, so an open gate only tells what the next deploy gets. */
static void pass_deploy_gates(const struct gate_facts *f, const struct correct_facts *of, struct gate_verdict *ret)
{
        struct gate_facts facts = *f;
        struct deploy_verdict v;
        facts.current.set = f->current.set && f->current.value < f->original.value; /* else current is the owner's */
        judge_deploy(&facts, of, &v);
        *ret = (struct gate_verdict){
                .gate = !v.hold && gates_rule_asks_nothing(f) ? GATE_RULE : v.gate,
                .hold = v.hold,
                .value = v.value.value,
        };
}

static enum reason reason_shown(const struct decide_facts *f, enum resource r, const struct correction *of,
                                const struct gate_verdict *g)
{
        if (g->hold)
                return g->hold;
        if (f->workload.guarded)
                return REASON_GUARD;
        if (f->hpa_holds[r])
                return f->hpa_shared[r] ? REASON_HPA_SHARED : REASON_HPA_HOLD;
        if (g->gate == GATE_READER)
                return REASON_READ_BY_CONTAINER;
        return g->step_limited ? REASON_STEP_LIMITED : of->reason;
}

/* What the target would be if learning ended now. The status shows it to people; no decision depends on it. */
static struct amount decide_so_far(const struct correct_facts *of)
{
        struct correct_facts facts = *of;
        struct correction ready;
        if ((of->state != STATE_NO_DATA && of->state != STATE_LEARNING) || !of->estimate.known)
                return (struct amount){0};
        facts.state = STATE_READY;
        correct(&facts, &ready);
        return ready.target;
}

static void decide_judge(const struct decide_facts *f, const struct decide_container *c, enum resource r,
                         const struct pod_facts *pod, struct advice *ret)
{
        struct correct_facts facts = correct_facts_of(f, c, r, pod);
        correct(&facts, &ret->of[r]);
        ret->so_far[r] = decide_so_far(&facts);
        struct gate_facts change = gate_facts_of(f, c, r, &ret->of[r]);
        if (f->workload.apply->mode == APPLY_ON_DEPLOY)
                pass_deploy_gates(&change, &facts, &ret->gate[r]);
        else
                gates_ask(&change, &ret->gate[r]);
        ret->reason[r] = reason_shown(f, r, &ret->of[r], &ret->gate[r]);
}

bool decide_rollout(const struct decide_facts *f, const struct decide_container *c, size_t n, struct advice *ret)
{
        struct pod_facts pod = {.guaranteed = by_containers(f) && decide_guaranteed(c, n)};
        bool any = false, deploys = f->workload.apply->mode == APPLY_ON_DEPLOY;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct request_sum targets = {0}, requests = {0};
                for (size_t i = 0; i < n; i++) {
                        decide_judge(f, &c[i], r, &pod, &ret[i]);
                        sum_add(&targets, &c[i], r, ret[i].of[r].target);
                        sum_add(&requests, &c[i], r, (struct amount){true, ret[i].gate[r].value});
                }
                pod.refused[r] = is_refused(f, r, &targets) || (deploys && is_refused(f, r, &requests));
                for (size_t i = 0; i < n; i++) {
                        if (pod.refused[r])
                                decide_judge(f, &c[i], r, &pod, &ret[i]);
                        any |= !deploys && !ret[i].gate[r].hold;
                }
        }
        return any;
}

static void decide_answer(const struct decide_facts *f, const struct decide_container *c, enum resource r,
                          const struct pod_facts *pod, struct deploy_advice *ret)
{
        struct correct_facts facts = correct_facts_of(f, c, r, pod);
        correct(&facts, &ret->of[r]);
        struct gate_facts deploy = gate_facts_of(f, c, r, &ret->of[r]);
        struct deploy_verdict v;
        judge_deploy(&deploy, &facts, &v);
        ret->request[r] = v.value;
        ret->gate[r] = v.gate;
        ret->reason[r] = v.hold ? v.hold : ret->of[r].reason;
        ret->ours[r] = ret->request[r].set && ret->request[r].value < c->original[r].value;
        ret->guaranteed = pod->guaranteed;
        ret->pod_refused[r] = pod->refused[r];
}

bool decide_deploy(const struct decide_facts *f, const struct decide_container *c, size_t n, struct deploy_advice *ret)
{
        struct pod_facts pod = {.guaranteed = by_containers(f) && decide_guaranteed(c, n)};
        bool any = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct request_sum targets = {0}, requests = {0};
                for (size_t i = 0; i < n; i++) {
                        decide_answer(f, &c[i], r, &pod, &ret[i]);
                        sum_add(&targets, &c[i], r, ret[i].of[r].target);
                        sum_add(&requests, &c[i], r, ret[i].request[r]);
                }
                pod.refused[r] = is_refused(f, r, &targets) || is_refused(f, r, &requests);
                for (size_t i = 0; i < n; i++) {
                        if (pod.refused[r])
                                decide_answer(f, &c[i], r, &pod, &ret[i]);
                        any |= ret[i].ours[r];
                }
        }
        return any;
}
