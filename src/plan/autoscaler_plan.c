/*
 * Which autoscalers hold back a change of requests, and which utilization targets they get. No I/O.
 *
 * halflife computes three targets: for the running pods, for the present template, and for the template that it is
 * about to write. The lowest of them counts. So requests fall first, and the target rises as new pods replace old ones.
 * On the way back the target falls first. A mistake can therefore only add pods, never remove them.
 */
#include <stdio.h>
#include <string.h>

#include "core/utilization_basis.h"
#include "plan/autoscaler_plan.h"

/* How long the API server's refusal of a write to an autoscaler counts; then halflife asks again. */
enum { DENIED_MS = 10 * MINUTE_MS };
/* --- why targets may not change --- */

struct retune_origin autoscaler_origin(const struct autoscaler_metric *m)
{
        return retune_origin(&(struct retune_facts){m->percent, m->recorded, m->applied});
}

static bool is_twin(const struct autoscaler *s, int i)
{
        const struct autoscaler_metric *m = &s->metric[i];
        for (int k = 0; k < i; k++)
                if (autoscaler_moves(&s->metric[k]) && s->metric[k].resource == m->resource &&
                    s->metric[k].container == m->container)
                        return true;
        return false;
}

static bool is_understood(const struct autoscaler *s)
{
        for (int i = 0; i < s->metrics; i++) {
                const struct autoscaler_metric *m = &s->metric[i];
                bool moves = autoscaler_moves(m);
                if (m->source == METRIC_UNKNOWN || (m->resource < RESOURCES && m->target == TARGET_UNKNOWN))
                        return false;
                if (moves && (m->percent < RETUNE_LEAST || m->percent > RETUNE_MOST || is_twin(s, i)))
                        return false;
        }
        return true;
}

static bool is_reset(const struct autoscaler *s)
{
        for (int i = 0; i < s->metrics; i++)
                if (autoscaler_moves(&s->metric[i]) && autoscaler_origin(&s->metric[i]).reset)
                        return true;
        return false;
}

static bool is_raised(const struct autoscaler *s)
{
        for (int i = 0; i < s->metrics; i++) {
                const struct autoscaler_metric *m = &s->metric[i];
                struct retune_origin o = autoscaler_moves(m) ? autoscaler_origin(m) : (struct retune_origin){0};
                if (o.ours && o.original != m->percent)
                        return true;
        }
        return false;
}

enum autoscaler_hold autoscaler_hold(const struct autoscaler *s)
{
        return s->broken           ? AUTOSCALER_UNREADABLE
               : is_reset(s)       ? AUTOSCALER_RESET
               : s->owner.kind     ? AUTOSCALER_OWNED
               : s->applier        ? AUTOSCALER_APPLIED
               : !is_understood(s) ? AUTOSCALER_UNKNOWN
                                   : AUTOSCALER_FREE;
}

static enum hpa_mode autoscaler_mode_of(const struct plan *p)
{
        return p->target->profile ? p->target->profile->spec->apply.hpa : HPA_HOLD;
}

static enum autoscaler_hold hold_of(const struct plan *p, const struct autoscaler *s, struct wall now)
{
        enum hpa_mode mode = autoscaler_mode_of(p);
        enum autoscaler_hold hold = autoscaler_hold(s);
        int64_t since = now.ms - s->denied_ms;
        if (mode != HPA_RETUNE)
                return hold == AUTOSCALER_FREE && mode != HPA_IGNORE ? AUTOSCALER_MODE : hold;
        if (hold != AUTOSCALER_FREE)
                return hold;
        if (s->others && !is_raised(s)) /* its targets are the owner's: nothing to restore, so nothing to ask for */
                return AUTOSCALER_SHARED;
        if (s->denied && since >= 0 && since < DENIED_MS)
                return AUTOSCALER_FORBIDDEN;
        if (s->others)
                return AUTOSCALER_SHARED;
        return s->permitted || is_raised(s) ? AUTOSCALER_FREE : AUTOSCALER_ASKING;
}

static bool is_counted(const struct autoscaler_metric *m, const char *container, enum container_role role)
{
        return role != ROLE_INIT && (m->source == METRIC_RESOURCE || m->container == container);
}

/* Does a VerticalPodAutoscaler set a request that the metric counts? The metric's target cannot follow then. */
static bool is_sized(const struct plan *p, const struct autoscaler_metric *m)
{
        for (int i = 0; autoscaler_moves(m) && i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                if (is_counted(m, c->name, c->role) && c->facts.other_autoscaler[m->resource])
                        return true;
        }
        return false;
}

