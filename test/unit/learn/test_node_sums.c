/* Nodes as targets: which are, what their pods use and request together, and what is published of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"
#include "cache/node_target.h"
#include "cache/pod_namespace_targets.h"
#include "plan/plan.h"
#include "serving/node_rows.h"

#define NODES   "{\"dimension\":\"Node\",\"apply\":{\"minHistory\":\"0s\"}}"
#define N1      "halflife-system//Node/n-1"
#define FOUR    "\"cpu\":\"4\",\"memory\":\"16Gi\""
#define EIGHT   "\"cpu\":\"8\",\"memory\":\"32Gi\""
#define MI      (INT64_C(1) << 20)
#define CORE_MS INT64_C(1000000) /* nanocores of a millicore */

static void open_world(struct rig *c)
{
        rig_begin(c);
        c->live.interval_ms = MINUTE_MS;
}

static void put_profile(struct rig *c, bool cluster, int generation, const char *spec)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"name\":\"nodes\",\"namespace\":\"%s\",\"generation\":%d},\"spec\":%s}",
                           cluster ? "" : "halflife-system", generation, spec);
        if (profile_upsert(&c->cache, cluster, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void put_node(struct rig *c, const char *name, const char *pool, const char *capacity)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"pool\":\"%s\"}},\"status\":{\"capacity\":{"
                           "%s},\"allocatable\":{%s},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
                           name, pool, capacity, capacity);
        assert_int_equal(node_upsert(&c->cache, text_of(json), 1, &err), 0);
}

static void drop_node(struct rig *c, const char *name)
{
        AUTO(mem_free) char *json = mem_printf("{\"metadata\":{\"name\":\"%s\"}}", name);
        node_remove(&c->cache, text_of(json));
}

