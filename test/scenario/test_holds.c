/* What keeps halflife from changing a request: every gate, and what is said of it. The target is 285m of 1 everywhere;
 * each story ends with a look at whether the template stayed as it was. */
#include "../support/story.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define HELD_OF(rec, where, why)                                                                                       \
        EXPECT(rec, "status.containers[app].cpu.reason", why),                                                         \
                CHECK(rec, "status.containers[app].cpu.target", "285m"),                                               \
                CHECK(rec, "status.conditions[Applied].status", "False"),                                              \
                CHECK(rec, "status.conditions[Applied].reason", why), CYCLES(2),                                       \
                CHECK(where, "metadata.generation", "1")
#define HELD(why)     HELD_OF(REC, "deployments/web", why)
#define LOWERED       EXPECT("deployments/web", CPU_REQUEST, "285m")
#define BLOCKED(text) HELD("RolloutBlocked"), CHECK(REC, "status.conditions[Applied].message", "~" text)

#define ROOM(cpu)                                                                                                      \
        PUT("{apiVersion: v1, kind: ResourceQuota, metadata: {name: room}, spec: {hard: {requests.cpu: '" cpu          \
            "'}}, status: {hard: {requests.cpu: '" cpu "'}, used: {requests.cpu: '2'}}}")
#define VPA(mode)                                                                                                      \
        PUT("{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: sizer}, spec: "         \
            "{targetRef: "                                                                                             \
            "{apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: " mode "}}}")

#define VPA_POLICY(list)                                                                                               \
        MERGE("verticalpodautoscalers/sizer", "{spec: {resourcePolicy: {containerPolicies: [" list "]}}}")
#define BOTH_MANAGED                                                                                                   \
        TEAM("{resources: {memory: {enabled: true}}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, "  \
             "cooldown: 0s}}")

static bool hold_kept(struct fake *f, struct story *s)
{
        return story_events(f, s, "HoldKept",
                            "the Recommendation was deleted and made again with its hold: black friday") == 1;
}

