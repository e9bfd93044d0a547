/* A kubelet that is not heard of: its pods are called not ready, though they run on. No change of ours is taken back
 * for that, and what is really so counts once the kubelet is back. */
#include <stdio.h>

#include "../support/story.h"
#include "base/clock.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define POD_CPU "spec.containers[app].resources.requests.cpu"
#define DB_REC  "recommendations/statefulset-db"

enum { PATIENCE = 17 /* cycles of a second: more than a quarter of the guard's watch time */ };

static bool node_is(struct fake *f, const char *ready)
{
        char at[WALL_TEXT_MAX];
        AUTO(mem_free)
        char *node = mem_printf(
                "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-0\"},\"status\":{"
                "\"allocatable\":{\"memory\":\"64Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
                "\"lastTransitionTime\":\"%s\"}]}}",
                ready, wall_print(now_read().wall, at));
        fake_put(f, "kubelet", node);
        return true;
}

static void ready_node(struct fake *f)
{
        (void)node_is(f, "True");
}

static bool pods_are(struct fake *f, struct story *s, const char *ready)
{
        char at[WALL_TEXT_MAX];
        bool all = true;
        for (int i = 0; i < 2; i++) {
                AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/db-%d/status", s->name, i);
                AUTO(mem_free)
                char *status = mem_printf("{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
                                          "\"lastTransitionTime\":\"%s\"}]}}",
                                          ready, wall_print(now_read().wall, at));
                all &= fake_merge(f, path, "kubelet", status) == 200;
        }
        return all;
}

/* As the node lifecycle controller writes it: the node first. */
static bool kubelet_goes(struct fake *f, struct story *s)
{
        return node_is(f, "Unknown") && pods_are(f, s, "False");
}

static bool kubelet_comes(struct fake *f, struct story *s)
{
        return node_is(f, "True") && pods_are(f, s, "True");
}

/* A node autoscaler deletes the node; its pods remain for a while. */
static bool node_goes(struct fake *f, struct story *s)
{
        (void)s;
        return fake_delete(f, "/api/v1/nodes/node-0") < 300;
}

static struct story stories[] = {
        STORY("kubelet-down", TEAM("{apply: {minHistory: 2s}}"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD), CYCLES(PATIENCE), /* no young pods */
              TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 1m}}}"),
              EXPECT("pods/db-0", POD_CPU, "285m"), EXPECT("pods/db-1", POD_CPU, "285m"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "UpToDate"), CALL(kubelet_goes), CYCLES(PATIENCE),
              CHECK(DB_REC, "status.conditions[Guarded]", "-"), CHECK("pods/db-0", POD_CPU, "285m"),
              CALL(kubelet_comes), CYCLES(2), CHECK(DB_REC, "status.conditions[Guarded]", "-"),
              CHECK("pods/db-0", POD_CPU, "285m"), CALL(kubelet_goes), CALL(node_goes), CYCLES(PATIENCE),
              CHECK(DB_REC, "status.conditions[Guarded]", "-"), CHECK("pods/db-0", POD_CPU, "285m")),
};

int main(void)
{
        return stories_main("node-away", stories, sizeof stories / sizeof *stories, NULL, ready_node);
}
