/*
 * A scheduler reads the load of nodes: without any profile, with means and deviations once there are samples; a node
 * that is silent is left out, what was measured survives a restart, and usage that is away makes the map empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

enum { LONG_MS = 40 * MINUTE_MS /* by the clock of test/pace */, MANY = 20 };

static const char usage[] = "/apis/metrics.k8s.io/v1beta1/nodes";

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *address;
} stage;

static void put_node(const char *name, const char *annotations)
{
        AUTO(mem_free)
        char *node = mem_printf(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"annotations\":{%s}},"
                "\"status\":{"
                "\"capacity\":{\"cpu\":\"4\",\"memory\":\"16Gi\"},\"allocatable\":{\"cpu\":\"3\",\"memory\":\"8Gi\"},"
                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                name, annotations);
        fake_put(stage.fake, "kubelet", node);
}

#define USES(cpu, memory) "\"kwok.x-k8s.io/usage-cpu\":\"" cpu "\",\"kwok.x-k8s.io/usage-memory\":\"" memory "\""
#define SILENT            "\"fake/silent\":\"\""

static void start(void)
{
        stage.halflife =
                halflife_start(stage.fake, "watcher.db",
                               (const char *const[]){"--watcher-listen", "127.0.0.1:0", "--interval", "60s", NULL});
        stage.address = halflife_watcher_address(stage.halflife);
        assert_non_null(stage.address);
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
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 7});
        assert_true(f && fake_load(f, "crds"));
        fake_set_metrics(f, &(struct fake_metrics){.step_ms = 1000});
        AUTO(mem_free) char *kubeconfig = tmp_path("watcher-kubeconfig"), *database = tmp_path("watcher.db");
        (void)remove(database);
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        put_node("a", USES("1", "4Gi"));
        put_node("b", USES("3", "2Gi"));
        put_node("c", SILENT);
        return 0;
}

static int end(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.address);
        stage = (struct stage){0};
        return 0;
}

/* --- what is told --- */

static struct got get(const char *path)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", stage.address, path);
        return fetch(&(struct fetch){.url = url});
}

static json_t *map_of(const struct got *g)
{
        return json_object_get(json_object_get(g->json, "data"), "NodeMetricsMap");
}

/* A value as the document has it, in per cent; -1: it has none. */
static double value_of(const struct got *g, const char *node, const char *type, const char *operator)
{
        json_t *metric;
        size_t i;
        json_array_foreach(json_object_get(json_object_get(map_of(g), node), "metrics"), i, metric)
        {
                const char *t = json_string_value(json_object_get(metric, "type")),
                           *o = json_string_value(json_object_get(metric, "operator"));
                if (strcmp(t, type) == 0 && strcmp(o, operator) == 0)
                        return json_number_value(json_object_get(metric, "value"));
        }
        return -1;
}

/* Is this so of the document, now or after some of MANY cycles? */
static bool comes(bool (*holds)(const struct got *g))
{
        for (int i = 0; i < MANY; i++) {
                AUTO(got_release) struct got g = get("/watcher");
                if (holds(&g))
                        return true;
                assert_true(halflife_await_cycles(stage.halflife, stage.fake, 1, LONG_MS));
        }
        return false;
}

static bool has_a_latest(const struct got *g)
{
        return value_of(g, "a", "CPU", "Latest") == 25 && value_of(g, "b", "CPU", "Latest") == 75;
}

static bool has_deviations(const struct got *g)
{
        return value_of(g, "a", "CPU", "STD") >= 0 && value_of(g, "b", "Memory", "STD") >= 0;
}

static bool lacks_b(const struct got *g)
{
        return g->status == 200 && json_object_size(map_of(g)) == 1 && !json_object_get(map_of(g), "b");
}

static bool is_empty(const struct got *g)
{
        return g->status == 200 && map_of(g) && json_object_size(map_of(g)) == 0;
}

static void expect_status(const char *path, long status)
{
        AUTO(got_release) struct got g = get(path);
        if (g.status != status)
                fail_msg("%s: %ld %s", path, g.status, g.body);
}

/* --- */

