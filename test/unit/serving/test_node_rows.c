/* The rows of nodes: sums over their pods, and the workloads furthest above their requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/shop.h"
#include "cache/cache.h"
#include "serving/node_rows.h"

#define MI   (INT64_C(1) << 20)
#define GI   (INT64_C(1) << 30)
#define CORE INT64_C(1000000000)

enum { FRESH_MS = 3 * MINUTE_MS };
static const int64_t now_ms = 1764000000000;

static void take_node(struct cache *w, const char *name)
{
        struct err err = {0};
        AUTO(mem_free)
        char *node = mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"pool\":\"a\"}},\"status\":{\"capacity\":{"
                                "\"cpu\":\"4\",\"memory\":\"16Gi\"},\"allocatable\":{\"cpu\":\"3900m\",\"memory\":"
                                "\"15Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                                name);
        assert_int_equal(node_upsert(w, text_of(node), 1, &err), 0);
}

struct pod_row {
        const char *name, *node, *phase, *annotations, *request, *init;
        int64_t cpu_milli, memory_mi; /* -1: not measured */
        int64_t age_ms;
        const char *whole; /* requests of spec.resources */
        const char *overhead;
};

static void take_pod(struct cache *w, const struct pod_row *p)
{
        struct err err = {0};
        AUTO(mem_free)
        char *pod = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s\",\"annotations\":{%s}},"
                "\"spec\":{\"nodeName\":\"%s\",\"overhead\":{%s},\"resources\":{\"requests\":{%s}},\"initContainers\":["
                "{"
                "\"name\":\"prepare\",\"resources\":{"
                "\"requests\":{%s}}}],\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{%s}}"
                "}]},\"status\":{\"phase\":\"%s\"}}",
                p->name, p->name, p->annotations ? p->annotations : "", p->node, p->overhead ? p->overhead : "",
                p->whole ? p->whole : "", p->init ? p->init : "", p->request, p->phase ? p->phase : "Running");
        if (pod_upsert(w, text_of(pod), 1, &err) < 0)
                fail_msg("%s: %s", p->name, err.text);
        if (p->cpu_milli < 0)
                return;
        AUTO(mem_free) char *key = mem_printf("web/%s", p->name);
        struct pod *kept = map_get(&w->pods, text_of(key));
        struct pod_metrics_view m = {.at = {now_ms - p->age_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){.name = TEXT("app"),
                                                             .has = {true, true},
                                                             .cpu_nano = p->cpu_milli * (CORE / 1000),
                                                             .memory_bytes = p->memory_mi * MI};
        pod_measured(kept, &m);
        for (int i = 0; i < kept->containers; i++)
                if (strcmp(kept->container[i].name, "app") == 0)
                        pod_sampled(&kept->container[i], m.at, &m.container[0]);
}

#define OURS(original, applied)                                                                                        \
        "\"halflife.dev/original-resources\":\"{\\\"app\\\":{" original                                                \
        "}}\",\"halflife.dev/applied-resources\":\"{\\\"app\\\":{" applied "}}\""

