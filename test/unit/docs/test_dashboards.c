/*
 * The dashboards of manifests/components/grafana: they ask for metrics and labels that halflife has, all metrics are
 * asked for, and each panel says what its numbers mean, in words that lead somewhere. Whether a Prometheus answers is
 * the scenario "grafana" of test/cluster.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "../../support/page.h"
#include "base/mem.h"
#include "control/controller.h"

#define SMALL "abcdefghijklmnopqrstuvwxyz"

enum { COLUMNS = 24, IDS = 128 };

#define FOLDER "manifests/components/grafana/"
static const char *const names[] = {"overview", "changes", "health"};
enum { DASHBOARDS = sizeof names / sizeof names[0] };

static json_t *dashboards[DASHBOARDS];
static char *known; /* the table of metrics, as docs/metrics.md has it */

static int load(void **state)
{
        (void)state;
        known = page_print(telemetry_print_markdown);
        for (int i = 0; i < DASHBOARDS; i++) {
                AUTO(mem_free) char *path = mem_printf(FOLDER "%s.json", names[i]), *text = page_read(path);
                json_error_t why;
                if (!(dashboards[i] = json_loads(text, JSON_REJECT_DUPLICATES, &why)))
                        fail_msg("%s:%d: %s", path, why.line, why.text);
        }
        return 0;
}

static int unload(void **state)
{
        (void)state;
        for (int i = 0; i < DASHBOARDS; i++)
                json_decref(dashboards[i]);
        free(known);
        return 0;
}

static const char *text_at(const json_t *o, const char *name)
{
        const char *text = json_string_value(json_object_get(o, name));
        return text ? text : "";
}

static bool is_word(char c)
{
        return isalnum((unsigned char)c) || c == '_';
}

static bool is_one_of(const char *const *all, size_t count, const char *word, size_t len)
{
        for (size_t i = 0; i < count; i++)
                if (strlen(all[i]) == len && memcmp(all[i], word, len) == 0)
                        return true;
        return false;
}

#define ONE_OF(all, word, len) is_one_of(all, sizeof(all) / sizeof(all)[0], word, len)

/* --- each panel of each dashboard --- */

static void each_panel(void (*look)(const char *dashboard, const json_t *panel))
{
        for (int i = 0; i < DASHBOARDS; i++) {
                json_t *panel;
                size_t k;
                json_array_foreach(json_object_get(dashboards[i], "panels"), k, panel) look(names[i], panel);
        }
}

static void each_target(void (*look)(const char *where, const json_t *target))
{
        for (int i = 0; i < DASHBOARDS; i++) {
                json_t *panel, *target;
                size_t k, n;
                json_array_foreach(json_object_get(dashboards[i], "panels"), k, panel)
                {
                        AUTO(mem_free) char *where = mem_printf("%s: %s", names[i], text_at(panel, "title"));
                        json_array_foreach(json_object_get(panel, "targets"), n, target) look(where, target);
                }
        }
}

/* --- the whole --- */

/* The variable's query names a metric that a replica has as well, and "All" takes series without the label. */
static void check_variables(const char *name, const json_t *dashboard)
{
        const json_t *list = json_object_get(json_object_get(dashboard, "templating"), "list");
        const json_t *source = json_array_get(list, 0), *cluster = json_array_get(list, 1);
        assert_int_equal(json_array_size(list), 2);
        assert_string_equal(text_at(source, "name"), "datasource");
        assert_string_equal(text_at(source, "query"), "prometheus");
        assert_string_equal(text_at(cluster, "name"), "cluster");
        assert_string_equal(text_at(cluster, "query"), "label_values(halflife_recommendations, cluster)");
        assert_string_equal(text_at(cluster, "allValue"), ".*");
        if (!json_is_true(json_object_get(cluster, "includeAll")) || !json_is_true(json_object_get(cluster, "multi")))
                fail_msg("%s: 'cluster' is not for several clusters", name);
}

static void a_dashboard_keeps_its_place(void **state)
{
        (void)state;
        AUTO(mem_free) char *component = page_read(FOLDER "kustomization.yaml");
        assert_non_null(strstr(component, "labels: {grafana_dashboard: \"1\"}"));
        for (int i = 0; i < DASHBOARDS; i++) {
                AUTO(mem_free) char *uid = mem_printf("halflife-%s", names[i]), *file = mem_printf("%s.json", names[i]);
                assert_string_equal(text_at(dashboards[i], "uid"), uid); /* links and stars of people name it */
                assert_null(json_object_get(dashboards[i], "id"));       /* each Grafana gives its own */
                assert_int_equal(json_integer_value(json_object_get(dashboards[i], "schemaVersion")), 42);
                assert_int_equal(strncmp(text_at(dashboards[i], "title"), "halflife / ", 11), 0);
                assert_non_null(strstr(component, file));
                check_variables(names[i], dashboards[i]);
        }
}