static void test_the_load_is_told(void **state)
{
        (void)state;
        start();
        assert_true(comes(has_a_latest));
        AUTO(got_release) struct got first = get("/watcher");
        assert_null(json_object_get(map_of(&first), "c"));
        assert_true(value_of(&first, "a", "Memory", "Latest") == 25);
        assert_true(value_of(&first, "b", "Memory", "Latest") == 12.5);
        assert_true(comes(has_deviations));
        AUTO(got_release) struct got later = get("/watcher"), one = get("/watcher?host=b");
        assert_true(value_of(&later, "b", "CPU", "AVG") == 75);
        assert_true(value_of(&later, "b", "CPU", "STD") == 0);
        assert_int_equal(json_object_size(map_of(&one)), 1);
        assert_true(value_of(&one, "b", "CPU", "AVG") == 75);
        expect_status("/watcher/health", 200);
        expect_status("/watcher?host=c", 404);
        expect_status("/metrics", 404);
        /* b says nothing any more, and after five minutes nothing is said of it */
        put_node("b", SILENT);
        assert_true(comes(lacks_b));
        expect_status("/watcher?host=b", 404);
        expect_status("/watcher/health", 200);
        assert_true(halflife_await_metric(stage.halflife, stage.fake, "halflife_watcher_requests_total{code=\"2xx\"}",
                                          5, LONG_MS));
        assert_true(halflife_await_metric(stage.halflife, stage.fake, "halflife_watcher_requests_total{code=\"4xx\"}",
                                          3, LONG_MS));
        stop();
}

/* What was measured before a restart is told after it, although usage is away; then it grows old. */
static void test_usage_that_is_away(void **state)
{
        (void)state;
        start();
        assert_true(comes(has_deviations));
        stop();
        fake_fault(stage.fake, &(struct fake_fault){.path = usage, .times = FAKE_ALWAYS, .status = 503});
        start();
        assert_true(comes(has_deviations));
        assert_true(halflife_metric(stage.halflife, "halflife_cycles_total") <= 2);
        expect_status("/watcher/health", 200);
        assert_true(comes(is_empty));
        expect_status("/watcher/health", 503);
        expect_status("/watcher?host=a", 404);
        assert_int_equal(halflife_said(stage.halflife, "usage of nodes cannot be read"), 1);
        fake_faults_clear(stage.fake);
        assert_true(comes(has_a_latest));
        expect_status("/watcher/health", 200);
        stop();
}

/* Nothing was ever measured: a scheduler keeps what it has. */
static void test_usage_that_never_came(void **state)
{
        (void)state;
        fake_fault(stage.fake, &(struct fake_fault){.path = usage, .times = FAKE_ALWAYS, .status = 403});
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, LONG_MS));
        expect_status("/watcher", 500);
        expect_status("/watcher/health", 503);
        stop();
}

/* A replica has no samples, so the setting is of run alone; by default nothing is served. */
static void test_who_serves_it(void **state)
{
        (void)state;
        stage.halflife =
                halflife_command((const char *const[]){"serve", "--listen", "127.0.0.1:0", "--serve-listen",
                                                       "127.0.0.1:0", "--watcher-listen", "127.0.0.1:0", NULL});
        assert_true(halflife_await_log(stage.halflife, "serves /api/v1", 1, LONG_MS));
        assert_int_equal(halflife_said(stage.halflife, "serves /watcher"), 0);
        stop();
        stage.halflife = halflife_start(stage.fake, "watcher.db", (const char *const[]){NULL});
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 1, LONG_MS));
        assert_int_equal(halflife_said(stage.halflife, "serves /watcher"), 0);
        stop();
        AUTO(mem_free)
        char *taken = HALFLIFE_RUN(1, "run", "--listen", "", "--watcher-listen", "127.0.0.1", "--database", "");
        assert_non_null(strstr(taken, "listen on '127.0.0.1'"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_the_load_is_told, begin, end),
                cmocka_unit_test_setup_teardown(test_usage_that_is_away, begin, end),
                cmocka_unit_test_setup_teardown(test_usage_that_never_came, begin, end),
                cmocka_unit_test_setup_teardown(test_who_serves_it, begin, end),
        };
        return cmocka_run_group_tests_name("watcher", tests, NULL, NULL);
}
