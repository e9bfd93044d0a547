/* Changes that did harm are taken back, and only those. The target is 285m of 1 everywhere. */
#include "../support/pick.h"
#include "../support/story.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define HIGH /* a limit that its node never has the room for */                                                        \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 1Ti}}}]}"
#define PROBED                                                                                                         \
        "{containers: [{name: app, livenessProbe: {tcpSocket: {port: 80}}, resources: {requests: {cpu: '1', memory: "  \
        "1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define STOPPED(how) /* a container that its kubelet may stop by itself */                                             \
        WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",                                                    \
             "{containers: [{name: app, " how ", resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', "   \
             "memory: 2Gi}}}]}")
#define LOW_MEMORY                                                                                                     \
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 53Mi. Container app was using "   \
        "2Gi, request is 1Gi, has larger consumption of memory. "
#define LOWERED                                                                                                        \
        "{containers: [{name: app, image: 'app:2', resources: {requests: {cpu: 285m, memory: 1Gi}, limits: {cpu: "     \
        "'2', memory: 2Gi}}}]}"
#define RAISED                                                                                                         \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 4Gi}}}]}"
#define DB         WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD)
#define HIGH_DB    WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", HIGH)
#define DB_REC     "recommendations/statefulset-db"
#define BY(mode)   TEAM("{apply: {mode: " mode ", minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 1m}}}")
#define POD_CPU    "spec.containers[app].resources.requests.cpu"
#define CPU        "spec.template." POD_CPU
#define NOTE(name) "metadata.annotations.<halflife.dev/" name ">"
#define SET        EXPECT("pods/db-0", POD_CPU, "285m"), EXPECT("pods/db-1", POD_CPU, "285m"), UP_TO_DATE
#define ROLLED     EXPECT("statefulsets/db", CPU, "285m"), SET
#define UP_TO_DATE EXPECT(DB_REC, "status.conditions[Applied].reason", "UpToDate")
#define LIMITS(of) "status.containers[app].limits" of
#define GUARDED(by, words)                                                                                             \
        EXPECT(DB_REC, "status.conditions[Guarded].reason", by), EXPECT(DB_REC, "status.state", "Held"),               \
                CHECK(DB_REC, "status.guard.cause", by),                                                               \
                CHECK(DB_REC, "status.conditions[Guarded].message", "~" words),                                        \
                CHECK(DB_REC, "status.conditions[Guarded].message", "~left alone until 20")
#define UNGUARDED                                                                                                      \
        CYCLES(2), CHECK(DB_REC, "status.conditions[Guarded]", "-"), CHECK(DB_REC, "status.state", "Ready"),           \
                CHECK("pods/db-0", POD_CPU, "285m")
#define PODS_BACK EXPECT("pods/db-0", POD_CPU, "1"), EXPECT("pods/db-1", POD_CPU, "1")

/* --- what the kubelet tells; a second ahead, for it tells whole seconds --- */

static bool tell(struct fake *f, struct story *s, const char *pod, const char *status)
{
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/%s/status", s->name, pod);
        AUTO(mem_free) char *body = mem_printf("{\"status\":%s}", status);
        return fake_merge(f, path, "kubelet", body) == 200;
}

static bool tell_at(struct fake *f, struct story *s, const char *format)
{
        char at[WALL_TEXT_MAX];
        struct wall soon = {now_read().wall.ms + SECOND_MS};
        const char *place = strstr(format, "$NOW");
        AUTO(mem_free)
        char *status = mem_printf("%.*s%s%s", (int)(place - format), format, wall_print(soon, at), place + 4);
        return tell(f, s, "db-0", status);
}

static bool evicted(struct fake *f, struct story *s)
{
        return tell_at(f, s,
                       "{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: "
                       "memory. Container app was using 2Gi, request is 1Gi, has larger consumption of memory. \","
                       "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":"
                       "\"TerminationByKubelet\",\"lastTransitionTime\":\"$NOW\"}]}");
}

#define ENDED(count, reason, code)                                                                                     \
        "{\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,\"restartCount\":" count                             \
        ",\"lastState\":{\"terminated\":{\"reason\":\"" reason "\",\"exitCode\":" code ",\"finishedAt\":\"$NOW\"}}}]}"

