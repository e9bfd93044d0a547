/*
 * What explain shows, to the letter: each picture is a file under test/data/explain, from answers of the REST API
 * themselves. The picture of docs/concepts.md is held to its file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/page.h"
#include "../rest/routes_fixture.h"
#include "base/file_read.h"
#include "base/yaml.h"
#include "cli/explain_print.h"
#include "core/gates.h"

static json_t *get(void *arg, const char *path_query, struct err *err)
{
        struct fixture *f = arg;
        json_t *json = json_loads(fixture_get(f, path_query), 0, NULL);
        if (f->got.status == 200)
                return json;
        err_set(err, ERR_INVALID, "%s", json_string_value(json_object_get(json, "detail")));
        json_decref(json);
        return NULL;
}

/* Half a day of a service: a hump, a few bursts; memory that grows slowly. */
static void learn(struct fixture *f)
{
        for (int i = 0; i < FIXTURE_COPIES; i++) {
                struct learned_copy *c = &f->learned[i];
                struct sample_watermark watermark = {0};
                usage_init(&c->usage, f->spec.of);
                for (int r = 0; r < RESOURCES; r++)
                        histogram_lend(&c->usage.of[r], c->room + r * HISTOGRAM_SUM_BUCKETS, HISTOGRAM_SUM_BUCKETS);
                for (int k = 0; k < 720; k++) {
                        int hump = k % 7 + k / 7 % 7 + k / 49 % 7 + k % 5;
                        struct sample s = {
                                .at = {1700000000000 - (720 - k) * MINUTE_MS},
                                .has = {true, true},
                                .value = {k % 31 == 0 ? 0.45 : 0.05 + 0.0012 * (10 * hump + k * 7 % 10), 6e8 + 3e5 * k},
                                .cpu_weight = 2};
                        enum sample_verdict verdict;
                        struct usage_room room;
                        usage_add(&c->usage, &watermark, &s, s.at, &verdict, &room);
                }
        }
}

