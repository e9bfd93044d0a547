#include "explain_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/quantity.h"
#include "objects/json_writer.h"

char *factor_text(int thousandths, char out[static FACTOR_TEXT_MAX])
{
        int len = snprintf(out, FACTOR_TEXT_MAX, "%d.%03d", thousandths / 1000, thousandths % 1000);
        while (out[len - 1] == '0')
                out[--len] = '\0';
        if (out[len - 1] == '.')
                out[--len] = '\0';
        return out;
}

static void explain_text_say(char out[static WORDS_MAX], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void explain_text_say(char out[static WORDS_MAX], const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        vsnprintf(out, WORDS_MAX, fmt, args);
        va_end(args);
}

/* An amount as text, several at once in one sentence. */
struct amounts {
        char text[4][QUANTITY_TEXT_MAX];
        int used;
};

static const char *explain_text_print(struct amounts *a, enum resource r, struct amount value)
{
        char *out = a->text[a->used++];
        if (!value.set)
                return "none";
        if (r == MEMORY && value.value % (1 << 20) != 0) {
                snprintf(out, QUANTITY_TEXT_MAX, "%.1fMi", (double)value.value / (1 << 20));
                return out;
        }
        return amount_print(r, value.value, out);
}

static struct amount explain_text_bound(int64_t value)
{
        return (struct amount){value > 0, value};
}

/* --- what was learned --- */

static void say_samples(const struct explain_words *w, char *out)
{
        char since[WALL_TEXT_MAX], last[WALL_TEXT_MAX];
        const struct usage *u = w->facts->usage;
        if (!u || u->samples == 0) {
                explain_text_say(out, "nothing was learned yet");
                return;
        }
        explain_text_say(out, "%lld samples since %s, the newest of %s; confidence %d %%", (long long)u->samples,
                         wall_print((struct wall){u->first_ms}, since), wall_print((struct wall){u->newest_ms}, last),
                         w->confidence_percent);
}

/* "0.392 to 0.412 cores", "812.0 to 853.2 Mi" */
static void print_edges(enum resource r, int bucket, char out[static 96])
{
        double from = histogram_start(r, bucket), to = histogram_edge(r, bucket);
        if (r == CPU)
                snprintf(out, 96, "%.4g to %.4g cores", from, to);
        else
                snprintf(out, 96, "%.1f to %.1f Mi", from / (1 << 20), to / (1 << 20));
}

static void say_percentile(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char edges[96], percent[FACTOR_TEXT_MAX];
        enum resource r = w->facts->correct.resource;
        const struct histogram_place *p = &w->of->place;
        factor_text(w->facts->correct.policy->percentile * 100, percent);
        if (!w->of->learned) {
                explain_text_say(out, "no percentile: no weight is left in the histogram");
                return;
        }
        print_edges(r, p->bucket, edges);
        explain_text_say(out,
                         "%s %% of the weight lies in or below bucket %d (%s; %.1f %% below it, %.1f %% in it): its "
                         "upper edge, %s",
                         percent, p->bucket, edges, 100 * p->below / p->total, 100 * p->here / p->total,
                         explain_text_print(&a, r, s->value));
}

static void say_kill(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char at[WALL_TEXT_MAX];
        if (!s->value.set) {
                explain_text_say(out, "no kill for lack of memory is held");
                return;
        }
        explain_text_say(out, "a kill at %s asks for %s: %s", wall_print((struct wall){w->of->kill.at_ms}, at),
                         explain_text_print(&a, MEMORY, s->value),
                         s->spoke ? "more than the percentile, so it makes the model"
                         : (double)s->value.value > w->of->percentile
                                 ? "less than the week's peak, so it adds nothing"
                                 : "no more than the percentile, so it adds nothing");
}

static void say_week(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char at[WALL_TEXT_MAX];
        if (!s->value.set) {
                explain_text_say(out, "no sample of the last seven days or of today");
                return;
        }
        wall_print((struct wall){w->of->week_day * DAY_MS}, at);
        at[sizeof "2026-11-21" - 1] = '\0';
        explain_text_say(out, "the highest peak of a week, %s on %s: %s", explain_text_print(&a, MEMORY, s->value), at,
                         s->spoke ? "more than anything else asks for, so it makes the model"
                                  : "no more, so it adds nothing");
}

static void say_model(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        enum resource r = w->facts->correct.resource;
        if (s->value.set)
                explain_text_say(out, "the model is %s, rounded up to a whole %s", explain_text_print(&a, r, s->value),
                                 r == CPU ? "1m" : "1Mi");
        else
                explain_text_say(out, "there is no model");
}

/* --- margin --- */

static void say_multiplier(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char factor[FACTOR_TEXT_MAX];
        enum resource r = w->facts->correct.resource;
        factor_text(w->facts->correct.policy->multiplier, factor);
        if (s->value.set)
                explain_text_say(out, "%s x %s = %s",
                                 explain_text_print(&a, r, (struct amount){true, w->of->estimate.model}), factor,
                                 explain_text_print(&a, r, s->value));
        else
                explain_text_say(out, "no model to multiply by %s", factor);
}

static void say_rounding(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        enum resource r = w->facts->correct.resource;
        const char *step = explain_text_print(&a, r, (struct amount){true, w->facts->correct.policy->round_to});
        if (s->spoke)
                explain_text_say(out, "rounded up to a multiple of %s: %s", step, explain_text_print(&a, r, s->value));
        else
                explain_text_say(out, "a multiple of %s already", step);
}

/* --- rules --- */

static const char *why_unmanaged(enum reason reason)
{
        switch (reason) {
        case REASON_INIT:
                return "an init container runs to completion and is never lowered: the original stands";
        case REASON_CONTAINER_IGNORED:
                return "the profile ignores this container: the original stands";
        case REASON_MEMORY_OFF:
                return "the profile does not manage memory: the original stands";
        default:
                return "the profile does not manage CPU: the original stands";
        }
}

/* What a silent rule says; a speaking one where its words hold no number. */
static const struct {
        const char *silent, *spoke;
} rules[RULES] = {
        [RULE_STATIC] = {"the static coefficient does not count here", NULL},
        [RULE_MODEL] = {"the model does not count here", NULL},
        [RULE_LAST_GOOD] = {"no need of what was published before", NULL},
        [RULE_CLAMP] = {"within the profile's bounds", NULL},
        [RULE_ORIGINAL] = {"below the original", NULL},
        [RULE_UNDER_PROVISIONED] = {"usage wants no more than the original",
                                    "usage wants more than the original: condition UnderProvisioned"},
        [RULE_UNMANAGED] = {"the profile manages it", NULL},
        [RULE_RANGE] = {"no LimitRange asks for more", NULL},
        [RULE_NO_ORIGINAL] = {"there is an original to lower",
                              "no request, limit or default: there is nothing to lower"},
        [RULE_QOS] = {"the pod's QoS class stays as it is", NULL},
        [RULE_LIMIT] = {"not above a limit", NULL},
        [RULE_INJECTED] = {"the template has this container",
                           "only pods have this container: it is set as they are admitted"},
};

static void say_spoken_rule(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char factor[FACTOR_TEXT_MAX];
        const struct correct_facts *f = &w->facts->correct;
        const char *value = explain_text_print(&a, f->resource, s->value);
        switch (s->rule) {
        case RULE_STATIC:
                factor_text(f->policy->static_factor, factor);
                explain_text_say(out, "overcommit %s: original %s x %s = %s", w->overcommit,
                                 explain_text_print(&a, f->resource, f->original), factor, value);
                break;
        case RULE_MODEL:
                explain_text_say(out, "the model with its margin: %s", value);
                break;
        case RULE_LAST_GOOD:
                explain_text_say(out, "%s: %s stands, %s", state_name(f->state), value,
                                 f->last_good.set ? "which was published before" : "the original");
                break;
        case RULE_CLAMP:
                explain_text_say(out, "clamped to the profile's bounds (min %s, max %s): %s",
                                 explain_text_print(&a, f->resource, explain_text_bound(f->policy->min)),
                                 explain_text_print(&a, f->resource, explain_text_bound(f->policy->max)), value);
                break;
        case RULE_ORIGINAL:
                explain_text_say(out, "not below the original: %s stands", value);
                break;
        case RULE_UNMANAGED:
                explain_text_say(out, "%s", why_unmanaged(s->reason));
                break;
        case RULE_RANGE:
                explain_text_say(
                        out,
                        f->pod_refused ? "the namespace's LimitRange lets no pod through that asks for less in all: %s"
                                       : "the namespace's LimitRange lets nothing less through: %s",
                        value);
                break;
        case RULE_QOS:
                explain_text_say(out,
                                 f->keep_guaranteed ? "the pod is Guaranteed and is kept so: %s"
                                                    : "takes the pod out of Guaranteed: condition QoSChanges; %s",
                                 value);
                break;
        case RULE_LIMIT:
                explain_text_say(out, "never above the limit: %s", value);
                break;
        default:
                explain_text_say(out, "%s", rules[s->rule].spoke);
                break;
        }
}

/* --- gates --- */

static const struct {
        const char *open, *holds;
} gates[GATES] = {
        [GATE_RULE] = {"there is a change to make", "there is nothing to change"},
        [GATE_STATE] = {"enough was learned, and lately", "not enough was learned, or not lately"},
        [GATE_MODE] = {"the profile applies what it recommends", "the profile only recommends"},
        [GATE_PAUSE] = {"neither paused nor held", "the profile is paused, or a person holds it"},
        [GATE_OPT_OUT] = {"nobody opted out", "opted out by halflife.dev/apply: Never, or by the setting apply: never"},
        [GATE_AUTOSCALER] = {"no other autoscaler sets its requests",
                             "a VerticalPodAutoscaler that is not Off sets its requests"},
        [GATE_HPA] = {"no autoscaler scales by this resource's utilization",
                      "an autoscaler scales by this resource's utilization"},
        [GATE_GUARD] = {"no change was taken back", "a change was taken back"},
        [GATE_FUSE] = {"the fuse is whole", "too many changes were taken back within an hour: the fuse is blown"},
        [GATE_CONTEST] = {"nobody else sets the request", "somebody else sets the request"},
        [GATE_MANAGER] = {"no other controller writes the template", "another controller writes the template"},
        [GATE_KIND] = {"what is asked for can be changed",
                       "the kind's template cannot be changed, or its pods ask as a whole (spec.resources)"},
        [GATE_ORPHAN] = {"a profile selects it", "it carries our values but has no profile any more"},
        [GATE_MIN_CHANGE] = {"far enough from what stands", "too close to what stands"},
        [GATE_COOLDOWN] = {"the last change is long enough ago", "too soon after the last change"},
        [GATE_CANARY] = {"no canary is waited for", "others of the profile are tried first (apply.canary)"},
        [GATE_WINDOW] = {"a window is open, or none is wanted", "waits for a window"},
        [GATE_BUDGET] = {"the budget has room", "waits for the budget"},
        [GATE_QUOTA] = {"no ResourceQuota refuses a pod of the rollout",
                        "a ResourceQuota would refuse pods of the rollout"},
        [GATE_ROLLOUT] =
                {"nothing blocks a rollout",
                 "the workload is paused, rolling out, stuck, OnDelete, partitioned, Recreate or has too few replicas"},
};

static void say_gate(const struct explain_words *w, const struct explain_step *s, char *out)
{
        bool waits = s->kind == EXPLAIN_GATE && s->gate == GATE_MODE && w->mode == APPLY_ON_DEPLOY;
        if (waits && s->reached && !s->spoke) {
                explain_text_say(out, "OnDeploy: what is recommended waits for the next deploy");
                return;
        }
        explain_text_say(out, "%s",
                         !s->reached ? "not asked: a gate before it holds"
                         : s->spoke  ? gates[s->gate].holds
                                     : gates[s->gate].open);
}

char *explain_words(const struct explain_words *w, const struct explain_step *s, char out[static WORDS_MAX])
{
        switch (s->kind) {
        case EXPLAIN_SAMPLES:
                say_samples(w, out);
                break;
        case EXPLAIN_PERCENTILE:
                say_percentile(w, s, out);
                break;
        case EXPLAIN_KILL:
                say_kill(w, s, out);
                break;
        case EXPLAIN_WEEK:
                say_week(w, s, out);
                break;
        case EXPLAIN_MODEL:
                say_model(w, s, out);
                break;
        case EXPLAIN_MULTIPLIER:
                say_multiplier(w, s, out);
                break;
        case EXPLAIN_ROUNDING:
                say_rounding(w, s, out);
                break;
        case EXPLAIN_RULE:
                if (s->spoke)
                        say_spoken_rule(w, s, out);
                else
                        explain_text_say(out, "%s", rules[s->rule].silent);
                break;
        default:
                say_gate(w, s, out);
                break;
        }
        return out;
}