static struct story stories[] = {
        STORY("opted-out-workload", AT_ONCE(""), WEB(LIMITED),
              MERGE("deployments/web", "{metadata: {annotations: {halflife.dev/apply: Never}}}"), HELD("OptedOut"),
              CHECK(REC, "status.conditions[Applied].message", "~the workload's annotation"),
              MERGE("deployments/web", "{metadata: {annotations: {halflife.dev/apply: null}}}"), LOWERED),
        STORY("opted-out-misspelt", AT_ONCE(""), MERGE("profiles/team", "{spec: {paused: true}}"), WEB(LIMITED),
              MERGE("deployments/web", "{metadata: {annotations: {halflife.dev/apply: never}}}"),
              MERGE("profiles/team", "{spec: {paused: false}}"), HELD("OptedOut")),
        STORY("opted-out-namespace",
              PUT("{apiVersion: v1, kind: Namespace, metadata: {name: $NS, annotations: {halflife.dev/apply: Never}}}"),
              AT_ONCE(""), WEB(LIMITED), HELD("OptedOut"),
              CHECK(REC, "status.conditions[Applied].message", "~its namespace's annotation"),
              MERGE("/api/v1/namespaces/opted-out-namespace", "{metadata: {annotations: {halflife.dev/apply: null}}}"),
              LOWERED),
        STORY("exempt-namespace", AT_ONCE(", hpa: Retune"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 9, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              WEB(LIMITED), HELD("OptedOut"),
              CHECK(REC, "status.conditions[Applied].message", "~the controller's own setting exempt-namespaces"),
              CHECK("horizontalpodautoscalers/web", "metadata.annotations.<halflife.dev/original-targets>", "-")),
        STORY("paused-profile", TEAM("{paused: true, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90}}"),
              WEB(LIMITED), HELD("Paused"), CHECK(REC, "status.conditions[Applied].message", "the profile is paused"),
              MERGE("profiles/team", "{spec: {paused: false}}"), LOWERED),
        STORY("held-by-a-person", AT_ONCE(""), MERGE("profiles/team", "{spec: {paused: true}}"), WEB(LIMITED),
              EXPECT(REC, "status.state", "Ready"),
              MERGE(REC, "{metadata: {annotations: {halflife.dev/hold: 'black friday'}}}"),
              EXPECT(REC, "status.state", "Held"), MERGE("profiles/team", "{spec: {paused: false}}"), CYCLES(3),
              CHECK(REC, "status.conditions[Held].message", "~black friday"),
              CHECK(REC, "status.containers[app].cpu.target", "285m"),
              CHECK("deployments/web", "metadata.generation", "1"),
              MERGE(REC, "{metadata: {annotations: {halflife.dev/hold: null}}}"), LOWERED,
              EXPECT(REC, "status.state", "Ready")),
        /* A sync with prune deletes the Recommendation: the hold comes back with it, until a person lifts it. */
        STORY("hold-outlives-a-prune", AT_ONCE(""), MERGE("profiles/team", "{spec: {paused: true}}"), WEB(LIMITED),
              EXPECT(REC, "status.state", "Ready"),
              MERGE(REC, "{metadata: {annotations: {halflife.dev/hold: 'black friday'}}}"),
              EXPECT(REC, "status.state", "Held"), MERGE("profiles/team", "{spec: {paused: false}}"), DELETE(REC),
              EXPECT(REC, "metadata.annotations.<halflife.dev/hold>", "black friday"),
              EXPECT(REC, "status.state", "Held"), CYCLES(3),
              CHECK(REC, "metadata.annotations.<halflife.dev/hold>", "black friday"), CALL(hold_kept),
              CHECK("deployments/web", "metadata.generation", "1"),
              MERGE(REC, "{metadata: {annotations: {halflife.dev/hold: null}}}"), LOWERED,
              EXPECT(REC, "status.state", "Ready"), DELETE(REC), EXPECT(REC, "status.state", "Ready"),
              CHECK(REC, "metadata.annotations.<halflife.dev/hold>", "-")),
        STORY("managed", AT_ONCE(""), WEB(LIMITED),
              MERGE("deployments/web", "{metadata: {ownerReferences: [{apiVersion: db.example.org/v1, kind: Database, "
                                       "name: main, uid: 11111111-2222-4333-8444-555555555555, controller: true}]}}"),
              HELD("Managed"), CHECK(REC, "status.conditions[Managed].message", "~Database 'main'")),
        STORY("below-min-change", AT_ONCE(""), WEB("[{name: app, resources: {requests: {cpu: 300m}}}]"),
              HELD("BelowMinChange")),
        STORY("windows-shut",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, windows: [{schedule: '0 0 30 2 *', "
                   "duration: 1h}]}}"),
              WEB(LIMITED), HELD("OutsideWindow"),
              MERGE("profiles/team", "{spec: {apply: {windows: [{schedule: '0 0 * * *', duration: 24h}]}}}"), LOWERED),
        STORY("unknown-zone",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, windows: [{schedule: '0 0 * * *', "
                   "duration: 24h, timeZone: Europe/Atlantis}]}}"),
              WEB(LIMITED), HELD("OutsideWindow"),
              EXPECT("profiles/team", "status.conditions[Degraded].status", "True"),
              CHECK("profiles/team", "status.conditions[Degraded].reason", "UnknownTimeZone"),
              CHECK("profiles/team", "status.conditions[Degraded].message", "~Europe/Atlantis")),
        STORY("range-above-target", AT_ONCE(""),
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Container, min: "
                  "{cpu: 400m}}]}}"),
              WEB(LIMITED), EXPECT("deployments/web", CPU_REQUEST, "400m"),
              EXPECT(REC, "status.containers[app].cpu.reason", "LimitRange"),
              CHECK(REC, "status.containers[app].cpu.target", "400m"),
              CHECK("deployments/web", "metadata.generation", "2")),
        STORY("range-at-original", AT_ONCE(""),
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Container, min: "
                  "{cpu: '1'}}]}}"),
              WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.reason", "LimitRange"),
              CHECK(REC, "status.containers[app].cpu.target", "1"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "1")),
        STORY("range-ratio", AT_ONCE(""),
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Container, "
                  "maxLimitRequestRatio: {cpu: '4'}}]}}"),
              WEB(LIMITED), EXPECT("deployments/web", CPU_REQUEST, "500m"),
              EXPECT(REC, "status.containers[app].cpu.reason", "LimitRange")),
        STORY("range-of-the-pod", AT_ONCE(""),
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Pod, min: "
                  "{cpu: 400m}}]}}"),
              WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.reason", "LimitRange"),
              CHECK(REC, "status.containers[app].cpu.target", "1"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "1")),
        STORY("range-of-a-default-limit", AT_ONCE(""),
              PUT("{apiVersion: v1, kind: LimitRange, metadata: {name: sizes}, spec: {limits: [{type: Container, "
                  "default: {cpu: '2'}, maxLimitRequestRatio: {cpu: '4'}}]}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1'}}}]"), EXPECT("deployments/web", CPU_REQUEST, "500m"),
              EXPECT(REC, "status.containers[app].cpu.reason", "LimitRange")),
        STORY("guaranteed-kept",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, keepGuaranteed: true}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '1', memory: 1Gi}}}]"),
              EXPECT(REC, "status.containers[app].cpu.reason", "QoS"),
              CHECK(REC, "status.containers[app].cpu.target", "1"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "1")),
        STORY("guaranteed-given-up", AT_ONCE(""),
              WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '1', memory: 1Gi}}}]"),
              LOWERED, EXPECT(REC, "status.conditions[QoSChanges].status", "True")),
        STORY("too-few-replicas", AT_ONCE(", minReplicas: 3"), WEB(LIMITED),
              BLOCKED("it has 2 replicas, minReplicas is 3"), MERGE("deployments/web", "{spec: {replicas: 3}}"),
              LOWERED),
        STORY("paused-rollout", AT_ONCE(""), WORK("Deployment", "web", "{replicas: 2}", POD),
              MERGE("deployments/web", "{spec: {paused: true}}"),
              EXPECT(REC, "status.containers[app].cpu.reason", "RolloutBlocked"),
              CHECK(REC, "status.conditions[Applied].message", "~paused"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "1"), MERGE("deployments/web", "{spec: {paused: false}}"), LOWERED),
        STORY("recreate", AT_ONCE(""), WORK("Deployment", "web", "{replicas: 2, strategy: {type: Recreate}}", POD),
              BLOCKED("Recreate")),
        STORY("on-delete", AT_ONCE(""),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db, updateStrategy: {type: OnDelete}}", POD),
              HELD_OF("recommendations/statefulset-db", "statefulsets/db", "RolloutBlocked")),
        STORY("on-delete-daemonset", AT_ONCE(""), WORK("DaemonSet", "agent", "{updateStrategy: {type: OnDelete}}", POD),
              HELD_OF("recommendations/daemonset-agent", "daemonsets/agent", "RolloutBlocked")),
        STORY("partition", AT_ONCE(""),
              WORK("StatefulSet", "db",
                   "{replicas: 2, serviceName: db, updateStrategy: {rollingUpdate: {partition: 1}}}", POD),
              HELD_OF("recommendations/statefulset-db", "statefulsets/db", "RolloutBlocked"),
              MERGE("statefulsets/db", "{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}"),
              EXPECT("statefulsets/db", CPU_REQUEST, "285m")),
        STORY("budget-of-cores",
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, budget: {coresPerHour: 2}}}"),
              WEB(LIMITED), WORK("Deployment", "api", "{replicas: 2}", POD),
              WORK("Deployment", "job", "{replicas: 2}", POD), EXPECT(REC, "status.state", "Ready"),
              EXPECT("recommendations/deployment-api", "status.state", "Ready"),
              EXPECT("recommendations/deployment-job", "status.state", "Ready"),
              EXPECT("profiles/team", "status.targets.applied", "1"), CYCLES(3),
              CHECK("profiles/team", "status.targets.applied", "1")),
        STORY("hpa-on-cpu",
              TEAM("{resources: {memory: {enabled: true}}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: "
                   "90, cooldown: 0s}}"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              WEB(LIMITED), EXPECT("deployments/web", APP_REQUESTS, "{\"cpu\":\"1\",\"memory\":\"364Mi\"}"),
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"),
              EXPECT(REC, "status.conditions[Applied].message", "HPA 'web' scales on cpu utilization"), CYCLES(1),
              CHECK("deployments/web", APP_REQUESTS, "{\"cpu\":\"1\",\"memory\":\"364Mi\"}"),
              DELETE("horizontalpodautoscalers/web"), LOWERED,
              CHECK("deployments/web", APP_REQUESTS, "{\"cpu\":\"285m\",\"memory\":\"364Mi\"}")),
        STORY("hpa-comes-later", AT_ONCE(""), WEB(LIMITED), LOWERED, EXPECT(REC, "status.applied.mode", "Rollout"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "ContainerResource, containerResource: {name: cpu, container: app, target: {type: Utilization, "
                  "averageUtilization: 70}}}]}}"),
              EXPECT("deployments/web", CPU_REQUEST, "1"),
              CHECK("deployments/web", "spec.template.metadata.annotations.<halflife.dev/applied-resources>", "-"),
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"), CYCLES(2),
              CHECK(REC, "status.conditions[Contested]", "-"), CHECK("deployments/web", "metadata.generation", "3")),
        STORY("quota-surge", AT_ONCE(""), ROOM("2"), WEB(LIMITED), HELD("Quota"),
              CHECK(REC, "status.conditions[Applied].message",
                    "ResourceQuota 'room': 2 of 2 requests.cpu are used, the rollout needs 285m more"),
              ROOM("3"), LOWERED),
        STORY("vpa-auto", AT_ONCE(""), VPA("Auto"), WEB(LIMITED), HELD("OtherAutoscaler"),
              CHECK(REC, "status.state", "Ready"), CHECK(REC, "status.conditions[OtherAutoscaler].status", "True"),
              CHECK(REC, "status.conditions[OtherAutoscaler].message",
                    "~VerticalPodAutoscaler 'sizer', updateMode Auto"),
              MERGE("verticalpodautoscalers/sizer", "{spec: {updatePolicy: {updateMode: 'Off'}}}"), LOWERED,
              EXPECT(REC, "status.conditions[OtherAutoscaler]", "-")),
        STORY("vpa-off", AT_ONCE(""), VPA("'Off'"), WEB(LIMITED), LOWERED,
              CHECK(REC, "status.conditions[OtherAutoscaler]", "-"),
              MERGE("verticalpodautoscalers/sizer", "{spec: {updatePolicy: {updateMode: Initial}}}"),
              EXPECT(REC, "status.conditions[OtherAutoscaler].status", "True"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "285m"), DELETE("verticalpodautoscalers/sizer"),
              EXPECT(REC, "status.conditions[OtherAutoscaler]", "-")),
        STORY("vpa-on-memory", BOTH_MANAGED, VPA("Auto"),
              VPA_POLICY("{containerName: '*', controlledResources: [memory]}"), WEB(LIMITED),
              EXPECT("deployments/web", APP_REQUESTS, "{\"cpu\":\"285m\",\"memory\":\"1Gi\"}"),
              EXPECT(REC, "status.containers[app].memory.reason", "OtherAutoscaler"),
              CHECK(REC, "status.conditions[OtherAutoscaler].message",
                    "VerticalPodAutoscaler 'sizer', updateMode Auto sets memory of 'app': halflife leaves them alone, "
                    "and sets the others"),
              EXPECT(REC, "status.conditions[Applied].reason", "OtherAutoscaler"), CYCLES(2),
              CHECK("deployments/web", "metadata.generation", "2"), VPA_POLICY("{containerName: app, mode: 'Off'}"),
              EXPECT("deployments/web", APP_REQUESTS, "{\"cpu\":\"285m\",\"memory\":\"364Mi\"}"),
              EXPECT(REC, "status.conditions[OtherAutoscaler]", "-")),
        STORY("vpa-on-one-container", BOTH_MANAGED, VPA("Recreate"),
              VPA_POLICY("{containerName: '*', mode: 'Off'}, {containerName: side, controlledValues: RequestsOnly}"),
              WEB("[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}, {name: side, resources: {requests: "
                  "{cpu: '1', memory: 1Gi}}}]"),
              EXPECT("deployments/web", APP_REQUESTS, "{\"cpu\":\"285m\",\"memory\":\"364Mi\"}"), CYCLES(2),
              CHECK("deployments/web", "spec.template.spec.containers[side].resources.requests",
                    "{\"cpu\":\"1\",\"memory\":\"1Gi\"}"),
              CHECK(REC, "status.containers[side].cpu.reason", "OtherAutoscaler"),
              CHECK(REC, "status.containers[app].cpu.reason", "Lowered"),
              CHECK(REC, "status.conditions[OtherAutoscaler].message", "~sets cpu and memory of 'side':")),
        STORY("vpa-all-off", AT_ONCE(""), VPA("Auto"), VPA_POLICY("{containerName: '*', mode: 'Off'}"), WEB(LIMITED),
              LOWERED, EXPECT(REC, "status.containers[app].cpu.reason", "Lowered"),
              CHECK(REC, "status.conditions[OtherAutoscaler]", "-")),
        STORY("hpa-on-average-value", AT_ONCE(""),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]}}"),
              WEB(LIMITED), LOWERED),
        STORY("hpa-ignored", AT_ONCE(", hpa: Ignore"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 4, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              WEB(LIMITED), LOWERED),
};

static const char vpas[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"verticalpodautoscalers.autoscaling.k8s.io\"},\"spec\":{\"group\":\"autoscaling.k8s.io\",\"scope\":"
        "\"Namespaced\","
        "\"names\":{\"plural\":\"verticalpodautoscalers\",\"singular\":\"verticalpodautoscaler\",\"kind\":"
        "\"VerticalPodAutoscaler\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

static void install_vpas(struct fake *f)
{
        fake_put(f, "kubectl-create", vpas);
}

int main(void)
{
        static const char *const args[] = {"--exempt-namespaces=kube-system,exempt-namespace", NULL};
        return stories_main("holds", stories, sizeof stories / sizeof stories[0], args, install_vpas);
}
