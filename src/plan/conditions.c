/*
 * The conditions of a plan, which its Recommendation gets.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cache/pod_namespace_targets.h"
#include "plan/admission_message.h"
#include "plan/autoscaler_plan.h"

struct plan_condition *plan_say(struct plan *plan, const char *type, bool status, const char *reason)
{
        assert(plan->conditions < PLAN_CONDITIONS);
        struct plan_condition *c = &plan->condition[plan->conditions++];
        *c = (struct plan_condition){.type = type, .status = status, .reason = reason};
        return c;
}

const struct plan_condition *plan_condition(const struct plan *p, const char *type)
{
        for (int i = 0; i < p->conditions; i++)
                if (strcmp(p->condition[i].type, type) == 0)
                        return &p->condition[i];
        return NULL;
}

static const char *who_paused(const struct plan *plan)
{
        if (plan->held)
                return "the recommendation is held; condition Held says why";
        return plan->target->profile->error ? "the profile cannot be read; its condition Ready says why"
                                            : "the profile is paused";
}

static const char in_place_only[] = "its updateStrategy is InPlaceOnly: a change of requests would block its rollouts, "
                                    "and with them the owner's next image";

/* Set plan->hold to why the first wanted change is held back. Returns false if no change is wanted. *ret_back: the only
 * wanted changes are originals that come back. */
static bool find_hold(struct plan *plan, bool *ret_back)
{
        bool changes = false, back = false;
        for (int i = 0; i < plan->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &plan->container[i];
                        bool change = plan_wants_change(c, r), one_back = plan_puts_back(c, r);
                        changes |= change;
                        back |= one_back;
                        if ((change || one_back) && plan->hold == REASON_NONE)
                                plan->hold = c->advice.gate[r].hold;
                }
        *ret_back = back && !changes;
        return changes || back;
}

/* Write to `ret` what holds the change back, for people. */
static void conditions_say_hold(const struct plan *plan, enum reason hold, char *ret, size_t size)
{
        bool pod = plan->target->dimension == DIMENSION_POD;
        if (hold == REASON_ROLLOUT_BLOCKED)
                snprintf(ret, size, "%s", plan->blocked);
        else if (hold == REASON_QUOTA)
                snprintf(ret, size, "%s", plan->no_room);
        else if (hold == REASON_BUDGET && *plan->over_budget)
                snprintf(ret, size, "%s", plan->over_budget);
        else if (hold == REASON_HPA_HOLD || hold == REASON_HPA_SHARED)
                autoscaler_plan_say(plan, ret, size);
        else if (hold == REASON_RECOMMEND_ONLY && !dimension_writes(plan->target))
                snprintf(ret, size, "halflife never writes the target values of a %s%s",
                         pod ? "pod of a workload" : "namespace", pod ? ": its workload's template sets them" : "");
        else if (hold == REASON_OPTED_OUT)
                snprintf(ret, size, "%s", plan->opted_out);
        else if (hold == REASON_IMMUTABLE && plan->target->workload->in_place_only)
                snprintf(ret, size, "%s", in_place_only);
        else if (hold == REASON_PAUSED)
                snprintf(ret, size, "%s", who_paused(plan));
        else if (reason_condition(hold))
                snprintf(ret, size, "%s", reason_condition(hold));
}

/* Add condition Applied for a node, always with the same words: whether a change is wanted varies with the pods on
 * it. */
static void node_applied_condition(struct plan *plan)
{
        struct plan_condition *c = plan_say(plan, "Applied", false, reason_name(REASON_RECOMMEND_ONLY));
        snprintf(c->message, sizeof c->message,
                 "halflife writes nothing to nodes: the workloads on it have "
                 "Recommendations of their own");
}

static void applied_condition(struct plan *plan)
{
        if (plan->target->dimension == DIMENSION_NODE) {
                node_applied_condition(plan);
                return;
        }
        bool back, wanted = find_hold(plan, &back);
        bool young = plan->state == STATE_NO_DATA || plan->state == STATE_LEARNING;
        if ((!wanted || plan->guarded || resize_lacks_room(plan)) && !plan->orphaned && resize_says(plan))
                return;
        if (!wanted && !plan->orphaned && (plan->carries || !young)) {
                plan_say(plan, "Applied", plan->carries, plan->carries ? "UpToDate" : "NothingToChange");
                return;
        }
        enum reason hold = plan->orphaned ? REASON_ORPHANED : wanted ? plan->hold : REASON_LEARNING;
        bool waits = !hold && plan->target->profile && plan->target->profile->spec->apply.mode == APPLY_ON_DEPLOY;
        struct plan_condition *c = plan_say(plan, "Applied", false,
                                            hold    ? reason_name(hold)
                                            : waits ? "NextDeploy"
                                                    : "Pending");
        char why[PLAN_WORDS] = "";
        conditions_say_hold(plan, hold, why, sizeof why);
        if (waits)
                snprintf(c->message, sizeof c->message, "the next deploy gets the %s",
                         back ? "owner's requests" : "target values");
        else if (back)
                snprintf(c->message, sizeof c->message, "the owner's requests come back%s%.270s",
                         hold ? ", but not yet: " : "", why);
        else
                snprintf(c->message, sizeof c->message, "%s", why);
}

