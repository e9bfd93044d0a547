/*
 * 5 000 nodes with 100 000 pods: what a cycle adds for nodes (their usage taken in, those that are hot found), the
 * table of a listing, and the memory of it all. Nodes have the labels of a managed cluster. Then the same nodes under a
 * profile of dimension Node: the sums of a cycle, the decisions, and the memory of what is learned.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../test/support/rig.h"
#include "base/buf.h"
#include "base/mem.h"
#include "line.h"
#include "serving/node_rows.h"

enum { NODES = 5000, PODS = 100000, PER_WORKLOAD = 10, RUNS = 20, JSON_MAX = 16384, NAME_SIZE = 64 };

static double allocated(void)
{
        struct mallinfo2 m = mallinfo2();
        return (double)m.uordblks + (double)m.hblkhd;
}

static void node_name(int i, char out[static NAME_SIZE])
{
        snprintf(out, NAME_SIZE, "ip-10-%d-%d-17.eu-west-1.compute.internal", i / 250, i % 250);
}

static void node_add(struct cache *w, int i, struct buf *json)
{
        static const char *const label[] = {"beta.kubernetes.io/arch",     "beta.kubernetes.io/instance-type",
                                            "beta.kubernetes.io/os",       "eks.amazonaws.com/capacityType",
                                            "eks.amazonaws.com/nodegroup", "failure-domain.beta.kubernetes.io/region",
                                            "kubernetes.io/arch",          "kubernetes.io/os",
                                            "node.kubernetes.io/pool",     "topology.kubernetes.io/region",
                                            "topology.kubernetes.io/zone", "team.example.com/owner"};
        char name[NAME_SIZE];
        node_name(i, name);
        buf_reset(json);
        buf_printf(json, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/hostname\":\"%s\"", name, name);
        for (size_t k = 0; k < sizeof label / sizeof *label; k++)
                buf_printf(json, ",\"%s\":\"eu-west-1%c\"", label[k], (char)('a' + i % 3));
        buf_add_text(json,
                     "}},\"spec\":{\"taints\":[{\"key\":\"pool\",\"value\":\"shared\",\"effect\":\"NoSchedule\"}]},"
                     "\"status\":{\"capacity\":{\"cpu\":\"32\",\"memory\":\"128Gi\"},\"allocatable\":{\"cpu\":"
                     "\"31850m\",\"memory\":\"120Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
        if (node_upsert(w, buf_text(json), 1, NULL) < 0)
                bench_fail("a node is refused");
}

static void pod_add(struct cache *w, int i, struct buf *json)
{
        char name[NAME_SIZE];
        node_name(i % NODES, name);
        buf_reset(json);
        buf_printf(
                json,
                "{\"metadata\":{\"name\":\"web-%d-%d\",\"namespace\":\"size-%d\",\"uid\":\"5eed0003-0000-4000-8000-"
                "%012x\",\"annotations\":{\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu"
                "\\\":\\\"%dm\\\"}}}\",\"halflife.dev/"
                "applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":"
                "\\\"1\\\"}}}\"}},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"app\",\"resources\":{"
                "\"requests\":{\"cpu\":\"1\",\"memory\":\"2Gi\"}}}]},\"status\":{\"phase\":\"Running\",\"startTime\":"
                "\"2020-01-01T00:00:00Z\"}}",
                i / PER_WORKLOAD, i % PER_WORKLOAD, i / 1000, (unsigned)i, 1000 + i / PER_WORKLOAD, name);
        if (pod_upsert(w, buf_text(json), 1, NULL) < 0)
                bench_fail("a pod is refused");
}

static void fill_pods(struct cache *w, struct buf *json)
{
        for (int i = 0; i < PODS; i++)
                pod_add(w, i, json);
        pods_settle(w);
        for (size_t i = 0; i < w->ordered; i++) {
                struct pod *p = w->order[i];
                struct pod_metrics_view m = {.at = now_read().wall, .containers = 1};
                m.container[0] = (struct pod_metrics_container_view){
                        .name = TEXT("app"),
                        .has = {true, true},
                        .cpu_nano = (int64_t)((uint32_t)i * 2654435761u >> 12) % 2000 * 1000000,
                        .memory_bytes = (INT64_C(1) << 30) + (int64_t)i};
                pod_measured(p, &m);
                pod_sampled(&p->container[0], m.at, &m.container[0]);
        }
}

static void poll_nodes(struct rig *c, struct wall at)
{
        char name[NAME_SIZE];
        for (int i = 0; i < NODES; i++) {
                node_name(i, name);
                const struct node_metrics_view m = {.name = text_of(name),
                                                    .at = at,
                                                    .has = {true, true},
                                                    .cpu_nano = (INT64_C(4) + i % 28) * 1000000000,
                                                    .memory_bytes = INT64_C(64) << 30};
                node_usage_fold(c->learner, &m, at);
        }
}

static void decide_all(struct rig *c)
{
        const struct plan_facts facts = {.now = loop_now(c->loop), .interval_ms = MINUTE_MS};
        struct target *t;
        for (size_t at = 0; (t = map_each(&c->cache.targets, &at));) {
                struct plan plan;
                struct recommendation_status status;
                arena_reset(&c->plans);
                plan_judge(&c->cache, t, &facts, &c->plans, &plan);
                plan_finish(&c->cache, &facts, &c->plans, &plan);
                plan_status(&plan, &c->plans, &status);
                if (!status.node || status.node[CPU].peak <= 0)
                        bench_fail("a node has no peak");
        }
}

/* The pods are measured anew in each run, so that each run takes a sum. */
static void measure_learned(struct rig *c)
{
        static const char profile[] =
                "{\"metadata\":{\"name\":\"nodes\",\"generation\":1},\"spec\":{\"dimension\":\"Node\"}}";
        double sums = 1e9, decide = 1e9, before = allocated();
        c->live.interval_ms = MINUTE_MS;
        if (profile_upsert(&c->cache, true, text_of(profile), 1, NULL) < 0)
                bench_fail("the profile is refused");
        double t0 = bench_thread_seconds();
        cache_relink(&c->cache, loop_now(c->loop));
        double settle = bench_thread_seconds() - t0;
        if (c->cache.others[DIMENSION_NODE] != NODES)
                bench_fail("not every node is a target");
        for (int run = 0; run < RUNS; run++) {
                double t1 = bench_thread_seconds();
                node_sums_polled(c->learner);
                double t2 = bench_thread_seconds();
                decide_all(c);
                bench_least(&sums, t2 - t1);
                bench_least(&decide, bench_thread_seconds() - t2);
        }
        bench_line("nodes: memory a node that is learned, beside", (allocated() - before) / NODES / 1e3, "KB", "");
        bench_line("nodes: sums of a cycle, dimension Node", sums * 1e3, "ms", "<= 20");
        bench_line("nodes: decisions of a cycle, dimension Node", decide * 1e3, "ms", "");
        bench_line("nodes: links made afresh, with 100000 pods", settle * 1e3, "ms", "");
}

