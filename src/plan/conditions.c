/*
 * What is said of a plan: the conditions of its Recommendation.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cache/pod_namespace_targets.h"
#include "plan/autoscaler_plan.h"
#include "plan/plan.h"

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

static const char in_place_only[] = "its updateStrategy is InPlaceOnly: a change of requests would stick there, and "
                                    "the owner's next image behind it";

/* The first of what would be changed; false: nothing would. */
static bool find_hold(struct plan *plan)
{
        bool wanted = false;
        for (int i = 0; i < plan->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &plan->container[i];
                        if (!plan_wants_change(c, r))
                                continue;
                        wanted = true;
                        if (plan->hold == REASON_NONE)
                                plan->hold = c->advice.gate[r].hold;
                }
        return wanted;
}

static void applied_condition(struct plan *plan)
{
        static const char *const why[REASONS] = {
                [REASON_RECOMMEND_ONLY] = "the profile's apply.mode is Recommend",
                [REASON_BELOW_MIN_CHANGE] = "the change would be smaller than minChangePercent",
                [REASON_COOLDOWN] = "the last change is younger than the cooldown",
                [REASON_FUSE] =
                        "too many changes were taken back within an hour: condition Degraded of the profile names "
                        "them, halflife resume --fuse goes on",
                [REASON_CANARY] = "others of the profile are changed first; its status.canary tells how far they are",
                [REASON_OUTSIDE_WINDOW] = "no maintenance window is open",
                [REASON_BUDGET] = "the budget for changes is used up",
                [REASON_IMMUTABLE] = "this kind's template cannot be changed, or its pods ask as a whole",
                [REASON_ORPHANED] = "no profile selects it any more, but it still carries values of halflife",
                [REASON_LEARNING] = "not enough was learned yet",
                [REASON_STALE] = "no fresh usage",
                [REASON_STATIC] = "a static factor acts at a deploy only",
                [REASON_CONTESTED] = "somebody else sets these requests; condition Contested tells what happened",
                [REASON_GUARD] = "a change did harm and was taken back; condition Guarded tells what happened",
                [REASON_MANAGED] = "another controller writes the template; condition Managed says which",
                [REASON_OTHER_AUTOSCALER] =
                        "another autoscaler sets these requests; condition OtherAutoscaler names it",
        };
        bool wanted = find_hold(plan);
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
        if (waits)
                snprintf(c->message, sizeof c->message, "the next deploy gets it");
        else if (hold == REASON_ROLLOUT_BLOCKED)
                snprintf(c->message, sizeof c->message, "%s", plan->blocked);
        else if (hold == REASON_QUOTA)
                snprintf(c->message, sizeof c->message, "%s", plan->no_room);
        else if (hold == REASON_HPA_HOLD)
                scaling_say(plan, c->message, sizeof c->message);
        else if (hold == REASON_RECOMMEND_ONLY && !dimension_writes(plan->target))
                snprintf(c->message, sizeof c->message, "what is recommended for a %s is never written%s",
                         plan->target->dimension == DIMENSION_POD ? "pod of a workload" : "namespace",
                         plan->target->dimension == DIMENSION_POD ? ": its template is its workload's" : "");
        else if (hold == REASON_OPTED_OUT)
                snprintf(c->message, sizeof c->message, "%s", plan->opted_out);
        else if (hold == REASON_IMMUTABLE && plan->target->workload->in_place_only)
                snprintf(c->message, sizeof c->message, "%s", in_place_only);
        else if (hold == REASON_PAUSED)
                snprintf(c->message, sizeof c->message, "%s", who_paused(plan));
        else if (why[hold])
                snprintf(c->message, sizeof c->message, "%s", why[hold]);
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
        snprintf(c->message, sizeof c->message, "%s", why[plan->state]);
}