/* --- panels --- */

static void check_words(const char *dashboard, const json_t *panel)
{
        static const char *const units[] = {"short", "bytes", "s", "percentunit", "cps", "reqps", "suffix: cores"};
        const char *title = text_at(panel, "title"), *says = text_at(panel, "description");
        const json_t *defaults = json_object_get(json_object_get(panel, "fieldConfig"), "defaults");
        const char *unit = text_at(defaults, "unit");
        if (strcmp(text_at(panel, "type"), "row") == 0)
                return;
        if (!*title || !*says || says[strlen(says) - 1] != '.')
                fail_msg("%s: panel '%s' has no title, or no sentence about it", dashboard, title);
        if (!json_object_get(defaults, "mappings") && !ONE_OF(units, unit, strlen(unit)))
                fail_msg("%s: %s: unit '%s'", dashboard, title, unit);
        if (strcmp(text_at(json_object_get(panel, "datasource"), "uid"), "${datasource}") != 0)
                fail_msg("%s: %s: another data source", dashboard, title);
}

/* Without thresholds of their own, such panels are red from 80 on. */
static void check_colors(const char *dashboard, const json_t *panel)
{
        const char *type = text_at(panel, "type");
        const json_t *defaults = json_object_get(json_object_get(panel, "fieldConfig"), "defaults");
        bool fixed = strcmp(text_at(json_object_get(defaults, "color"), "mode"), "fixed") == 0;
        if ((strcmp(type, "stat") == 0 || strcmp(type, "bargauge") == 0) && !fixed &&
            !json_object_get(defaults, "thresholds"))
                fail_msg("%s: %s is red from 80 on", dashboard, text_at(panel, "title"));
}

static void panels_say_what_their_numbers_mean(void **state)
{
        (void)state;
        each_panel(check_words);
        each_panel(check_colors);
}

static long number_at(const json_t *panel, const char *name)
{
        return (long)json_integer_value(json_object_get(json_object_get(panel, "gridPos"), name));
}

static bool is_over(const json_t *a, const json_t *b)
{
        return number_at(a, "x") < number_at(b, "x") + number_at(b, "w") &&
               number_at(b, "x") < number_at(a, "x") + number_at(a, "w") &&
               number_at(a, "y") < number_at(b, "y") + number_at(b, "h") &&
               number_at(b, "y") < number_at(a, "y") + number_at(a, "h");
}

static void panels_lie_side_by_side(void **state)
{
        (void)state;
        for (int i = 0; i < DASHBOARDS; i++) {
                const json_t *panels = json_object_get(dashboards[i], "panels");
                bool ids[IDS] = {0};
                json_t *panel;
                size_t k;
                json_array_foreach(panels, k, panel)
                {
                        json_int_t id = json_integer_value(json_object_get(panel, "id"));
                        assert_in_range(id, 1, IDS - 1);
                        if (ids[id])
                                fail_msg("%s: two panels %d", names[i], (int)id);
                        ids[id] = true;
                        assert_in_range(number_at(panel, "x") + number_at(panel, "w"), 1, COLUMNS);
                        for (size_t n = 0; n < k; n++)
                                if (is_over(panel, json_array_get(panels, n)))
                                        fail_msg("%s: '%s' lies over another", names[i], text_at(panel, "title"));
                }
        }
}

/* --- what descriptions lead to --- */

/* As GitHub makes it of a title: small letters, digits and '-', a '-' for each blank. */
static bool is_anchor_of(const char *title, const char *anchor, size_t len)
{
        size_t at = 0;
        for (; *title && *title != '\n'; title++) {
                char c = *title == ' ' ? '-' : (char)tolower((unsigned char)*title);
                if (!isalnum((unsigned char)c) && c != '-' && c != '_')
                        continue;
                if (at == len || c != anchor[at++])
                        return false;
        }
        return at == len;
}

static bool has_anchor(const char *page, const char *anchor, size_t len)
{
        for (const char *line = page; (line = strstr(line, "\n#"));) {
                line += 1 + strspn(line + 1, "#");
                if (is_anchor_of(line + strspn(line, " "), anchor, len))
                        return true;
        }
        return false;
}