/* Why the autoscaler's targets for one resource may not change; AUTOSCALER_FREE: they may. */
static enum autoscaler_hold hold_on(const struct plan *p, const struct plan_autoscaler *s, enum resource r)
{
        if (s->hold != AUTOSCALER_FREE || autoscaler_mode_of(p) != HPA_RETUNE)
                return s->hold;
        for (int i = 0; i < s->of->metrics; i++)
                if (s->of->metric[i].resource == r && is_sized(p, &s->of->metric[i]))
                        return AUTOSCALER_SIZED;
        return s->hold;
}

/*
 * Decide whether the autoscaler holds back a resource. A hold restores the original request. But where halflife raised
 * the utilization target and cannot restore it, the target is too high for the original: then the request stays as it
 * is. It also stays while halflife does not know whether it may write the target.
 */
static void hold_resource(struct plan *p, const struct plan_autoscaler *of, enum resource r)
{
        enum hpa_mode mode = autoscaler_mode_of(p);
        enum autoscaler_hold hold = hold_on(p, of, r);
        if (!p->target->profile || mode == HPA_IGNORE || hold == AUTOSCALER_FREE)
                return;
        if (mode != HPA_RETUNE) {
                p->hpa_holds[r] |= autoscaler_utilizes(of->of, r);
                return;
        }
        bool stuck = of->raised && hold != AUTOSCALER_RESET && hold != AUTOSCALER_SIZED && hold != AUTOSCALER_SHARED;
        if (stuck || hold == AUTOSCALER_ASKING || hold == AUTOSCALER_UNREADABLE)
                p->hpa_stands[r] |= autoscaler_utilizes(of->of, r);
        else
                p->hpa_holds[r] |= autoscaler_utilizes(of->of, r);
        p->hpa_shared[r] |= hold == AUTOSCALER_SHARED && autoscaler_utilizes(of->of, r);
}

/* An autoscaler of another workload that counts this workload's pods too: a lower request here would add pods there. */
static const struct autoscaler *counted_by(const struct plan *p, enum resource r)
{
        bool held = p->target->profile && autoscaler_mode_of(p) != HPA_IGNORE;
        return held ? workload_more(p->target->workload)->counted_by[r] : NULL;
}

void autoscaler_plan_facts(struct plan *p, struct wall now, struct arena *a)
{
        int count = 0;
        for (const struct autoscaler *s = p->target->workload->autoscaler; s; s = s->next)
                count++;
        p->autoscaler = arena_new(a, (size_t)(count + 1) * sizeof *p->autoscaler);
        p->autoscalers = 0;
        memset(p->hpa_stands, 0, sizeof p->hpa_stands);
        for (enum resource r = CPU; r < RESOURCES; r++)
                p->hpa_holds[r] = p->hpa_shared[r] = counted_by(p, r) != NULL;
        for (struct autoscaler *s = p->target->workload->autoscaler; s; s = s->next) {
                if (!autoscaler_utilizes(s, CPU) && !autoscaler_utilizes(s, MEMORY) && !s->records)
                        continue;
                struct plan_autoscaler *to = &p->autoscaler[p->autoscalers++];
                *to = (struct plan_autoscaler){.of = s, .hold = hold_of(p, s, now), .raised = is_raised(s)};
                for (enum resource r = CPU; r < RESOURCES; r++)
                        hold_resource(p, to, r);
        }
}

bool plan_deploys_original(const struct plan *p, enum resource r)
{
        if (p->hpa_shared[r])
                return true;
        for (int i = 0; i < p->autoscalers; i++) {
                const struct plan_autoscaler *s = &p->autoscaler[i];
                if (hold_on(p, s, r) != AUTOSCALER_FREE && (autoscaler_mode_of(p) != HPA_RETUNE || !s->raised) &&
                    autoscaler_utilizes(s->of, r))
                        return true;
        }
        return false;
}

/* --- targets --- */

/* The original requests in a pod's annotation, kept for the next pod: pods of one template record the same. */
struct originals {
        const char *text; /* the annotation from which the rows were read, interned */
        struct recorded *row;
        int rows;
};

static int keep_row(void *arg, const struct recorded *r)
{
        struct originals *o = arg;
        o->row[o->rows++] = *r;
        return 0;
}

