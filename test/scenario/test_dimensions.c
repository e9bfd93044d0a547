/* Pods and namespaces as what is recommended for: beside workloads, in turn with them, as they come and go. Each "app"
 * uses 250m; 285m is its target. */
#include "../support/story.h"

#define POD        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]}"
#define DB         WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD)
#define PODS       "{dimension: Pod, apply: {mode: OnDeploy, minHistory: 2s}}"
#define NAMESPACES "{dimension: Namespace, apply: {minHistory: 2s}}"
#define LOADS      "{apply: {minHistory: 2s}}"
#define OTHER_TEAM(spec)                                                                                               \
        PUT("{apiVersion: halflife.dev/v1alpha1, kind: Profile, metadata: {name: other}, spec: " spec "}")
#define LONE(cpu, notes)                                                                                               \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: lone, labels: {app: lone}" notes                             \
            "}, spec: {containers: [{name: app, resources: {requests: {cpu: '" cpu "'}}}]}}")
#define RECORDED                                                                                                       \
        ", annotations: {halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"1\"}}}', "                \
        "halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"285m\"}}}'}"
#define TARGET "status.containers[app].cpu.target"
#define ROOM                                                                                                           \
        PUT("{apiVersion: v1, kind: ResourceQuota, metadata: {name: room}, spec: {hard: {requests.cpu: '20'}}, "       \
            "status: {hard: {requests.cpu: '20'}, used: {requests.cpu: '2'}}}")

static struct story stories[] = {
        STORY("pods-of-a-set", TEAM(PODS), DB, EXPECT("recommendations/pod-db-0", TARGET, "285m"),
              EXPECT("recommendations/pod-db-1", "status.state", "Ready"),
              CHECK("recommendations/pod-db-1", "spec.dimension", "Pod"),
              CHECK("recommendations/pod-db-1", "spec.targetRef.kind", "Pod"),
              CHECK("recommendations/pod-db-1", "status.containers[*].cpu.original", "1"),
              CHECK("recommendations/pod-db-1", "status.conditions[Applied].reason", "RecommendOnly"),
              CHECK("recommendations/statefulset-db", "metadata.name", "-"),
              MERGE("statefulsets/db", "{spec: {replicas: 1}}"), EXPECT("pods/db-1", "metadata.name", "-"), CYCLES(2),
              CHECK("recommendations/pod-db-1", TARGET, "285m"), /* what was learned of it stays */
              MERGE("statefulsets/db", "{spec: {replicas: 2}}"), EXPECT("pods/db-1", "status.phase", "Running"),
              EXPECT("recommendations/pod-db-1", "status.state", "Ready"),
              CHECK("pods/db-1", "spec.containers[app].resources.requests.cpu", "1")),
        STORY("a-pod-alone", TEAM(PODS), LONE("1", ""), EXPECT("recommendations/pod-lone", TARGET, "285m"),
              CHECK("recommendations/pod-lone", "status.conditions[Applied].reason", "NextDeploy"),
              CHECK("recommendations/pod-lone", "metadata.labels.app", "lone"), DELETE("pods/lone"), CYCLES(2),
              CHECK("recommendations/pod-lone", TARGET, "285m"), LONE("285m", RECORDED),
              EXPECT("recommendations/pod-lone", "status.applied.mode", "OnDeploy"),
              CHECK("recommendations/pod-lone", "status.containers[app].cpu.original", "1"),
              CHECK("recommendations/pod-lone", "status.containers[app].cpu.current", "285m"),
              CHECK("recommendations/pod-lone", TARGET, "285m"),
              MERGE("profiles/team", "{spec: {apply: {mode: Recommend}}}"),
              EXPECT("recommendations/pod-lone", "status.conditions[Applied].reason", "Orphaned")),
        STORY("a-namespace", TEAM(NAMESPACES), ROOM, DB, LONE("1", ""),
              EXPECT("recommendations/namespace-a-namespace", "status.containers[*].cpu.original", "3"),
              EXPECT("recommendations/namespace-a-namespace", "status.state", "Ready"),
              CHECK("recommendations/namespace-a-namespace", "spec.dimension", "Namespace"),
              CHECK("recommendations/namespace-a-namespace", "spec.targetRef.kind", "Namespace"),
              CHECK("recommendations/namespace-a-namespace", "status.pod.cpu.original", "3"),
              EXPECT("recommendations/namespace-a-namespace", "status.quota.cpu.hard", "20"),
              CHECK("recommendations/namespace-a-namespace", "status.quota.cpu.used", "2"),
              CHECK("recommendations/namespace-a-namespace", "status.quota.memory", "-"),
              EXPECT("recommendations/namespace-a-namespace", "status.containers[*].cpu.model", "~7"), /* 3 x 250m */
              CHECK("recommendations/namespace-a-namespace", "status.conditions[Applied].reason", "RecommendOnly"),
              CHECK("recommendations/statefulset-db", "metadata.name", "-")),
        STORY("empty-namespace", TEAM(NAMESPACES), ROOM, CYCLES(3),
              CHECK("recommendations/namespace-empty-namespace", "", "-"), DB,
              EXPECT("recommendations/namespace-empty-namespace", "status.state", "Ready"), DELETE("statefulsets/db"),
              CYCLES(2), CHECK("recommendations/namespace-empty-namespace", "status.state", "Ready")), /* it had pods */
        STORY("side-by-side", TEAM(LOADS), OTHER_TEAM(NAMESPACES), DB,
              EXPECT("recommendations/statefulset-db", TARGET, "285m"),
              EXPECT("recommendations/namespace-side-by-side", "status.state", "Ready"),
              EXPECT("profiles/other", "status.targets.matched", "1"),
              EXPECT("profiles/team", "status.targets.matched", "1"),
              MERGE("profiles/other", "{spec: {dimension: Pod}}"),
              EXPECT("recommendations/namespace-side-by-side", "metadata.name", "-"),
              EXPECT("recommendations/pod-db-0", TARGET, "285m"),
              CHECK("recommendations/statefulset-db", TARGET, "285m"), DELETE("profiles/other"),
              EXPECT("recommendations/pod-db-0", "metadata.name", "-"),
              CHECK("recommendations/statefulset-db", "status.state", "Ready")),
};

int main(void)
{
        return stories_main("dimensions", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