static const struct pod_row pods[] = {
        {"plain", "n-1", NULL, NULL, "\"cpu\":\"1\",\"memory\":\"1Gi\"", NULL, 500, 512, 0, NULL, NULL},
        {"lowered", "n-1", NULL,
         OURS("\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\",\\\"memory\\\":\\\"4Gi\\\"}",
              "\\\"requests\\\":{\\\"cpu\\\":\\\"500m\\\"}"),
         "\"cpu\":\"500m\",\"memory\":\"1Gi\"", NULL, 1500, 2048, 60000, NULL, NULL},
        {"by-limit", "n-1", NULL,
         OURS("\\\"limits\\\":{\\\"cpu\\\":\\\"1\\\"}", "\\\"requests\\\":{\\\"cpu\\\":\\\"100m\\\"}"),
         "\"cpu\":\"100m\"", NULL, 300, 64, 0, NULL, NULL},
        {"edited", "n-1", NULL, "\"halflife.dev/original-resources\":\"x\",\"halflife.dev/applied-resources\":\"{}\"",
         "\"cpu\":\"100m\"", NULL, -1, -1, 0, NULL, NULL},
        {"init", "n-1", NULL, NULL, "\"cpu\":\"100m\"", "\"cpu\":\"700m\"", 50, 8, 0, NULL, NULL},
        {"pending", "n-1", "Pending", NULL, "\"cpu\":\"200m\"", NULL, -1, -1, 0, NULL, NULL},
        {"whole", "n-1", NULL,
         OURS("\\\"requests\\\":{\\\"memory\\\":\\\"3Gi\\\"}", "\\\"requests\\\":{\\\"memory\\\":\\\"1Gi\\\"}"),
         "\"cpu\":\"100m\",\"memory\":\"1Gi\"", NULL, -1, -1, 0, "\"cpu\":\"2500m\"", NULL},
        {"sandboxed", "n-1", NULL,
         OURS("\\\"requests\\\":{\\\"cpu\\\":\\\"1\\\"}", "\\\"requests\\\":{\\\"cpu\\\":\\\"400m\\\"}"),
         "\"cpu\":\"400m\"", NULL, -1, -1, 0, NULL, "\"cpu\":\"250m\",\"memory\":\"160Mi\""},
        {"sandboxed-whole", "n-1", NULL, NULL, "\"cpu\":\"100m\"", NULL, -1, -1, 0, "\"cpu\":\"600m\"",
         "\"cpu\":\"250m\""},
        {"over", "n-1", "Succeeded", NULL, "\"cpu\":\"3\"", NULL, 900, 900, 0, NULL, NULL},
        {"stale", "n-1", NULL, NULL, "\"cpu\":\"100m\"", NULL, 4000, 16384, FRESH_MS + 1000, NULL, NULL},
        {"ahead", "n-1", NULL, NULL, "\"cpu\":\"100m\"", NULL, 4000, 16384, -301000, NULL, NULL},
        {"elsewhere", "n-2", NULL, NULL, "\"cpu\":\"100m\",\"memory\":\"1Gi\"", NULL, 200, 9216, 0, NULL, NULL},
        {"nowhere", "n-3", NULL, NULL, "\"cpu\":\"100m\"", NULL, 200, 100, 0, NULL,
         NULL}, /* a node that is not watched */
};

static void sums_are_over_the_pods_of_a_node(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take_node(&w, "n-2");
        take_node(&w, "n-1");
        for (size_t i = 0; i < sizeof pods / sizeof *pods; i++)
                take_pod(&w, &pods[i]);
        cache_relink(&w, (struct now){.wall = {now_ms}});
        struct node_table *t = node_rows_make(&w, 80, (struct wall){now_ms}, FRESH_MS);
        assert_int_equal(t->rows, 2);
        const struct node_row *n = &t->row[0];
        assert_string_equal(n->name, "n-1");
        assert_true(n->ready && !n->unschedulable);
        assert_int_equal(n->allocatable[CPU], 3900);
        assert_int_equal(n->pods, 11);
        assert_int_equal(n->measured, 4);
        /* plain, lowered, by-limit, edited, init, pending, stale, ahead, whole, sandboxed, sandboxed-whole */
        assert_int_equal(n->requested[CPU], 1000 + 500 + 100 + 100 + 700 + 200 + 100 + 100 + 2500 + 650 + 850);
        assert_int_equal(n->original[CPU], 1000 + 2000 + 1000 + 100 + 700 + 200 + 100 + 100 + 2500 + 1250 + 850);
        assert_int_equal(n->requested[MEMORY], 3 * GI + 160 * MI);
        assert_int_equal(n->original[MEMORY], 8 * GI + 160 * MI);
        assert_int_equal(n->pods_used[CPU], 500 + 1500 + 300 + 50);
        assert_int_equal(n->pods_used[MEMORY], (512 + 2048 + 64 + 8) * MI);
        assert_int_equal(n->workloads, 3);
        assert_string_equal(n->workload[0].name, "lowered");
        assert_string_equal(n->workload[0].kind, "Pod");
        assert_int_equal(n->workload[0].used[CPU], 1500);
        assert_int_equal(n->workload[0].requested[CPU], 500);
        assert_string_equal(n->workload[1].name, "by-limit");
        assert_string_equal(n->workload[2].name, "init"); /* by its memory, of which it requests none */
        assert_string_equal(t->row[1].workload[0].name, "elsewhere");
        node_table_drop(t);
        cache_release(&w);
}

