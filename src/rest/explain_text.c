#include "explain_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/noun.h"
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

/* Room for the texts of up to four amounts in one sentence. */
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
        explain_text_say(out, "%s since %s, the newest of %s; confidence %d %%", NOUN_COUNT(u->samples, "sample"),
                         wall_print((struct wall){u->first_ms}, since), wall_print((struct wall){u->newest_ms}, last),
                         w->confidence_percent);
}

/* Print the bounds of a histogram's bucket, such as "0.392 to 0.412 cores" or "812.0 to 853.2 Mi". */
static void print_edges(enum resource r, const struct histogram_place *p, char out[static 96])
{
        double from = histogram_start(r, p->bucket), to = p->value;
        if (p->last && r == CPU)
                snprintf(out, 96, "above %.4g cores", from);
        else if (p->last)
                snprintf(out, 96, "above %.1f Mi", from / (1 << 20));
        else if (r == CPU)
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
        print_edges(r, p, edges);
        explain_text_say(out,
                         "%s %% of the weight lies in or below bucket %d (%s; %.1f %% below it, %.1f %% in it): %s, %s",
                         percent, p->bucket, edges, 100 * p->below / p->total, 100 * p->here / p->total,
                         p->last ? "the last bucket, so more than its lower edge" : "its upper edge",
                         explain_text_print(&a, r, s->value));
}

static void say_kill(const struct explain_words *w, const struct explain_step *s, char *out)
{
        struct amounts a = {0};
        char at[WALL_TEXT_MAX];
        if (!s->value.set) {
                explain_text_say(out, "no out-of-memory kill is remembered");
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
                explain_text_say(out, "no sample from today or the seven days before");
                return;
        }
        wall_print((struct wall){w->of->week_day * DAY_MS}, at);
        at[sizeof "2026-11-21" - 1] = '\0';
        explain_text_say(out, "the highest peak of a week, %s on %s: %s", explain_text_print(&a, MEMORY, s->value), at,
                         s->spoke ? "more than anything else asks for, so it makes the model"
                                  : "no more than the percentile or a kill asks for, so it adds nothing");
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

/* For each rule, the sentence where the rule changed nothing, and the one where it changed the target, if that needs no
 * number. */
static const struct {
        const char *silent, *spoke;
} rules[RULES] = {
        [RULE_STATIC] = {"no static target is used (apply.overcommit)", NULL},
        [RULE_MODEL] = {"the model does not decide the target", NULL},
        [RULE_LAST_GOOD] = {"the target published last is not needed", NULL},
        [RULE_CLAMP] = {"the target is within the profile's bounds", NULL},
        [RULE_ORIGINAL] = {"the target is below the original", NULL},
        [RULE_UNDER_PROVISIONED] = {"usage needs no more than the original",
                                    "usage needs more than the original: condition UnderProvisioned"},
        [RULE_UNMANAGED] = {"the profile manages this request", NULL},
        [RULE_RANGE] = {"no LimitRange demands more", NULL},
        [RULE_HEAP] = {"the runtime's heap does not begin larger", NULL},
        [RULE_NO_ORIGINAL] = {"there is an original to lower",
                              "no request, limit or default: there is nothing to lower"},
        [RULE_QOS] = {"the pod's QoS class stays the same", NULL},
        [RULE_LIMIT] = {"the target is not above the limit", NULL},
        [RULE_INJECTED] = {"the template has this container",
                           "only pods have this container, not the template: its requests are set at admission"},
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
                explain_text_say(out,
                                 s->reason == REASON_EARLY
                                         ? "minHistory is not over; the model with a margin that falls "
                                           "until then (apply.early): %s"
                                 : f->estimate.more ? "usage may be above the model, so the original stands: %s"
                                                    : "the model with its margin: %s",
                                 value);
                break;
        case RULE_LAST_GOOD:
                explain_text_say(out, "%s: %s stands, %s", state_name(f->state), value,
                                 f->last_good.set ? "the target published last" : "the original");
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
                explain_text_say(out,
                                 f->pod_refused
                                         ? "the namespace's LimitRange refuses pods that request less in total: %s"
                                         : "the namespace's LimitRange refuses a lower request: %s",
                                 value);
                break;
        case RULE_HEAP:
                explain_text_say(out, "the heap that the container's runtime begins with: %s", value);
                break;
        case RULE_QOS:
                explain_text_say(out,
                                 f->keep_guaranteed
                                         ? "the pod keeps its QoS class Guaranteed: %s"
                                         : "the pod loses its QoS class Guaranteed (condition QoSChanges): %s",
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
#define GATE(id, name, rule, reason, direction, open, holds) [GATE_##id] = {open, holds},
#include "core/gates.def"
#undef GATE
};

static void say_gate(const struct explain_words *w, const struct explain_step *s, char *out)
{
        bool waits = s->kind == EXPLAIN_GATE && s->gate == GATE_MODE && w->mode == APPLY_ON_DEPLOY;
        if (waits && s->reached && !s->spoke) {
                explain_text_say(out, "OnDeploy: the target waits for the next deploy");
                return;
        }
        explain_text_say(out, "%s",
                         !s->reached ? "not asked: a gate before it holds"
                         : s->spoke  ? gates[s->gate].holds
                                     : gates[s->gate].open);
}

/* --- starts --- */

bool explain_starts_of(const struct explain_facts *f, struct amount target, struct explain_starts *ret)
{
        enum resource r = f->correct.resource;
        const struct usage_starts *starts = f->usage ? f->usage->starts : NULL;
        double need;
        *ret = (struct explain_starts){.ignore_ms = f->correct.policy->ignore_first_ms, .target = target};
        ret->known = starts && usage_starts_need(starts, r, f->correct.policy->percentile, &need);
        if (ret->known) {
                double units = r == CPU ? need * 1000 : need;
                ret->need = (struct amount){true, (int64_t)units + ((double)(int64_t)units < units)};
                ret->last_ms = usage_starts_last_ms(starts, r);
                ret->at_ms = starts->of[r].at_ms;
        }
        return ret->known || ret->ignore_ms > 0;
}

/* Print that samples of a container's first minutes do not count: "; the target does not count them (ignoreFirst
 * 5m)". */
static void say_not_counted(const struct explain_starts *s, char out[static 96])
{
        char first[DURATION_TEXT_MAX];
        if (s->ignore_ms > 0)
                snprintf(out, 96, "; the target does not count them (ignoreFirst %s)",
                         duration_print(s->ignore_ms, first));
        else
                snprintf(out, 96, "; the target does not count them");
}

char *explain_starts_words(const struct explain_starts *s, enum resource r, char out[static WORDS_MAX])
{
        struct amounts a = {0};
        char duration[DURATION_TEXT_MAX], rest[96];
        say_not_counted(s, rest);
        if (!s->known)
                explain_text_say(out, "no start was seen yet; samples of a container's first %s will not count",
                                 duration_print(s->ignore_ms, duration));
        else if (s->target.set && s->need.value <= s->target.value)
                explain_text_say(out, "starts need %s, no more than the target%s", explain_text_print(&a, r, s->need),
                                 rest);
        else if (s->last_ms > 0)
                explain_text_say(out, "starts need %s for %s%s", explain_text_print(&a, r, s->need),
                                 duration_print(s->last_ms, duration), rest);
        else
                explain_text_say(out, "starts need %s, for how long is not known yet%s",
                                 explain_text_print(&a, r, s->need), rest);
        return out;
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