static struct status_container *app(struct fixture *f)
{
        struct snapshot_target *t = (struct snapshot_target *)(uintptr_t)snapshot_find(
                f->view, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        return (struct status_container *)(uintptr_t)t->container;
}

static void as_is(struct fixture *f)
{
        app(f)->of[CPU] = fixture_numbers(2000, 282, 311);
}

static void only_recommends(struct fixture *f)
{
        as_is(f);
        f->spec.apply.mode = APPLY_RECOMMEND;
        app(f)->of[CPU].reason = REASON_RECOMMEND_ONLY;
        app(f)->of[CPU].gate = GATE_MODE;
}

static void killed(struct fixture *f)
{
        f->spec.of[MEMORY].enabled = true;
        f->learned[0].usage.kill[0] = (struct usage_kill){1700000000000, 1.4e9};
        app(f)->of[MEMORY].reason = REASON_LOWERED;
}

static void killed_at_limit(struct fixture *f)
{
        struct snapshot_target *t = (struct snapshot_target *)(uintptr_t)snapshot_find(
                f->view, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        killed(f);
        t->limits = fixture_limits(f->view, 0);
}

static void weekly(struct fixture *f)
{
        killed(f);
        f->spec.of[MEMORY].weekly_peak = true;
        f->learned[0].usage.day_mi[0] = 500;
        f->learned[0].usage.day_mi[2] = 2100;
        f->learned[0].usage.day_mi[3] = 600;
}

/* Twenty starts of five samples, of which the first three are above the target. */
static void starts(struct fixture *f)
{
        as_is(f);
        f->spec.of[CPU].ignore_first_ms = 5 * MINUTE_MS;
        f->learned[0].usage.starts = &f->learned[0].starts;
        for (int k = 0; k < 100; k++)
                usage_starts_add(&f->learned[0].starts, CPU, DAY_MS,
                                 &(struct start_sample){.at = {1700000000000},
                                                        .value = k % 5 < 3 ? 1.4 : 0.1,
                                                        .age_ms = k % 5 * MINUTE_MS,
                                                        .steady = 0.31});
}

static void unlearned(struct fixture *f)
{
        f->copies = 0;
        app(f)->of[CPU] = fixture_numbers(2000, -1, 2000);
        app(f)->of[CPU].reason = REASON_LEARNING;
        app(f)->of[CPU].gate = GATE_STATE;
        app(f)->state = STATE_LEARNING;
}

static const struct row {
        const char *file; /* of test/data/explain */
        void (*arrange)(struct fixture *f);
        struct explain_arguments q;
        struct terminal t;
} rows[] = {
        {"web", as_is, {.container = "app", .resource = "cpu"}, {.columns = 100, .utf8 = true}},
        {"ascii", as_is, {.container = "app", .resource = "cpu"}, {.columns = 80}},
        {"narrow", as_is, {.container = "app", .resource = "cpu"}, {.columns = 40, .utf8 = true}},
        {"colour", as_is, {.container = "app", .resource = "cpu"}, {.columns = 80, .utf8 = true, .colour = true}},
        {"only-recommends", only_recommends, {.resource = "cpu"}, {.columns = 80, .utf8 = true}},
        {"killed", killed, {.container = "app", .resource = "memory"}, {.columns = 80, .utf8 = true}},
        {"limit", killed_at_limit, {.container = "app", .resource = "memory"}, {.columns = 80, .utf8 = true}},
        {"throttled", killed_at_limit, {.container = "app", .resource = "cpu"}, {.columns = 80, .utf8 = true}},
        {"weekly", weekly, {.container = "app", .resource = "memory"}, {.columns = 80, .utf8 = true}},
        {"starts", starts, {.container = "app", .resource = "cpu"}, {.columns = 80, .utf8 = true}},
        {"unlearned", unlearned, {.container = "app"}, {.columns = 80, .utf8 = true}},
        {"what-if",
         as_is,
         {.container = "app", .resource = "cpu", .percentile = "90", .half_life = "48h", .multiplier = "1.2"},
         {.columns = 80, .utf8 = true}},
};

static char *picture(const struct row *row)
{
        struct fixture f;
        struct explain_data e;
        struct err err;
        struct explain_arguments q = row->q;
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        fixture_init(&f);
        learn(&f);
        row->arrange(&f);
        q.ns = "shop";
        assert_int_equal(workload_parse("deploy/web", &q.workload, &err), 0);
        if (explain_data_collect(get, &f, &q, &e, &err) < 0)
                fail_msg("%s: %s", row->file, err.text);
        explain_print(to, &e, &row->t);
        fclose(to);
        explain_data_release(&e);
        fixture_release(&f);
        return text;
}

/* PICTURES=write writes them anew, to be looked at. */
static char *expected(const char *file, const char *got)
{
        char path[256];
        size_t len;
        struct err err;
        snprintf(path, sizeof path, "test/data/explain/%s.txt", file);
        if (getenv("PICTURES")) {
                FILE *to = fopen(path, "w");
                fputs(got, to);
                fclose(to);
        }
        char *text = file_read(path, 1 << 20, &len, &err);
        if (!text)
                fail_msg("%s", err.text);
        return text;
}

static void test_pictures(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char *got = picture(&rows[i]), *want = expected(rows[i].file, got);
                if (strcmp(got, want) != 0)
                        fail_msg("%s: got\n%s\nwant\n%s", rows[i].file, got, want);
                mem_free(want);
                free(got);
        }
}

/* Nothing that it says is wider than the terminal. */
static void test_fits(void **state)
{
        (void)state;
        for (int columns = TERMINAL_COLUMNS_LEAST; columns <= 160; columns += 7) {
                struct row row = rows[0];
                row.q.resource = NULL;
                row.t.columns = columns;
                char *got = picture(&row), *rest = got;
                strsep(&rest, "\n"); /* the title is what it is */
                for (char *line; (line = strsep(&rest, "\n"));)
                        if (terminal_width(line) > columns && strstr(line, "→") == NULL)
                                fail_msg("%d columns: '%s'", columns, line);
                free(got);
        }
}

static void test_page(void **state)
{
        (void)state;
        char *got = picture(&rows[0]), *page = page_read("docs/concepts.md");
        char *block = mem_printf(
                "```console\n$ kubectl halflife explain deploy/web --container app --resource cpu\n%s```\n", got);
        if (!strstr(page, block))
                fail_msg("docs/concepts.md wants this block:\n%s", block);
        mem_free(block);
        mem_free(page);
        free(got);
}

/* A Recommendation alone, and whatever somebody wrote into it. */
static void test_objects(void **state)
{
        (void)state;
        static const char object[] =
                "{\"metadata\":{\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{\"kind\":\"Deployment\",\"name\":"
                "\"web\"},\"profileRef\":{\"kind\":\"Profile\",\"name\":\"p\\u001b[31m\"}},\"status\":{\"state\":"
                "\"Ready\",\"samples\":86400,\"since\":\"2026-11-01T00:00:00Z\",\"lastSample\":"
                "\"2026-11-21T00:00:00Z\",\"confidencePercent\":87,\"containers\":[{\"name\":\"app\",\"cpu\":{"
                "\"original\":\"2\",\"current\":\"2\",\"model\":\"412m\",\"target\":\"454m\",\"lower\":\"380m\","
                "\"upper\":\"610m\",\"reason\":\"RecommendOnly\"},\"memory\":{\"original\":\"4Gi\",\"target\":"
                "\"4Gi\",\"reason\":\"MemoryOff\"}}],\"conditions\":[{\"type\":\"Applied\",\"status\":\"False\","
                "\"reason\":\"RecommendOnly\",\"message\":\"the profile only\\u0007 recommends\"}]}}";
        static const char guarded[] =
                "{\"metadata\":{\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{\"kind\":\"Deployment\",\"name\":"
                "\"web\"},\"profileRef\":{\"kind\":\"Profile\",\"name\":\"p\"}},\"status\":{\"state\":\"Held\","
                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Ready\"},{\"type\":\"Guarded\","
                "\"status\":\"True\",\"reason\":\"Evicted\",\"message\":\"left alone for a day\"},{\"type\":"
                "\"Canary\",\"status\":\"False\",\"reason\":\"Stood\"},{\"type\":\"OutOfMemory\",\"status\":\"True\","
                "\"reason\":\"Kill\"},{\"type\":\"Applied\",\"status\":\"False\",\"reason\":\"Guard\"}]}}";
        static const char limited[] =
                "{\"status\":{\"containers\":[{\"name\":\"app\",\"cpu\":{},\"memory\":{\"target\":\"1Gi\"},\"limits\":{"
                "\"memory\":{\"current\":\"256Mi\",\"advised\":\"392Mi\",\"reason\":\"KilledAt\\u001bLimit\","
                "\"needed\":"
                "\"356Mi\",\"time\":\"2026-11-21T00:00:00Z\"},\"cpu\":{\"current\":\"1\",\"advised\":7}}}]}}";
        static const struct {
                const char *text, *container, *resource, *file;
        } row[] = {
                {guarded, NULL, NULL, "object-guarded"},
                {object, NULL, NULL, "object"},
                {object, "app", "cpu", "object-cpu"},
                {object, "other", NULL, "object-none"},
                {limited, NULL, NULL, "object-limit"},
                {"{}", NULL, NULL, "object-empty"},
                {"{\"spec\":1,\"status\":{\"containers\":[1,{\"name\":2,\"cpu\":3,\"memory\":{\"target\":\"-1x\"}}],"
                 "\"conditions\":{}}}",
                 NULL, NULL, "object-nonsense"},
        };
        const struct terminal t = {.columns = 80, .utf8 = true};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *text = NULL;
                size_t len = 0;
                FILE *to = open_memstream(&text, &len);
                struct explain_data e = {.recommendation = json_loads(row[i].text, 0, NULL)};
                explain_print_object(to, &e, row[i].container, row[i].resource, &t);
                fclose(to);
                char *want = expected(row[i].file, text);
                if (strcmp(text, want) != 0)
                        fail_msg("%s: got\n%s\nwant\n%s", row[i].file, text, want);
                mem_free(want);
                free(text);
                explain_data_release(&e);
        }
}