static void check_pages(const char *dashboard, const json_t *panel)
{
        for (const char *at = text_at(panel, "description"); (at = strstr(at, "docs/"));) {
                size_t len = strspn(at, SMALL "/-");
                if (strncmp(at + len, ".md", 3) != 0)
                        fail_msg("%s: %s: no page '%.*s'", dashboard, text_at(panel, "title"), (int)len, at);
                AUTO(mem_free) char *path = mem_printf("%.*s.md", (int)len, at), *page = page_read(path);
                at += len + 3;
                size_t anchor = *at == '#' ? strspn(at + 1, SMALL "0123456789-") : 0;
                if (anchor && !has_anchor(page, at + 1, anchor))
                        fail_msg("%s: %s: %s has no '%.*s'", dashboard, text_at(panel, "title"), path, (int)anchor + 1,
                                 at);
        }
}

static void check_alerts(const char *dashboard, const json_t *panel)
{
        AUTO(mem_free) char *rules = page_read("manifests/components/monitoring/rules.yaml");
        for (const char *at = text_at(panel, "description"); (at = strstr(at, "Halflife")); at++) {
                size_t len = 0;
                while (isalpha((unsigned char)at[len]))
                        len++;
                AUTO(mem_free) char *rule = mem_printf("- alert: %.*s\n", (int)len, at);
                if (!strstr(rules, rule))
                        fail_msg("%s: %s: no alert '%.*s'", dashboard, text_at(panel, "title"), (int)len, at);
        }
}

static void descriptions_name_pages_and_alerts_that_exist(void **state)
{
        (void)state;
        each_panel(check_pages);
        each_panel(check_alerts);
}

/* --- queries --- */

/* The row of a metric in the table, by the name that a query has for it; NULL: there is none. */
static const char *row_of(const char *name, size_t len)
{
        static const char *const ends[] = {"", "_bucket", "_sum", "_count"};
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
                size_t end = strlen(ends[i]);
                if (len <= end || memcmp(name + len - end, ends[i], end) != 0)
                        continue;
                AUTO(mem_free) char *row = mem_printf("| `%.*s` |", (int)(len - end), name);
                const char *at = strstr(known, row);
                bool histogram = at && strncmp(at + strlen(row), " histogram ", 11) == 0;
                if (at && histogram == (end > 0))
                        return at;
        }
        return NULL;
}

/* A query's next metric; NULL: none is left. */
static const char *next_metric(const char *at)
{
        const char *ours = strstr(at, "halflife_"), *process = strstr(at, "process_");
        return !ours || (process && process < ours) ? process : ours;
}

static bool follows(const char *expr, const char *at, const char *function)
{
        size_t len = strlen(function);
        return at >= expr + len && memcmp(at - len, function, len) == 0;
}

/* It is of the chosen clusters; and what only grows is asked for its growth, and nothing else is. */
static void check_metric(const char *where, const char *expr, const char *at)
{
        static const char chosen[] = "{cluster=~\"$cluster\"";
        size_t len = strspn(at, SMALL "_");
        const char *row = row_of(at, len);
        if (!row)
                fail_msg("%s: no metric '%.*s'", where, (int)len, at);
        if (strncmp(at + len, chosen, strlen(chosen)) != 0)
                fail_msg("%s: %.*s of every cluster", where, (int)len, at);
        const char *type = strstr(row + 1, "| ");
        bool grows = strncmp(type, "| gauge ", 8) != 0,
             growth = follows(expr, at, "rate(") || follows(expr, at, "increase(");
        if (grows != growth)
                fail_msg("%s: %.*s is %s growth", where, (int)len, at, growth ? "asked for its" : "not asked for its");
}

static void check_metrics(const char *where, const json_t *target)
{
        const char *expr = text_at(target, "expr"), *at = next_metric(expr);
        if (!at)
                fail_msg("%s: '%s' asks for nothing", where, expr);
        for (; at; at = next_metric(at + strspn(at, SMALL "_")))
                check_metric(where, expr, at);
}

static void queries_ask_for_metrics_of_halflife(void **state)
{
        (void)state;
        each_target(check_metrics);
}

static const char *const labels[] = {"cluster", "job",  "instance", "pod",    "le",   "state",     "reason",
                                     "type",    "verb", "cause",    "result", "code", "namespace", "of"};

/* Words of a list such as "cluster, type", up to the closing character. */
static void check_labels(const char *where, const char *at, char closing)
{
        while (*at && *at != closing) {
                size_t len = 0;
                while (is_word(at[len]))
                        len++;
                if (len && !ONE_OF(labels, at, len))
                        fail_msg("%s: no label '%.*s'", where, (int)len, at);
                at += len ? len : 1;
        }
}

static void check_target_labels(const char *where, const json_t *target)
{
        static const char *const before[] = {" by (", " on ("};
        const char *expr = text_at(target, "expr"), *legend = text_at(target, "legendFormat");
        for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
                for (const char *at = expr; (at = strstr(at, before[i])); at++)
                        check_labels(where, at + strlen(before[i]), ')');
        for (const char *at = legend; (at = strstr(at, "{{")); at++)
                check_labels(where, at + 2, '}');
}

