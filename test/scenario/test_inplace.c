/* Running pods resized, new ones alike, and what stands in the way. The target is 285m of 1 everywhere. */
#include <stdio.h>

#include "../support/story.h"
#include "base/buf.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DB(pod)     WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", pod)
#define DB_REC      "recommendations/statefulset-db"
#define IN(more)    TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90" more "}}")
#define CPU_OF_POD  "spec.containers[app].resources.requests.cpu"
#define NOTE(name)  "metadata.annotations.<halflife.dev/" name ">"
#define APPLIED(by) EXPECT(DB_REC, "status.conditions[Applied].reason", by)
#define KUBELET(pod, type, why, says)                                                                                  \
        MERGE("pods/" pod "/status",                                                                                   \
              "{status: {conditions: [{type: " type ", status: 'True', reason: '" why "', message: '" says "'}]}}")
#define STAYS CYCLES(2), CHECK("pods/db-0", CPU_OF_POD, "1"), CHECK("statefulsets/db", "metadata.generation", "1")

/* Somebody else resizes db-0. */
static bool by_hand(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-0");
        AUTO(mem_free) char *path = mem_printf("%s/resize", pod), *there = fake_get(f, pod);
        static const char patch[] = "[{\"op\":\"replace\",\"path\":\"/spec/containers/0/resources/requests/cpu\","
                                    "\"value\":\"700m\"}]";
        return there && fake_patch(f, path, "kubectl", patch) == 200;
}

/* Requests about the story's pods go wrong, each in a way of its own. */
static void wrong(struct fake *f, const struct story *s, struct fake_fault fault)
{
        AUTO(mem_free) char *pods = mem_printf("/api/v1/namespaces/%s/pods/", s->name);
        fault.path = pods;
        fake_fault(f, &fault);
}

static bool server_errors(struct fake *f, struct story *s)
{
        wrong(f, s, (struct fake_fault){.verb = "get", .status = 500});
        wrong(f, s, (struct fake_fault){.verb = "patch", .status = 503, .retry_after = 1});
        wrong(f, s, (struct fake_fault){.verb = "patch", .nth = 1, .status = 500});
        return true;
}

/* It was done, and nobody heard: annotated, then resized. */
static bool answers_lost(struct fake *f, struct story *s)
{
        wrong(f, s, (struct fake_fault){.verb = "patch", .cut = true, .times = 2});
        return true;
}

static bool written_meanwhile(struct fake *f, struct story *s)
{
        wrong(f, s, (struct fake_fault){.verb = "patch", .status = 422, .times = 3});
        return true;
}

static bool forbidden(struct fake *f, struct story *s)
{
        wrong(f, s, (struct fake_fault){.verb = "patch", .status = 403, .times = FAKE_ALWAYS});
        return true;
}

/* The watch still tells of it. */
static bool not_found(struct fake *f, struct story *s)
{
        wrong(f, s, (struct fake_fault){.verb = "get", .status = 404, .times = FAKE_ALWAYS});
        return true;
}

/* As admission does that gives it what its template asks for. */
static bool changed_as_it_comes(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-0"), *there = fake_get(f, pod);
        AUTO(mem_free) char *path = mem_printf("%s/resize", pod);
        fake_fault(f, &(struct fake_fault){
                              .verb = "patch", .path = path, .status = 200, .body = there, .times = FAKE_ALWAYS});
        return true;
}

/* The third pod has what its template asks for, whatever we write. */
static bool third_stays(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-2");
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = pod, .status = 403, .times = FAKE_ALWAYS});
        return true;
}

/* Of its two pods, some cycles long. */
static bool rarely_asked_for(struct fake *f, struct story *s)
{
        enum { MOST = 20 };
        AUTO(mem_free) char *pods = mem_printf("/api/v1/namespaces/%s/pods/", s->name);
        size_t asked = fake_count(f, NULL, pods);
        if (asked > MOST)
                fprintf(stderr, "%s: asked %zu times\n", s->name, asked);
        return asked > 0 && asked <= MOST;
}

