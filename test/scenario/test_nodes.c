/*
 * Nodes: their usage becomes samples, one that is hot is told once, halflife nodes shows them to who may see them, and
 * all of it survives a restart. Nodes that lie are told once.
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

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"

enum { LONG_MS = 40 * MINUTE_MS /* by the clock of test/pace */ };

static const char hot[] = "halflife_nodes_hot", nodes[] = "/apis/metrics.k8s.io/v1beta1/nodes",
                  events[] = "/apis/events.k8s.io/v1/namespaces/default/events";

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *address;
} stage;

static void put_node(const char *name, const char *capacity, const char *annotations)
{
        AUTO(mem_free)
        char *node = mem_printf(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{\"pool\":"
                "\"%s\"},\"annotations\":{%s}},\"status\":{\"capacity\":{%s},\"allocatable\":{%s},"
                "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                name, name, annotations, capacity, capacity);
        fake_put(stage.fake, "kubelet", node);
}

#define FOUR      "\"cpu\":\"4\",\"memory\":\"16Gi\""
#define USES(cpu) "\"kwok.x-k8s.io/usage-cpu\":\"" cpu "\",\"kwok.x-k8s.io/usage-memory\":\"2Gi\""

static void put_deployment(void)
{
        fake_put(
                stage.fake, "kubectl",
                "{\"apiVersion\":\"apps/"
                "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\"},"
                "\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},\"template\":{\"metadata\":{"
                "\"labels\":{\"app\":\"web\"},\"annotations\":{\"kwok.x-k8s.io/usage-cpu\":\"1600m\","
                "\"kwok.x-k8s.io/"
                "usage-memory\":\"200Mi\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"app\","
                "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}}");
}

static void start(void)
{
        stage.halflife =
                halflife_start(stage.fake, "nodes.db",
                               (const char *const[]){"--serve-listen", "127.0.0.1:0", "--interval", "60s", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife);
        stage.address = mem_printf("http://%s", address);
}

static void stop(void)
{
        assert_int_equal(halflife_stop(stage.halflife), 0);
        halflife_free(stage.halflife);
        mem_free(stage.address);
        stage.halflife = NULL;
        stage.address = NULL;
}

static void begin(void)
{
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 7});
        assert_true(f && fake_load(f, "crds"));
        fake_set_metrics(f, &(struct fake_metrics){.step_ms = 1000});
        fake_put(f, "kubectl", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"team\","
                 "\"namespace\":\"shop\"},\"spec\":{}}");
        put_deployment();
        fake_person(f, "admin", "admin", NULL); /* may list nodes and recommendations */
        fake_grant_resource(f, "admin", "nodes");
        fake_grant(f, &(struct fake_grant){"admin", NULL, NULL, NULL});
        fake_person(f, "nodes", "nodes", NULL); /* nodes alone */
        fake_grant_resource(f, "nodes", "nodes");
        fake_person(f, "team", "team", NULL); /* nodes, and the recommendations of shop */
        fake_grant_resource(f, "team", "nodes");
        fake_grant(f, &(struct fake_grant){"team", "list", "shop", NULL});
        fake_person(f, "none", "none", NULL);
        AUTO(mem_free) char *kubeconfig = tmp_path("nodes-kubeconfig");
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
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

/* How often a text stands in what the API server has at a path. */
static int count(const char *path, const char *text)
{
        AUTO(mem_free) char *all = fake_get(stage.fake, path);
        int n = 0;
        for (const char *at = all; at && (at = strstr(at, text)); at++)
                n++;
        return n;
}

enum { SAYS = 8, ARGS = 8 };
static const struct {
        const char *token, *args[ARGS];
        int code;
        const char *says[SAYS]; /* "!x": must not */
} row[] = {
        {"admin",
         {NULL},
         0,
         {"NAME ", "PRESSURE", "node-0 ", "90%", " cpu ", "50%", "shop/Deployment/web +1200m", "quiet"}},
        {"admin", {"-o", "wide"}, 0, {"CPU-ORIGINAL", "Ready", "TAINTS", "3600m"}},
        {"admin", {"-o", "json"}, 0, {"\"HotNode\"", "\"pressurePercent\": 90.0", "\"samples\": 1", "\"web\""}},
        {"admin", {"-l", "pool=quiet"}, 0, {"quiet", "!node-0"}},
        {"admin", {"-l", "pool in (a"}, 1, {"HTTP 400: ')' is missing"}},
        {"admin", {"--limit", "1"}, 0, {"node-0", "!quiet", "1 more node with less pressure"}},
        {"admin", {"-n", "other"}, 0, {"node-0", "!web"}},
        {"nodes", {NULL}, 0, {"node-0", "90%", "!web"}},
        {"nodes", {"-n", "shop"}, 0, {"node-0", "!web"}},
        {"team", {NULL}, 0, {"node-0", "!web"}},
        {"team", {"-n", "shop"}, 0, {"shop/Deployment/web"}},
        {"none", {NULL}, 1, {"HTTP 403: this needs permission to list nodes"}},
        {"stranger", {NULL}, 1, {"HTTP 401"}},
        {"admin", {"node-0"}, 2, {"takes no argument"}},
};

static void see_rows(void)
{
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                const char *args[ARGS + 4] = {"nodes", "--server", stage.address};
                for (int k = 0; k < ARGS && row[i].args[k]; k++)
                        args[3 + k] = row[i].args[k];
                setenv("HALFLIFE_TOKEN", row[i].token, 1);
                AUTO(mem_free) char *said = halflife_run(row[i].code, args);
                for (int k = 0; k < SAYS && row[i].says[k]; k++) {
                        bool not = *row[i].says[k] == '!';
                        if ((strstr(said, row[i].says[k] + not ) != NULL) == not )
                                fail_msg("row %zu (%s): %s'%s' in\n%s", i, row[i].token, not ? "" : "no ",
                                         row[i].says[k] + not, said);
                }
        }
        unsetenv("HALFLIFE_TOKEN");
}

static void test_a_hot_node(void **state)
{
        (void)state;
        begin();
        put_node("node-0", FOUR, USES("3600m"));
        put_node("quiet", FOUR, USES("400m"));
        start();
        assert_true(halflife_await_metric(stage.halflife, stage.fake, hot, 1, LONG_MS));
        assert_true(halflife_metric(stage.halflife, hot) == 1);
        assert_true(halflife_metric(stage.halflife, "halflife_nodes") == 2);
        assert_true(halflife_metric(stage.halflife, "halflife_node_samples_total{result=\"accepted\"}") >= 24);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, LONG_MS));
        assert_int_equal(count(events, "\"HotNode\""), 1);
        assert_int_equal(count(events, "samples of cpu are above 80 % of the node's 4 (mean 90 %)"), 1);
        assert_int_equal(count(events, "web"), 0);
        see_rows();
        stop();
        /* Another process knows at once, and tells nobody again. */
        start();
        assert_true(halflife_await_metric(stage.halflife, stage.fake, hot, 1, LONG_MS));
        assert_true(halflife_metric(stage.halflife, "halflife_cycles_total") <= 2);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 1, LONG_MS));
        assert_int_equal(count(events, "\"HotNode\""), 1);
        /* It cools, and has nothing to say then. */
        put_node("node-0", FOUR, USES("400m"));
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 9, LONG_MS));
        assert_true(halflife_metric(stage.halflife, hot) == 0);
        stop();
}