static void read_originals(struct originals *o, const struct pod *pod, struct arena *a)
{
        if (o->text == pod->original)
                return;
        *o = (struct originals){.text = pod->original, .row = arena_new(a, VIEW_CONTAINERS * sizeof *o->row)};
        if (o->text && record_read(text_of(o->text), a, keep_row, o, NULL) < 0)
                o->rows = 0;
}

/* A container's original request by its pod's annotation. Without a record, it is what the container requests now. */
static struct amount autoscaler_original_of(const struct originals *o, const struct pod_container *c, enum resource r,
                                            const struct range_facts *range)
{
        for (int i = 0; i < o->rows; i++)
                if (text_is(o->row[i].container, c->name)) {
                        const struct recorded *row = &o->row[i];
                        return row->request[r].set ? row->request[r]
                               : row->limit[r].set ? row->limit[r]
                                                   : range->default_request[r];
                }
        return pod_request(c, r);
}

static struct retune_sum sum_of_pods(const struct plan *p, const struct autoscaler_metric *m,
                                     const struct range_facts *range, struct arena *a)
{
        struct retune_sum sum = {0};
        struct originals of = {0};
        for (const struct pod *pod = p->target->pods; pod; pod = pod->next_of_target) {
                if (!pod->running || pod->finished || pod->gone)
                        continue;
                read_originals(&of, pod, a);
                for (int i = 0; i < pod->containers; i++) {
                        const struct pod_container *c = &pod->container[i];
                        if (is_counted(m, c->name, c->role))
                                retune_add(&sum, autoscaler_original_of(&of, c, m->resource, range),
                                           pod_request(c, m->resource));
                }
        }
        return sum;
}

/* Sums of requests for one pod of the template: as it is, or, with `next`, as halflife is about to write it. */
static struct retune_sum sum_of_template(const struct plan *p, const struct autoscaler_metric *m, bool next)
{
        struct retune_sum sum = {0};
        for (int i = 0; i < p->containers; i++) {
                const struct plan_container *c = &p->container[i];
                const struct gate_verdict *gate = &c->advice.gate[m->resource];
                struct amount request = c->facts.current[m->resource];
                if (!is_counted(m, c->name, c->role))
                        continue;
                if (next && !gate->hold)
                        request = (struct amount){true, gate->value};
                retune_add(&sum, c->facts.original[m->resource], request);
        }
        return sum;
}

/* Do pods get the template's requests unchanged, and does a rollout replace all pods when the template changes? */
static bool follows_template(const struct plan *p)
{
        const struct workload *wl = p->target->workload;
        const struct apply_policy *apply = p->target->profile ? &p->target->profile->spec->apply : NULL;
        bool by_pod = apply && apply->mode == APPLY_ON_DEPLOY && apply->at == AT_POD;
        return !by_pod && !wl->paused && !wl->on_delete && wl->partition == 0;
}

