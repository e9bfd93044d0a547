/*
 * GET …/histogram: the histogram of one container and resource, from which its model is computed.
 */
#include "core/quantity.h"
#include "handlers.h"

static const int percentiles[] = {500, 900, 950, 990, 1000};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };

const struct usage *learned_of(const struct ask *k, const char *container)
{
        for (size_t i = 0; i < k->copies; i++)
                if (strcmp(k->learned[i].container, container) == 0)
                        return &k->learned[i].usage;
        return NULL;
}

int learned_asked(struct ask *k)
{
        if (!k->target) {
                answer_not_known(k);
                return ERR_INVALID;
        }
        if (!k->learned) {
                answer_problem(k->ret, PROBLEM_UNAVAILABLE,
                               "only the halflife that learns has histograms, and it cannot be asked now: try again "
                               "later, or ask the learning halflife directly");
                return ERR_INVALID;
        }
        return 0;
}

int resource_asked(struct ask *k, enum resource *ret)
{
        struct text t = k->query->value[PARAM_RESOURCE];
        for (*ret = CPU; *ret < RESOURCES; (*ret)++)
                if (text_is(t, resource_name(*ret)))
                        return 0;
        return answer_bad_parameter(k->ret, "resource", "resource is neither cpu nor memory");
}

static void write_buckets(struct writer *w, const struct histogram *h, double total)
{
        enum resource r = (enum resource)h->resource;
        writer_open(w, "buckets", '[');
        for (int i = 0; i < h->count; i++) {
                if (h->w[i] <= 0)
                        continue;
                writer_open(w, NULL, '{');
                writer_int(w, "index", h->first + i);
                writer_double(w, "from", histogram_start(r, h->first + i));
                writer_double(w, "to", histogram_edge_of(h, h->first + i));
                writer_double(w, "weight", h->w[i]);
                writer_double(w, "share", h->w[i] / total);
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

/* Convert cores to millicores, or keep bytes, as a whole number rounded up. */
static int64_t histogram_units_up(enum resource r, double value)
{
        double units = r == CPU ? value * 1000 : value;
        int64_t whole = (int64_t)units;
        return (double)whole < units ? whole + 1 : whole;
}

static void write_percentiles(struct writer *w, const struct usage *u, enum resource r)
{
        writer_open(w, "percentiles", '[');
        for (int i = 0; i < PERCENTILES; i++) {
                double value;
                if (usage_percentile(u, r, percentiles[i], &value) < 0)
                        continue;
                writer_open(w, NULL, '{');
                writer_int(w, "percentile", percentiles[i] / 10);
                writer_double(w, "value", value);
                writer_amount(w, "quantity", r, (struct amount){true, histogram_units_up(r, value)});
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

static double starts_total(const float *weight, int count)
{
        double total = 0;
        for (int i = 0; i < count; i++)
                total += (double)weight[i];
        return total;
}

static void write_start_buckets(struct writer *w, enum resource r, const float *weight)
{
        double total = starts_total(weight, START_BUCKETS);
        writer_open(w, "buckets", '[');
        for (int i = 0; i < START_BUCKETS; i++) {
                if (weight[i] <= 0)
                        continue;
                writer_open(w, NULL, '{');
                writer_double(w, "from", histogram_start(r, i * START_FINE));
                writer_double(w, "to", histogram_edge(r, i * START_FINE + START_FINE - 1));
                writer_double(w, "weight", (double)weight[i]);
                writer_double(w, "share", (double)weight[i] / total);
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

static void write_start_ages(struct writer *w, const float *above)
{
        char within[DURATION_TEXT_MAX];
        double total = starts_total(above, START_AGES);
        writer_open(w, "aboveTarget", '[');
        for (int i = 0; i < START_AGES; i++) {
                if (above[i] <= 0)
                        continue;
                writer_open(w, NULL, '{');
                writer_text(w, "within", text_of(duration_print(start_age_edge(i), within)));
                writer_double(w, "weight", (double)above[i]);
                writer_double(w, "share", (double)above[i] / total);
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

static void histogram_write_starts(struct writer *w, const struct usage *u, enum resource r)
{
        if (!u->starts || u->starts->of[r].at_ms == 0)
                return;
        writer_open(w, "starts", '{');
        writer_time(w, "lastSample", u->starts->of[r].at_ms);
        write_start_buckets(w, r, u->starts->of[r].weight);
        write_start_ages(w, u->starts->of[r].above);
        writer_close(w, '}');
}

static void histogram_write_learned(struct writer *w, const struct usage *u, enum resource r)
{
        const struct histogram *h = &u->of[r];
        char half_life[DURATION_TEXT_MAX];
        double total = histogram_total(h);
        writer_text(w, "halfLife", text_of(duration_print(h->half_life_ms, half_life)));
        writer_time(w, "reference", h->ref_ms);
        writer_double(w, "totalWeight", total);
        writer_int(w, "samples", u->samples);
        write_first_sample(w, u->first_ms);
        writer_time(w, "lastSample", u->newest_ms);
        write_buckets(w, h, total);
        write_percentiles(w, u, r);
        if (r == MEMORY && u->peak > 0) {
                writer_open(w, "openPeak", '{');
                writer_amount(w, "quantity", r, (struct amount){true, histogram_units_up(r, u->peak)});
                writer_time(w, "time", u->peak_at_ms);
                writer_close(w, '}');
        }
        histogram_write_starts(w, u, r);
}

static void write_nothing(struct writer *w)
{
        writer_double(w, "totalWeight", 0);
        writer_int(w, "samples", 0);
        writer_open(w, "buckets", '[');
        writer_close(w, ']');
        writer_open(w, "percentiles", '[');
        writer_close(w, ']');
}

void answer_histogram(struct ask *k)
{
        enum resource r = CPU;
        if (learned_asked(k) < 0)
                return;
        if (!query_has(k->query, PARAM_RESOURCE)) {
                answer_bad_parameter(k->ret, "resource", "resource is missing: add resource=cpu or resource=memory");
                return;
        }
        int at = resource_asked(k, &r) < 0 ? -1 : container_asked(k);
        if (at < 0)
                return;
        const struct status_container *c = &k->target->container[at];
        const struct usage *u = learned_of(k, c->name);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        write_metadata(&w, k);
        writer_text(&w, "container", text_of(c->name));
        writer_text(&w, "resource", text_of(resource_name(r)));
        writer_text(&w, "unit", r == CPU ? TEXT("cores") : TEXT("bytes"));
        writer_amount(&w, "original", r, amount_of_status(c->of[r].original));
        writer_amount(&w, "model", r, amount_of_status(c->of[r].model));
        writer_amount(&w, "target", r, amount_of_status(c->of[r].target));
        if (u)
                histogram_write_learned(&w, u, r);
        else
                write_nothing(&w);
        writer_close(&w, '}');
}