static void ready_condition(struct plan *plan)
{
        static const char *const why[STATES] = {
                [STATE_NO_DATA] = "no sample was accepted yet",
                [STATE_LEARNING] = "samples come in; minHistory is not yet reached",
                [STATE_READY] = "",
                [STATE_STALE] = "a running pod has had no sample for a while; the last good target stands",
                [STATE_HELD] = "held; see the other conditions",
        };
        bool ready = plan->state == STATE_READY;
        struct plan_condition *c = plan_say(plan, "Ready", ready, state_name(plan->state));
        const char *unfilled = plan->unfilled;
        bool none_come = plan->state == STATE_NO_DATA || plan->state == STATE_STALE;
        bool refused = none_come && sample_refusals_of(plan->target, plan->now.ms);
        snprintf(c->message, sizeof c->message, "%s%s%s%s%s", why[plan->state],
                 refused ? ": condition SamplesRefused says why" : "", unfilled && *why[plan->state] ? "; " : "",
                 unfilled ? "usage of the past is not loaded yet, halflife asks again: " : "",
                 unfilled ? unfilled : "");
}

/* Add condition SamplesRefused: the cause that was counted most often, and how often. The count is rounded down to a
 * power of two, so that the status is not written in each cycle. */
static void refused_condition(struct plan *plan)
{
        static const struct {
                const char *reason, *words;
        } why[SAMPLE_REFUSALS] = {
                [REFUSED_FUTURE] = {"Future", "dated more than 5 min ahead: correct that node's clock"},
                [REFUSED_REORDERED] = {"Reordered", "older than the sample accepted last"},
                [REFUSED_VALUE] = {"Value", "negative, or more than a container can use"},
                [REFUSED_MEMORY] = {"NoMemory", "memory of 0, by which metrics-server marks a value that it lacks"},
                [REFUSED_CONTAINER] = {"Container", "of a container without a name, with unreadable usage or beyond "
                                                    "64; the other containers count"},
                [REFUSED_SHARED] = {"SeveralPods", "Prometheus tells usage of several pods of that name as one's: is "
                                                   "--prometheus-matchers right?"},
        };
        const struct sample_refusals *s = sample_refusals_of(plan->target, plan->now.ms);
        bool none_come = plan->state == STATE_NO_DATA || plan->state == STATE_STALE;
        enum sample_refusal most = SAMPLE_REFUSALS;
        for (enum sample_refusal w = 0; s && w < SAMPLE_REFUSALS; w++)
                if (s->count[w] > 0 && (w != REFUSED_REORDERED || none_come) &&
                    (most == SAMPLE_REFUSALS || s->count[w] > s->count[most]))
                        most = w;
        if (most == SAMPLE_REFUSALS)
                return;
        uint32_t count = s->count[most];
        while (count & (count - 1))
                count &= count - 1;
        struct plan_condition *c = plan_say(plan, "SamplesRefused", true, why[most].reason);
        snprintf(c->message, sizeof c->message, "%u or more samples refused lately, first of pod %.200s: %s", count,
                 s->pod, why[most].words);
}

static void resource_conditions(struct plan *plan)
{
        char short_of[128] = "", qos = 0;
        size_t at = 0;
        for (int i = 0; i < plan->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &plan->container[i];
                        qos |= c->advice.of[r].qos_changes;
                        if (!plan_counts(c) || !c->advice.of[r].under_provisioned || at >= sizeof short_of ||
                            plan->target->dimension == DIMENSION_NODE) /* for a node, this would vary with its pods */
                                continue;
                        int n = snprintf(short_of + at, sizeof short_of - at, "%s%s of '%s'", at ? ", " : "",
                                         resource_name(r), c->name);
                        at += n > 0 ? (size_t)n : 0;
                }
        if (at) {
                struct plan_condition *c = plan_say(plan, "UnderProvisioned", true, "UsesMoreThanRequested");
                snprintf(c->message, sizeof c->message,
                         "%s: usage is above the request: raise it by hand, halflife never goes above the owner's "
                         "request",
                         short_of);
        }
        if (qos)
                plan_say(plan, "QoSChanges", true, "LeavesGuaranteed");
}

