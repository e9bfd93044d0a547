#include <stdio.h>

#include "base/noun.h"
#include "base/yaml.h"
#include "replay/replay.h"
#include "table.h"

static const int percentiles[] = {500, 900, 950, 990};
enum { PERCENTILES = sizeof percentiles / sizeof percentiles[0] };
static const char *const percentile_name[PERCENTILES] = {"p50", "p90", "p95", "p99"};
/* The unit of an hour of each resource: core-hours and GiB-hours. Models are printed in cores and bytes. */
static const double hours_unit[RESOURCES] = {[CPU] = 1, [MEMORY] = 1024.0 * 1024 * 1024};
static const double model_unit[RESOURCES] = {[CPU] = 1000, [MEMORY] = 1};

/* The figures printed for one resource of one entity. */
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

/* --- JSON --- */

static void print_text(const char *s)
{
        AUTO(json_decref) json_t *value = json_string(s);
        json_dumpf(value, stdout, JSON_ENCODE_ANY);
}

static void print_score(const char *name, enum resource q, const struct score *s)
{
        printf("\"%s\":{\"rows\":%lld,\"slack\":%.17g,\"overrun\":%.17g,\"changes_per_week\":%.17g,"
               "\"requested_hours\":%.17g,\"used_hours\":%.17g}",
               name, (long long)s->rows, score_slack(s), score_overrun(s), score_changes_per_week(s),
               s->requested_hours / hours_unit[q], s->used_hours / hours_unit[q]);
}

static void print_way(const struct replay_scores *s, enum replay_way way)
{
        for (enum resource q = CPU; q < RESOURCES; q++) {
                putchar(',');
                print_score(resource_name(q), q, &s->of[way][q]);
        }
}

