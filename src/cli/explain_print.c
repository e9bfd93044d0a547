#include "explain_print.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "explain_private.h"
#include "plot.h"

/* --- the steps --- */

static bool step_is(const json_t *step, const char *kind)
{
        const char *is = json_string_value(json_object_get(step, "step"));
        return is && strcmp(is, kind) == 0;
}

static const json_t *find_step(const json_t *number, const char *kind)
{
        const json_t *steps = json_object_get(number, "steps");
        for (size_t i = 0; i < json_array_size(steps); i++)
                if (step_is(json_array_get(steps, i), kind))
                        return json_array_get(steps, i);
        return NULL;
}

static bool explain_spoke(const json_t *step)
{
        return json_is_true(json_object_get(step, "spoke"));
}

/* --- the picture --- */

static void add_mark(struct drawing *d, double value, enum paint paint, const char *name, const char *quantity)
{
        if (value < 0 || !quantity || d->marks == DRAW_MARKS)
                return;
        struct mark *m = &d->mark[d->marks++];
        *m = (struct mark){.value = value, .paint = paint};
        snprintf(m->label, sizeof m->label, "%s %s", name, quantity);
}

static void mark_number(struct drawing *d, const json_t *number, const char *key, enum paint paint, const char *name)
{
        AUTO(mem_free) char *quantity = page_quantity(number, key, d->resource);
        add_mark(d, page_value(number, key, d->resource), paint, name, quantity);
}

static void add_marks(struct drawing *d, const json_t *number)
{
        const json_t *percentile = find_step(number, "percentile"), *kill = find_step(number, "kill");
        const json_t *week = find_step(number, "weeklyPeak");
        const json_t *what_if = json_object_get(number, "whatIf");
        double original = page_value(number, "original", d->resource);
        double target = page_value(number, "target", d->resource);
        char name[16];
        snprintf(name, sizeof name, "p%d", (int)json_integer_value(json_object_get(percentile, "percentile")));
        mark_number(d, percentile, "value", PAINT_BAR, name);
        if (explain_spoke(kill))
                mark_number(d, kill, "value", PAINT_ABOVE, "kill");
        if (explain_spoke(week))
                mark_number(d, week, "value", PAINT_ABOVE, "week");
        if (target != original)
                mark_number(d, number, "target", PAINT_TARGET, "target");
        if (page_value(what_if, "target", d->resource) != target)
                mark_number(d, what_if, "target", PAINT_WHAT_IF, "what if");
        mark_number(d, number, "original", PAINT_ORIGINAL, target == original ? "original = target" : "original");
}

/* Any program may have answered, so an element that is not a bucket is skipped. */
static void add_bars(struct drawing *d, const json_t *histogram)
{
        const json_t *buckets = json_object_get(histogram, "buckets");
        for (size_t i = 0; i < json_array_size(buckets); i++) {
                const json_t *bucket = json_array_get(buckets, i);
                json_int_t n = json_integer_value(json_object_get(bucket, "index"));
                double share = json_number_value(json_object_get(bucket, "share"));
                if (n >= 0 && n < HISTOGRAM_SUM_BUCKETS && share > 0 && share <= 1)
                        d->share[n] = share;
        }
}

static void explain_draw(const struct page *p, const json_t *number, const json_t *histogram, enum resource r)
{
        struct drawing d = {.resource = r};
        double within = json_number_value(json_object_get(find_step(number, "percentile"), "to"));
        d.within = isfinite(within) && within > 0 ? within : 0;
        add_bars(&d, histogram);
        add_marks(&d, number);
        draw_histogram(p->to, &d, p->t);
        if (json_array_size(json_object_get(histogram, "buckets")) > 0)
                fputc('\n', p->to);
}

/* --- the words --- */

static const char *word_of(const json_t *step, const char *key)
{
        const char *word = json_string_value(json_object_get(step, key));
        return word ? word : "";
}

static void print_step(const struct page *p, const char *label, const json_t *step)
{
        page_printf(p, label, "%s", word_of(step, "words"));
}

/* Print the steps of the arithmetic, from samples to the value that the rules get. */
static void print_arithmetic(const struct page *p, const json_t *steps, size_t from)
{
        static const char *const made[] = {"samples", "percentile", "kill",    "weeklyPeak",
                                           "model",   "multiplier", "rounding"};
        for (size_t i = 0; i < json_array_size(steps); i++)
                for (size_t k = from; k < sizeof made / sizeof made[0]; k++)
                        if (step_is(json_array_get(steps, i), made[k]))
                                print_step(p, made[k], json_array_get(steps, i));
}

/* Print the rules: those that changed the value with their words, the others by name. */
static void print_rules(const struct page *p, const json_t *steps)
{
        struct buf silent __attribute__((cleanup(buf_release_auto)));
        const char *label = "rules";
        buf_init(&silent, 4 << 10);
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                if (!step_is(step, "rule"))
                        continue;
                if (!explain_spoke(step)) {
                        buf_printf(&silent, "%s%s", silent.len ? ", " : "", word_of(step, "rule"));
                        continue;
                }
                page_printf(p, label, "%s: %s", word_of(step, "rule"), word_of(step, "words"));
                label = "";
        }
        if (silent.len)
                page_printf(p, label, "silent: %s", silent.data);
}