/* A server that is not halflife cannot cause a wrong picture or a crash. */
static void test_nonsense_answers(void **state)
{
        (void)state;
        static const char *const row[][2] = {
                {"{}", "{}"},
                {"{\"containers\":[{\"name\":\"a\\u001b\",\"cpu\":{\"steps\":[1,{\"step\":\"percentile\",\"to\":1e400}]"
                 "}}]}",
                 "{}"},
                {"{\"containers\":[{\"name\":\"app\",\"cpu\":{\"original\":\"1e18\",\"target\":\"0\",\"steps\":[]}}]}",
                 "{\"buckets\":[{\"index\":-1,\"share\":1},{\"index\":176,\"share\":1},{\"index\":175,\"share\":0.5},"
                 "{\"index\":0,\"share\":0.5},{\"index\":3,\"share\":-2},{\"index\":4,\"share\":7}]}"},
                {"{\"containers\":7,\"metadata\":[]}", "[]"},
                {"{\"containers\":[{\"name\":\"app\",\"cpu\":{\"steps\":[{\"step\":\"gate\",\"gate\":\"Rule\","
                 "\"verdict\":"
                 "\"Holds\",\"words\":\"\\u001b[2J\"}]}}]}",
                 "{}"},
                {"{\"containers\":[{\"name\":\"app\",\"cpu\":{\"steps\":[{\"step\":\"gate\",\"gate\":\"Mode\","
                 "\"words\":"
                 "\"OnDeploy\\u001b[2J\"}]}}]}",
                 "{}"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *text = NULL;
                size_t len = 0;
                FILE *to = open_memstream(&text, &len);
                const struct terminal t = {.columns = 60};
                struct explain_data e = {.explain = json_loads(row[i][0], 0, NULL), .histograms = json_object()};
                json_object_set_new(e.histograms, "app/cpu", json_loads(row[i][1], 0, NULL));
                explain_print(to, &e, &t);
                fclose(to);
                for (const char *p = text; *p; p++)
                        if ((unsigned char)*p < ' ' && *p != '\n')
                                fail_msg("row %zu: control byte in\n%s", i, text);
                free(text);
                explain_data_release(&e);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pictures),
                cmocka_unit_test(test_fits),
                cmocka_unit_test(test_page),
                cmocka_unit_test(test_objects),
                cmocka_unit_test(test_nonsense_answers),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
