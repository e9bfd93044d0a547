#include "deploy/deploy_answer.h"

#include "core/canary_choice.h"

/* --- what the snapshot has on the workload --- */

static const struct status_container *known_container(const struct snapshot_target *t, struct text name)
{
        for (uint16_t i = 0; t && i < t->containers; i++)
                if (text_is(name, t->container[i].name))
                        return &t->container[i];
        return NULL;
}

/* Fill in what the snapshot's Recommendation has on a container. Only a target value learned from usage becomes the
 * last good value. */
static void deploy_remembered(const struct status_container *known, const struct snapshot_profile *profile,
                              struct decide_container *c)
{
        const bool early = profile && profile->spec->apply.early.enabled;
        c->learned.state = known ? (enum state)known->state : STATE_NO_DATA;
        for (enum resource r = CPU; known && r < RESOURCES; r++) {
                const struct status_numbers *n = &known->of[r];
                c->learned.of[r] = (struct estimate){.known = n->model >= 0,
                                                     .by_kill = n->by_kill,
                                                     .more = n->more,
                                                     .model = n->model,
                                                     .lower = n->lower,
                                                     .upper = n->upper,
                                                     .early = early && n->early ? n->target : 0};
                if (n->learned)
                        c->last_good[r] = amount_of_status(n->target);
                c->current[r] = amount_of_status(n->applied);
        }
}

/* --- the owner's originals --- */

/* Read the originals of a container. A request equal to the one that the status has as in force counts as halflife's
 * too: another webhook may have changed what halflife sent, and the annotations only have what was sent. */
static void read_original_request(const struct deploy_container *from, const struct status_container *known,
                                  const struct snapshot_ns *ns, struct deploy_row *row, struct decide_container *c)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const struct amount in_force = known ? amount_of_status(known->of[r].applied) : (struct amount){0};
                row->origin[r] = original_request_read(&(struct original_request_facts){
                        .request = from->request[r],
                        .limit = from->limit[r],
                        .range_default = ns ? ns->default_request[r] : (struct amount){0},
                        .applied = from->applied[r],
                        .recorded = from->recorded,
                        .range_limit = ns ? ns->default_limit[r] : (struct amount){0},
                        .original = from->recorded_original[r],
                        .original_limit = from->recorded_limit[r],
                        .changed = in_force.set,
                        .admitted = in_force,
                });
                c->original[r] = row->origin[r].effective;
                c->limit[r] = from->limit[r].set || !ns ? from->limit[r] : ns->default_limit[r];
                c->read_least[r] = request_reading_least(from->read[r].divisor, c->original[r]);
                if (row->origin[r].ours)
                        c->current[r] = row->origin[r].current;
        }
        c->heap_start = runtime_heap_start(&from->heap, c->limit[MEMORY]);
}

/* --- gathering --- */

/* Does another autoscaler set this request? If the snapshot lacks the workload, its list of other autoscalers tells. */
static bool is_left_to_other(const struct snapshot *v, const struct snapshot_target *t, const struct deploy_subject *s,
                             struct text container, enum resource of)
{
        if (s->other_autoscaler && vpa_policy_sets(s->left, container, of))
                return true;
        if (t)
                return t->decision.other_autoscaler && vpa_policy_sets(t->left, container, of);
        for (size_t i = 0; i < v->other_autoscalers; i++) {
                const struct snapshot_other_autoscaler *r = &v->other_autoscaler[i];
                if (text_is(s->ns, r->ns) && text_is(s->group, r->group) && text_is(s->kind, r->kind) &&
                    text_is(s->name, r->name) && vpa_policy_sets(r->left, container, of))
                        return true;
        }
        return false;
}

/* Does an autoscaler of another workload count the subject's pods? If the snapshot has the workload, its decision
 * tells. */
static bool hpa_counts(const struct snapshot_target *t, const struct deploy_subject *s, enum resource r)
{
        return s->hpa_of_other[r] || (t ? t->decision.hpa_shared[r] : s->hpa_of_cluster[r]);
}

/* Does another autoscaler set a request of the resource in some container? An HPA's utilization target cannot follow
 * that. */