static const json_t *explain_holding(const json_t *steps, const char *kind)
{
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                if (step_is(step, kind) && strcmp(word_of(step, "verdict"), "Holds") == 0)
                        return step;
        }
        return NULL;
}

/* A text that says when the target value will be applied. For mode OnDeploy, these are the words of the gate Mode. */
static const char *when_applied(const json_t *steps)
{
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                if (step_is(step, "gate") && strcmp(word_of(step, "gate"), "Mode") == 0 &&
                    strncmp(word_of(step, "words"), "OnDeploy", 8) == 0)
                        return word_of(step, "words");
        }
        return "all gates are open: it is applied as its turn comes";
}

static void print_gates(const struct page *p, const json_t *number, enum resource r)
{
        const json_t *steps = json_object_get(number, "steps");
        const json_t *held = explain_holding(steps, "gate"), *deploy_held = explain_holding(steps, "deployGate");
        AUTO(mem_free) char *deploy = page_quantity(number, "deploy", r);
        if (held && strcmp(word_of(held, "gate"), "Rule") == 0)
                page_printf(p, "gates", "%s", word_of(held, "words")); /* without a change to make, no gate is asked */
        else if (held)
                page_printf(p, "gates", "%s holds: %s", word_of(held, "gate"), word_of(held, "words"));
        else
                page_printf(p, "gates", "%s", when_applied(steps));
        if (deploy && deploy_held)
                page_printf(p, "at a deploy", "%s, because %s holds: %s", deploy, word_of(deploy_held, "gate"),
                            word_of(deploy_held, "words"));
        else if (deploy)
                page_printf(p, "at a deploy", "%s (%s)", deploy, word_of(number, "deployReason"));
}

static void print_what_if(const struct page *p, const json_t *number, enum resource r)
{
        const json_t *w = json_object_get(number, "whatIf"), *notes = json_object_get(w, "notes");
        AUTO(mem_free) char *model = page_quantity(w, "model", r), *target = page_quantity(w, "target", r);
        if (!w)
                return;
        fputc('\n', p->to);
        page_printf(p, "what if", "model %s, target %s%s%s", model ? model : "none", target ? target : "none",
                    *word_of(w, "reason") ? ": " : "", word_of(w, "reason"));
        print_arithmetic(p, json_object_get(w, "steps"), 1);
        for (size_t i = 0; i < json_array_size(notes); i++)
                page_printf(p, i ? "" : "but", "%s",
                            json_string_value(json_array_get(notes, i)) ? json_string_value(json_array_get(notes, i))
                                                                        : "");
}

static void explain_print_number(const struct page *p, const struct explain_data *e, const json_t *container,
                                 enum resource r)
{
        const json_t *number = json_object_get(container, resource_name(r)), *steps = json_object_get(number, "steps");
        AUTO(mem_free) char *name = page_text(container, "name");
        AUTO(mem_free) char *key = mem_printf("%s/%s", word_of(container, "name"), resource_name(r));
        if (!number)
                return;
        page_head(p, name, number, r);
        explain_draw(p, number, json_object_get(e->histograms, key), r);
        print_arithmetic(p, steps, 0);
        if (json_object_get(number, "starts"))
                print_step(p, "starts", json_object_get(number, "starts"));
        if (!e->database_source) {
                print_rules(p, steps);
                print_gates(p, number, r);
        }
        page_limit(p, json_object_get(number, "limit"), r);
        print_what_if(p, number, r);
}

static void print_title(const struct page *p, const json_t *explain, bool database_source)
{
        const json_t *meta = json_object_get(explain, "metadata"), *profile = json_object_get(explain, "profile");
        AUTO(mem_free) char *kind = page_text(meta, "kind"), *name = page_text(meta, "name");
        AUTO(mem_free) char *ns = page_text(meta, "namespace"), *state = page_text(explain, "state");
        AUTO(mem_free) char *profile_kind = page_text(profile, "kind"), *profile_name = page_text(profile, "name");
        fprintf(p->to, "%s %s in namespace %s", kind, name, ns);
        if (profile)
                fprintf(p->to, ", by %s %s", profile_kind, profile_name);
        if (!database_source)
                fprintf(p->to, ": %s", state);
        fputc('\n', p->to);
}

void explain_print(FILE *to, const struct explain_data *e, const struct terminal *t)
{
        const struct page p = {to, t};
        const json_t *containers = json_object_get(e->explain, "containers");
        print_title(&p, e->explain, e->database_source);
        if (json_object_get(e->explain, "note"))
                page_printf(&p, "note", "%s", word_of(e->explain, "note"));
        for (size_t i = 0; i < json_array_size(containers); i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        explain_print_number(&p, e, json_array_get(containers, i), r);
}
