/*
 * Reports of the ledger from a running halflife: the sums of the cluster are those of its namespaces, profiles and
 * pools, a restart loses nothing of them, and each user is told what is his to see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "../support/fetch.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

enum { LONG_MS = 60000, TRIES = 200 };

static struct {
        struct fake *fake;
        struct halflife *halflife;
        char *address;
} stage;

static void start(void)
{
        stage.halflife =
                halflife_start(stage.fake, "report.db",
                               (const char *const[]){"--serve-listen", "127.0.0.1:0", "--interval", "2s",
                                                     "--report-label", "app", "--prices", "EUR, *=36/3.6", NULL});
        stage.address = halflife_rest_address(stage.halflife);
        assert_non_null(stage.address);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
}

static void stop(void)
{
        assert_int_equal(halflife_stop(stage.halflife), 0);
        halflife_free(stage.halflife);
        mem_free(stage.address);
        stage.halflife = NULL;
        stage.address = NULL;
}

static int begin(void **state)
{
        (void)state;
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 5});
        assert_true(f && fake_load(f, "crds"));
        fake_world_demo(f, 60 * SECOND_MS);
        fake_scrape_every(f, 1000);
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"team\","
                 "\"namespace\":\"shop\"},\"spec\":{}}");
        fake_person(f, "auditor", "auditor", NULL);
        fake_grant(f, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        fake_person(f, "team", "team", NULL);
        fake_grant(f, &(struct fake_grant){"team", "list", "shop", NULL});
        start();
        return 0;
}

static int end(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.address);
        memset(&stage, 0, sizeof stage);
        return 0;
}

/* The answer as JSON, the caller's; NULL: another status. */
static json_t *ask(const char *path, const char *token, long want)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", stage.address, path);
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = token});
        if (g.status != want)
                fail_msg("%s by %s: %ld, not %ld\n%s", path, token, g.status, want, g.body);
        json_t *json = json_loads(g.body, 0, NULL);
        assert_non_null(json);
        return json;
}

static double number(const json_t *json, const char *resource, const char *key)
{
        return json_number_value(json_object_get(json_object_get(json, resource), key));
}

/* The rows together are the total, but for what a double cannot hold. */
static void assert_rows(const json_t *report, const char *by)
{
        static const char *const resource[] = {"cpu", "memory"}, *const flow[] = {"asked", "inForce", "used"};
        const json_t *rows = json_object_get(report, "rows"), *total = json_object_get(report, "total");
        for (int r = 0; r < 2; r++)
                for (int f = 0; f < 3; f++) {
                        double sum = 0, want = number(total, resource[r], flow[f]);
                        for (size_t i = 0; i < json_array_size(rows); i++)
                                sum += number(json_array_get(rows, i), resource[r], flow[f]);
                        if (sum < want * (1 - 1e-9) || sum > want * (1 + 1e-9))
                                fail_msg("%s: %s %s: the rows are %.17g, the total %.17g", by, resource[r], flow[f],
                                         sum, want);
                }
}

/* Asked for twice with the other between: where nothing was booked meanwhile, all three are of the same moment. */
static void expect_same(const char *by, const char *since)
{
        AUTO(mem_free) char *cluster = mem_printf("/api/v1/report?by=cluster&since=%s", since);
        AUTO(mem_free) char *other = mem_printf("/api/v1/report?by=%s&since=%s", by, since);
        for (int i = 0; i < TRIES; i++) {
                json_t *first AUTO(json_decref) = ask(cluster, "auditor", 200),
                              *between AUTO(json_decref) = ask(other, "auditor", 200),
                              *last AUTO(json_decref) = ask(cluster, "auditor", 200);
                const json_t *total = json_object_get(first, "total");
                assert_rows(between, by);
                assert_true(number(total, "cpu", "asked") > 0 && number(total, "memory", "inForce") > 0);
                if (!json_equal(total, json_object_get(last, "total"))) {
                        usleep(50000);
                        continue;
                }
                static const char *const keys[] = {"changes", "kills", "podSeconds", "money", "cpu", "memory"};
                size_t alike = strcmp(by, "pool") == 0 ? 4 : 6; /* the total of pools tells what nodes have as well */
                for (size_t k = 0; k < alike; k++)
                        if (!json_equal(json_object_get(total, keys[k]),
                                        json_object_get(json_object_get(between, "total"), keys[k])))
                                fail_msg("by %s since %s: %s differs from the cluster's", by, since, keys[k]);
                return;
        }
        fail_msg("by %s: something was booked at each try", by);
}

static void test_same_sums(void **state)
{
        static const char *const by[] = {"namespace", "profile", "pool", "label:app"}, *const since[] = {"2h", "30d"};
        (void)state;
        for (int s = 0; s < 2; s++)
                for (int i = 0; i < 4; i++)
                        expect_same(by[i], since[s]);
}