/* The pods of the story were each resized once at most. */
static bool asked_once(struct fake *f, struct story *s)
{
        static const char *const names[] = {"db-0", "db-1"};
        size_t asked = 0;
        for (size_t i = 0; i < 2; i++) {
                AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/%s/resize", s->name, names[i]);
                size_t times = fake_count(f, "PATCH", path);
                if (times > 1)
                        fprintf(stderr, "%s: %s was resized %zu times\n", s->name, names[i], times);
                asked = times > asked ? times : asked;
        }
        return asked == 1;
}

/* Every resize of the story's pods is answered so. */
static bool resizes_answered(struct fake *f, const struct story *s, int status, const char *body)
{
        static const char *const names[] = {"db-0", "db-1"};
        for (size_t i = 0; i < 2; i++) {
                AUTO(mem_free) char *path = mem_printf("/api/v1/namespaces/%s/pods/%s/resize", s->name, names[i]);
                fake_fault(
                        f,
                        &(struct fake_fault){
                                .verb = "patch", .path = path, .status = status, .body = body, .times = FAKE_ALWAYS});
        }
        return true;
}

/* As its validation answers. */
static bool invalid(struct fake *f, struct story *s)
{
        return resizes_answered(
                f, s, 422,
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,\"message\":\"Pod is "
                "invalid: spec: Forbidden: only cpu and memory resources are mutable\",\"details\":{\"name\":\"db-0\","
                "\"kind\":\"Pod\",\"causes\":[{\"reason\":\"FieldValueForbidden\",\"field\":\"spec\"}]}}");
}

/* As its admission plug-in NodeDeclaredFeatures answers. */
static bool node_cannot(struct fake *f, struct story *s)
{
        return resizes_answered(
                f, s, 403,
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,\"message\":\"pods "
                "is "
                "forbidden: pod update requires features GuaranteedQoSPodCPUResize which are not available on node\"}");
}

/* As a ValidatingAdmissionPolicy answers: by its default reason. */
static bool policy_refuses(struct fake *f, struct story *s)
{
        return resizes_answered(
                f, s, 422,
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Invalid\",\"code\":422,\"message\":\"pods is "
                "forbidden: ValidatingAdmissionPolicy 'sizes' denied request: too "
                "small\",\"details\":{\"name\":\"db-0\","
                "\"causes\":[{\"message\":\"too small\"}]}}");
}

/* The server was replaced by one that has no such path: by its own word it is asked what it has. */
static bool taken_away(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *pod = story_path(s, "pods/db-0"), *path = mem_printf("%s/resize", pod);
        fake_fault(f, &(struct fake_fault){.verb = "patch",
                                           .path = path,
                                           .status = 404,
                                           .body = "404 page not found\n",
                                           .type = "text/plain"});
        return true;
}

static bool is_asked_again(struct fake *f, struct story *s)
{
        (void)s;
        return fake_count(f, "GET", "/api/v1") - fake_count(f, "GET", "/api/v1/") >= 2;
}