static bool deploy_is_sized(const struct snapshot *v, const struct snapshot_target *t, const struct deploy_subject *s,
                            enum resource r)
{
        for (size_t i = 0; i < s->containers; i++)
                if (s->container[i].role != ROLE_INIT && is_left_to_other(v, t, s, s->container[i].name, r))
                        return true;
        return false;
}

/*
 * Does an autoscaler that scales by utilization hold the resource? If the snapshot has the workload, the controller has
 * found its autoscalers already; otherwise the short list of autoscalers without a known workload is searched. An
 * autoscaler in the same input always holds: each deploy resets its target, so halflife does not retune it.
 */
static bool hpa_holds(const struct snapshot *v, const struct deploy_answer *d, const struct deploy_subject *s,
                      enum resource r)
{
        const struct snapshot_target *t = d->target;
        bool retunes = d->profile->spec->apply.hpa == HPA_RETUNE && !deploy_is_sized(v, t, s, r);
        if (d->profile->spec->apply.hpa == HPA_IGNORE)
                return false;
        bool here = s->hpa[r] || s->hpa_of_other[r] || (!t && s->hpa_of_cluster[r]);
        if (here || t)
                return here || t->hpa_holds[r];
        for (size_t i = 0; i < v->hpas; i++) {
                const struct snapshot_hpa *h = &v->hpa[i];
                if (h->utilization[r] && !(retunes && h->retunes) && text_is(s->ns, h->ns) &&
                    text_is(s->group, h->group) && text_is(s->kind, h->kind) && text_is(s->name, h->name))
                        return true;
        }
        return false;
}

static bool is_chosen(const struct snapshot_profile *p, struct text ns, struct text kind, struct text name)
{
        return canary_chosen(canary_rank_of(ns, kind, name), p->spec->apply.canary.percent);
}

/* Have the canaries of a namespace passed, so that its other workloads may change? A workload that is no canary and
 * does not wait proves it. A namespace's only workload proves nothing: it is always a canary. */
static bool canary_rest_follows(const struct snapshot *v, const struct snapshot_profile *p, struct text ns)
{
        size_t workloads = 0;
        bool follows = false;
        for (size_t i = snapshot_after(v, ns, text_of("")); i < v->targets && text_is(ns, v->target[i]->ns); i++) {
                const struct snapshot_target *t = v->target[i];
                if (t->profile != p)
                        continue;
                if (t->decision.waits)
                        return false;
                workloads++;
                follows |= !is_chosen(p, ns, text_of(t->kind), text_of(t->name));
        }
        return follows && workloads > 1;
}

/* Does the workload wait for a canary? For a known workload the snapshot tells; for a new one it is computed here. */
static bool deploy_waits(const struct snapshot *v, const struct deploy_answer *d, const struct deploy_subject *s)
{
        if (d->target)
                return d->target->decision.waits;
        return d->profile->canary_closed && !is_chosen(d->profile, s->ns, s->kind, s->name) &&
               !canary_rest_follows(v, d->profile, s->ns);
}

/* Is the profile's fuse blown for the workload? For a known workload the snapshot tells; for a new one its namespace
 * is looked up. */
static bool deploy_fused(const struct deploy_answer *d, const struct deploy_subject *s)
{
        bool fused = d->target && d->target->decision.profile_fused;
        for (size_t i = 0; !d->target && i < d->profile->fused_count; i++)
                fused |= !*d->profile->fused[i] || text_is(s->ns, d->profile->fused[i]);
        return fused;
}