/* Condition Degraded: new pods are refused, or halflife may not write. The message is the API server's. */
static void denied_condition(struct plan *plan)
{
        const char *refused = plan->carries ? workload_more(plan->target->workload)->refused : NULL;
        if (refused) {
                struct plan_condition *c = plan_say(plan, "Degraded", true, "Quota");
                snprintf(c->message, sizeof c->message, "new pods are refused: %.200s", refused);
                return;
        }
        if (!(plan->apply || plan->resize.goes_on || plan->resize.refused) || !plan->target->denied)
                return;
        struct plan_condition *c = plan_say(plan, "Degraded", true, "Forbidden");
        snprintf(c->message, sizeof c->message, "%s", plan->target->denied);
}

/* Condition Held: a person's hold with its reason, or an annotation record that cannot be read. If halflife took
 * a broken record for absent, its own lowered request would pass for the owner's, and the owner's would be lost. */
static void held_condition(struct plan *plan)
{
        if (plan->unrecorded) {
                struct plan_condition *c = plan_say(plan, "Held", true, "UnreadableRecord");
                snprintf(c->message, sizeof c->message,
                         "halflife cannot read the template's annotation %s: correct it, or remove both %s and %s to "
                         "start from the requests as they are",
                         plan->target->workload->original.broken ? ANNOTATION_ORIGINAL : ANNOTATION_APPLIED,
                         ANNOTATION_ORIGINAL, ANNOTATION_APPLIED);
                return;
        }
        if (!plan->held)
                return;
        struct plan_condition *c = plan_say(plan, "Held", true, "ByAnnotation");
        snprintf(c->message, sizeof c->message, "%s: %s", ANNOTATION_HOLD, plan->target->hold);
}

static void kill_condition(struct plan *plan)
{
        char words[PLAN_WORDS];
        const char *reason = words_of_kill(plan, words);
        if (reason)
                snprintf(plan_say(plan, "OutOfMemory", true, reason)->message, PLAN_WORDS, "%s", words);
}

/* Add the conditions about what else sets requests: a VerticalPodAutoscaler, and the pod's own spec.resources. A
 * replica that reads only Recommendations needs them. */
static void resource_holders_conditions(struct plan *plan)
{
        const struct workload *wl = plan->target->workload;
        const char *asks = pod_asks_word(wl);
        char words[PLAN_WORDS];
        if (words_of_other_autoscaler(plan, words))
                snprintf(plan_say(plan, "OtherAutoscaler", true, "VerticalPodAutoscaler")->message, PLAN_WORDS, "%s",
                         words);
        if (asks)
                words_of_pod(wl, plan_say(plan, "PodLevel", true, asks)->message);
}

/* Condition RequestRead: its reason names the resources, its message the first reader. */
static void read_condition(struct plan *plan)
{
        char words[PLAN_WORDS] = "";
        bool read[RESOURCES] = {false};
        for (int i = 0; i < plan->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const char *reader = plan_reader(plan, &plan->container[i], r);
                        if (reader && !*words)
                                snprintf(words, sizeof words,
                                         "%s reads the %s request of container '%.63s', which therefore stays as its "
                                         "owner set it",
                                         reader, resource_name(r), plan->container[i].name);
                        read[r] |= reader != NULL;
                }
        if (*words)
                snprintf(plan_say(plan, "RequestRead", true,
                                  !read[MEMORY] ? "CPU"
                                  : read[CPU]   ? "CPUAndMemory"
                                                : "Memory")
                                 ->message,
                         PLAN_WORDS, "%s", words);
}

/* Does the container fill the heap that its runtime is bounded to, below the original request? */
static bool fills_heap(const struct plan_container *c, struct amount most)
{
        const struct estimate *model = &c->facts.learned.of[MEMORY];
        struct amount original = c->facts.original[MEMORY];
        return most.set && most.value > 0 && original.set && original.value > most.value && model->known &&
               model->model >= most.value - most.value / 10;
}

/* Condition HeapBound: its message names the first container. */
static void heap_condition(struct plan *plan)
{
        char most[QUANTITY_TEXT_MAX];
        const struct profile *p = plan->target->profile;
        for (int i = 0; p && p->spec->apply.runtime == RUNTIME_RESPECT && i < plan->containers; i++) {
                const struct plan_container *c = &plan->container[i];
                struct runtime_heap heap = runtime_heaps_find(&workload_more(plan->target->workload)->heaps, c->name);
                struct amount bound = runtime_heap_most(&heap, c->facts.limit[MEMORY]);
                if (!plan_counts(c) || !fills_heap(c, bound))
                        continue;
                snprintf(plan_say(plan, "HeapBound", true, "ByOption")->message, PLAN_WORDS,
                         "container '%.63s' fills the heap that %s bounds to %s: a higher request does nothing",
                         c->name, runtime_cap_name((enum runtime_cap)heap.cap),
                         amount_print(MEMORY, bound.value, most));
                return;
        }
}