/* A pod of a workload with a profile counts with what the template's owner asks for, whatever its own annotation says:
 * the record of what halflife set there, or what the owner has set since. */
static void originals_are_those_of_the_template(void **state)
{
        static const struct {
                const char *request;
                int64_t original;
        } template[] = {{"500m", 2000}, {"1500m", 1500}};
        (void)state;
        for (size_t i = 0; i < sizeof template / sizeof *template; i++) {
                struct cache w;
                struct err err = {0};
                cache_init(&w, "halflife", "halflife");
                take_node(&w, "n-1");
                AUTO(mem_free)
                char *spec = mem_printf(
                        "\"replicas\":1,\"template\":{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"containers\":[{"
                        "\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
                        OURS("\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\"}", "\\\"requests\\\":{\\\"cpu\\\":\\\"500m\\\"}"),
                        template[i].request);
                shop_workload(&w, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, NULL, spec,
                                                          SHOP_ROLLED_OUT});
                shop_profile(&w, 1, "{\"apply\":{\"mode\":\"Rollout\"}}");
                const struct text pod =
                        TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"u\"" SHOP_OWNED
                             ",\"annotations\":{" OURS(
                                     "\\\"requests\\\":{\\\"cpu\\\":\\\"3\\\"}",
                                     "\\\"requests\\\":{\\\"cpu\\\":\\\"500m\\\"}") "}},\"spec\":{\"nodeName\":\"n-1\","
                                                                                    "\"overhead\":{\"cpu\":\"250m\"},"
                                                                                    "\"containers\":[{\"name\":\"app\","
                                                                                    "\"resources\":{\"requests\":{"
                                                                                    "\"cpu\":\"500m\"}}}]},\"status\":{"
                                                                                    "\"phase\":\"Running\"}}");
                assert_int_equal(pod_upsert(&w, pod, 1, &err), 0);
                cache_relink(&w, (struct now){.wall = {now_ms}});
                struct node_table *t = node_rows_make(&w, 80, (struct wall){now_ms}, FRESH_MS);
                assert_int_equal(t->row[0].requested[CPU], 750);
                assert_int_equal(t->row[0].original[CPU], template[i].original + 250);
                node_table_drop(t);
                cache_release(&w);
        }
}

static void nodes_come_by_pressure(void **state)
{
        static const struct {
                const char *name;
                int64_t cpu, memory;
        } use[] = {{"low", 400, GI},  {"cpu", 3000, GI},     {"memory", 400, 15 * GI},
                   {"hot", 3900, GI}, {"also-low", 400, GI}, {"unused", 0, 1}};
        static const char *const want[] = {"hot", "memory", "cpu", "also-low", "low", "unused", "silent"};
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take_node(&w, "silent");
        for (size_t i = 0; i < sizeof use / sizeof *use; i++) {
                take_node(&w, use[i].name);
                struct node_facts *f = ((struct node *)map_get(&w.nodes.by_name, text_of(use[i].name)))->facts;
                for (int k = 14; k >= 0; k--) {
                        const struct node_usage u = {{now_ms - k * MINUTE_MS}, {use[i].cpu, use[i].memory}};
                        assert_int_equal(node_ring_add(&f->ring, &u, f->capacity, (struct wall){now_ms}),
                                         NODE_ACCEPTED);
                }
        }
        struct node_table *t = node_rows_make(&w, 80, (struct wall){now_ms}, FRESH_MS);
        assert_int_equal(t->rows, sizeof want / sizeof *want);
        for (size_t i = 0; i < t->rows; i++)
                assert_string_equal(t->row[i].name, want[i]);
        assert_int_equal(t->row[0].above[CPU], 15);
        assert_int_equal(t->row[1].above[MEMORY], 15);
        assert_int_equal(t->row[2].above[CPU], 0);
        assert_int_equal(t->row[5].load.samples, 15);
        assert_int_equal(t->row[6].load.samples, 0);
        struct node_table *same = node_table_hold(t);
        node_table_drop(t);
        assert_string_equal(same->row[0].name, "hot");
        node_table_drop(same);
        node_table_drop(NULL);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sums_are_over_the_pods_of_a_node),
                cmocka_unit_test(originals_are_those_of_the_template),
                cmocka_unit_test(nodes_come_by_pressure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