static void workload_facts(const struct snapshot *v, const struct deploy_subject *s, const struct snapshot_ns *ns,
                           const struct deploy_answer *d, struct decide_facts *ret)
{
        static const struct apply_policy never = {.mode = APPLY_RECOMMEND};
        const struct snapshot_target *t = d->target;
        *ret = (struct decide_facts){
                .workload =
                        {
                                .now = v->at,
                                .apply = t && t->decision.never_written ? &never : &d->profile->spec->apply,
                                .state = d->state,
                                .apply_never = v->apply_never || s->apply_never || (ns && ns->apply_never) ||
                                               (t && t->decision.opted_out),
                                .paused = d->profile->spec->paused || d->profile->unreadable,
                                .held = t && t->hold,
                                .profile_fused = deploy_fused(d, s),
                                .fuse_blown = v->fuse_blown,
                                .canary_waits = deploy_waits(v, d, s),
                                .contested = t && t->decision.contested,
                                .in_place_only = (s->in_place_only || (t && t->decision.in_place_only)) && !s->pod,
                                .orphaned = t && t->decision.orphaned,
                        },
        };
        for (enum resource r = CPU; r < RESOURCES; r++) {
                ret->hpa_holds[r] = hpa_holds(v, d, s, r);
                ret->hpa_shared[r] = ret->hpa_holds[r] && !s->hpa[r] && hpa_counts(t, s, r);
                ret->pod_asks[r] = s->pod_asks[r];
                ret->range_min[r] = ns ? ns->range_min[r] : (struct amount){0};
                ret->range_ratio[r] = ns ? ns->range_ratio[r] : (struct amount){0};
                ret->pod_min[r] = ns ? ns->pod_min[r] : (struct amount){0};
                ret->pod_ratio[r] = ns ? ns->pod_ratio[r] : (struct amount){0};
        }
}

