/*
 * Folding at 1 M containers: items of usage in the server's order, matched to pods by name, through the watermark, into
 * 200 000 histories; and the walk over all that runs. The cache is made as the watches make it, from JSON.
 */
#include <stdio.h>
#include <string.h>

#include "../test/support/rig.h"
#include "base/buf.h"
#include "base/mem.h"
#include "line.h"

enum { WORKLOADS = 200000, REPLICAS = 5, PODS = WORKLOADS * REPLICAS, PER_NAMESPACE = 100, WARM = 3, RUNS = 5 };
enum { NAME_SIZE = 46, JSON_MAX = 4096 };

/* What the answer's text holds, one after the other, apart from the cache's own names. */
struct item {
        char ns[16], name[NAME_SIZE];
};

/* --- the cache --- */

static const char profile[] = "{\"metadata\":{\"name\":\"bench\",\"uid\":\"p\",\"generation\":1,\"creationTimestamp\":"
                              "\"2026-01-01T00:00:00Z\"},"
                              "\"spec\":{\"apply\":{\"mode\":\"Recommend\"}}}";
static const char containers[] = "\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\","
                                 "\"memory\":\"2Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]";

static void workload_add(struct cache *w, struct watched_kind *kind, int i, struct buf *json)
{
        buf_reset(json);
        buf_printf(
                json,
                "{\"metadata\":{\"name\":\"checkout-service-%07d\",\"namespace\":\"size-%07d\",\"uid\":"
                "\"5eed0001-0000-4000-8000-%012x\",\"generation\":1},\"spec\":{\"replicas\":5,\"template\":{\"spec\":{"
                "%s}}}}",
                i, i / PER_NAMESPACE, (unsigned)i, containers);
        if (workload_upsert(w, kind, (struct text){json->data, json->len}, 1, NULL) < 0)
                bench_fail("a workload is refused");
}

static void pod_add(struct cache *w, int i, struct item *item, struct buf *json)
{
        int workload = i / REPLICAS;
        if (snprintf(item->ns, sizeof item->ns, "size-%07d", workload / PER_NAMESPACE) >= (int)sizeof item->ns ||
            snprintf(item->name, sizeof item->name, "checkout-service-%07d-7c9bd5f6d4-%08x%d", workload,
                     (unsigned)workload, i % REPLICAS) >= (int)sizeof item->name)
                bench_fail("a name is too long");
        buf_reset(json);
        buf_printf(json,
                   "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"5eed0003-0000-4000-8000-%012x\","
                   "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\",\"uid\":"
                   "\"5eed0001-0000-4000-8000-%012x\",\"controller\":true}]},\"spec\":{%s},\"status\":{\"phase\":"
                   "\"Running\",\"startTime\":\"2026-01-01T00:00:00Z\"}}",
                   item->name, item->ns, (unsigned)i, (unsigned)workload, containers);
        if (pod_upsert(w, (struct text){json->data, json->len}, 1, NULL) < 0)
                bench_fail("a pod is refused");
}

static struct item *world_fill(struct cache *w)
{
        struct item *item = mem_new_array(PODS, sizeof *item);
        struct watched_kind *deployments = kind_watched(w, TEXT("apps"), TEXT("Deployment"));
        struct buf json __attribute__((cleanup(buf_release_auto)));
        buf_init(&json, JSON_MAX);
        if (profile_upsert(w, true, text_of(profile), 1, NULL) < 0)
                bench_fail("the profile is refused");
        for (int i = 0; i < WORKLOADS; i++)
                workload_add(w, deployments, i, &json);
        for (int i = 0; i < PODS; i++)
                pod_add(w, i, &item[i], &json);
        return item;
}

/* --- folding --- */

/* Usage per workload with noise, as the test API server's. */
static void poll(struct rig *c, const struct item *item, struct wall at)
{
        static struct pod_metrics_view view = {.containers = 1};
        view.at = at;
        view.container[0] = (struct pod_metrics_container_view){.name = TEXT("app"), .has = {true, true}};
        c->learner->cursor = 0;
        for (int i = 0; i < PODS; i++) {
                uint64_t noise = ((uint64_t)i ^ (uint64_t)at.ms) * 0x9e3779b97f4a7c15u >> 40;
                int workload = i / REPLICAS;
                view.ns = (struct text){item[i].ns, 12};
                view.name = (struct text){item[i].name, NAME_SIZE - 1};
                view.container[0].cpu_nano = 50000001 + workload % 80 * 10000000 + (int64_t)(noise % 20000000);
                view.container[0].memory_bytes = (524289 + workload % 64 * 16384 + (int64_t)(noise & 0x3fff)) << 10;
                ingest_fold(c->learner, &view, at);
        }
}

/* Within a turn of the loop, where the time stands still, as it does for the controller. */
static void measure(void *arg)
{
        struct rig *c = arg;
        struct item *item = world_fill(&c->cache);
        struct wall at = {loop_now(c->loop).wall.ms - (WARM + RUNS) * MINUTE_MS};
        double fold = 1e9, running = 1e9, settle = bench_thread_seconds();
        cache_relink(&c->cache, loop_now(c->loop));
        settle = bench_thread_seconds() - settle;
        for (int run = 0; run < WARM + RUNS; run++, at.ms += MINUTE_MS) {
                double begin = bench_thread_seconds();
                poll(c, item, at);
                double middle = bench_thread_seconds();
                ingest_running(c->learner);
                if (run < WARM)
                        continue;
                bench_least(&fold, middle - begin);
                bench_least(&running, bench_thread_seconds() - middle);
        }
        if (c->learner->count.samples[SAMPLE_ACCEPTED] != (uint64_t)PODS * (WARM + RUNS))
                bench_fail("not all samples were accepted");
        bench_line("fold, 1000000 containers", PODS / fold / 1e6, "M/s", ">= 10");
        bench_line("running minutes, 1000000 containers", running, "s", "");
        bench_line("links made afresh, 1000000 containers", settle, "s", "");
        mem_free(item);
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