static void resource_conditions(struct plan *plan)
{
        char short_of[128] = "", qos = 0;
        size_t at = 0;
        for (int i = 0; i < plan->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const struct plan_container *c = &plan->container[i];
                        qos |= c->advice.of[r].qos_changes;
                        if (!plan_counts(c) || !c->advice.of[r].under_provisioned || at >= sizeof short_of)
                                continue;
                        int n = snprintf(short_of + at, sizeof short_of - at, "%s%s of '%s'", at ? ", " : "",
                                         resource_name(r), c->name);
                        at += n > 0 ? (size_t)n : 0;
                }
        if (at) {
                struct plan_condition *c = plan_say(plan, "UnderProvisioned", true, "UsesMoreThanRequested");
                snprintf(c->message, sizeof c->message,
                         "%s: usage is above the request; raise it by hand, halflife never goes above the owner's",
                         short_of);
        }
        if (qos)
                plan_say(plan, "QoSChanges", true, "LeavesGuaranteed");
}

/* A missing rule, or an admission that says no: in the API server's own words. */
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

/* What the profile's owner is told of a hold by a person, in the person's words; and of a record that somebody broke:
 * taken for absent, our lowered value would become the owner's, and the owner's be lost. */
static void held_condition(struct plan *plan)
{
        if (plan->unrecorded) {
                struct plan_condition *c = plan_say(plan, "Held", true, "UnreadableRecord");
                snprintf(
                        c->message, sizeof c->message,
                        "the template's annotation %s is not readable: put it right, or remove both %s and %s to start "
                        "from the requests as they are",
                        plan->target->workload->original.broken ? ANNOTATION_ORIGINAL : ANNOTATION_APPLIED,
                        ANNOTATION_ORIGINAL, ANNOTATION_APPLIED);
                return;
        }
        if (!plan->held)
                return;
        struct plan_condition *c = plan_say(plan, "Held", true, "ByAnnotation");
        snprintf(c->message, sizeof c->message, "%s: %s", ANNOTATION_HOLD, plan->target->published->hold);
}

static void kill_condition(struct plan *plan)
{
        char words[PLAN_WORDS];
        const char *reason = words_of_kill(plan, words);
        if (reason)
                snprintf(plan_say(plan, "OutOfMemory", true, reason)->message, PLAN_WORDS, "%s", words);
}

/* Whoever serves from Recommendations alone goes by these, too. */
static void resource_holders_conditions(struct plan *plan)
{
        const struct workload *wl = plan->target->workload;
        const char *asks = pod_asks_word(wl);
        if (wl->rival)
                words_of_other_autoscaler(wl->rival,
                                          plan_say(plan, "OtherAutoscaler", true, "VerticalPodAutoscaler")->message);
        if (asks)
                words_of_pod(wl, plan_say(plan, "PodLevel", true, asks)->message);
}

/* Whoever serves from Recommendations alone does not see the workload. */
static void in_place_condition(struct plan *plan)
{
        if (!plan->target->workload->in_place_only)
                return;
        struct plan_condition *c = plan_say(plan, "InPlaceOnly", true, "ByStrategy");
        snprintf(c->message, sizeof c->message, "%s", in_place_only);
}

static void opted_out_condition(struct plan *plan)
{
        if (!plan->target->workload->apply_never)
                return;
        struct plan_condition *c = plan_say(plan, "OptedOut", true, "ByAnnotation");
        snprintf(c->message, sizeof c->message, "%s: Never", ANNOTATION_APPLY);
}

/* What is quoted is of any length and in any script: a message that was cut within a character is none, and the server
 * would take nothing of the status. */
static void mend_messages(struct plan *plan)
{
        for (int i = 0; i < plan->conditions; i++)
                utf8_mend(plan->condition[i].message);
}

void conditions_say(struct plan *plan)
{
        ready_condition(plan);
        applied_condition(plan);
        denied_condition(plan);
        held_condition(plan);
        guard_says(plan);
        kill_condition(plan);
        canary_says(plan);
        resource_holders_conditions(plan);
        opted_out_condition(plan);
        in_place_condition(plan);
        resource_conditions(plan);
        mend_messages(plan);
}