static void measure(void *arg)
{
        struct rig *c = arg;
        struct buf json __attribute__((cleanup(buf_release_auto)));
        double fold = 1e9, hot = 1e9, table = 1e9, store = 1e9, before;
        struct wall at = {loop_now(c->loop).wall.ms - RUNS * MINUTE_MS};
        buf_init(&json, JSON_MAX);
        before = allocated();
        for (int i = 0; i < NODES; i++)
                node_add(&c->cache, i, &json);
        double nodes = allocated() - before;
        fill_pods(&c->cache, &json);
        for (int run = 0; run < RUNS; run++, at.ms += MINUTE_MS) {
                double t0 = bench_thread_seconds();
                poll_nodes(c, at);
                double t1 = bench_thread_seconds();
                (void)notice_hot_nodes(c->notices, &c->cache, 80);
                double t2 = bench_thread_seconds();
                struct node_table *t = node_rows_make(&c->cache, 80, now_read().wall, 5 * MINUTE_MS);
                double t3 = bench_thread_seconds();
                struct buf note;
                buf_init(&note, STORE_NOTE_MAX);
                node_samples_print(&c->cache, at, &note);
                double t4 = bench_thread_seconds();
                if (t->rows != NODES || t->row[0].workloads != NODE_ROW_WORKLOADS)
                        bench_fail("the table is not whole");
                buf_release(&note);
                node_table_drop(t);
                bench_least(&fold, t1 - t0);
                bench_least(&hot, t2 - t1);
                bench_least(&table, t3 - t2);
                bench_least(&store, t4 - t3);
        }
        if (c->learner->count.nodes[NODE_ACCEPTED] != (uint64_t)NODES * RUNS)
                bench_fail("not all samples were accepted");
        bench_line("nodes: memory, 5000 nodes of 100000 pods", (nodes + (double)PODS * sizeof(uint32_t[2])) / (1 << 20),
                   "MiB", "<= 8");
        bench_line("nodes: memory a node", nodes / NODES / 1e3, "KB", "<= 1.6");
        bench_line("nodes: a cycle, 5000 nodes", (fold + hot) * 1e3, "ms", "<= 20");
        bench_line("nodes: a table, 5000 nodes of 100000 pods", table * 1e3, "ms", "");
        bench_line("nodes: text for the database", store * 1e3, "ms", "");
        measure_learned(c);
}

int main(void)
{
        struct rig c;
        struct loop_timer begin = {0};
        rig_begin(&c);
        loop_timer_set(c.loop, &begin, 0, measure, &c);
        while (begin.place)
                loop_turn(c.loop, 10);
        rig_end(&c);
        return 0;
}