static bool out_of_memory(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("1", "OOMKilled", "137"));
}

/* Replaced, as by a rollout: it is being deleted, and its program ends with 0. */
static bool marked_0(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-0");
        return fake_merge(f, pod, "kubectl", "{\"metadata\":{\"finalizers\":[\"example.com/waits\"]}}") == 200 &&
               fake_delete(f, pod) < 300 &&
               tell_at(f, s,
                       "{\"phase\":\"Succeeded\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,\"state\":"
                       "{"
                       "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":0,\"finishedAt\":\"$NOW\"}}}]}") &&
               fake_merge(f, pod, "kubectl", "{\"metadata\":{\"finalizers\":null}}") < 300;
}

static bool marked_1(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("1", "OOMKilled", "1"));
}

/* uid NULL: the pod's own. */
static bool put_event_of(struct fake *f, struct story *s, const char *reason, const char *message, const char *uid)
{
        char at[WALL_TEXT_MAX];
        AUTO(mem_free) char *path = story_path(s, "pods/db-0"), *text = fake_get(f, path);
        AUTO(json_decref) json_t *pod = json_loads(text ? text : "{}", 0, NULL);
        AUTO(mem_free)
        char *event =
                mem_printf("{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"db-0.17\",\"namespace\":"
                           "\"%s\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"%s\",\"name\":\"db-0\","
                           "\"uid\":\"%s\",\"fieldPath\":\"spec.containers{app}\"},\"reason\":\"%s\",\"message\":\"%"
                           "s\",\"lastTimestamp\":\"%s\"}",
                           s->name, s->name, uid ? uid : pick_text(pod, "metadata.uid"), reason, message,
                           wall_print((struct wall){now_read().wall.ms + SECOND_MS}, at));
        fake_put(f, "kubelet", event);
        return true;
}

static bool put_event(struct fake *f, struct story *s, const char *reason, const char *message)
{
        return put_event_of(f, s, reason, message, NULL);
}

static bool evicted_event(struct fake *f, struct story *s)
{
        return put_event(f, s, "Evicted", LOW_MEMORY);
}

static bool probe_failed(struct fake *f, struct story *s)
{
        return put_event(f, s, "Killing", "Container app failed liveness probe, will be restarted");
}

/* Of the pod before, which had the same name. */
static bool probe_failed_before(struct fake *f, struct story *s)
{
        return put_event_of(f, s, "Killing", "Container app failed liveness probe, will be restarted",
                            "00000000-0000-4000-9000-000000000001");
}

static bool resize_restarts(struct fake *f, struct story *s)
{
        return put_event(f, s, "Killing", "Container app resize requires restart");
}

static bool hook_failed(struct fake *f, struct story *s)
{
        return put_event(f, s, "Killing", "FailedPostStartHook");
}

/* The program ended with 0 on SIGTERM: the phase is Succeeded, and the condition is the only witness. */
static bool evicted_with_0(struct fake *f, struct story *s)
{
        return tell_at(
                f, s,
                "{\"phase\":\"Succeeded\",\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\","
                "\"reason\":"
                "\"TerminationByKubelet\",\"message\":\"" LOW_MEMORY
                "\",\"lastTransitionTime\":\"$NOW\"}],\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,"
                "\"state\":{\"terminated\":{\"reason\":\"Completed\",\"exitCode\":0}}}]}");
}

static bool ended_with_0(struct fake *f, struct story *s)
{
        return tell(f, s, "db-0", "{\"phase\":\"Succeeded\"}");
}

static bool evicted_by_all(struct fake *f, struct story *s)
{
        return evicted_event(f, s) && evicted_with_0(f, s);
}

static bool killed_twice(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("2", "OOMKilled", "137"));
}

static bool killed_three_times(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("3", "OOMKilled", "137"));
}

static bool restarted_once(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("1", "Error", "1"));
}

/* Heard of after the change, of processes that ended before it. */
static bool restarted_late(struct fake *f, struct story *s)
{
        return tell(f, s, "db-0",
                    "{\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,\"restartCount\":2,\"lastState\":{"
                    "\"terminated\":{\"reason\":\"Error\",\"exitCode\":1,\"finishedAt\":\"2026-01-01T00:00:00Z\"}}}]}");
}

