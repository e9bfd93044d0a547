/* apply.mode Rollout: what is written, what stays, and what its owners may do to it. Usage is constant: 250m of CPU
 * makes a target of 285m, 300Mi one of 364Mi. */
#include <stdlib.h>
#include <string.h>

#include "../support/pick.h"
#include "../support/story.h"
#include "base/mem.h"
#include "base/yaml.h"

#define LIMITED                                                                                                        \
        "[{name: app, image: 'a:1', resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define ORIGINAL                                                                                                       \
        "{\"app\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"2Gi\"}}}"
#define APPLIED     "{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}"
#define IN_TEMPLATE "spec.template.metadata.annotations"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m")
#define SOON        MERGE("profiles/team", "{spec: {apply: {cooldown: 0s}}}")
/* It is reported, and not done again. */
#define AND_QUIET(where, generation)                                                                                   \
        EXPECT(REC, "status.conditions[Applied].status", "True"), CYCLES(3),                                           \
                CHECK(where, "metadata.generation", generation)
/* An owner's merge patch names the whole list of containers. */
#define OWNER_SETS(cpu, image)                                                                                         \
        MERGE("deployments/web",                                                                                       \
              "{spec: {template: {spec: {containers: [{name: app, image: '" image                                      \
              "', resources: {requests: {cpu: " cpu ", memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}}}}")

/* The template of the revision that was there when it was asked first, put back later: what `rollout undo` does on a
 * StatefulSet. */
static bool keep_template(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = story_path(s, "statefulsets/db");
        AUTO(mem_free) char *text = fake_get(f, path);
        AUTO(json_decref) json_t *set = json_loads(text, 0, NULL);
        char *kept = json_dumps(pick(set, "spec.template"), JSON_COMPACT);
        s->kept = mem_string(kept);
        free(kept);
        return true;
}

static bool undo(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = story_path(s, "statefulsets/db");
        AUTO(mem_free)
        char *patch = mem_printf("[{\"op\":\"replace\",\"path\":\"/spec/template\",\"value\":%s}]", (char *)s->kept);
        return fake_patch(f, path, "kubectl-rollout", patch) == 200;
}

static struct story stories[] = {
        STORY("patched", AT_ONCE(""), WEB(LIMITED), LOWERED,
              CHECK("deployments/web", "spec.template.spec.containers[app].resources.requests.memory", "1Gi"),
              CHECK("deployments/web", APP_LIMITS, "{\"cpu\":\"2\",\"memory\":\"2Gi\"}"),
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/original-resources>", ORIGINAL),
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/applied-resources>", APPLIED),
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/utilization-basis>", "request"),
              CHECK("deployments/web", "metadata.annotations.<halflife.dev/original-resources>", ORIGINAL),
              CHECK("deployments/web", "metadata.generation", "2"), EXPECT(REC, "status.applied.mode", "Rollout"),
              CHECK(REC, "status.applied.containers", "[{\"cpu\":\"285m\",\"name\":\"app\"}]"),
              EXPECT(REC, "status.containers[app].cpu.current", "285m"),
              CHECK(REC, "status.containers[app].cpu.original", "1"),
              CHECK(REC, "status.containers[app].cpu.reason", "Lowered"), CHECK(REC, "status.saving.cpu", "1430m"),
              AND_QUIET("deployments/web", "2")),
        STORY("both-resources",
              TEAM("{resources: {memory: {enabled: true}}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: "
                   "90}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}, {name: side, resources: {requests: "
                  "{cpu: 200m, memory: 128Mi}}}]"),
              LOWERED, CHECK("deployments/web", APP_REQUESTS, "{\"cpu\":\"285m\",\"memory\":\"364Mi\"}"),
              CHECK("deployments/web", "spec.template.spec.containers[side].resources.requests",
                    "{\"cpu\":\"49m\",\"memory\":\"75Mi\"}"),
              CHECK("deployments/web", "metadata.generation", "2"), AND_QUIET("deployments/web", "2")),
        STORY("steps", TEAM("{apply: {mode: Rollout, minHistory: 2s, cooldown: 1h}}"), WEB(LIMITED),
              EXPECT("deployments/web", CPU_REQUEST, "500m"),
              EXPECT(REC, "status.conditions[Applied].reason", "Cooldown"),
              CHECK(REC, "status.containers[app].cpu.reason", "Cooldown"),
              CHECK(REC, "status.containers[app].cpu.target", "285m"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "2"), SOON, LOWERED,
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/original-resources>", ORIGINAL),
              AND_QUIET("deployments/web", "3")),
        STORY("only-limits", AT_ONCE(""), WEB("[{name: app, resources: {limits: {cpu: '1', memory: 2Gi}}}]"), LOWERED,
              CHECK("deployments/web", APP_LIMITS, "{\"cpu\":\"1\",\"memory\":\"2Gi\"}"),
              AND_QUIET("deployments/web", "2")),
        STORY("statefulset", AT_ONCE(""),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", "{containers: " LIMITED "}"),
              EXPECT("statefulsets/db", CPU_REQUEST, "285m"), CYCLES(2),
              CHECK("statefulsets/db", "metadata.generation", "2")),
        STORY("daemonset", AT_ONCE(""), WORK("DaemonSet", "agent", "{}", "{containers: " LIMITED "}"),
              EXPECT("daemonsets/agent", CPU_REQUEST, "285m"), CYCLES(2),
              CHECK("daemonsets/agent", "metadata.generation", "2")),
        STORY("replicaset-only-told", AT_ONCE(""),
              WORK("ReplicaSet", "bare", "{replicas: 2}", "{containers: " LIMITED "}"),
              EXPECT("recommendations/replicaset-bare", "status.containers[app].cpu.reason", "Immutable"), CYCLES(2),
              CHECK("replicasets/bare", "metadata.generation", "1")),
        STORY("owner-raises", TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, cooldown: 0s}}"),
              WEB(LIMITED), LOWERED, OWNER_SETS("600m", "a:1"),
              EXPECT(REC, "status.containers[app].cpu.original", "600m"), LOWERED,
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/original-resources>",
                    "~\"requests\":{\"cpu\":\"600m\"")),
        STORY("owner-lowers", AT_ONCE(""), WEB(LIMITED), LOWERED, OWNER_SETS("200m", "a:1"),
              EXPECT(REC, "status.containers[app].cpu.original", "200m"),
              EXPECT(REC, "status.containers[app].cpu.target", "200m"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "200m")),
        STORY("reset", AT_ONCE(", cooldown: 0s"), WEB(LIMITED), LOWERED, EXPECT(REC, "status.applied.mode", "Rollout"),
              OWNER_SETS("'1'", "a:1"), EXPECT(REC, "status.conditions[Contested].status", "True"),
              CHECK(REC, "status.conditions[Contested].reason", "ChangedBack"), CHECK(REC, "status.state", "Held"),
              CHECK(REC, "status.containers[app].cpu.reason", "Contested"),
              CHECK(REC, "status.containers[app].cpu.original", "1"),
              CHECK(REC, "status.containers[app].cpu.target", "285m"), CYCLES(3),
              CHECK("deployments/web", CPU_REQUEST, "1"), CHECK("deployments/web", "metadata.generation", "3")),
        STORY("deploy-of-the-old-manifest", AT_ONCE(", cooldown: 0s"), WEB(LIMITED), LOWERED,
              EXPECT(REC, "status.applied.mode", "Rollout"), OWNER_SETS("'1'", "a:2"),
              EXPECT("deployments/web", "metadata.generation", "3"), LOWERED,
              CHECK("deployments/web", "spec.template.spec.containers[app].image", "a:2"),
              CHECK("deployments/web", IN_TEMPLATE ".<halflife.dev/original-resources>", ORIGINAL),
              CHECK(REC, "status.conditions[Contested]", "-"), AND_QUIET("deployments/web", "4")),
        STORY("undo", TEAM("{apply: {mode: Rollout, minHistory: 2s, cooldown: 1h}}"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", "{containers: " LIMITED "}"),
              EXPECT("statefulsets/db", CPU_REQUEST, "500m"), CALL(keep_template), SOON,
              EXPECT("statefulsets/db", CPU_REQUEST, "285m"), CALL(undo),
              EXPECT("statefulsets/db", "metadata.generation", "5"),
              CHECK("statefulsets/db", CPU_REQUEST, "285m"), /* ours of an older revision, lowered again */
              CHECK("statefulsets/db", IN_TEMPLATE ".<halflife.dev/original-resources>", ORIGINAL),
              EXPECT("recommendations/statefulset-db", "status.containers[app].cpu.original", "1")),
        STORY("owned-by-apply",
              APPLY("/apis/apps/v1/namespaces/owned-by-apply/deployments/web", "argocd",
                    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: "
                    "{replicas: 2, "
                    "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: "
                    "{containers: " LIMITED "}}}}"),
              AT_ONCE(""), EXPECT(REC, "status.containers[app].cpu.target", "285m"),
              CHECK(REC, "status.conditions[Contested].reason", "OwnedByApply"),
              CHECK(REC, "status.conditions[Contested].message", "~argocd"), CHECK(REC, "status.state", "Held"),
              CHECK(REC, "status.containers[app].cpu.target", "285m"), CYCLES(3),
              CHECK("deployments/web", "metadata.generation", "1"),
              APPLY("deployments/web", "argocd",
                    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: "
                    "{replicas: 3, "
                    "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: "
                    "{containers: " LIMITED "}}}}")),
        STORY("rounded-by-admission", AT_ONCE(", cooldown: 0s"), WEB(LIMITED),
              EXPECT("deployments/web", CPU_REQUEST, "500m"),
              EXPECT(REC, "status.conditions[Contested].status", "True"),
              CHECK(REC, "status.conditions[Contested].message",
                    "~changed to 500m by admission (285m was sent), which rounds up to multiples of 250m or"),
              CYCLES(3), CHECK("deployments/web", "metadata.generation", "2"),
              CHECK(REC, "status.containers[app].cpu.original", "1")),
        STORY("removed-by-admission", AT_ONCE(", cooldown: 0s"), WEB(LIMITED),
              EXPECT("deployments/web", CPU_REQUEST, "-"), EXPECT(REC, "status.conditions[Contested].status", "True"),
              CHECK(REC, "status.conditions[Contested].message", "~cpu of 'app' removed by admission"), CYCLES(3),
              CHECK("deployments/web", "metadata.generation", "2"),
              CHECK(REC, "status.containers[app].cpu.original", "1")),
};

/* Ours is rounded, or taken out. */
static char *change(void *arg, const char *kind, const char *object)
{
        (void)arg;
        AUTO(json_decref) json_t *o = json_loads(object, 0, NULL);
        json_t *requests = pick(o, APP_REQUESTS);
        const char *ns = pick_text(o, "metadata.namespace");
        if (strcmp(kind, "Deployment") != 0 || strcmp(pick_text(requests, "cpu"), "285m") != 0)
                return NULL;
        if (strcmp(ns, "rounded-by-admission") == 0)
                json_object_set_new(requests, "cpu", json_string("500m"));
        else if (strcmp(ns, "removed-by-admission") == 0)
                json_object_del(requests, "cpu");
        return json_dumps(o, JSON_COMPACT);
}

static void prepare(struct fake *f)
{
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"owned-by-apply\"}}");
        fake_set_admission(f, change, NULL);
}

int main(void)
{
        return stories_main("rollout", stories, sizeof stories / sizeof stories[0], NULL, prepare);
}
