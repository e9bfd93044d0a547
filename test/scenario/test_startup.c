/* Pods that start with their originals under apply.startup, go down once they have started, and get the original again
 * when a container restarts. The target is 285m of 1 under InPlace, 300m where memory has no limit. */
#include <stdio.h>
#include <string.h>

#include "../support/story.h"
#include "base/clock.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DB(pod)     WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", pod)
#define DB_REC      "recommendations/statefulset-db"
#define IN(startup) TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90, startup: " startup "}}")
#define ON(startup) TEAM("{apply: {mode: OnDeploy, minHistory: 2s, startup: " startup "}}")
#define LONG        "{request: Original, after: 1h, most: 24h}"
#define SHORT       "{request: Original, after: 0s, most: 1m}"
#define SHORTEN     MERGE("profiles/team", "{spec: {apply: {startup: {after: 0s, most: 1m}}}}")
#define CPU_OF_POD  "spec.containers[app].resources.requests.cpu"
#define NOTE(name)  "metadata.annotations.<halflife.dev/" name ">"
#define APPLIED(by) EXPECT(DB_REC, "status.conditions[Applied].reason", by)
#define SAID(by)    EXPECT(DB_REC, "status.conditions[Startup].reason", by)
#define FACTS(is)   EXPECT(DB_REC, "status.decision.facts", is)
#define SET         EXPECT(DB_REC, "status.applied.mode", "InPlace")
#define BORN(name, notes)                                                                                              \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: " name ", annotations: {" notes "}, ownerReferences: "       \
            "[{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: $UID(statefulsets/db), controller: true}]}, "    \
            "spec: {containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', "       \
            "memory: 2Gi}}}]}}")
#define ORIGINAL                                                                                                       \
        "halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":"      \
        "{\"cpu\":\"2\",\"memory\":\"2Gi\"}}}'"

/* The kubelet writes the status of a pod: its condition Ready, its container's restarts, and what it says of a resize.
 */
static bool kubelet(struct fake *f, struct story *s, const char *pod, bool ready, int restarts, const char *resize)
{
        char now[WALL_TEXT_MAX];
        wall_print((struct wall){whole_second(now_read().wall.ms)}, now);
        const struct step step = {.what = STEP_MERGE, .path = pod};
        AUTO(mem_free)
        char *text = mem_printf("{status: {conditions: [{type: Ready, status: '%s', lastTransitionTime: '%s'}%s], "
                                "containerStatuses: [{name: app, ready: %s, started: true, image: app, imageID: '', "
                                "restartCount: %d, state: {running: {startedAt: '%s'}}}]}}",
                                ready ? "True" : "False", now, resize, ready ? "true" : "false", restarts, now);
        struct step told = step;
        told.text = text;
        story_do(f, s, &told);
        return true;
}

#define STATUS "pods/db-0/status"
static bool restarts(struct fake *f, struct story *s)
{
        return kubelet(f, s, STATUS, false, 1, "");
}

static bool restarts_without_room(struct fake *f, struct story *s)
{
        return kubelet(f, s, STATUS, false, 1,
                       ", {type: PodResizePending, status: 'True', reason: Deferred, message: later}");
}

static bool is_ready_without_room(struct fake *f, struct story *s)
{
        return kubelet(f, s, STATUS, true, 1,
                       ", {type: PodResizePending, status: 'True', reason: Infeasible, message: never}");
}

static bool is_ready(struct fake *f, struct story *s)
{
        return kubelet(f, s, STATUS, true, 1, "");
}

static bool is_unready(struct fake *f, struct story *s)
{
        return kubelet(f, s, STATUS, false, 0, "");
}

static bool forbidden(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pods = mem_printf("/api/v1/namespaces/%s/pods/", s->name);
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pods, .status = 403, .times = FAKE_ALWAYS});
        return true;
}

/* Of three patches of the pod's start, one is refused, one conflicts, and the answer to one is lost. */
static bool errors(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pods = mem_printf("/api/v1/namespaces/%s/pods/", s->name);
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pods, .status = 503, .retry_after = 1});
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pods, .nth = 1, .status = 409});
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pods, .nth = 2, .cut = true, .times = 2});
        return true;
}

/* Do all pods of the story have this CPU request, so many in all? */
static bool all_have(struct fake *f, const struct story *s, const char *cpu, size_t pods)
{
        AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods", s->name), *text = fake_get(f, path);
        AUTO(mem_free) char *want = mem_printf("\"requests\":{\"cpu\":\"%s\"", cpu);
        size_t found = 0;
        for (const char *at = text; at && (at = strstr(at, want)); at++)
                found++;
        return found == pods;
}

enum { MANY = 200 };
static bool many_are_low(struct fake *f, struct story *s)
{
        return all_have(f, s, "285m", MANY);
}

static bool many_are_there(struct fake *f, struct story *s)
{
        return all_have(f, s, "1", MANY);
}