static void test_nodes_that_lie(void **state)
{
        static const struct {
                const char *name, *capacity, *uses, *line;
        } liar[] = {
                {"above", FOUR, USES("9"), "a node's usage is above its capacity: it counts as the capacity"},
                {"negative", FOUR, USES("-1"), "a node's usage is negative or lacks a value"},
                {"sizeless", "\"cpu\":\"0\",\"memory\":\"0\"", USES("1"), "a node has no capacity"},
                {"ahead", FOUR, USES("1") ",\"fake/usage-ahead-ms\":\"600000\"", "a node's usage is dated ahead"},
        };
        enum { LIARS = sizeof liar / sizeof liar[0] };
        (void)state;
        begin();
        for (int i = 0; i < LIARS; i++)
                put_node(liar[i].name, liar[i].capacity, liar[i].uses);
        put_node("broken", "\"cpu\":\"-4\"", USES("1")); /* refused as a whole, as any object that cannot be read */
        put_node("node-0", FOUR, USES("400m"));
        put_node("silent", FOUR, "\"fake/silent\":\"\"");
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 4, LONG_MS));
        for (int i = 0; i < LIARS; i++)
                assert_int_equal(halflife_said(stage.halflife, liar[i].line), 1);
        assert_true(halflife_metric(stage.halflife, "halflife_node_samples_total{result=\"invalid\"}") >= 3);
        assert_true(halflife_metric(stage.halflife, "halflife_node_samples_total{result=\"future\"}") >= 3);
        assert_true(halflife_metric(stage.halflife, "halflife_node_samples_total{result=\"no_capacity\"}") >= 3);
        assert_true(halflife_metric(stage.halflife, "halflife_node_samples_unknown_total") >= 3);
        setenv("HALFLIFE_TOKEN", "admin", 1);
        AUTO(mem_free) char *table = HALFLIFE_RUN(0, "nodes", "--server", stage.address);
        const char *first = strstr(table, "above"), *last = strstr(table, "silent");
        assert_true(first && last && strstr(first, "100%") && first < strstr(table, "node-0"));
        assert_null(strstr(table, "broken"));
        /* It comes back with another size, and one goes. */
        put_node("node-0", "\"cpu\":\"2\",\"memory\":\"16Gi\"", USES("400m"));
        fake_delete(stage.fake, "/api/v1/nodes/silent");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, LONG_MS));
        AUTO(mem_free) char *after = HALFLIFE_RUN(0, "nodes", "--server", stage.address, "-l", "pool=node-0");
        assert_non_null(strstr(after, "20%"));
        AUTO(mem_free) char *all = HALFLIFE_RUN(0, "nodes", "--server", stage.address);
        assert_null(strstr(all, "silent"));
        stop();
}