static void print_policy(const struct replay *r, const char *name, const struct replay_scores *s)
{
        fputs("{\"name\":", stdout);
        print_text(name);
        print_way(s, REPLAY_AS_SET);
        if (r->raise.enabled) {
                fputs(",\"raised\":{\"after_s\":", stdout);
                printf("%lld", (long long)(r->raise.after_ms / SECOND_MS));
                print_way(s, REPLAY_RAISED);
                putchar('}');
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

static void print_entities(const struct replay *r)
{
        fputs(",\"entities\":[", stdout);
        for (size_t i = 0, n = 0; i < r->entities; i++)
                if (r->entity[i]->rows > 0) {
                        fputs(n++ ? ",\n" : "\n", stdout);
                        print_entity(r, r->entity[i]);
                }
        fputs("\n]", stdout);
}

void replay_print_json(const struct replay *r, const char *trace, bool entities, const json_t *nodes)
{
        putchar('{');
        if (trace) {
                fputs("\"trace\":", stdout);
                print_text(trace);
                putchar(',');
        }
        fputs("\"policies\":[", stdout);
        for (int i = 0; i < r->policies; i++) {
                print_policy(r, r->policy[i].name, &r->policy[i].scores);
                putchar(',');
        }
        print_policy(r, "peak", &r->peak);
        printf("],\"refused\":%lld,\"weights\":{\"slack\":\"amount and time\",\"overrun\":\"rows\"}",
               (long long)r->refused);
        if (nodes) {
                fputs(",\"nodes\":", stdout);
                json_dumpf(nodes, stdout, JSON_COMPACT);
        }
        if (entities)
                print_entities(r);
        fputs("}\n", stdout);
}

/* --- table --- */

static void add_titles(struct table *t, const char *const *title, int columns)
{
        table_init(t, columns);
        for (int i = 0; i < columns; i++)
                table_add(t, mem_string(title[i]));
}

/* Add the columns slack, overrun, changes per week and requested. */
static void add_way(struct table *t, enum resource q, const struct score *s)
{
        bool scored = s->requested_hours > 0;
        table_add(t, scored ? mem_printf("%.2f%%", 100 * score_slack(s)) : NULL);
        table_add(t, scored ? mem_printf("%.3f%%", 100 * score_overrun(s)) : NULL);
        table_add(t, scored ? mem_printf("%.2f", score_changes_per_week(s)) : NULL);
        table_add(t, mem_printf("%.2f %s", s->requested_hours / hours_unit[q], q == CPU ? "core-h" : "GiB-h"));
}

static void add_scores(struct table *t, const struct replay *r, const char *name, enum resource q,
                       const struct replay_scores *s)
{
        table_add(t, mem_string(name));
        table_add(t, mem_string(resource_name(q)));
        table_add(t, mem_printf("%lld", (long long)s->of[REPLAY_AS_SET][q].rows));
        add_way(t, q, &s->of[REPLAY_AS_SET][q]);
        if (r->raise.enabled)
                add_way(t, q, &s->of[REPLAY_RAISED][q]);
        table_add(t, mem_printf("%.2f %s", s->of[REPLAY_AS_SET][q].used_hours / hours_unit[q],
                                q == CPU ? "core-h" : "GiB-h"));
}

static void print_scores(const struct replay *r)
{
        static const char *const as_set[] = {"POLICY",  "RESOURCE",     "ROWS",      "SLACK",
                                             "OVERRUN", "CHANGES/WEEK", "REQUESTED", "USED"};
        static const char *const both[] = {"POLICY",  "RESOURCE",     "ROWS",      "SLACK",
                                           "OVERRUN", "CHANGES/WEEK", "REQUESTED", "RAISED SLACK",
                                           "OVERRUN", "CHANGES/WEEK", "REQUESTED", "USED"};
        struct table t;
        if (r->raise.enabled)
                add_titles(&t, both, sizeof both / sizeof both[0]);
        else
                add_titles(&t, as_set, sizeof as_set / sizeof as_set[0]);
        for (enum resource q = CPU; q < RESOURCES; q++) {
                for (int i = 0; i < r->policies; i++)
                        add_scores(&t, r, r->policy[i].name, q, &r->policy[i].scores);
                add_scores(&t, r, "peak", q, &r->peak);
        }
        table_print(stdout, &t);
        table_release(&t);
}

static void add_final(struct table *t, const struct replay *r, const struct replay_entity *e, enum resource q)
{
        struct final f = final_of(r, e, q);
        table_add(t, mem_string(e->name));
        table_add(t, mem_string(resource_name(q)));
        table_add(t, mem_printf("%lld", (long long)e->samples[q]));
        for (int i = 0; i < PERCENTILES; i++)
                table_add(t, f.known ? mem_printf("%.6g", f.percentile[i]) : NULL);
        table_add(t, f.known ? mem_printf("%.6g", f.model) : NULL);
}

void replay_print_weights(void)
{
        puts("slack: 1 - used / requested, each summed over all entities by amount and by time: large entities weigh "
             "more\n"
             "overrun: each row weighs the same, whatever its entity's size and the time since the row before\n"
             "rows: those at which every policy has a request");
}

static bool scored_any(const struct replay *r)
{
        for (int i = 0; i < r->policies; i++)
                for (enum resource q = CPU; q < RESOURCES; q++)
                        if (r->policy[i].scores.of[REPLAY_AS_SET][q].requested_hours > 0)
                                return true;
        return false;
}

static void print_finals(const struct replay *r)
{
        static const char *const title[] = {"ENTITY", "RESOURCE", "SAMPLES", "P50", "P90", "P95", "P99", "MODEL"};
        struct table t;
        add_titles(&t, title, sizeof title / sizeof title[0]);
        for (size_t i = 0; i < r->entities; i++)
                for (enum resource q = CPU; q < RESOURCES && r->entity[i]->rows > 0; q++)
                        add_final(&t, r, r->entity[i], q);
        table_print(stdout, &t);
        table_release(&t);
}

void replay_print_table(const struct replay *r, const char *trace, bool entities)
{
        if (trace)
                printf("trace %s\n", trace);
        print_scores(r);
        putchar('\n');
        replay_print_weights();
        printf("%s of %s, %lld refused, wholly or in one value (memory 0 counts as missing)\n",
               NOUN_COUNT(r->rows, "row"), NOUN_COUNT(r->entities, "entity"), (long long)r->refused);
        if (!scored_any(r))
                puts("nothing could be scored: no entity was Ready, under every profile (after minHistory), before its "
                     "rows "
                     "ended");
        if (entities) {
                putchar('\n');
                print_finals(r);
        }
}
