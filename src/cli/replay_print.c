#include <stdio.h>

#include "base/yaml.h"
#include "replay.h"

static const int percentiles[] = {500, 900, 950, 990};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };
static const char *const percentile_name[PERCENTILES] = {"p50", "p90", "p95", "p99"};
/* Hours are core-hours and GiB-hours; a model is told in cores and bytes. */
static const double hours_unit[RESOURCES] = {[CPU] = 1, [MEMORY] = 1024.0 * 1024 * 1024};
static const double model_unit[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};

/* What is told of one entity's resource. */
struct final {
        bool known;
        double percentile[PERCENTILES], model;
};

static struct final final_of(const struct replay *r, const struct replay_entity *e, enum resource q)
{
        struct final f = {0};
        struct recommendation learned;
        replay_estimate(r, e, 0, &learned);
        f.known = learned.of[q].known;
        f.model = (double)learned.of[q].model / model_unit[q];
        for (int i = 0; f.known && i < PERCENTILES; i++)
                f.known = usage_percentile(&e->track[0].usage, q, percentiles[i], &f.percentile[i]) == 0;
        return f;
}

/* --- JSON -------------------------------------------------------------------------------------------------------- */

static void print_text(const char *s)
{
        AUTO(json_decref) json_t *value = json_string(s);
        json_dumpf(value, stdout, JSON_ENCODE_ANY);
}

static void print_score(enum resource q, const struct score *s)
{
        printf("\"%s\":{\"slack\":%.17g,\"overrun\":%.17g,\"changes_per_week\":%.17g,\"requested_hours\":%.17g,"
               "\"used_hours\":%.17g}",
               resource_name(q), score_slack(s), score_overrun(s), score_changes_per_week(s),
               s->requested_hours / hours_unit[q], s->used_hours / hours_unit[q]);
}

static void print_policy(const char *name, const struct score score[static RESOURCES])
{
        fputs("{\"name\":", stdout);
        print_text(name);
        for (enum resource q = CPU; q < RESOURCES; q++) {
                putchar(',');
                print_score(q, &score[q]);
        }
        putchar('}');
}

static void print_final(const struct replay *r, const struct replay_entity *e, enum resource q)
{
        struct final f = final_of(r, e, q);
        printf(",\"%s\":{\"samples\":%lld", resource_name(q), (long long)e->samples[q]);
        for (int i = 0; i < PERCENTILES; i++)
                f.known ? printf(",\"%s\":%.17g", percentile_name[i], f.percentile[i])
                        : printf(",\"%s\":null", percentile_name[i]);
        f.known ? printf(",\"model\":%.17g}", f.model) : printf(",\"model\":null}");
}

static void print_entity(const struct replay *r, const struct replay_entity *e)
{
        fputs("{\"entity\":", stdout);
        print_text(e->name);
        for (enum resource q = CPU; q < RESOURCES; q++)
                print_final(r, e, q);
        putchar('}');
}

void replay_print_json(const struct replay *r, bool entities)
{
        fputs("{\"policies\":[", stdout);
        for (int i = 0; i < r->policies; i++) {
                print_policy(r->policy[i].name, r->policy[i].score);
                putchar(',');
        }
        print_policy("peak", r->peak);
        printf("],\"refused\":%lld", (long long)r->refused);
        if (entities) {
                fputs(",\"entities\":[", stdout);
                for (size_t i = 0, n = 0; i < r->entities; i++)
                        if (r->entity[i]->rows > 0) {
                                fputs(n++ ? ",\n" : "\n", stdout);
                                print_entity(r, r->entity[i]);
                        }
                fputs("\n]", stdout);
        }
        fputs("}\n", stdout);
}

/* --- table ------------------------------------------------------------------------------------------------------- */

static void print_score_row(const char *name, enum resource q, const struct score *s)
{
        printf("%-24s %-8s %7.2f%% %8.3f%% %12.2f %16.2f %16.2f %s\n", name, resource_name(q), 100 * score_slack(s),
               100 * score_overrun(s), score_changes_per_week(s), s->requested_hours / hours_unit[q],
               s->used_hours / hours_unit[q], q == CPU ? "core-h" : "GiB-h");
}

static void print_final_row(const struct replay *r, const struct replay_entity *e, enum resource q)
{
        struct final f = final_of(r, e, q);
        printf("%-32s %-8s %9lld", e->name, resource_name(q), (long long)e->samples[q]);
        for (int i = 0; i < PERCENTILES; i++)
                f.known ? printf(" %13.6g", f.percentile[i]) : printf(" %13s", "-");
        f.known ? printf(" %13.6g\n", f.model) : printf(" %13s\n", "-");
}

void replay_print_table(const struct replay *r, bool entities)
{
        printf("%-24s %-8s %8s %9s %12s %16s %16s\n", "POLICY", "RESOURCE", "SLACK", "OVERRUN", "CHANGES/WEEK",
               "REQUESTED", "USED");
        for (enum resource q = CPU; q < RESOURCES; q++) {
                for (int i = 0; i < r->policies; i++)
                        print_score_row(r->policy[i].name, q, &r->policy[i].score[q]);
                print_score_row("peak", q, &r->peak[q]);
        }
        printf("%lld rows of %zu entities, %lld refused\n", (long long)r->rows, r->entities, (long long)r->refused);
        if (!entities)
                return;
        printf("\n%-32s %-8s %9s %13s %13s %13s %13s %13s\n", "ENTITY", "RESOURCE", "SAMPLES", "P50", "P90", "P95",
               "P99", "MODEL");
        for (size_t i = 0; i < r->entities; i++)
                for (enum resource q = CPU; q < RESOURCES && r->entity[i]->rows > 0; q++)
                        print_final_row(r, r->entity[i], q);
}