/* --- dimension Node --- */

static const char learned[] = "/apis/halflife.dev/v1alpha1/namespaces/halflife-system/recommendations/node-node-0";

static void start_learning(void)
{
        stage.halflife = halflife_start(stage.fake, "nodes-learned.db",
                                        (const char *const[]){"--serve-listen", "127.0.0.1:0", "--interval", "60s",
                                                              "--status-interval", "10m", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife);
        mem_free(stage.address);
        stage.address = mem_printf("http://%s", address);
}

/* Wait for as many cycles as the Recommendation needs to have a text. Returns it. */
static char *await_learned(const char *text)
{
        enum { CYCLES = 20 };
        char *is = fake_get(stage.fake, learned);
        for (int i = 0; i < CYCLES && !(is && strstr(is, text)); i++) {
                mem_free(is);
                assert_true(halflife_await_cycles(stage.halflife, stage.fake, 1, LONG_MS));
                is = fake_get(stage.fake, learned);
        }
        if (!is || !strstr(is, text))
                fail_msg("no %s in %s", text, is ? is : "nothing");
        return is;
}

/* The text from a key on, of so many bytes. */
static char *part_of(const char *object, const char *key, size_t len)
{
        const char *at = strstr(object, key);
        assert_non_null(at);
        return mem_string_n(at, len);
}

static void scale(int replicas)
{
        AUTO(mem_free)
        char *patch = mem_printf("{\"spec\":{\"replicas\":%d}}", replicas);
        fake_merge(stage.fake, "/apis/apps/v1/namespaces/shop/deployments/web", "kubectl", patch);
}

static void has(const char *object, const char *text)
{
        if (!strstr(object, text))
                fail_msg("no %s in %s", text, object);
}

/* Two pods of 1600m on a node of four cores; a third is more than it has. */
static void test_a_learned_node(void **state)
{
        enum { VERSION = 30, FIRST = 38 };
        (void)state;
        begin();
        put_node("node-0", FOUR, USES("3600m"));
        put_node("quiet", FOUR, USES("400m"));
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"halflife.dev/"
                 "v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{\"name\":\"nodes\"},"
                 "\"spec\":{\"dimension\":\"Node\",\"selector\":{\"matchLabels\":{\"pool\":\"node-0\"}},\"apply\":{"
                 "\"minHistory\":\"0s\"}}}");
        start_learning();
        AUTO(mem_free) char *first = await_learned("\"state\":\"Ready\"");
        has(first, "\"dimension\":\"Node\"");
        has(first, "\"capacity\":\"4\",\"allocatable\":\"4\"");
        has(first, "\"requested\":\"2\"");
        has(first, "\"packingPercent\":50");
        has(first, "\"reason\":\"RecommendOnly\"");
        has(first, "\"pool\":\"node-0\"");
        assert_int_equal(count("/apis/halflife.dev/v1alpha1/recommendations", "\"node-quiet\""), 0);
        /* Commands take it as any other. */
        setenv("HALFLIFE_TOKEN", "admin", 1);
        AUTO(mem_free) char *file = tmp_path("nodes-learned.export");
        AUTO(mem_free)
        char *exported = HALFLIFE_RUN(0, "export", "-n", "halflife-system", "--server", stage.address, "-o", file);
        has(exported, "1 history of 1 workload");
        AUTO(mem_free)
        char *explained = HALFLIFE_RUN(0, "explain", "node/node-0", "-n", "halflife-system", "--server", stage.address);
        has(explained, "Node node-0 in namespace halflife-system, by ClusterProfile nodes: Ready");
        AUTO(mem_free) char *got = HALFLIFE_RUN(0, "get", "no/node-0", "-n", "halflife-system");
        has(got, "node-0");
        /* A pod comes, and the peak rises: it is written ten minutes after the last time, and bounded by the node. */
        AUTO(mem_free) char *was = part_of(first, "\"resourceVersion\":", VERSION);
        scale(3);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 4, LONG_MS));
        AUTO(mem_free) char *soon = fake_get(stage.fake, learned);
        has(soon, was);
        AUTO(mem_free) char *later = await_learned("\"packingPercent\":75");
        assert_null(strstr(later, was));
        assert_int_equal(halflife_said(stage.halflife, "the pods of a node use more than its capacity"), 1);
        /* It is killed, and another process knows. */
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, LONG_MS));
        halflife_kill(stage.halflife);
        halflife_free(stage.halflife);
        start_learning();
        AUTO(mem_free) char *since = part_of(first, "\"firstSample\":", FIRST);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
        AUTO(mem_free) char *again = fake_get(stage.fake, learned);
        has(again, since);
        has(again, "\"state\":\"Ready\"");
        /* Another machine learns anew, and its size is written at once. */
        put_node("node-0", "\"cpu\":\"8\",\"memory\":\"32Gi\"", USES("3600m"));
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
        AUTO(mem_free) char *grown = fake_get(stage.fake, learned);
        has(grown, "\"capacity\":\"8\"");
        assert_null(strstr(grown, since));
        assert_int_equal(halflife_said(stage.halflife, "a node came back with another size"), 1);
        /* What was exported joins what is learned anew; it is answered once it is stored, with the next cycle. */
        struct halflife *import = halflife_command((const char *const[]){"import", file, NULL});
        int code = halflife_await(import, LONG_MS);
        AUTO(mem_free) char *imported = halflife_log(import);
        if (code != 0)
                fail_msg("import: %d\n%s", code, imported);
        halflife_free(import);
        /* It goes; what was learned of it stays for a while. Nothing was written to it. */
        assert_int_equal(count("/api/v1/nodes", "\"manager\":\"halflife"), 0);
        fake_delete(stage.fake, "/api/v1/nodes/node-0");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, LONG_MS));
        AUTO(mem_free) char *gone = fake_get(stage.fake, learned);
        has(gone, "\"capacity\":\"8\"");
        assert_int_equal(halflife_stop(stage.halflife), 0);
        halflife_free(stage.halflife);
        stage.halflife = NULL;
}

