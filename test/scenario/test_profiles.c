/* Which profile counts, what is said of it, and what becomes of recommendations as profiles and workloads come and go.
 * The target is 285m of 1. */
#include "../support/story.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m"), EXPECT(REC, "status.applied.mode", "Rollout")
#define PROFILE(name, spec)                                                                                            \
        PUT("{apiVersion: halflife.dev/v1alpha1, kind: Profile, metadata: {name: " name "}, spec: " spec "}")
#define CLUSTER_PROFILE(name, spec)                                                                                    \
        PUT("{apiVersion: halflife.dev/v1alpha1, kind: ClusterProfile, metadata: {name: " name "}, spec: " spec "}")
#define HERE "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}}"

static struct story stories[] = {
        STORY("status", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
              WORK("Deployment", "api", "{replicas: 1}", POD),
              EXPECT("profiles/team", "status.targets", "{\"applied\":0,\"matched\":2,\"ready\":2}"),
              EXPECT("profiles/team", "status.saving.cpu", "2145m"),
              CHECK("profiles/team", "status.conditions[Ready].status", "True"),
              CHECK("profiles/team", "status.conditions[Degraded].status", "False"),
              CHECK("profiles/team", "status.observedGeneration", "1")),
        STORY("applied-count", AT_ONCE(""), WEB(LIMITED), LOWERED,
              EXPECT("profiles/team", "status.targets", "{\"applied\":1,\"matched\":1,\"ready\":1}")),
        STORY("higher-priority",
              PROFILE("low", "{priority: 1, resources: {cpu: {multiplier: '2'}}, apply: {minHistory: 2s}}"),
              PROFILE("high", "{priority: 2, apply: {minHistory: 2s}}"), WEB(LIMITED),
              EXPECT(REC, "status.containers[app].cpu.target", "285m"), CHECK(REC, "spec.profileRef.name", "high"),
              EXPECT("profiles/low", "status.targets.matched", "0"),
              EXPECT("profiles/low", "status.conditions[Ready].message",
                     "~which comes before it, has 1 of its workloads: Profile 'higher-priority/high'"),
              DELETE("profiles/high"), EXPECT(REC, "spec.profileRef.name", "low"),
              EXPECT(REC, "status.containers[app].cpu.target", "518m")),
        STORY("team-beats-platform",
              CLUSTER_PROFILE("platform", "{priority: 100, " HERE
                                          ", resources: {cpu: {multiplier: '2'}}, apply: {minHistory: 2s}}"),
              TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.target", "285m"),
              CHECK(REC, "spec.profileRef.kind", "Profile")),
        STORY("selector", PROFILE("some", "{selector: {matchLabels: {tier: gold}}, apply: {minHistory: 2s}}"),
              WEB(LIMITED), CYCLES(2), CHECK(REC, "", "-"),
              MERGE("deployments/web", "{metadata: {labels: {tier: gold}}}"), EXPECT(REC, "status.state", "Ready"),
              EXPECT(REC, "metadata.labels.tier", "gold"),
              MERGE("deployments/web", "{metadata: {labels: {tier: null}}}"), EXPECT(REC, "", "-")),
        STORY("selector-changes", PROFILE("some", "{apply: {minHistory: 2s}}"), WEB(LIMITED),
              EXPECT(REC, "status.state", "Ready"),
              MERGE("profiles/some", "{spec: {selector: {matchLabels: {tier: gold}}}}"), EXPECT(REC, "", "-"),
              MERGE("profiles/some", "{spec: {selector: null}}"), EXPECT(REC, "status.state", "Ready")),
        STORY("profile-deleted", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
              DELETE("profiles/team"), EXPECT(REC, "", "-"), CYCLES(2), CHECK(REC, "", "-")),
        STORY("orphaned", AT_ONCE(""), WEB(LIMITED), LOWERED, DELETE("profiles/team"),
              EXPECT(REC, "status.state", "Held"), EXPECT(REC, "status.conditions[Applied].reason", "Orphaned"),
              CHECK(REC, "status.containers[app].cpu.original", "1"), CYCLES(3), CHECK(REC, "status.state", "Held"),
              CHECK("deployments/web", CPU_REQUEST, "285m"), CHECK("deployments/web", "metadata.generation", "2"),
              AT_ONCE(""), EXPECT(REC, "status.state", "Ready")),
        STORY("orphan-shows-its-last-target",
              TEAM("{resources: {cpu: {multiplier: '2'}, memory: {enabled: true}}, apply: {mode: Rollout, minHistory: "
                   "2s, maxDecreasePercent: 90}}"),
              WEB(LIMITED), EXPECT("deployments/web", CPU_REQUEST, "518m"),
              EXPECT(REC, "status.applied.mode", "Rollout"), DELETE("profiles/team"),
              EXPECT(REC, "status.state", "Held"), USE(500, 300), CYCLES(4),
              CHECK(REC, "status.containers[app].cpu.target", "518m"),
              CHECK(REC, "status.containers[app].memory.target", "364Mi"), CHECK(REC, "status.saving.cpu", "964m"),
              CHECK(REC, "status.conditions[Applied].reason", "Orphaned")),
        STORY("orphaned-by-mode", AT_ONCE(""), WEB(LIMITED), LOWERED,
              MERGE("profiles/team", "{spec: {apply: {mode: Recommend}}}"), EXPECT(REC, "status.state", "Held"),
              EXPECT(REC, "status.conditions[Applied].reason", "Orphaned"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "285m")),
        STORY("orphan-put-back", AT_ONCE(""), WEB(LIMITED), LOWERED, DELETE("profiles/team"),
              EXPECT(REC, "status.state", "Held"),
              MERGE("deployments/web", "{spec: {template: {spec: {containers: [{name: app, resources: {requests: {cpu: "
                                       "'1', memory: 1Gi}}}]}}}}"),
              EXPECT(REC, "", "-")),
        STORY("unknown-kind",
              TEAM("{targets: [{apiVersion: nowhere.org/v1, kind: Nothing}, {apiVersion: apps/v1, kind: "
                   "Deployment}], apply: {minHistory: 2s}}"),
              WEB(LIMITED), EXPECT(REC, "status.state", "Ready"), CYCLES(1),
              EXPECT("profiles/team", "status.targets.matched", "1")),
        STORY("namespace-labels",
              CLUSTER_PROFILE("gold", "{namespaceSelector: {matchLabels: {tier: gold}}, apply: "
                                      "{minHistory: 2s}}"),
              WEB(LIMITED), CYCLES(2), CHECK(REC, "", "-"),
              MERGE("/api/v1/namespaces/namespace-labels", "{metadata: {labels: {tier: gold}}}"),
              EXPECT(REC, "status.state", "Ready")),
        STORY("kube-public", CLUSTER_PROFILE("named", "{" HERE ", apply: {minHistory: 2s}}"), WEB(LIMITED),
              EXPECT(REC, "status.state", "Ready")),
        /* A week of history is learned again only if it is forgotten: at minHistory 2s that would take two seconds, so
         * the profile asks for ten minutes before the workload is made again. */
        STORY("made-again", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
              CYCLES(2), DELETE("deployments/web"), CYCLES(2), CHECK(REC, "status.containers[app].cpu.target", "285m"),
              WEB(LIMITED), CYCLES(1), CHECK(REC, "status.state", "Ready"),
              CHECK(REC, "status.containers[app].cpu.target", "285m")),
        STORY("namespace-deleted", AT_ONCE(""), WEB(LIMITED), WORK("Deployment", "api", "{replicas: 2}", POD),
              CYCLES(2), DELETE("/api/v1/namespaces/namespace-deleted"),
              EXPECT("/api/v1/namespaces/namespace-deleted", "", "-"), CYCLES(3), CHECK(REC, "", "-")),
        STORY("label-removed", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
              MERGE("deployments/web", "{metadata: {labels: {cost: a}}}"), EXPECT(REC, "metadata.labels.cost", "a"),
              MERGE("deployments/web", "{metadata: {labels: {cost: null}}}"), EXPECT(REC, "metadata.labels.cost", "-"),
              CHECK(REC, "metadata.labels.app", "web")),
        /* Nothing is said of what has no pods and never had, until somebody makes its Recommendation. */
        STORY("never-had-pods", TEAM("{apply: {minHistory: 2s}}"), WORK("ReplicaSet", "left", "{replicas: 0}", POD),
              WORK("Deployment", "parked", "{replicas: 0}", POD), WORK("StatefulSet", "asked", "{replicas: 0}", POD),
              WEB(LIMITED), EXPECT(REC, "status.state", "Ready"), CYCLES(2),
              CHECK("recommendations/replicaset-left", "", "-"), CHECK("recommendations/deployment-parked", "", "-"),
              CHECK("recommendations/statefulset-asked", "", "-"),
              PUT("{apiVersion: halflife.dev/v1alpha1, kind: Recommendation, metadata: {name: statefulset-asked}, "
                  "spec: {targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: asked}}}"),
              EXPECT("recommendations/statefulset-asked", "status.state", "NoData"),
              CHECK("recommendations/statefulset-asked", "spec.profileRef.name", "team"),
              MERGE("replicasets/left", "{spec: {replicas: 1}}"),
              EXPECT("recommendations/replicaset-left", "status.state", "Ready"),
              MERGE("deployments/parked", "{spec: {replicas: 1}}"),
              EXPECT("recommendations/deployment-parked", "status.state", "Ready"),
              MERGE("deployments/parked", "{spec: {replicas: 0}}"), CYCLES(2), /* it had pods */
              CHECK("recommendations/deployment-parked", "status.state", "Ready")),
        /* By these, tools find what to delete. An old one, of the version before, goes at the next start. */
        STORY("labels-of-tools", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
              MERGE("deployments/web", "{metadata: {labels: {app.kubernetes.io/instance: shop, cost: a, "
                                       "argocd.argoproj.io/instance: shop, kapp.k14s.io/app: '17', "
                                       "kluctl.io/discriminator: shop}}}"),
              EXPECT(REC, "metadata.labels.cost", "a"), CYCLES(1),
              CHECK(REC, "metadata.labels.<app.kubernetes.io/instance>", "-"),
              CHECK(REC, "metadata.labels.<argocd.argoproj.io/instance>", "-"),
              CHECK(REC, "metadata.labels.<kapp.k14s.io/app>", "-"),
              CHECK(REC, "metadata.labels.<kluctl.io/discriminator>", "-"), CHECK(REC, "metadata.labels.app", "web")),
        STORY("recommendation-deleted", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
              EXPECT(REC, "status.state", "Ready"), DELETE(REC), EXPECT(REC, "status.state", "Ready")),
        STORY("scaled", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED), EXPECT(REC, "status.saving.cpu", "1430m"),
              MERGE("deployments/web", "{spec: {replicas: 0}}"), CYCLES(2), CHECK(REC, "status.state", "Ready"),
              MERGE("deployments/web", "{spec: {replicas: 4}}"), CYCLES(2), CHECK(REC, "status.state", "Ready")),
        STORY("usage-grows", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
              EXPECT(REC, "status.containers[app].cpu.target", "285m"), USE(500, 300),
              EXPECT(REC, "status.containers[app].cpu.target", "564m")),
};

int main(void)
{
        return stories_main("profiles", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