static struct story stories[] = {
        STORY("resized", IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), APPLIED("UpToDate"),
              CHECK(DB_REC, "status.applied.mode", "InPlace"),
              CHECK(DB_REC, "status.applied.containers[app].cpu", "285m"),
              CHECK("statefulsets/db", "metadata.generation", "1"),
              CHECK("pods/db-0", "spec.containers[app].resources.limits.cpu", "2")),
        STORY("recorded", IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              CHECK("pods/db-0", NOTE("original-resources"),
                    "{\"app\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":"
                    "\"2Gi\"}}}"),
              CHECK("pods/db-0", NOTE("applied-resources"), "{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}"),
              CHECK("pods/db-0", NOTE("utilization-basis"), "request"),
              CHECK("statefulsets/db", "spec.template.metadata.annotations", "-")),
        STORY("new-ones", IN(""), DB(POD), APPLIED("UpToDate"), MERGE("statefulsets/db", "{spec: {replicas: 4}}"),
              EXPECT("pods/db-3", CPU_OF_POD, "285m")),
        STORY("new-template", IN(""), DB(POD), APPLIED("UpToDate"),
              MERGE("statefulsets/db", "{spec: {template: {spec: {containers: [{name: app, image: 'app:2', resources: "
                                       "{requests: {cpu: '2', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}}}}"),
              EXPECT(DB_REC, "status.containers[app].cpu.original", "2"), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m")),
        STORY("hpa-puts-back", IN(", cooldown: 0s"), DB(POD), APPLIED("UpToDate"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: db}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              EXPECT("pods/db-0", CPU_OF_POD, "1"), EXPECT("pods/db-1", CPU_OF_POD, "1"),
              EXPECT("pods/db-0", NOTE("original-resources"), "-"), EXPECT("pods/db-1", NOTE("applied-resources"), "-"),
              APPLIED("HPAHold"), DELETE("horizontalpodautoscalers/db"), EXPECT("pods/db-1", CPU_OF_POD, "285m")),
        STORY("hpa-follows", IN(", cooldown: 0s, hpa: Retune"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: db}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"), EXPECT("pods/db-1", CPU_OF_POD, "285m"),
              EXPECT("horizontalpodautoscalers/db", "spec.metrics[0].resource.target.averageUtilization", "246"),
              MERGE("profiles/team", "{spec: {apply: {hpa: Hold}}}"), EXPECT("pods/db-0", CPU_OF_POD, "1"),
              CHECK("horizontalpodautoscalers/db", "spec.metrics[0].resource.target.averageUtilization", "70"),
              EXPECT("pods/db-1", CPU_OF_POD, "1"),
              EXPECT("horizontalpodautoscalers/db", NOTE("original-targets"), "-")),
        STORY("infeasible", IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"), APPLIED("UpToDate"),
              KUBELET("db-1", "PodResizePending", "Infeasible", "node has 2 cpu"), APPLIED("Infeasible"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~1 of 2 pods"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~node has 2 cpu"),
              MERGE("pods/db-1/status", "{status: {conditions: null}}"), APPLIED("UpToDate")),
        /* a replacement that no admission lowered, and the room is gone that the lowered ones left */
        STORY("replacement-finds-no-room", IN(""), DB(POD), APPLIED("UpToDate"), CALL(third_stays),
              MERGE("statefulsets/db", "{spec: {replicas: 3}}"), APPLIED("ResizeRefused"),
              MERGE("pods/db-2/status",
                    "{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', "
                    "reason: Unschedulable, message: '0/3 nodes are available: 3 Insufficient cpu.'}]}}"),
              APPLIED("Unschedulable"),
              CHECK(DB_REC, "status.conditions[Applied].message",
                    "~no node has room for 1 new pod with the original requests")),
        STORY("deferred", IN(""), DB(POD), APPLIED("UpToDate"),
              KUBELET("db-0", "PodResizePending", "Deferred", "later"), APPLIED("Deferred"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~later"),
              KUBELET("db-0", "PodResizeInProgress", "", ""), APPLIED("Resizing"),
              KUBELET("db-0", "PodResizeInProgress", "Error", "uses more"), APPLIED("ResizeFails"),
              MERGE("pods/db-0/status", "{status: {conditions: null}}"), APPLIED("UpToDate")),
        STORY("old-kubelet-word", IN(""), DB(POD), APPLIED("UpToDate"),
              MERGE("pods/db-0/status", "{status: {resize: Deferred}}"), APPLIED("Deferred")),
        STORY("somebody-else", IN(", cooldown: 0s, minChangePercent: 0"), DB(POD), APPLIED("UpToDate"), CALL(by_hand),
              APPLIED("SetByOthers"), CYCLES(1), CHECK("pods/db-0", CPU_OF_POD, "700m"),
              CHECK("pods/db-1", CPU_OF_POD, "285m")),
        STORY("unlike-its-template",
              TEAM("{paused: true, apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90}}"), DB(POD),
              CALL(by_hand), EXPECT(DB_REC, "status.state", "Ready"), IN(""), EXPECT("pods/db-1", CPU_OF_POD, "285m"),
              APPLIED("SetByOthers"), CHECK("pods/db-0", CPU_OF_POD, "700m")),
        STORY("orphaned", IN(""), DB(POD), APPLIED("UpToDate"), DELETE("profiles/team"), APPLIED("Orphaned"),
              CHECK("pods/db-0", CPU_OF_POD, "285m"), CHECK(DB_REC, "status.state", "Held")),
        STORY("only-recommended", IN(""), DB(POD), APPLIED("UpToDate"), TEAM("{apply: {minHistory: 2s}}"),
              APPLIED("Orphaned"), CHECK("pods/db-0", CPU_OF_POD, "285m")),
        STORY("then-rollout", IN(", cooldown: 0s"), DB(POD), APPLIED("UpToDate"),
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, cooldown: 0s}}"),
              EXPECT("statefulsets/db", "spec.template." CPU_OF_POD, "285m"),
              EXPECT(DB_REC, "status.applied.mode", "Rollout"), EXPECT("pods/db-1", CPU_OF_POD, "285m")),
        STORY("after-rollout", TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90}}"), DB(POD),
              EXPECT(DB_REC, "status.applied.mode", "Rollout"), APPLIED("UpToDate"), IN(", cooldown: 0s"), CYCLES(2),
              CHECK("pods/db-0", CPU_OF_POD, "285m"), CHECK(DB_REC, "status.conditions[Applied].status", "True")),
        STORY("guaranteed", IN(""),
              DB("{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '1', memory: "
                 "1Gi}}}]}"),
              APPLIED("QoS"), CHECK(DB_REC, "status.conditions[Applied].message", "~2 of 2 pods"), STAYS),
        STORY("would-restart", IN(""),
              DB("{containers: [{name: app, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}], "
                 "resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"),
              APPLIED("RestartRequired"), STAYS),
        STORY("server-errors", CALL(server_errors), IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), APPLIED("UpToDate")),
        STORY("answers-lost", CALL(answers_lost), IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), APPLIED("UpToDate"),
              CHECK("pods/db-0", NOTE("applied-resources"), "{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}"),
              CHECK("pods/db-1", NOTE("original-resources"), "~\"cpu\":\"1\"")),
        STORY("written-meanwhile", CALL(written_meanwhile), IN(""), DB(POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), APPLIED("UpToDate")),
        STORY("forbidden", CALL(forbidden), IN(""), DB(POD), APPLIED("ResizeRefused"),
              EXPECT(DB_REC, "status.conditions[Degraded].reason", "Forbidden"), STAYS,
              CHECK("pods/db-0", NOTE("original-resources"), "-")),
        STORY("not-found", CALL(not_found), IN(""), DB(POD), EXPECT(DB_REC, "status.applied.mode", "InPlace"), STAYS,
              CALL(rarely_asked_for)),
        STORY("taken-away", CALL(taken_away), IN(""), DB(POD), CALL(is_asked_again),
              EXPECT("pods/db-0", CPU_OF_POD, "285m"), APPLIED("UpToDate")),
        STORY("changed-as-it-comes", DB(POD), EXPECT("pods/db-1", CPU_OF_POD, "1"), CALL(changed_as_it_comes), IN(""),
              EXPECT(DB_REC, "status.conditions[Contested].status", "True"),
              CHECK(DB_REC, "status.conditions[Contested].message", "~cpu of 'app' changed to 1 by admission (285m"),
              CHECK(DB_REC, "status.conditions[Applied].reason", "Waiting"), CYCLES(3), CALL(asked_once)),
        STORY("invalid", CALL(invalid), IN(""), DB(POD), APPLIED("Infeasible"), /* of the first pod */
              EXPECT(DB_REC, "status.conditions[Applied].message",
                     "~2 of 2 pods stay as they are until the next change"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~only cpu and memory"),
              CHECK(DB_REC, "status.conditions[Degraded]", "-"), STAYS, CALL(asked_once)),
        STORY("node-cannot", CALL(node_cannot), IN(""), DB(POD), APPLIED("Infeasible"),
              CHECK(DB_REC, "status.conditions[Applied].message", "~requires features"),
              CHECK(DB_REC, "status.conditions[Degraded]", "-"), STAYS, CALL(asked_once)),
        STORY("policy-refuses", CALL(policy_refuses), IN(""), DB(POD), APPLIED("ResizeRefused"), STAYS),
        STORY("paused", TEAM("{paused: true, apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90}}"), DB(POD),
              APPLIED("Paused"), STAYS),
};

int main(void)
{
        return stories_main("inplace", stories, sizeof stories / sizeof *stories, NULL, NULL);
}