/* Each matcher's values, such as type=~"Guarded|Degraded", are words of the page that lists them. */
static void check_values(const char *where, const char *expr, const char *label, const char *list)
{
        AUTO(mem_free) char *start = mem_printf(",%s", label);
        for (const char *at = expr; (at = strstr(at, start));) {
                at += strlen(start);
                at += strspn(at, "=~!");
                if (*at != '"')
                        continue;
                for (at++; *at != '"' && *at; at += *at == '|') {
                        size_t len = strcspn(at, "|\"");
                        AUTO(mem_free) char *value = mem_printf("`%.*s`", (int)len, at);
                        if (!strstr(list, value))
                                fail_msg("%s: %s '%.*s' does not exist", where, label, (int)len, at);
                        at += len;
                }
        }
}

static void check_target_values(const char *where, const json_t *target)
{
        const char *expr = text_at(target, "expr");
        AUTO(mem_free) char *conditions = page_block("docs/recommendations.md", "conditions");
        AUTO(mem_free) char *concepts = page_read("docs/concepts.md");
        check_values(where, expr, "type", conditions);
        check_values(where, expr, "reason", conditions);
        check_values(where, expr, "state", concepts);
        check_values(where, expr, "code", "`5xx`");
        check_values(where, expr, "result",
                     "`no_owner` `unreadable` `not_ready`"); /* those of HalflifeAdmissionBlind */
}

static void queries_know_the_labels(void **state)
{
        (void)state;
        each_target(check_target_labels);
        each_target(check_target_values);
}

static bool is_asked_for(const char *metric, size_t len)
{
        for (int i = 0; i < DASHBOARDS; i++) {
                json_t *panel, *target;
                size_t k, n;
                json_array_foreach(json_object_get(dashboards[i], "panels"), k, panel)
                        json_array_foreach(json_object_get(panel, "targets"), n, target)
                {
                        const char *expr = text_at(target, "expr"), *row;
                        for (const char *at = expr; (at = next_metric(at)); at += strspn(at, SMALL "_"))
                                if ((row = row_of(at, strspn(at, SMALL "_"))) && strncmp(row + 3, metric, len) == 0 &&
                                    row[3 + len] == '`')
                                        return true;
                }
        }
        return false;
}

static void every_metric_is_asked_for(void **state)
{
        (void)state;
        int metrics = 0;
        for (const char *at = known; (at = strstr(at, "\n| `")); metrics++) {
                at += 4;
                size_t len = strcspn(at, "`");
                if (!is_asked_for(at, len))
                        fail_msg("no dashboard has %.*s", (int)len, at);
        }
        assert_true(metrics > 60);
}

/* The letters of a panel's queries are apart, for Grafana joins answers to queries by them. */
static void check_letters(const char *dashboard, const json_t *panel)
{
        unsigned seen = 0;
        json_t *target;
        size_t n;
        json_array_foreach(json_object_get(panel, "targets"), n, target)
        {
                const char *letter = text_at(target, "refId");
                unsigned bit = 1u << ((unsigned)(*letter - 'A') % 26);
                if (!isupper((unsigned char)*letter) || (seen & bit))
                        fail_msg("%s: %s: refId '%s'", dashboard, text_at(panel, "title"), letter);
                seen |= bit;
        }
}

/* Metrics change once a cycle. By a minute's step Grafana takes rates over four: over one, a cycle would be there or
 * not. */
static void check_step(const char *where, const json_t *target)
{
        bool rate = strstr(text_at(target, "expr"), "[$__rate_interval]") != NULL;
        if (rate != (strcmp(text_at(target, "interval"), "1m") == 0))
                fail_msg("%s: step '%s'", where, text_at(target, "interval"));
}

static void rates_span_several_cycles(void **state)
{
        (void)state;
        each_target(check_step);
}

static void queries_of_a_panel_are_apart(void **state)
{
        (void)state;
        each_panel(check_letters);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_dashboard_keeps_its_place),
                cmocka_unit_test(panels_say_what_their_numbers_mean),
                cmocka_unit_test(panels_lie_side_by_side),
                cmocka_unit_test(descriptions_name_pages_and_alerts_that_exist),
                cmocka_unit_test(queries_ask_for_metrics_of_halflife),
                cmocka_unit_test(queries_know_the_labels),
                cmocka_unit_test(every_metric_is_asked_for),
                cmocka_unit_test(rates_span_several_cycles),
                cmocka_unit_test(queries_of_a_panel_are_apart),
        };
        return cmocka_run_group_tests(tests, load, unload);
}