/* more: members of its spec. */
static void put_pod(struct rig *c, const char *ns, const char *name, const char *node, const char *meta,
                    const char *cpu, const char *more)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"%s\"%s},\"spec\":{\"nodeName\":\"%s\"%s,"
                "\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]},"
                "\"status\":{\"phase\":\"Running\",\"startTime\":\"2020-01-01T00:00:00Z\"}}",
                ns, name, name, meta, node, more, cpu);
        if (pod_upsert(&c->cache, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void settle(struct rig *c)
{
        cache_relink(&c->cache, loop_now(c->loop));
        pods_free_dropped(&c->cache);
}

static struct target *target_of(struct rig *c, const char *key)
{
        return map_get(&c->cache.targets, text_of(key));
}

static bool lives(struct rig *c, const char *key)
{
        const struct target *t = target_of(c, key);
        return t && t->workload && t->profile;
}

static const struct node *node_named(struct rig *c, const char *name)
{
        return map_get(&c->cache.nodes.by_name, text_of(name));
}

/* One poll's item, from so many seconds ago. */
static void fold(struct rig *c, const char *ns, const char *pod, int age_s, int64_t milli)
{
        int64_t at_ms = loop_now(c->loop).wall.ms - age_s * (int64_t)SECOND_MS;
        struct pod_metrics_view m = {.ns = text_of(ns), .name = text_of(pod), .at = {at_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){
                .name = TEXT("app"), .has = {true, true}, .cpu_nano = milli * CORE_MS, .memory_bytes = 300 * MI};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

static const struct history *history_of(struct rig *c, const char *key)
{
        const struct target *t = target_of(c, key);
        return t ? history_find(t, c->cache.whole) : NULL;
}

static int64_t samples_of(struct rig *c, const char *key)
{
        const struct history *h = history_of(c, key);
        return h ? h->usage.samples : 0;
}

static int64_t most_of(struct rig *c, const char *key)
{
        double value = 0;
        const struct history *h = history_of(c, key);
        if (h)
                (void)usage_percentile(&h->usage, CPU, 1000, &value);
        return (int64_t)(value * 1000);
}

/* --- who is one --- */

static void test_who(void **state)
{
        static const struct {
                const char *what, *spec;
                bool cluster, want;
        } row[] = {
                {"all nodes", NODES, true, true},
                {"by a label", "{\"dimension\":\"Node\",\"selector\":{\"matchLabels\":{\"pool\":\"a\"}}}", true, true},
                {"which it has not", "{\"dimension\":\"Node\",\"selector\":{\"matchLabels\":{\"pool\":\"b\"}}}", true,
                 false},
                {"nodes are no team's", NODES, false, false},
                {"another dimension", "{\"dimension\":\"Namespace\"}", true, false},
                {"no namespaces", "{\"dimension\":\"Node\",\"namespaceSelector\":{\"matchLabels\":{\"pool\":\"a\"}}}",
                 true, false},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                put_profile(&c, row[i].cluster, 1, row[i].spec);
                put_node(&c, "n-1", "a", FOUR);
                put_pod(&c, "web", "lone", "n-2", "", "1", ""); /* on a node that is not watched */
                settle(&c);
                if (lives(&c, N1) != row[i].want)
                        fail_msg("%s: %s", row[i].what, row[i].want ? "none" : "one");
                assert_false(lives(&c, "halflife-system//Node/n-2"));
                rig_end(&c);
        }
}

/* Nodes and profiles come and go between two settles; each change asks for a new one. */
static void test_come_and_go(void **state)
{
        struct rig c;
        (void)state;
        open_world(&c);
        put_node(&c, "n-1", "a", FOUR);
        settle(&c);
        assert_null(target_of(&c, N1));
        put_profile(&c, true, 1, "{\"dimension\":\"Node\",\"selector\":{\"matchLabels\":{\"pool\":\"a\"}}}");
        settle(&c);
        assert_true(lives(&c, N1));
        const struct target *t = target_of(&c, N1);
        assert_string_equal(t->recommendation, "node-n-1");
        assert_ptr_equal(node_of_target(&c.cache, t), node_named(&c, "n-1"));
        assert_int_equal(t->workload->labels.count, 1);
        put_node(&c, "n-1", "b", FOUR);
        assert_true(c.cache.changed);
        settle(&c);
        assert_false(lives(&c, N1));
        assert_non_null(target_of(&c, N1)->workload); /* the node is there: only its profile went */
        assert_null(node_named(&c, "n-1")->facts->whole);
        put_node(&c, "n-1", "a", FOUR);
        settle(&c);
        assert_true(lives(&c, N1));
        put_node(&c, "n-1", "a", FOUR); /* a heartbeat */
        assert_false(c.cache.changed);
        drop_node(&c, "n-1");
        assert_true(c.cache.changed);
        assert_null(node_of_target(&c.cache, t));
        settle(&c);
        assert_null(target_of(&c, N1)->workload);
        assert_int_not_equal(target_of(&c, N1)->gone_ms, 0);
        put_node(&c, "n-3", "a", FOUR);
        assert_true(c.cache.changed);
        settle(&c);
        assert_true(lives(&c, "halflife-system//Node/n-3"));
        target_free(&c.cache, target_of(&c, "halflife-system//Node/n-3"));
        assert_null(node_named(&c, "n-3")->facts->whole);
        node_sums_polled(c.learner);
        rig_end(&c);
}

/* --- sums --- */

#define OURS                                                                                                           \
        ",\"annotations\":{\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":"         \
        "\\\"2\\\"}}}\",\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"500m\\\"" \
        "}}}\"}"

static void put_three(struct rig *c, const char *capacity)
{
        put_profile(c, true, 1, NODES);
        put_node(c, "n-1", "a", capacity);
        put_node(c, "n-2", "a", capacity);
        put_pod(c, "web", "ours", "n-1", OURS, "500m", "");
        put_pod(c, "shop", "sandboxed", "n-1", "", "1", ",\"overhead\":{\"cpu\":\"250m\"}");
        put_pod(c, "web", "elsewhere", "n-2", "", "1", "");
        settle(c);
}

/* Pods of all namespaces on the node count together, and nobody else's. */
static void test_sum(void **state)
{
        struct rig c;
        (void)state;
        open_world(&c);
        put_three(&c, FOUR);
        node_sums_polled(c.learner);
        assert_int_equal(samples_of(&c, N1), 0); /* nothing was measured, and nothing began just now */
        fold(&c, "web", "ours", 10, 1000);
        fold(&c, "shop", "sandboxed", 70, 1000); /* missing in this scrape */
        fold(&c, "web", "elsewhere", 10, 300);
        node_sums_polled(c.learner);
        assert_int_equal(samples_of(&c, N1), 1);
        assert_in_range(most_of(&c, N1), 2000, 2200);
        assert_in_range(most_of(&c, "halflife-system//Node/n-2"), 300, 330);
        const struct node_target *nt = node_named(&c, "n-1")->facts->whole;
        assert_int_equal(nt->original[CPU], 2000 + 1250);
        assert_int_equal(nt->requested[CPU], 500 + 1250);
        assert_int_not_equal(nt->runs_since_ms, 0);
        assert_false(c.learner->nodes.sum_told);
        fold(&c, "web", "ours", 0, 1000);
        fold(&c, "shop", "sandboxed", 200, 1000); /* too late: a gap, not a dip */
        node_sums_polled(c.learner);
        assert_int_equal(samples_of(&c, N1), 1);
        c.notices->source.partial = true;
        fold(&c, "shop", "sandboxed", 0, 1000);
        node_sums_polled(c.learner);
        assert_int_equal(samples_of(&c, N1), 1);
        put_pod(&c, "web", "new", "n-1", "", "1", ""); /* since the links were made */
        node_sums_polled(c.learner);
        assert_int_equal(nt->requested[CPU], 500 + 1250 + 1000);
        rig_end(&c);
}

/* What lies is bounded, or teaches nothing. */
static void test_lies(void **state)
{
        static const struct {
                const char *what, *capacity;
                int64_t milli, most, samples;
                bool told;
        } row[] = {
                {"within", FOUR, 2000, 4200, 1, false},
                {"above the capacity", FOUR, 900000, 4200, 1, true},
                {"no capacity", "\"cpu\":\"0\",\"memory\":\"0\"", 2000, 0, 0, false},
                {"no memory", "\"cpu\":\"4\"", 2000, 0, 0, false},
                {"negative", FOUR, -5, 10, 1, false},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                put_three(&c, row[i].capacity);
                fold(&c, "web", "ours", 0, row[i].milli);
                fold(&c, "shop", "sandboxed", 0, row[i].milli);
                node_sums_polled(c.learner);
                if (samples_of(&c, N1) != row[i].samples || most_of(&c, N1) > row[i].most ||
                    c.learner->nodes.sum_told != row[i].told)
                        fail_msg("%s: %d samples, %lldm%s", row[i].what, (int)samples_of(&c, N1),
                                 (long long)most_of(&c, N1), c.learner->nodes.sum_told ? ", told" : "");
                assert_int_equal(c.learner->nodes.told[NODE_NO_CAPACITY], row[i].samples == 0);
                rig_end(&c);
        }
}

/* --- another machine under the same name --- */

static void test_another_size(void **state)
{
        static const struct {
                const char *what, *capacity;
                bool goes, kept;
        } row[] = {
                {"grown while it runs", EIGHT, false, false},
                {"another kernel", "\"cpu\":\"4\",\"memory\":\"16100Mi\"", false, true},
                {"gone and back", FOUR, true, true},
                {"gone and back as another", EIGHT, true, false},
                {"without a size", "\"cpu\":\"0\",\"memory\":\"0\"", false, true},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                struct err err = {0};
                open_world(&c);
                put_three(&c, FOUR);
                assert_int_equal(
                        published_upsert(
                                &c.cache,
                                TEXT("{\"metadata\":{\"namespace\":\"halflife-system\",\"name\":\"node-n-1\"},\"spec\":"
                                     "{"
                                     "\"targetRef\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n-1\"},"
                                     "\"dimension\":\"Node\"},\"status\":{\"node\":{\"cpu\":{\"capacity\":\"4\"},"
                                     "\"memory\":{\"capacity\":\"16Gi\"}}}}"),
                                1, &err),
                        0);
                c.cache.changed = true;
                settle(&c);
                fold(&c, "web", "ours", 0, 1000);
                fold(&c, "shop", "sandboxed", 0, 1000);
                node_sums_polled(c.learner);
                assert_int_equal(samples_of(&c, N1), 1);
                if (row[i].goes) {
                        drop_node(&c, "n-1");
                        settle(&c);
                }
                put_node(&c, "n-1", "a", row[i].capacity);
                settle(&c);
                settle(&c);
                if (samples_of(&c, N1) != row[i].kept)
                        fail_msg("%s: what was learned is %s", row[i].what, row[i].kept ? "lost" : "kept");
                node_sums_polled(c.learner);
                rig_end(&c);
        }
}

/* --- what is published --- */

static void status_of(struct rig *c, const char *key, struct recommendation_status *ret)
{
        struct plan_facts f = {.now = loop_now(c->loop), .interval_ms = MINUTE_MS};
        struct plan *plan = arena_new(&c->plans, sizeof *plan);
        plan_judge(&c->cache, target_of(c, key), &f, &c->plans, plan);
        plan_finish(&c->cache, &f, &c->plans, plan);
        assert_false(plan->apply);
        plan_status(plan, &c->plans, ret);
}

static void test_status(void **state)
{
        struct rig c;
        struct recommendation_status s, more, larger;
        (void)state;
        open_world(&c);
        put_three(&c, FOUR);
        fold(&c, "web", "ours", 0, 1000);
        fold(&c, "shop", "sandboxed", 0, 1000);
        node_sums_polled(c.learner);
        status_of(&c, N1, &s);
        assert_non_null(s.node);
        assert_null(s.quota);
        assert_int_equal(s.containers, 1);
        assert_int_equal(s.node[CPU].capacity, 4000);
        assert_int_equal(s.node[CPU].allocatable, 4000);
        assert_int_equal(s.node[CPU].original, 3250);
        assert_int_equal(s.node[CPU].requested, 1750);
        assert_in_range(s.node[CPU].peak, 2000, 2200);
        assert_int_equal(s.node[CPU].packing, 43);
        assert_int_equal(s.node[CPU].utilization, -1); /* the node itself was not measured */
        assert_int_equal(s.node[MEMORY].packing, 12);
        assert_in_range(s.node[MEMORY].peak, 600 * MI, 660 * MI);
        assert_true(s.decision.never_written);
        assert_int_equal(s.mode, APPLY_RECOMMEND);
        /* the node is measured, and a pod comes: nothing of it is written at once */
        const struct node *n = node_named(&c, "n-1");
        const struct node_usage u = {loop_now(c.loop).wall, {3000, 4096 * MI}};
        assert_int_equal(node_ring_add(&n->facts->ring, &u, n->facts->capacity, loop_now(c.loop).wall), NODE_ACCEPTED);
        put_pod(&c, "shop", "another", "n-1", "", "2", "");
        settle(&c);
        node_sums_polled(c.learner);
        status_of(&c, N1, &more);
        assert_int_equal(more.node[CPU].requested, 3750);
        assert_int_equal(more.node[CPU].packing, 93);
        assert_int_equal(more.node[CPU].utilization, 75);
        assert_int_equal(more.node[MEMORY].utilization, 25);
        assert_true(recommendation_status_digest(&s) == recommendation_status_digest(&more));
        put_node(&c, "n-1", "a", "\"cpu\":\"4\",\"memory\":\"16100Mi\"");
        settle(&c);
        status_of(&c, N1, &larger);
        assert_true(recommendation_status_digest(&larger) != recommendation_status_digest(&more));
        rig_end(&c);
}

/* The nodes' list and the Recommendation tell the same peak, also with weeklyPeak. */
static void test_peak_is_told_alike(void **state)
{
        static const struct {
                const char *spec;
                int64_t least; /* of memory */
        } row[] = {
                {"{\"dimension\":\"Node\"}", 300 * MI},
                {"{\"dimension\":\"Node\",\"resources\":{\"memory\":{\"enabled\":true,\"weeklyPeak\":true}}}",
                 9000 * MI},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                struct recommendation_status s;
                open_world(&c);
                put_profile(&c, true, 1, row[i].spec);
                put_node(&c, "n-1", "a", FOUR);
                put_pod(&c, "web", "lone", "n-1", "", "1", "");
                settle(&c);
                fold(&c, "web", "lone", 0, 1000);
                node_sums_polled(c.learner);
                history_find(target_of(&c, N1), c.cache.whole)->usage.day_mi[1] = 9000; /* yesterday */
                status_of(&c, N1, &s);
                struct node_table *t = node_rows_make(&c.cache, 80, loop_now(c.loop).wall, MINUTE_MS);
                assert_int_equal(t->rows, 1);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (t->row[0].peak[r] != s.node[r].peak)
                                fail_msg("row %zu: %s is %lld and %lld", i, resource_name(r),
                                         (long long)t->row[0].peak[r], (long long)s.node[r].peak);
                assert_true(t->row[0].peak[MEMORY] >= row[i].least);
                node_table_drop(t);
                rig_end(&c);
        }
}

/* What was learned is there after a kill and a restart. */
static void test_restart(void **state)
{
        AUTO(mem_free) char *path = tmp_path("nodes-learned.db");
        struct rig c;
        (void)state;
        open_world(&c);
        rig_open_database(&c, path);
        put_three(&c, FOUR);
        fold(&c, "web", "ours", 0, 1000);
        fold(&c, "shop", "sandboxed", 0, 1000);
        node_sums_polled(c.learner);
        int64_t most = most_of(&c, N1);
        while (!checkpointer_pack(c.checkpointer))
                ;
        rig_kill_database(&c);
        rig_end(&c);

        open_world(&c);
        rig_open_database(&c, path);
        assert_int_equal(most_of(&c, N1), most);
        assert_true(history_of(&c, N1)->usage.of[CPU].sum);
        put_three(&c, FOUR);
        assert_true(lives(&c, N1));
        assert_int_equal(samples_of(&c, N1), 1);
        rig_kill_database(&c);
        rig_end(&c);
}

/* 20 000 nodes: as many as have facts are targets, and each costs less than its bound. */
static void test_too_many(void **state)
{
        enum { MANY = 2 * NODES_MOST };
        struct rig c;
        char name[32];
        (void)state;
        open_world(&c);
        put_profile(&c, true, 1, NODES);
        for (int i = 0; i < MANY; i++) {
                snprintf(name, sizeof name, "n-%d", i);
                put_node(&c, name, "a", FOUR);
        }
        settle(&c);
        assert_int_equal(c.cache.nodes.by_name.count, MANY);
        assert_int_equal(c.cache.nodes.with_facts, NODES_MOST);
        assert_int_equal(c.cache.others[DIMENSION_NODE], NODES_MOST);
        node_sums_polled(c.learner);
        /* one goes, and another takes its place at its next heartbeat */
        drop_node(&c, "n-0");
        put_node(&c, name, "a", FOUR);
        settle(&c);
        assert_int_equal(c.cache.nodes.with_facts, NODES_MOST);
        AUTO(mem_free) char *last = mem_printf("halflife-system//Node/%s", name);
        assert_true(lives(&c, last));
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who),
                cmocka_unit_test(test_come_and_go),
                cmocka_unit_test(test_sum),
                cmocka_unit_test(test_lies),
                cmocka_unit_test(test_another_size),
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_peak_is_told_alike),
                cmocka_unit_test(test_restart),
                cmocka_unit_test(test_too_many),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