/* As containerd reports what ran when its node went down. */
static bool node_restarted(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("1", "Unknown", "255"));
}

static bool restarted(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("2", "Error", "1"));
}

static bool restarted_often(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("7", "Error", "1"));
}

static bool restarted_since(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("8", "Error", "1"));
}

static bool not_ready(struct fake *f, struct story *s)
{
        return tell_at(f, s,
                       "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"$NOW\"}]}");
}

/* --- what goes wrong --- */

static bool patches_refused(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *sets = mem_printf("/apis/apps/v1/namespaces/%s/statefulsets/", s->name);
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = sets, .status = 500, .times = 2});
        return true;
}

/* The answer to what the kubelet killed by itself comes when more has happened. */
static bool events_are_late(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/events", s->name);
        fake_fault(f, &(struct fake_fault){.verb = "list", .path = path, .delay_ms = 4000, .times = 50});
        return true;
}

static bool killed_four_times(struct fake *f, struct story *s)
{
        return tell_at(f, s, ENDED("4", "OOMKilled", "137"));
}

/* A new pod, killed at its limit again and again before the next cycle links it to its owner. */
static bool killed_when_new(struct fake *f, struct story *s)
{
        return out_of_memory(f, s) && killed_twice(f, s) && killed_three_times(f, s);
}

/* The next process begins a second after the kill, and fails its probe three seconds later. */
static bool next_fails_its_probe(struct fake *f, struct story *s)
{
        char ended[WALL_TEXT_MAX], began[WALL_TEXT_MAX];
        int64_t now_ms = now_read().wall.ms;
        wall_print((struct wall){now_ms - 2 * SECOND_MS}, ended);
        wall_print((struct wall){now_ms - SECOND_MS}, began);
        AUTO(mem_free)
        char *status = mem_printf("{\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,\"restartCount\":1,"
                                  "\"state\":{\"running\":{\"startedAt\":\"%s\"}},\"lastState\":{\"terminated\":{"
                                  "\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"%s\"}}}]}",
                                  began, ended);
        return probe_failed(f, s) && tell(f, s, "db-0", status);
}

