/* The explanation from a Recommendation alone: its published values, without the histogram. */
#include <string.h>

#include "base/mem.h"
#include "base/noun.h"
#include "explain_print.h"
#include "explain_private.h"

static void print_samples(const struct page *p, const json_t *status)
{
        /* the previous version called firstSample "since" */
        const char *first = json_object_get(status, "firstSample") ? "firstSample" : "since";
        AUTO(mem_free) char *since = page_text(status, first), *last = page_text(status, "lastSample");
        json_int_t samples = json_integer_value(json_object_get(status, "samples"));
        if (samples == 0 && *since)
                page_printf(p, "samples", "learning since %s: too little usage is known yet", since);
        else if (samples == 0)
                page_line(p, "samples", "no samples yet");
        else
                page_printf(p, "samples", "%s since %s, the newest of %s; confidence %lld %%",
                            NOUN_COUNT(samples, "sample"), since, last,
                            (long long)json_integer_value(json_object_get(status, "confidencePercent")));
}

static void explain_object_print_number(const struct page *p, const json_t *status, const json_t *container,
                                        enum resource r)
{
        const json_t *number = json_object_get(container, resource_name(r));
        AUTO(mem_free) char *model = page_quantity(number, "model", r), *lower = page_quantity(number, "lower", r);
        AUTO(mem_free) char *upper = page_quantity(number, "upper", r), *target = page_quantity(number, "target", r);
        AUTO(mem_free) char *current = page_quantity(number, "current", r);
        AUTO(mem_free) char *reason = page_text(number, "reason");
        print_samples(p, status);
        if (model && lower && upper)
                page_printf(p, "model", "%s, between %s and %s", model, lower, upper);
        else
                page_line(p, "model", model ? model : "none yet");
        if (target)
                page_printf(p, "target", "%s%s%s", target, *reason ? ": " : "", reason);
        if (current)
                page_printf(p, "current", "%s is requested now", current);
        page_limit(p, json_object_get(json_object_get(container, "limits"), resource_name(r)), r);
}

/* Whether a condition is shown: Applied always, the others if they are True. Ready is left out, because the state says
 * the same. */
static bool is_told(const char *type, const char *is, bool applied)
{
        bool names_it = strcmp(type, "Applied") == 0;
        return applied ? names_it : !names_it && strcmp(type, "Ready") != 0 && strcmp(is, "True") == 0;
}

static void print_conditions(const struct page *p, const json_t *status)
{
        const json_t *conditions = json_object_get(status, "conditions");
        const char *label = "conditions";
        size_t count = json_array_size(conditions);
        for (size_t i = 0; i < 2 * count;
             i++) { /* the first pass is for Applied, the second for the other conditions */
                const json_t *c = json_array_get(conditions, i % count);
                AUTO(mem_free) char *type = page_text(c, "type"), *is = page_text(c, "status");
                AUTO(mem_free) char *reason = page_text(c, "reason"), *message = page_text(c, "message");
                if (!is_told(type, is, i < count))
                        continue;
                page_printf(p, label, "%s is %s, %s%s%s", type, is, reason, *message ? ": " : "", message);
                label = "";
        }
}

void explain_print_object(FILE *to, const struct explain_data *e, const char *container, const char *resource,
                          const struct terminal *t)
{
        const struct page p = {to, t};
        const json_t *spec = json_object_get(e->recommendation, "spec");
        const json_t *status = json_object_get(e->recommendation, "status");
        const json_t *target = json_object_get(spec, "targetRef"), *profile = json_object_get(spec, "profileRef");
        const json_t *containers = json_object_get(status, "containers");
        AUTO(mem_free) char *kind = page_text(target, "kind"), *name = page_text(target, "name");
        AUTO(mem_free) char *ns = page_text(json_object_get(e->recommendation, "metadata"), "namespace");
        AUTO(mem_free) char *profile_kind = page_text(profile, "kind"), *profile_name = page_text(profile, "name");
        AUTO(mem_free) char *state = page_text(status, "state");
        fprintf(to, "%s %s in namespace %s, by %s %s: %s\n", kind, name, ns, profile_kind, profile_name, state);
        for (size_t i = 0; i < json_array_size(containers); i++) {
                const json_t *c = json_array_get(containers, i);
                AUTO(mem_free) char *of = page_text(c, "name");
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        const json_t *number = json_object_get(c, resource_name(r));
                        if (!number || (container && strcmp(of, container) != 0) ||
                            (resource && strcmp(resource, resource_name(r)) != 0))
                                continue;
                        page_head(&p, of, number, r);
                        explain_object_print_number(&p, status, c, r);
                }
        }
        fputc('\n', to);
        print_conditions(&p, status);
}