/* --- through the API server's proxy to services --- */

static void set_token_of(const char *who)
{
        if (who)
                setenv("HALFLIFE_TOKEN", who, 1);
        else
                unsetenv("HALFLIFE_TOKEN");
}

/* No address of halflife's is needed: the proxy hands back what halflife says. */
static void test_by_proxy(void **state)
{
        static const char at[] = "/api/v1/namespaces/halflife/services/https:halflife:https/proxy/api/v1/nodes";
        (void)state;
        begin();
        put_node("node-0", FOUR, USES("3600m"));
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
        set_token_of("admin");
        AUTO(mem_free) char *json = HALFLIFE_RUN(0, "nodes", "--server", stage.address, "-o", "json");
        fake_fault(stage.fake, &(struct fake_fault){.path = at, .times = FAKE_ALWAYS, .status = 200, .body = json});
        AUTO(mem_free) char *direct = HALFLIFE_RUN(0, "nodes", "--server", stage.address);
        AUTO(mem_free) char *table = HALFLIFE_RUN(0, "nodes");
        assert_string_equal(table, direct);
        AUTO(mem_free) char *away = HALFLIFE_RUN(1, "nodes", "--halflife-namespace", "elsewhere");
        assert_non_null(strstr(away, "Service 'halflife' in namespace 'elsewhere' did not answer"));
        fake_faults_clear(stage.fake);
        fake_fault(stage.fake, &(struct fake_fault){
                                       .path = at,
                                       .times = FAKE_ALWAYS,
                                       .status = 403,
                                       .body = "{\"kind\":\"Status\",\"message\":\"User cannot get services/proxy\"}"});
        AUTO(mem_free) char *shut = HALFLIFE_RUN(1, "nodes");
        assert_non_null(strstr(shut, "kubectl create rolebinding halflife-rest-proxy -n halflife"));
        set_token_of(NULL);
        stop();
}