static void test_who_is_told_what(void **state)
{
        (void)state;
        json_t *all AUTO(json_decref) = ask("/api/v1/report", "auditor", 200),
                    *shop AUTO(json_decref) = ask("/api/v1/namespaces/shop/report", "team", 200);
        json_decref(ask("/api/v1/report", "team", 403));
        json_decref(ask("/api/v1/namespaces/billing/report", "team", 403));
        json_decref(ask("/api/v1/report?by=label:team", "auditor", 400));
        assert_int_equal(json_array_size(json_object_get(shop, "rows")), 1);
        assert_null(json_object_get(shop, "allocatable"));
        assert_non_null(json_object_get(all, "allocatable"));
        const json_t *of = json_object_get(all, "workloads"), *here = json_object_get(shop, "workloads");
        json_int_t managed = json_integer_value(json_object_get(of, "managed"));
        assert_true(managed > 0 && managed < json_integer_value(json_object_get(of, "all")));
        assert_int_equal(json_integer_value(json_object_get(here, "managed")), managed); /* a profile of shop alone */
}

/* The command prints what REST answers. */
static void test_command(void **state)
{
        static const struct {
                const char *token, *args[4];
                int code;
                const char *says[5]; /* "!x": must not */
        } row[] = {
                {"auditor", {NULL}, 0, {"A profile selects", "core-hours", "CPU-BEFORE", "(total)", "CPU-PACKED"}},
                {"auditor", {"--by", "profile"}, 0, {"shop/team", "(none)"}},
                {"auditor",
                 {"--by", "label:app"},
                 0,
                 {"EUR-SAVED", "in force", "nodes ", "A bill falls where nodes go"}},
                {"auditor", {"--by", "label:owner"}, 1, {"no accounts are kept by label 'owner', but by label:app"}},
                {"auditor", {"--by", "cluster", "-o", "md"}, 0, {"| NAME |", "|---|", "| cluster |"}},
                {"auditor",
                 {"-o", "csv"},
                 0,
                 {"name,pod_seconds,", "kills,currency,money_asked", ",EUR,", "\r\nshop,", "!total"}},
                {"auditor", {"-o", "json", "--since", "1h"}, 0, {"\"series\"", "\"allocatable\""}},
                {"auditor", {"--since", "1y"}, 1, {"HTTP 400: since '1y' is no time from 1h to 400d"}},
                {"team", {"-n", "shop"}, 0, {"shop", "!billing"}},
                {"team", {NULL}, 1, {"HTTP 403"}},
        };
        AUTO(mem_free) char *kubeconfig = tmp_path("report-kubeconfig");
        AUTO(mem_free) char *server = mem_printf("http://%s", stage.address);
        (void)state;
        assert_true(fake_write_kubeconfig(stage.fake, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const char *args[8] = {"report", "--server", server};
                for (int k = 0; k < 4; k++)
                        args[3 + k] = row[i].args[k];
                setenv("HALFLIFE_TOKEN", row[i].token, 1);
                AUTO(mem_free) char *said = halflife_run(row[i].code, args);
                for (int k = 0; k < 5 && row[i].says[k]; k++) {
                        const char *text = row[i].says[k];
                        if ((*text == '!') == (strstr(said, *text == '!' ? text + 1 : text) != NULL))
                                fail_msg("row %zu: '%s' in:\n%s", i, text, said);
                }
        }
        unsetenv("HALFLIFE_TOKEN");
}

/* Through the API server's proxy: what is wrong with the question is told as it is, all else with advice. */
static void test_refused_by_proxy(void **state)
{
        static const struct {
                int status;
                const char *says, *silent; /* must not be said */
        } row[] = {
                {400, "HTTP 400: no such time", "did not answer"},
                {404, "HTTP 404: no such time", "did not answer"},
                {401,
                 "an account that may list recommendations, of all namespaces or with -n: HALFLIFE_TOKEN=", "Role"},
                {500, "Service 'halflife' in namespace 'halflife' did not answer (HTTP 500", "HALFLIFE_TOKEN"},
        };
        AUTO(mem_free) char *kubeconfig = tmp_path("report-kubeconfig");
        (void)state;
        assert_true(fake_write_kubeconfig(stage.fake, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fake_fault(
                        stage.fake,
                        &(struct fake_fault){
                                .path = "/api/v1/namespaces/halflife/services/https:halflife:https/proxy/api/v1/report",
                                .times = FAKE_ALWAYS,
                                .status = row[i].status,
                                .body = "{\"detail\":\"no such time\"}"});
                AUTO(mem_free) char *said = HALFLIFE_RUN(1, "report", "--since", "1y");
                if (!strstr(said, row[i].says) || strstr(said, row[i].silent))
                        fail_msg("HTTP %d: %s", row[i].status, said);
                fake_faults_clear(stage.fake);
        }
}

/* Nothing is lost, and nothing counts twice, when halflife starts again; it tells how long it was away. */
static void test_restart(void **state)
{
        (void)state;
        json_t *before AUTO(json_decref) = ask("/api/v1/report", "auditor", 200);
        stop();
        start();
        json_t *after AUTO(json_decref) = ask("/api/v1/report", "auditor", 200);
        double ran = json_number_value(json_object_get(json_object_get(after, "total"), "podSeconds")),
               had = json_number_value(json_object_get(json_object_get(before, "total"), "podSeconds"));
        assert_true(ran >= had && had > 0);
        assert_true(json_number_value(json_object_get(after, "notBooked")) > 0);
        expect_same("namespace", "30d");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same_sums), cmocka_unit_test(test_who_is_told_what),
                cmocka_unit_test(test_command),   cmocka_unit_test(test_refused_by_proxy),
                cmocka_unit_test(test_restart),
        };
        return cmocka_run_group_tests_name("report", tests, begin, end);
}
