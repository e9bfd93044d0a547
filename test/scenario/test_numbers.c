/* What is recommended: every kind, every role of a container, every way to ask or not to ask. Usage is constant, so the
 * numbers are exact: 250m is in the bucket that ends at 259m, and that times 1.1 is 285m; 300Mi is in the one that ends
 * at 316Mi, times 1.15 is 364Mi. */
#include "../support/story.h"

#define LOOK    TEAM("{resources: {memory: {enabled: true}}, apply: {minHistory: 2s}}")
#define LIMITED "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD     "{containers: " LIMITED "}"
#define IS(rec)                                                                                                        \
        EXPECT(rec, "status.state", "Ready"), CHECK(rec, "status.containers[app].cpu.original", "1"),                  \
                CHECK(rec, "status.containers[app].cpu.current", "1"),                                                 \
                CHECK(rec, "status.containers[app].cpu.model", "259m"),                                                \
                CHECK(rec, "status.containers[app].cpu.target", "285m"),                                               \
                CHECK(rec, "status.containers[app].memory.model", "316Mi"),                                            \
                CHECK(rec, "status.containers[app].memory.target", "364Mi")
#define OWNED(kind, name, path)                                                                                        \
        "ownerReferences: [{apiVersion: " kind ", name: " name ", uid: '$UID(" path ")', controller: true}]"

#define RUN(job, cronjob)                                                                                              \
        PUT("{apiVersion: batch/v1, kind: Job, metadata: {name: " job ", " OWNED(                                      \
                "batch/v1, kind: CronJob", cronjob, "cronjobs/" cronjob) "}, spec: {template: {spec: " POD "}}}")
#define POD_OF(pod, kind, name, path)                                                                                  \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: " pod ", " OWNED(kind, name, path) "}, spec: " POD "}")
#define RUN_POD(pod, job) POD_OF(pod, "batch/v1, kind: Job", job, "jobs/" job)

#define STATIC_FIRST(young)                                                                                            \
        "{overcommit: StaticThenDynamic, static: {cpu: '0.5'}, apply: {mode: OnDeploy, minHistory: " young "}}"

#define EARLY(mode)                                                                                                    \
        TEAM("{apply: {mode: " mode ", minHistory: 8760h, early: {enabled: true, after: 0s, multiplier: '2'}}}")

#define FAULTY(notes)                                                                                                  \
        PUT("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}}, spec: {replicas: 2, "  \
            "selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: "             \
            "{kwok.x-k8s.io/usage-cpu: 250m, kwok.x-k8s.io/usage-memory: 300Mi, " notes "}}, spec: " POD "}}}")
#define REFUSED(what) "status.conditions[SamplesRefused]." what