static struct story stories[] = {
        STORY("starts", IN(LONG), DB(POD), SET, SAID("Starting"), FACTS("~StartsOriginal"), CYCLES(2),
              CHECK("pods/db-0", CPU_OF_POD, "1"), CHECK("pods/db-1", CPU_OF_POD, "1"), SHORTEN,
              EXPECT("pods/db-0", CPU_OF_POD, "285m"), EXPECT("pods/db-1", CPU_OF_POD, "285m"), SAID("-"),
              APPLIED("UpToDate")),
        STORY("target", IN("{request: Target, after: 1h}"), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), CHECK(DB_REC, "status.conditions[Startup]", "-")),
        STORY("restarted", IN(SHORT), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"), APPLIED("UpToDate"),
              CALL(restarts), EXPECT("pods/db-0", CPU_OF_POD, "1"), EXPECT("pods/db-0", NOTE("applied-resources"), "-"),
              CHECK("pods/db-0", NOTE("original-resources"), "~\"cpu\":\"1\""),
              CHECK("pods/db-0", NOTE("utilization-basis"), "request"), CHECK("pods/db-1", CPU_OF_POD, "285m"),
              SAID("Starting"), CALL(is_ready), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-0", NOTE("applied-resources"), "~285m"), SAID("-")),
        STORY("without-room", IN(SHORT), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"), APPLIED("UpToDate"),
              CALL(restarts), EXPECT("pods/db-0", CPU_OF_POD, "1"), CALL(restarts_without_room), APPLIED("Deferred"),
              CYCLES(2), CHECK("pods/db-0", CPU_OF_POD, "1"), CALL(is_ready_without_room),
              EXPECT("pods/db-0", CPU_OF_POD, "285m")),
        STORY("late", IN(LONG), DB(POD), SET, SAID("Starting"), CALL(is_unready),
              MERGE(STATUS, "{status: {startTime: '2025-01-01T00:00:00Z'}}"), SAID("NotReady"), SHORTEN,
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), CYCLES(3), CHECK("pods/db-0", CPU_OF_POD, "1"),
              CHECK(DB_REC, "status.conditions[Startup].status", "False"),
              CHECK(DB_REC, "status.conditions[Startup].message", "~1 of 2 pods are not Ready"), CALL(is_ready),
              EXPECT("pods/db-0", CPU_OF_POD, "285m"), SAID("-")),
        STORY("errors", IN(LONG), DB(POD), SET, SAID("Starting"), CALL(errors), SHORTEN,
              EXPECT("pods/db-0", CPU_OF_POD, "285m"), EXPECT("pods/db-1", CPU_OF_POD, "285m"), APPLIED("UpToDate")),
        STORY("forbidden", IN(LONG), DB(POD), SET, CALL(forbidden), SHORTEN, SAID("Forbidden"),
              CHECK("pods/db-0", CPU_OF_POD, "1"), FACTS("[]")),
        STORY("guaranteed", IN(LONG),
              DB("{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '1', memory: "
                 "1Gi}}}]}"),
              SAID("QoS"), CHECK(DB_REC, "status.decision.facts", "[]")),
        STORY("would-restart", IN(LONG),
              DB("{containers: [{name: app, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}], "
                 "resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"),
              SAID("RestartRequired"), CHECK(DB_REC, "status.decision.facts", "[]")),
        /* OnDeploy resizes only the pods that were born with their originals for their start */
        STORY("on-deploy", ON(SHORT), DB(POD), EXPECT(DB_REC, "status.state", "Ready"), FACTS("~StartsOriginal"),
              BORN("db-born", ORIGINAL), BORN("db-other", ""), EXPECT("pods/db-born", CPU_OF_POD, "285m"),
              EXPECT("pods/db-born", NOTE("applied-resources"), "~285m"), CYCLES(2),
              CHECK("pods/db-other", CPU_OF_POD, "1"), CHECK("pods/db-0", CPU_OF_POD, "1")),
        STORY("on-deploy-paused", ON(LONG), DB(POD), EXPECT(DB_REC, "status.state", "Ready"), BORN("db-born", ORIGINAL),
              SAID("Starting"), MERGE("profiles/team", "{spec: {paused: true}}"), SHORTEN, CYCLES(3),
              CHECK("pods/db-born", CPU_OF_POD, "1"), MERGE("profiles/team", "{spec: {paused: false}}"),
              EXPECT("pods/db-born", CPU_OF_POD, "285m")),
        STORY("on-deploy-template", TEAM("{apply: {mode: OnDeploy, at: Workload, minHistory: 2s, startup: " SHORT "}}"),
              DB(POD), EXPECT(DB_REC, "status.state", "Ready"), CHECK(DB_REC, "status.decision.facts", "[]")),
        STORY("many", IN(LONG), WORK("StatefulSet", "db", "{replicas: 200, serviceName: db}", POD),
              CALL(many_are_there), SET, SAID("Starting"), SHORTEN, CALL(many_are_low), SAID("-")),
};

int main(void)
{
        return stories_main("startup", stories, sizeof stories / sizeof *stories, NULL, NULL);
}