/* A replica that reads only Recommendations does not see the workload, so a condition tells that its updateStrategy is
 * InPlaceOnly. */
static void in_place_condition(struct plan *plan)
{
        if (!plan->target->workload->in_place_only)
                return;
        struct plan_condition *c = plan_say(plan, "InPlaceOnly", true, "ByStrategy");
        snprintf(c->message, sizeof c->message, "%s", in_place_only);
}

static void opted_out_condition(struct plan *plan)
{
        if (plan->target->workload->apply_never != NEVER_BY_ANNOTATION)
                return;
        struct plan_condition *c = plan_say(plan, "OptedOut", true, "ByAnnotation");
        snprintf(c->message, sizeof c->message, "%s: Never", ANNOTATION_APPLY);
}

static const char *startup_bar_words(const char *bar)
{
        static const struct {
                const char *bar, *words;
        } row[] = {
                {"RunsToCompletion", "its pods run to completion, so that they need not become Ready"},
                {"ResizeUnsupported", "this API server cannot resize pods"},
                {"Forbidden", "halflife may not resize pods; manifests/overlays/in-place has the permission"},
                {"QoS", "a resize to the target values would change the QoS class of the pods"},
                {"RestartRequired", "a resize to the target values would restart containers (resizePolicy)"},
        };
        size_t i = 0;
        while (strcmp(row[i].bar, bar) != 0)
                i++;
        return row[i].words;
}

/* Condition Startup, while pods start, are late, or cannot start with their originals. */
static void startup_condition(struct plan *p)
{
        const struct plan_resize *s = &p->resize;
        if (s->late)
                snprintf(plan_say(p, "Startup", false, "NotReady")->message, PLAN_WORDS,
                         "%d of %d pods are not Ready although apply.startup.most is over: they stay at their original "
                         "requests until they are",
                         s->late, s->pods);
        else if (p->startup_bar)
                snprintf(plan_say(p, "Startup", false, p->startup_bar)->message, PLAN_WORDS,
                         "new pods start with the target values: %s", startup_bar_words(p->startup_bar));
        else if (s->starting)
                snprintf(plan_say(p, "Startup", true, "Starting")->message, PLAN_WORDS,
                         "pods have their original requests while they start");
}

bool plan_deploys(const struct plan *p)
{
        const struct profile *profile = p->target->profile;
        const struct plan_condition *applied = plan_condition(p, "Applied");
        return profile && profile->spec->apply.at == AT_POD && p->target->dimension == DIMENSION_WORKLOAD && applied &&
               strcmp(applied->reason, "NextDeploy") == 0;
}

static void webhook_condition(struct plan *plan)
{
        char words[PLAN_WORDS];
        if (plan_deploys(plan) && admission_message_unasked(plan, words))
                snprintf(plan_say(plan, "WebhookNotCalled", true, "PodsUnchanged")->message, PLAN_WORDS, "%s", words);
}

/* Add condition Contested, if pods come with other requests than halflife's admission gave them. The condition holds
 * nothing back, because later pods would come the same way. */
static void admission_condition(struct plan *plan)
{
        char words[PLAN_WORDS];
        if (admission_message_of_pods(plan, words))
                snprintf(plan_say(plan, "Contested", true, "ChangedAtAdmission")->message, PLAN_WORDS, "%.300s", words);
}

/* Repair messages that were cut within a UTF-8 character: a quoted text may be of any length and script. The API server
 * would refuse the whole status for one invalid message. */
static void repair_messages(struct plan *plan)
{
        for (int i = 0; i < plan->conditions; i++)
                utf8_repair(plan->condition[i].message);
}

void conditions_say(struct plan *plan)
{
        ready_condition(plan);
        applied_condition(plan);
        denied_condition(plan);
        held_condition(plan);
        admission_condition(plan);
        webhook_condition(plan);
        guard_says(plan);
        kill_condition(plan);
        canary_says(plan);
        startup_condition(plan);
        resource_holders_conditions(plan);
        opted_out_condition(plan);
        in_place_condition(plan);
        read_condition(plan);
        heap_condition(plan);
        refused_condition(plan);
        resource_conditions(plan);
        repair_messages(plan);
}