static struct story stories[] = {
        STORY("deployment", LOOK, WEB(LIMITED), IS(REC), CHECK(REC, "status.saving.cpu", "1430m"),
              CHECK(REC, "status.saving.memory", "1320Mi"), CHECK(REC, "status.pod.cpu.target", "285m"),
              CHECK(REC, "spec.targetRef.kind", "Deployment"), CHECK(REC, "spec.targetRef.apiVersion", "apps/v1"),
              CHECK(REC, "spec.profileRef.name", "team"), CHECK(REC, "metadata.labels.app", "web"),
              CHECK(REC, "metadata.ownerReferences", "-"), CHECK(REC, "status.conditions[Ready].status", "True"),
              CHECK(REC, "status.conditions[Applied].status", "False"),
              CHECK(REC, "status.conditions[Applied].reason", "RecommendOnly"),
              CHECK(REC, "status.containers[app].cpu.reason", "RecommendOnly"),
              CHECK("deployments/web", "metadata.generation", "1")),
        STORY("statefulset", LOOK, WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD),
              IS("recommendations/statefulset-db")),
        STORY("daemonset", LOOK, WORK("DaemonSet", "agent", "{}", POD), IS("recommendations/daemonset-agent")),
        STORY("replicaset", LOOK, WORK("ReplicaSet", "bare", "{replicas: 1}", POD),
              IS("recommendations/replicaset-bare"),
              CHECK("recommendations/replicaset-bare", "spec.targetRef.kind", "ReplicaSet")),
        STORY("cronjob", LOOK,
              PUT("{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {schedule: '0 3 * * *', "
                  "jobTemplate: {spec: {template: {spec: " POD "}}}}}"),
              RUN("nightly-1", "nightly"), RUN_POD("nightly-1-a", "nightly-1"), RUN_POD("nightly-1-b", "nightly-1"),
              RUN_POD("nightly-1-c", "nightly-1"), RUN_POD("nightly-1-d", "nightly-1"),
              EXPECT("recommendations/cronjob-nightly", "status.state", "Learning"), CYCLES(2),
              RUN("nightly-2", "nightly"), RUN_POD("nightly-2-a", "nightly-2"), RUN_POD("nightly-2-b", "nightly-2"),
              CYCLES(2), RUN("nightly-3", "nightly"), RUN_POD("nightly-3-a", "nightly-3"),
              RUN_POD("nightly-3-b", "nightly-3"), IS("recommendations/cronjob-nightly"),
              CHECK("recommendations/job-nightly-1", "", "-")),
        STORY("job-is-named",
              TEAM("{targets: [{apiVersion: batch/v1, kind: Job}], resources: {memory: {enabled: true}}, apply: "
                   "{mode: "
                   "Rollout, minHistory: 2s}}"),
              PUT("{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: " POD "}}}"),
              RUN_POD("once-a", "once"), IS("recommendations/job-once"),
              EXPECT("recommendations/job-once", "status.containers[app].cpu.reason", "Immutable"),
              CHECK("jobs/once", "metadata.generation", "1")),
        STORY("job-unnamed", LOOK,
              PUT("{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: " POD "}}}"),
              RUN_POD("once-a", "once"), WEB(LIMITED), IS(REC), CHECK("recommendations/job-once", "", "-")),
        STORY("custom-kind",
              TEAM("{targets: [{apiVersion: example.org/v1, kind: Widget}], resources: {memory: {enabled: true}}, "
                   "apply: "
                   "{minHistory: 2s}}"),
              PUT("{apiVersion: example.org/v1, kind: Widget, metadata: {name: w}, spec: {replicas: 1, template: "
                  "{spec: " POD "}}}"),
              PUT("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w-1, " OWNED(
                      "example.org/v1, kind: Widget", "w",
                      "widgets/w") "}, spec: {replicas: 2, selector: {matchLabels: {app: w}}, template: {metadata: "
                                   "{labels: {app: w}}, "
                                   "spec: " POD "}}}"),
              IS("recommendations/widget.example.org-w"),
              CHECK("recommendations/widget.example.org-w", "spec.targetRef.apiVersion", "example.org/v1")),
        /* A runtime at fault reports a container without a name: the good ones count. */
        STORY("container-without-name", LOOK, FAULTY("fake/usage-extra: '{\"usage\": {\"cpu\": \"1\"}}'"), IS(REC),
              CHECK(REC, REFUSED("reason"), "Container"), CHECK(REC, REFUSED("message"), "~without a name"),
              CHECK(REC, REFUSED("message"), "~pod 'web-"),
              MERGE("deployments/web", "{spec: {template: {metadata: {annotations: {fake/usage-extra: null}}}}}"),
              EXPECT(REC, "status.conditions[SamplesRefused]", "-")),
        STORY("pause-container", LOOK,
              FAULTY("fake/usage-extra: '{\"name\": \"POD\", \"usage\": {\"cpu\": \"1\", \"memory\": \"1Mi\"}}'"),
              IS(REC), CHECK(REC, "status.conditions[SamplesRefused]", "-")),
        STORY("node-clock-ahead", LOOK, FAULTY("fake/usage-ahead-ms: '600000'"),
              EXPECT(REC, REFUSED("reason"), "Future"), CHECK(REC, "status.state", "NoData"),
              CHECK(REC, REFUSED("message"), "~node's clock"),
              CHECK(REC, "status.conditions[Ready].message", "~condition SamplesRefused says why")),
        STORY("absurd-values", LOOK, USE(200000000, 300), WEB(LIMITED), EXPECT(REC, REFUSED("reason"), "Value"),
              CHECK(REC, REFUSED("message"), "~: negative, or more than a container can use"),
              CHECK(REC, "status.state", "NoData"), USE(250, 300), IS(REC),
              EXPECT(REC, "status.conditions[SamplesRefused]", "-")),
        STORY("memory-of-zero", LOOK, WEB("[{name: blank, resources: {requests: {cpu: '1', memory: 1Gi}}}]"),
              EXPECT(REC, REFUSED("reason"), "NoMemory"),
              CHECK(REC, REFUSED("message"), "~: memory of 0, by which metrics-server marks a value that it lacks")),
        STORY("two-containers", LOOK,
              WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}, {name: side, resources: {requests: "
                  "{cpu: 100m, memory: 128Mi}}}]"),
              IS(REC), CHECK(REC, "status.containers[side].cpu.model", "44m"),
              CHECK(REC, "status.containers[side].cpu.target", "49m"),
              CHECK(REC, "status.containers[side].memory.target", "75Mi"),
              CHECK(REC, "status.pod.cpu.original", "1100m"), CHECK(REC, "status.pod.cpu.target", "334m")),
        STORY("init-container", LOOK,
              WORK("Deployment", "web", "{replicas: 2}",
                   "{initContainers: [{name: setup, resources: {requests: {cpu: 700m, memory: 2Gi}}}], "
                   "containers: " LIMITED "}"),
              IS(REC), CHECK(REC, "status.containers[setup].cpu.reason", "Init"),
              CHECK(REC, "status.containers[setup].cpu.target", "700m"),
              CHECK(REC, "status.containers[setup].cpu.model", "-"), CHECK(REC, "status.pod.cpu.original", "1"),
              CHECK(REC, "status.pod.cpu.target", "700m"), CHECK(REC, "status.pod.memory.target", "2Gi")),
        STORY("native-sidecar", LOOK,
              WORK("Deployment", "web", "{replicas: 2}",
                   "{initContainers: [{name: helper, restartPolicy: Always, resources: {requests: {cpu: 200m, memory: "
                   "256Mi}}}], containers: " LIMITED "}"),
              IS(REC), CHECK(REC, "status.containers[helper].cpu.target", "91m"),
              CHECK(REC, "status.containers[helper].memory.target", "122Mi"),
              CHECK(REC, "status.pod.cpu.target", "376m")),
        STORY("injected", LOOK, WORK("ReplicaSet", "bare", "{replicas: 1}", POD), CYCLES(1),
              PUT("{apiVersion: v1, kind: Pod, metadata: {name: bare-0, " OWNED(
                      "apps/v1, kind: ReplicaSet", "bare",
                      "replicasets/bare") "}, spec: {containers: [{name: app, resources: {requests: {cpu: '1', memory: "
                                          "1Gi}}}, {name: side, "
                                          "resources: {requests: {cpu: 100m, memory: 128Mi}}}]}}"),
              IS("recommendations/replicaset-bare"),
              EXPECT("recommendations/replicaset-bare", "status.containers[side].cpu.reason", "NotInTemplate"),
              CHECK("recommendations/replicaset-bare", "status.containers[side].cpu.target", "49m"),
              MERGE("replicasets/bare", "{spec: {replicas: 0}}"), CYCLES(3), /* the pods that come get it */
              CHECK("recommendations/replicaset-bare", "status.containers[side].cpu.target", "49m")),
        STORY("no-requests", LOOK, WEB("[{name: app}]"), EXPECT(REC, "status.state", "Ready"),
              CHECK(REC, "status.containers[app].cpu.original", "-"),
              CHECK(REC, "status.containers[app].cpu.model", "259m"),
              CHECK(REC, "status.containers[app].cpu.reason", "NoOriginal"),
              CHECK(REC, "status.containers[app].cpu.target", "285m"), CHECK(REC, "status.saving.cpu", "0")),
        STORY("only-limits", LOOK, WEB("[{name: app, resources: {limits: {cpu: '1', memory: 1Gi}}}]"), IS(REC)),
        STORY("range-default", LOOK,
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Container, "
                  "defaultRequest: {cpu: '1', memory: 1Gi}}]}}"),
              WEB("[{name: app}]"), IS(REC)),
        STORY("no-limits", LOOK, WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"), IS(REC)),
        STORY("memory-off", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
              CHECK(REC, "status.containers[app].memory.reason", "MemoryOff"),
              CHECK(REC, "status.containers[app].memory.model", "316Mi"),
              CHECK(REC, "status.containers[app].memory.target", "1Gi"), CHECK(REC, "status.saving.memory", "0")),
        STORY("at-original", LOOK, WEB("[{name: app, resources: {requests: {cpu: 200m, memory: 1Gi}}}]"),
              EXPECT(REC, "status.state", "Ready"), CHECK(REC, "status.containers[app].cpu.target", "200m"),
              CHECK(REC, "status.containers[app].cpu.reason", "AtOriginal"),
              CHECK(REC, "status.containers[app].cpu.model", "259m"),
              CHECK(REC, "status.conditions[UnderProvisioned].status", "True"),
              CHECK(REC, "status.conditions[UnderProvisioned].message", "~cpu of 'app'")),
        STORY("ignored-container",
              TEAM("{containers: [{name: side, mode: Ignore}, {name: app, resources: {cpu: {multiplier: '2'}}}], "
                   "apply: "
                   "{minHistory: 2s}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1'}}}, {name: side, resources: {requests: {cpu: "
                  "100m}}}]"),
              EXPECT(REC, "status.state", "Ready"), CHECK(REC, "status.containers[app].cpu.target", "518m"),
              CHECK(REC, "status.containers[side].cpu.reason", "ContainerIgnored"),
              CHECK(REC, "status.containers[side].cpu.target", "100m")),
        STORY("idle", LOOK, WEB("[{name: idle, resources: {requests: {cpu: '1', memory: 1Gi}}}]"),
              EXPECT(REC, "status.state", "Ready"), CHECK(REC, "status.containers[idle].cpu.model", "10m"),
              CHECK(REC, "status.containers[idle].cpu.target", "11m"), CHECK(REC, "status.mode", "Recommend"),
              CHECK(REC, "status.soFar", "-")),
        STORY("no-history", TEAM("{apply: {mode: Rollout}}"), WEB(LIMITED), EXPECT(REC, "status.state", "Learning"),
              CHECK(REC, "status.containers[app].cpu.target", "1"),
              CHECK(REC, "status.containers[app].cpu.reason", "Learning"),
              CHECK(REC, "status.conditions[Ready].status", "False"), CHECK(REC, "status.mode", "Rollout"),
              EXPECT(REC, "status.soFar.cpu", "285m"), CYCLES(2), CHECK("deployments/web", "metadata.generation", "1")),
        STORY("too-young-again", TEAM(STATIC_FIRST("2s")), WEB(LIMITED),
              EXPECT(REC, "status.containers[app].cpu.target", "285m"), TEAM(STATIC_FIRST("1h")),
              EXPECT(REC, "status.state", "Learning"), CHECK(REC, "status.containers[app].cpu.target", "500m"),
              CHECK(REC, "status.containers[app].cpu.reason", "Static"), CYCLES(2),
              CHECK(REC, "status.containers[app].cpu.target", "500m"), TEAM(STATIC_FIRST("2s")),
              EXPECT(REC, "status.containers[app].cpu.target", "285m")),
        STORY("early", EARLY("Rollout"), WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.target", "570m"),
              CHECK(REC, "status.state", "Learning"), CHECK(REC, "status.containers[app].cpu.reason", "Early"),
              CHECK(REC, "status.containers[app].memory.reason", "MemoryOff"),
              CHECK(REC, "status.conditions[Ready].status", "False"),
              CHECK(REC, "status.conditions[Applied].reason", "Early"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "1"), TEAM("{apply: {mode: Rollout, minHistory: 2s}}"),
              EXPECT(REC, "status.containers[app].cpu.target", "285m")),
        STORY("kube-system",
              PUT("{apiVersion: halflife.dev/v1alpha1, kind: ClusterProfile, metadata: {name: all}, spec: "
                  "{apply: {minHistory: 2s}}}"),
              WEB(LIMITED), CYCLES(4), CHECK(REC, "", "-")),
        STORY("cluster-wide", WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.target", "285m"),
              CHECK(REC, "spec.profileRef.kind", "ClusterProfile"), CHECK(REC, "spec.profileRef.name", "all")),
        STORY("halflife-system", WEB(LIMITED), CYCLES(5), CHECK(REC, "", "-")),
};

static void prepare(struct fake *f)
{
        story_define_kind(f, "example.org", "Widget");
}

int main(void)
{
        return stories_main("numbers", stories, sizeof stories / sizeof stories[0], NULL, prepare);
}