/* The answer without a profile: every container keeps the owner's originals. */
static void deploy_leave(const struct deploy_subject *s, struct deploy_answer *ret)
{
        for (size_t i = 0; i < s->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        ret->advice[i].request[r] = ret->row[i].origin[r].effective;
}

/* Take a known workload's profile from the snapshot, which keeps only the workload's own labels. Choosing a profile
 * here would need the template's labels too. */
static const struct snapshot_profile *deploy_profile_of(const struct snapshot *v, const struct deploy_subject *s)
{
        if (s->known && s->known->profile)
                return s->known->profile;
        return snapshot_choose(v, s->ns, s->group, s->kind, s->label, s->labels);
}

/* Fill in what the profile and other autoscalers say of a container. */
static void deploy_judge_container(const struct snapshot *v, const struct deploy_subject *s,
                                   const struct deploy_answer *d, size_t at, struct decide_container *c)
{
        struct text name = s->container[at].name;
        c->policy = profile_spec_container(d->profile->spec, name, &c->ignored);
        for (enum resource r = CPU; r < RESOURCES; r++)
                c->other_autoscaler[r] = is_left_to_other(v, d->target, s, name, r);
}

void deploy_answer(const struct snapshot *v, const struct deploy_subject *s, struct arena *a, struct deploy_answer *ret)
{
        const struct snapshot_ns *ns = snapshot_find_ns(v, s->ns);
        struct decide_container *c = arena_new(a, (s->containers + 1) * sizeof *c);
        *ret = (struct deploy_answer){
                .profile = deploy_profile_of(v, s),
                .target = s->known ? s->known : snapshot_find(v, s->ns, s->group, s->kind, s->name),
                .advice = arena_new(a, (s->containers + 1) * sizeof *ret->advice),
                .row = arena_new(a, (s->containers + 1) * sizeof *ret->row),
        };
        ret->state = ret->target ? (enum state)ret->target->state : STATE_NO_DATA;
        for (size_t i = 0; i < s->containers; i++) {
                c[i].role = s->container[i].role;
                const struct status_container *known = known_container(ret->target, s->container[i].name);
                deploy_remembered(known, ret->profile, &c[i]);
                read_original_request(&s->container[i], known, ns, &ret->row[i], &c[i]);
                ret->row[i].state = c[i].learned.state;
        }
        if (!ret->profile) {
                deploy_leave(s, ret);
                return;
        }
        for (size_t i = 0; i < s->containers; i++)
                deploy_judge_container(v, s, ret, i, &c[i]);
        struct decide_facts facts;
        workload_facts(v, s, ns, ret, &facts);
        ret->any = decide_deploy(&facts, c, s->containers, ret->advice);
}

/* Can a resize set a container's request of the advice later, once the pod runs? True also if halflife sets none. */
static bool deploy_is_resized_later(const struct deploy_answer *d, const struct deploy_container *c,
                                    const struct deploy_advice *advice, enum resource r)
{
        bool by_deploys =
                d->profile->spec->apply.mode == APPLY_IN_PLACE && reason_acts_at_deploys(advice->of[r].reason);
        return !advice->ours[r] || (!advice->of[r].qos_changes && !c->restarts[r] && !by_deploys);
}

void deploy_start_original(const struct deploy_subject *s, struct deploy_answer *d)
{
        d->starts_original = d->any && d->target && d->target->decision.starts_original;
        for (size_t i = 0; i < s->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        d->starts_original &= deploy_is_resized_later(d, &s->container[i], &d->advice[i], r);
}

struct amount deploy_request(const struct deploy_answer *d, size_t container, enum resource r)
{
        const struct deploy_advice *advice = &d->advice[container];
        return advice->ours[r] && !d->starts_original ? advice->request[r] : d->row[container].origin[r].raw;
}

/* --- annotations --- */

struct recording {
        struct deploy_container *container;
        size_t count;
        bool original;
};

static int keep_record(void *arg, const struct recorded *row)
{
        struct recording *to = arg;
        for (size_t i = 0; i < to->count; i++) {
                struct deploy_container *c = &to->container[i];
                if (!text_equal(c->name, row->container))
                        continue;
                memcpy(to->original ? c->recorded_original : c->applied, row->request, sizeof row->request);
                if (to->original)
                        memcpy(c->recorded_limit, row->limit, sizeof row->limit);
                c->recorded |= to->original;
        }
        return 0;
}

static void deploy_forget(struct deploy_container *c, size_t containers)
{
        for (size_t i = 0; i < containers; i++) {
                memset(c[i].applied, 0, sizeof c[i].applied);
                memset(c[i].recorded_original, 0, sizeof c[i].recorded_original);
                memset(c[i].recorded_limit, 0, sizeof c[i].recorded_limit);
                c[i].recorded = false;
        }
}

int deploy_recall(struct deploy_container *c, size_t containers, const struct our_annotations *notes, struct arena *a,
                  struct err *err)
{
        struct recording original = {c, containers, true}, applied = {c, containers, false};
        const char *which = ANNOTATION_APPLIED;
        struct err why = {0};
        int rc = notes->applied.len ? record_read(notes->applied, a, keep_record, &applied, &why) : 0;
        if (rc == 0 && notes->original.len) {
                which = ANNOTATION_ORIGINAL;
                rc = record_read(notes->original, a, keep_record, &original, &why);
        }
        if (rc < 0 || !notes->applied.len || !notes->original.len)
                deploy_forget(c, containers);
        return rc < 0 ? err_set(err, ERR_INVALID, "annotation %s: %s", which, why.text) : 0;
}

static const char *deploy_printed(const struct recorded *row, size_t rows, struct arena *a)
{
        AUTO(mem_free) char *text = record_print(row, rows);
        return text ? arena_text(a, text_of(text)) : NULL;
}

struct deploy_notes deploy_record(const struct deploy_subject *s, const struct deploy_answer *d, struct arena *a)
{
        struct recorded *original = arena_new(a, (s->containers + 1) * sizeof *original);
        struct recorded *applied = arena_new(a, (s->containers + 1) * sizeof *applied);
        size_t rows = 0;
        for (size_t i = 0; i < s->containers; i++) {
                const struct deploy_advice *advice = &d->advice[i];
                if (!advice->ours[CPU] && !advice->ours[MEMORY])
                        continue;
                original[rows].container = applied[rows].container = s->container[i].name;
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        original[rows].request[r] = d->row[i].origin[r].raw;
                        original[rows].limit[r] = d->row[i].origin[r].limit;
                        if (advice->ours[r])
                                applied[rows].request[r] = advice->request[r];
                }
                rows++;
        }
        return (struct deploy_notes){deploy_printed(original, rows, a),
                                     d->starts_original ? NULL : deploy_printed(applied, rows, a),
                                     rows ? BASIS_REQUEST : NULL};
}