/* --- too many: with sanitizers, to make them takes a minute --- */

#ifndef SLOWED
/* Usage is kept of 10 000 of 20 000 nodes, and that is told once. */
static void test_more_nodes_than_are_kept(void **state)
{
        enum { KEPT = 10000, MANY = 2 * KEPT };
        char name[32];
        (void)state;
        begin();
        put_node("node-0", FOUR, USES("400m"));
        for (int i = 1; i < MANY; i++) {
                snprintf(name, sizeof name, "node-%d", i);
                put_node(name, FOUR, "\"fake/silent\":\"\"");
        }
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
        assert_true(halflife_metric(stage.halflife, "halflife_nodes") == KEPT);
        assert_int_equal(halflife_said(stage.halflife, "there are more nodes than halflife keeps usage for"), 1);
        stop();
}
#endif

/* --- usage that cannot be read --- */

/* Nothing else waits for the usage of nodes. */
static void test_usage_that_is_denied(void **state)
{
        (void)state;
        begin();
        put_node("node-0", FOUR, USES("400m"));
        fake_fault(stage.fake, &(struct fake_fault){.path = nodes, .times = FAKE_ALWAYS, .status = 403});
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, LONG_MS));
        assert_int_equal(halflife_said(stage.halflife, "usage of nodes cannot be read"), 1);
        assert_true(halflife_metric(stage.halflife, "halflife_usage_source_up") == 1);
        assert_true(halflife_metric(stage.halflife, "halflife_samples_total{result=\"accepted\"}") > 0);
        setenv("HALFLIFE_TOKEN", "admin", 1);
        AUTO(mem_free) char *table = HALFLIFE_RUN(0, "nodes", "--server", stage.address);
        assert_non_null(strstr(table, "node-0"));
        fake_faults_clear(stage.fake);
        assert_true(halflife_await_log(stage.halflife, "usage of nodes can be read again", 1, LONG_MS));
        stop();
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_teardown(test_a_hot_node, end),
                cmocka_unit_test_teardown(test_nodes_that_lie, end),
                cmocka_unit_test_teardown(test_a_learned_node, end),
                cmocka_unit_test_teardown(test_by_proxy, end),
#ifndef SLOWED
                cmocka_unit_test_teardown(test_more_nodes_than_are_kept, end),
#endif
                cmocka_unit_test_teardown(test_usage_that_is_denied, end),
        };
        return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