static struct story stories[] = {
        /* Rollout: one patch */
        STORY("rollout-evicted", BY("Rollout"), DB, ROLLED, CALL(evicted), EXPECT("statefulsets/db", CPU, "1"),
              GUARDED("Evicted", "a pod was evicted for lack of memory at"), PODS_BACK,
              EXPECT(DB_REC, "status.conditions[Applied].reason", "Guard"),
              CHECK(DB_REC, "status.containers[app].cpu.reason", "Guard"),
              CHECK(DB_REC, "status.containers[app].cpu.target", "285m"),
              CHECK("statefulsets/db", "spec.template." NOTE("applied-resources"), "-"),
              CHECK("statefulsets/db", "spec.template." NOTE("original-resources"), "-"),
              CHECK("statefulsets/db", "metadata.generation", "3"), CYCLES(2),
              CHECK("statefulsets/db", "metadata.generation", "3")),
        STORY("rollout-killed", BY("Rollout"), HIGH_DB, ROLLED, CYCLES(2), CALL(out_of_memory),
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("OutOfMemory", "killed for lack of room on its node"),
              PODS_BACK),
        STORY("rollout-evicted-with-0", BY("Rollout"), DB, ROLLED, CALL(evicted_with_0),
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("Evicted", "a pod was evicted for lack of memory at"),
              CHECK(DB_REC, "status.oomKills", "1")),
        STORY("evicted-by-all-witnesses", BY("Rollout"), DB, ROLLED, CALL(evicted_by_all),
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("Evicted", "a pod was evicted for lack of memory at"),
              CYCLES(2), CHECK(DB_REC, "status.oomKills", "1")),
        STORY("evicted-by-event", BY("Rollout"), DB, ROLLED, CALL(evicted_event), CALL(ended_with_0),
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("Evicted", "a pod was evicted for lack of memory at"),
              CHECK(DB_REC, "status.oomKills", "1")),
        STORY("rollout-restarts", BY("Rollout"), DB, ROLLED, CALL(restarted), EXPECT("statefulsets/db", CPU, "1"),
              GUARDED("Restarts", "restarted 2 times within"), PODS_BACK),
        STORY("rollout-only-limits", BY("Rollout"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",
                   "{containers: [{name: app, resources: {limits: {cpu: '1', memory: 2Gi}}}]}"),
              ROLLED, CALL(restarted), EXPECT("statefulsets/db", CPU, "-"), GUARDED("Restarts", "restarted 2 times"),
              PODS_BACK),
        STORY("rollout-not-ready", BY("Rollout"), DB, ROLLED, CALL(not_ready), UNGUARDED,
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("NotReady", "1 of its 2 pods are ready"), PODS_BACK),
        STORY("refused-then-made", BY("Rollout"), DB, ROLLED, CALL(patches_refused), CALL(restarted),
              GUARDED("Restarts", "restarted 2 times"), EXPECT("statefulsets/db", CPU, "1"), PODS_BACK),
        STORY("paused-rollout",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, cooldown: 168h, minReplicas: 2, "
                   "guard: {watch: 1m}}}"),
              DB, ROLLED, MERGE("statefulsets/db", "{spec: {updateStrategy: {type: OnDelete}}}"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "UpToDate"), CALL(restarted),
              EXPECT("statefulsets/db", CPU, "1"), GUARDED("Restarts", "restarted")),
        STORY("outside-windows", BY("Rollout"), DB, ROLLED,
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 1m}, budget: "
                   "{workloads: 1, coresPerHour: 1}, windows: [{schedule: '0 0 29 2 *', duration: 1m}]}}"),
              CYCLES(1), CALL(restarted), EXPECT("statefulsets/db", CPU, "1"), GUARDED("Restarts", "restarted")),

        /* InPlace: pods are resized, and nothing restarts */
        STORY("resized-evicted", BY("InPlace"), DB, SET, CALL(evicted), GUARDED("Evicted", "after halflife's change"),
              EXPECT("pods/db-1", POD_CPU, "1"), EXPECT("pods/db-1", NOTE("applied-resources"), "-"),
              EXPECT("pods/db-1", NOTE("original-resources"), "-"),
              CHECK("statefulsets/db", "metadata.generation", "1"), EXPECT(DB_REC, "status.applied", "-"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "Guard")),
        STORY("resized-killed", BY("InPlace"), HIGH_DB, SET, CALL(out_of_memory),
              GUARDED("OutOfMemory", "lack of room"), PODS_BACK, MERGE("statefulsets/db", "{spec: {replicas: 3}}"),
              EXPECT("pods/db-2", POD_CPU, "1")),
        STORY("resized-restarts", BY("InPlace"), DB, SET, CALL(restarted), GUARDED("Restarts", "2 times"), PODS_BACK),
        /* the kubelet has no room to give it back: that is said, of each pod, until it is */
        STORY("no-room-to-give-back", BY("InPlace"), DB, SET, CALL(restarted), GUARDED("Restarts", "2 times"),
              PODS_BACK, EXPECT(DB_REC, "status.conditions[Applied].reason", "Guard"),
              MERGE("pods/db-1/status", "{status: {conditions: [{type: PodResizePending, status: 'True', reason: "
                                        "Deferred, message: 'Node did not have enough resource: memory'}]}}"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "Deferred"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~1 of 2 pods wait for room"),
              CHECK(DB_REC, "status.conditions[Guarded].message",
                    "~given back to 1 of 2 pods, 1 wait for room on their nodes; left alone until"),
              MERGE("pods/db-1/status", "{status: {conditions: null}}"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "Guard"),
              EXPECT(DB_REC, "status.conditions[Guarded].message", "~of halflife's change; left alone until")),
        STORY("resized-not-ready", BY("InPlace"), DB, SET, CALL(not_ready), GUARDED("NotReady", "2 of 2 were"),
              PODS_BACK),
        STORY("restarted-before", TEAM("{apply: {minHistory: 2s}}"), DB, EXPECT(DB_REC, "status.state", "Ready"),
              CALL(restarted_often), CYCLES(1), BY("InPlace"), SET, UNGUARDED, CALL(restarted_since), UNGUARDED),

        /* OnDeploy: it is their kills that count, and running pods are resized */
        STORY("bad-release", BY("OnDeploy"), DB, EXPECT(DB_REC, "status.state", "Ready"),
              TEAM("{apply: {mode: OnDeploy, at: Workload, minHistory: 2s, guard: {watch: 1m}}}"),
              MERGE("statefulsets/db",
                    "{spec: {template: {metadata: {annotations: {halflife.dev/original-resources: '{\"app\":"
                    "{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"2Gi\"}}}',"
                    " "
                    "halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}'}}, spec: " LOWERED
                    "}}}"),
              SET, CALL(restarted_often), CALL(not_ready), UNGUARDED, CALL(evicted), GUARDED("Evicted", "evicted"),
              EXPECT("pods/db-1", POD_CPU, "1"), EXPECT("pods/db-1", NOTE("applied-resources"), "-"),
              CHECK("statefulsets/db", CPU, "285m"), CHECK("statefulsets/db", "metadata.generation", "2")),

        /* what is no harm of ours */
        STORY("owners-release", BY("Rollout"), DB, ROLLED,
              MERGE("statefulsets/db", "{spec: {template: {spec: " LOWERED "}}}"),
              EXPECT("pods/db-0", "spec.containers[app].image", "app:2"),
              CYCLES(1), /* workloads and pods come by two watches: the release is known before what follows from it */
              CALL(restarted_often), CALL(not_ready), UNGUARDED, CALL(evicted), GUARDED("Evicted", "evicted"),
              EXPECT("statefulsets/db", CPU, "1")),
        STORY("killed-at-its-limit", BY("Rollout"), DB, ROLLED, USE(250, 1900), CYCLES(2), CALL(out_of_memory),
              EXPECT(DB_REC, "status.oomKills", "1"), CALL(killed_twice), EXPECT(DB_REC, "status.oomKills", "2"),
              UNGUARDED),
        /* the limit is advised while it is too low, and never written */
        STORY("limit-advised", BY("Rollout"), DB, ROLLED, USE(250, 1900), CYCLES(2), CHECK(DB_REC, LIMITS(""), "-"),
              CALL(out_of_memory), EXPECT(DB_REC, LIMITS(".memory.reason"), "KilledAtLimit"),
              CHECK(DB_REC, LIMITS(".memory.current"), "2Gi"), CHECK(DB_REC, LIMITS(".memory.needed"), "2458Mi"),
              CHECK(DB_REC, LIMITS(".memory.advised"), "2827Mi"), CHECK(DB_REC, LIMITS(".cpu"), "-"),
              CHECK(DB_REC, "status.conditions[OutOfMemory].reason", "LimitTooLow"),
              CHECK(DB_REC, "status.conditions[OutOfMemory].message", "~by hand, to 2827Mi or more"), CYCLES(2),
              CHECK("statefulsets/db", "spec.template.spec.containers[app].resources.limits.memory", "2Gi"),
              MERGE("statefulsets/db", "{spec: {template: {spec: " RAISED "}}}"), EXPECT(DB_REC, LIMITS(""), "-"),
              CHECK(DB_REC, "status.conditions[OutOfMemory].reason", "KillMakesModel"),
              CHECK(DB_REC, "status.oomKills", "1")),
        /* memory jumped to the limit between two samples, and the node had the room for it */
        STORY("jumped-to-its-limit", BY("InPlace"), DB, SET, CYCLES(1), CALL(out_of_memory),
              EXPECT(DB_REC, "status.oomKills", "1"), CHECK(DB_REC, LIMITS(".memory.reason"), "KilledAtLimit"),
              UNGUARDED),
        /* on cgroup v1 a kill marks every container of the node: whatever ends is reported OOMKilled */
        STORY("marked-and-ended-with-1", BY("InPlace"), DB, SET, CYCLES(1), CALL(marked_1), UNGUARDED,
              CHECK(DB_REC, "status.oomKills", "-")),
        STORY("marked-and-replaced", BY("InPlace"), DB, SET, CYCLES(1), CALL(marked_0), UNGUARDED,
              CHECK(DB_REC, "status.oomKills", "-")),
        STORY("marked-and-killed-by-a-probe", BY("InPlace"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", PROBED), SET, CYCLES(1), CALL(probe_failed),
              CALL(out_of_memory), UNGUARDED, CHECK(DB_REC, "status.oomKills", "-")),
        STORY("killed-and-its-namesake-by-a-probe", BY("InPlace"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", PROBED), SET, CYCLES(1),
              CALL(probe_failed_before), CALL(out_of_memory), EXPECT(DB_REC, "status.oomKills", "1")),
        STORY("event-of-a-pod-that-runs", BY("Rollout"), DB, ROLLED, CALL(evicted_event), UNGUARDED,
              CHECK(DB_REC, "status.oomKills", "-")),
        STORY("marked-and-restarted-by-a-resize", BY("InPlace"),
              STOPPED("resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]"), SET, CYCLES(1),
              CALL(resize_restarts), CALL(out_of_memory), UNGUARDED, CHECK(DB_REC, "status.oomKills", "-")),
        STORY("marked-and-killed-for-its-hook", BY("InPlace"),
              STOPPED("lifecycle: {postStart: {exec: {command: [begin]}}}"), SET, CYCLES(1), CALL(hook_failed),
              CALL(out_of_memory), UNGUARDED, CHECK(DB_REC, "status.oomKills", "-")),
        STORY("probed-and-killed", BY("InPlace"), WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", PROBED),
              SET, CYCLES(1), CALL(out_of_memory), EXPECT(DB_REC, "status.oomKills", "1")),
        STORY("killed-while-an-answer-is-awaited", BY("InPlace"), STOPPED("livenessProbe: {tcpSocket: {port: 80}}"),
              SET, CALL(events_are_late), CYCLES(1), CALL(out_of_memory), CYCLES(1), CALL(killed_twice), CYCLES(1),
              CALL(killed_three_times), UNGUARDED, EXPECT(DB_REC, "status.oomKills", "3"), UNGUARDED),
        STORY("killed-when-new", BY("Rollout"), DB, ROLLED, DELETE("pods/db-0"), CALL(killed_when_new),
              EXPECT(DB_REC, "status.oomKills", "3"), UNGUARDED),
        STORY("killed-unseen-between-two", BY("InPlace"), DB, SET, CYCLES(1), CALL(out_of_memory), CYCLES(1),
              CALL(killed_four_times), EXPECT(DB_REC, "status.oomKills", "2"), UNGUARDED),
        STORY("its-next-process-fails-a-probe", BY("InPlace"), STOPPED("livenessProbe: {tcpSocket: {port: 80}}"), SET,
              CYCLES(1), CALL(next_fails_its_probe), EXPECT(DB_REC, "status.oomKills", "1")),
        STORY("throttled", BY("Rollout"), DB, ROLLED, USE(2000, 300), CYCLES(3), UNGUARDED),
        STORY("restarted-once", BY("Rollout"), DB, ROLLED, CALL(restarted_once), UNGUARDED),
        STORY("its-node-restarted",
              TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 1m, restarts: 1}}}"),
              DB, SET, CYCLES(1), CALL(node_restarted), UNGUARDED, CALL(restarted),
              GUARDED("Restarts", "restarted 1 time ")),
        STORY("heard-of-late", BY("InPlace"), DB, SET, CALL(restarted_late), UNGUARDED, CALL(restarted_since),
              GUARDED("Restarts", "restarted 6 times")),
        STORY("only-recommended", TEAM("{apply: {minHistory: 2s}}"), DB, EXPECT(DB_REC, "status.state", "Ready"),
              CALL(restarted_often), CALL(evicted), CYCLES(2), CHECK(DB_REC, "status.state", "Ready")),
        STORY("turned-off",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, guard: {enabled: false}}}"), DB,
              ROLLED, CALL(restarted_often), UNGUARDED),
        STORY("let-go", BY("InPlace"), DB, SET, CALL(restarted), GUARDED("Restarts", "restarted"), PODS_BACK,
              TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90, cooldown: 0s, guard: {enabled: "
                   "false}}}"),
              SET, EXPECT(DB_REC, "status.state", "Ready"), CHECK(DB_REC, "status.guard", "-")),
};

static void a_node(struct fake *f)
{
        fake_put(f, "kubelet",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-0\"},\"status\":{"
                 "\"allocatable\":{"
                 "\"cpu\":\"64\",\"memory\":\"256Gi\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
}

int main(void)
{
        static const char *const args[] = {"--fuse-guards", "0", NULL}; /* each harm is a story of its own */
        return stories_main("guard", stories, sizeof stories / sizeof *stories, args, a_node);
}