static int64_t autoscaler_lesser(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static int64_t autoscaler_plan_target_of(const struct plan *p, const struct autoscaler_metric *m, int64_t original,
                                         const struct range_facts *range, struct arena *a)
{
        struct retune_sum pods = sum_of_pods(p, m, range, a);
        int64_t target = INT64_MAX;
        if (pods.request > 0)
                target = retune_target(original, &pods);
        if (follows_template(p)) {
                struct retune_sum now = sum_of_template(p, m, false), next = sum_of_template(p, m, p->apply);
                target = autoscaler_lesser(
                        target, autoscaler_lesser(retune_target(original, &now), retune_target(original, &next)));
        }
        if (target == INT64_MAX) /* no pods run, and new pods' requests are not known: keep the target */
                return m->percent;
        return target > original ? target : original;
}

/* May halflife raise an autoscaler's target? To lower it towards the owner's needs no permission by the profile. */
static bool may_raise(const struct plan *p)
{
        const struct profile *profile = p->target->profile;
        return autoscaler_mode_of(p) == HPA_RETUNE && profile->spec->apply.mode != APPLY_RECOMMEND &&
               !profile->spec->paused && !profile->error && !p->held && !p->contested && !p->opted_out && !p->orphaned;
}

static void want_target(const struct plan *p, const struct range_facts *range, struct arena *a,
                        struct plan_autoscaler *to, int i)
{
        const struct autoscaler_metric *m = &to->of->metric[i];
        if (!autoscaler_moves(m) || m->percent < RETUNE_LEAST)
                return;
        struct retune_origin o = autoscaler_origin(m);
        bool back =
                autoscaler_mode_of(p) == HPA_IGNORE || to->hold == AUTOSCALER_RESET || to->hold == AUTOSCALER_SHARED;
        int64_t want = back ? o.original : autoscaler_plan_target_of(p, m, o.original, range, a);
        to->want[i] = may_raise(p) && !is_sized(p, m) ? want : autoscaler_lesser(want, m->percent);
        to->record[i] = to->want[i] != o.original;
        bool stands = to->record[i] ? m->recorded.set && m->recorded.value == o.original && m->applied.set &&
                                              m->applied.value == to->want[i]
                                    : !m->recorded.set && !m->applied.set;
        to->due |= to->want[i] != m->percent || !stands;
}

static bool autoscaler_may_write(const struct plan *p, const struct plan_autoscaler *to)
{
        if (to->of->denied && p->target->apply_state.contested_ms > p->now.ms)
                return false; /* another webhook altered halflife's last write, and would alter this one */
        switch (to->hold) {
        case AUTOSCALER_FREE:
                return true;
        case AUTOSCALER_MODE:
        case AUTOSCALER_SHARED:
                return to->raised;
        case AUTOSCALER_ASKING:
                return may_raise(p);
        case AUTOSCALER_RESET: /* once the conflict is recorded, halflife's annotation is worthless and is removed */
                return p->target->apply_state.contested_ms > p->now.ms;
        default:
                return false;
        }
}

static int autoscaler_recorded(const struct autoscaler *s)
{
        int count = 0;
        for (int i = 0; i < s->metrics; i++)
                count += s->metric[i].recorded.set || s->metric[i].applied.set;
        return count;
}

static void say_retuned(struct plan *p)
{
        for (int i = 0; i < p->autoscalers; i++) {
                if (!p->autoscaler[i].raised)
                        continue;
                struct plan_condition *c = plan_say(p, "Retuned", true, "FollowsRequests");
                snprintf(c->message, sizeof c->message,
                         "the targets of %s '%.100s' follow the requests; the owner's targets are in its annotation %s",
                         p->autoscaler[i].of->kind->word, p->autoscaler[i].of->name, ANNOTATION_TARGETS);
                return;
        }
}

void autoscaler_plan_targets(struct plan *p, const struct range_facts *range, const struct plan_facts *f,
                             struct arena *a)
{
        for (int i = 0; i < p->autoscalers; i++) {
                struct plan_autoscaler *to = &p->autoscaler[i];
                to->want = arena_new(a, (size_t)(to->of->metrics + 1) * sizeof *to->want);
                to->record = arena_new(a, (size_t)(to->of->metrics + 1) * sizeof *to->record);
                for (int k = 0; k < to->of->metrics; k++) {
                        to->want[k] = to->of->metric[k].percent;
                        want_target(p, range, a, to, k);
                }
                to->due |= to->hold == AUTOSCALER_ASKING || to->hold == AUTOSCALER_RESET ||
                           to->of->records != autoscaler_recorded(to->of);
                to->due &= autoscaler_may_write(p, to) && !f->apply_never;
        }
        say_retuned(p);
}

const struct plan_autoscaler *plan_retunes(const struct plan *p)
{
        for (int i = 0; i < p->autoscalers; i++)
                if (p->autoscaler[i].due)
                        return &p->autoscaler[i];
        return NULL;
}

/* --- messages --- */

static bool is_held(const struct plan *p, enum resource r)
{
        for (int i = 0; i < p->containers; i++)
                if ((plan_wants_change(&p->container[i], r) || plan_puts_back(&p->container[i], r)) &&
                    (p->container[i].advice.gate[r].hold == REASON_HPA_HOLD ||
                     p->container[i].advice.gate[r].hold == REASON_HPA_SHARED))
                        return true;
        return false;
}

/* Why the autoscaler may count pods of any workload; NULL: it cannot. */
static const char *counts_any_because(const struct autoscaler *of)
{
        const char *unread = of->counting == COUNTS_UNREAD ? "its selector is longer than halflife reads" : NULL;
        return of->counting == COUNTS_ANY ? "there are too many labels to compare" : unread;
}

/* Print ", and counts pods of Deployment 'db' and 2 other workloads too"; "" if it counts its own workload's only. */
static const char *also_counts(const struct autoscaler *of, char *ret, size_t size)
{
        char more[40] = "";
        const char *any = counts_any_because(of);
        *ret = '\0';
        if (of->others > 1)
                snprintf(more, sizeof more, " and %u other workload%s", of->others - 1, of->others > 2 ? "s" : "");
        bool perhaps = of->counting == COUNTS_PERHAPS;
        _Static_assert(VIEW_LABELS == 256, "as the words say");
        if (any)
                snprintf(ret, size, ", and may count pods of any workload: %s", any);
        else if (of->others)
                snprintf(ret, size, ", and %s pods of %.72s%s too%s", perhaps ? "may count" : "counts", of->other, more,
                         perhaps ? " (over 256 labels)" : "");
        return ret;
}

static int say_counted(const struct autoscaler *by, enum resource r, char *ret, size_t size)
{
        const struct workload *of = by->workload;
        const char *any = counts_any_because(by);
        return snprintf(ret, size,
                        "%s '%.60s'%s%s%s%.60s%s scales on %s utilization, and %s pods of this workload too%s%s",
                        by->kind->word, by->name, of ? " of " : "", of ? of->kind->kind : "", of ? " '" : "",
                        of ? of->name : "", of ? "'" : "", resource_name(r), any ? "may count" : "counts",
                        any ? ": " : "", any ? any : "");
}

static int say_hold(const struct plan *p, const struct plan_autoscaler *s, enum resource r, char *ret, size_t size)
{
        const struct autoscaler *of = s->of;
        char others[160];
        switch (hold_on(p, s, r)) {
        case AUTOSCALER_RESET:
                return snprintf(ret, size, "%s '%.100s': somebody restored its utilization target", of->kind->word,
                                of->name);
        case AUTOSCALER_OWNED:
                return snprintf(ret, size,
                                "%s '%.60s' was made by %.60s '%.60s', which would undo a new target: set it there",
                                of->kind->word, of->name, of->owner.kind, of->owner.name);
        case AUTOSCALER_APPLIED:
                return snprintf(ret, size, "%s '%.100s': '%.60s' owns its metrics by server-side apply", of->kind->word,
                                of->name, of->applier);
        case AUTOSCALER_UNKNOWN:
                if (of->metrics > VIEW_METRICS)
                        return snprintf(ret, size, "%s '%.100s' has more than the %d metrics that halflife reads",
                                        of->kind->word, of->name, VIEW_METRICS);
                return snprintf(ret, size, "%s '%.100s' has a metric that halflife does not understand", of->kind->word,
                                of->name);
        case AUTOSCALER_UNREADABLE:
                return snprintf(ret, size, "%s '%.100s': halflife cannot read its annotation %s", of->kind->word,
                                of->name, ANNOTATION_TARGETS);
        case AUTOSCALER_FORBIDDEN:
                return snprintf(ret, size, "%s '%.60s': %.160s", of->kind->word, of->name, of->denied);
        case AUTOSCALER_ASKING:
                return snprintf(ret, size, "%s '%.100s': halflife has not checked yet whether it may write its targets",
                                of->kind->word, of->name);
        case AUTOSCALER_SIZED:
                return snprintf(ret, size,
                                "%s '%.100s' scales on %s utilization, and a VerticalPodAutoscaler sets requests that "
                                "it counts",
                                of->kind->word, of->name, resource_name(r));
        default:
                return snprintf(ret, size, "%s '%.64s' scales on %s utilization%s", of->kind->word, of->name,
                                resource_name(r), also_counts(of, others, sizeof others));
        }
}

/* "HPA 'web' scales on cpu utilization, HPA 'mem' scales on memory utilization"; under LimitBasis also which metric to
 * use. */
void autoscaler_plan_say(const struct plan *p, char *ret, size_t size)
{
        size_t at = 0;
        *ret = '\0';
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const struct plan_autoscaler *s = p->autoscaler, *end = s + p->autoscalers;
                while (s < end && (hold_on(p, s, r) == AUTOSCALER_FREE || !autoscaler_utilizes(s->of, r)))
                        s++;
                const struct autoscaler *by = counted_by(p, r);
                if ((s == end && !by) || !is_held(p, r))
                        continue;
                char said[256];
                if (s < end)
                        say_hold(p, s, r, said, sizeof said);
                else
                        say_counted(by, r, said, sizeof said);
                if (strstr(ret, said))
                        continue;
                int n = snprintf(ret + at, size - at, "%s%s", at ? ", " : "", said);
                at += n > 0 && at + (size_t)n < size ? (size_t)n : 0;
        }
        if (autoscaler_mode_of(p) == HPA_LIMIT_BASIS && at)
                snprintf(ret + at, size - at, "; use a metric of type Pods instead: %s, averageValue 600m for 60 %%",
                         custom_metric_name(is_held(p, CPU) ? CPU : MEMORY));
}
