/*
 * Some come first, the others once those stood. Which they are follows from their names: by the first four bytes of the
 * SHA-256 of "namespace/name/" of pods, and of "namespace/Kind/name/" of workloads, the smallest first. The target is
 * 285m of 1 everywhere.
 */
#include "../support/story.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DB           WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD)
#define DB_REC       "recommendations/statefulset-db"
#define DEPLOY(name) WORK("Deployment", name, "{replicas: 2}", POD)
#define TRIES(mode)                                                                                                    \
        "{apply: {mode: " mode ", minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 6s}, canary: {percent: 50}}}"
#define CPU_OF_POD     "spec.containers[app].resources.requests.cpu"
#define CPU_OF_DEPLOY  "spec.template." CPU_OF_POD
#define SAYS(rec, why) EXPECT(rec, "status.conditions[Canary].reason", why)
#define REC_OF(name)   "recommendations/deployment-" name
#define SHARED         "/apis/halflife.dev/v1alpha1/clusterprofiles/shared"

static struct story stories[] = {
        /* db-0 comes before db-1, and db-2 before both */
        STORY("in-place", TEAM(TRIES("InPlace")), DB, EXPECT("pods/db-0", CPU_OF_POD, "285m"), SAYS(DB_REC, "Watched"),
              MERGE("statefulsets/db", "{spec: {replicas: 3}}"), EXPECT("pods/db-2", CPU_OF_POD, "1"),
              CHECK("pods/db-1", CPU_OF_POD, "1"), EXPECT(DB_REC, "status.canary.since", "~T"),
              CHECK(DB_REC, "status.conditions[Applied].reason", "Canary"),
              CHECK(DB_REC, "status.applied.containers[app].cpu", "285m"), CHECK(DB_REC, "status.canary.rest", "[]"),
              CHECK("pods/db-0", CPU_OF_POD, "285m"), EXPECT("pods/db-1", CPU_OF_POD, "285m"),
              EXPECT("pods/db-2", CPU_OF_POD, "285m"), EXPECT(DB_REC, "status.conditions[Applied].reason", "UpToDate"),
              CHECK(DB_REC, "status.canary", "-"), CHECK(DB_REC, "status.conditions[Canary]", "-"),
              CHECK("statefulsets/db", "metadata.generation", "2")),
        STORY("in-place-all-at-once", TEAM(TRIES("InPlace")), DB, SAYS(DB_REC, "Watched"),
              MERGE("profiles/team", "{spec: {apply: {guard: {watch: 24h}}}}"), CYCLES(2),
              MERGE("profiles/team", "{spec: {apply: {canary: {percent: 100}}}}"),
              EXPECT("pods/db-0", CPU_OF_POD, "285m"), EXPECT("pods/db-1", CPU_OF_POD, "285m"),
              EXPECT(DB_REC, "status.canary", "-")),
        STORY("in-place-of-one", TEAM(TRIES("InPlace")),
              WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT(DB_REC, "status.conditions[Applied].reason", "UpToDate"), CHECK(DB_REC, "status.canary", "-")),
        /* web is of the half, api is not */
        STORY("rollout", TEAM(TRIES("Rollout")), DEPLOY("web"), DEPLOY("api"),
              EXPECT("deployments/web", CPU_OF_DEPLOY, "285m"), SAYS(REC_OF("web"), "Watched"),
              SAYS(REC_OF("api"), "Waiting"), EXPECT(REC_OF("api"), "status.containers[app].cpu.reason", "Canary"),
              CHECK(REC_OF("api"), "status.conditions[Applied].reason", "Canary"),
              CHECK("deployments/api", CPU_OF_DEPLOY, "1"), EXPECT("profiles/team", "status.canary.changed", "1"),
              CHECK("profiles/team", "status.canary.workloads", "1"),
              CHECK("profiles/team", "status.canary.complete", "false"),
              CHECK("profiles/team", "status.canary.open", "false"), EXPECT("deployments/api", CPU_OF_DEPLOY, "285m"),
              EXPECT("profiles/team", "status.canary.complete", "true"),
              CHECK("profiles/team", "status.canary.open", "true"), CHECK("profiles/team", "status.canary.passed", "1"),
              EXPECT(REC_OF("web"), "status.conditions[Canary]", "-"),
              EXPECT(REC_OF("api"), "status.conditions[Applied].reason", "UpToDate"),
              MERGE("profiles/team", "{spec: {apply: {canary: null}}}"), EXPECT("profiles/team", "status.canary", "-")),
        /* none of the half, so the one with the lowest rank: job, before web and api */
        STORY("rollout-more", TEAM("{paused: true, apply: {mode: Rollout}}"), DEPLOY("web"), DEPLOY("job"),
              EXPECT("profiles/team", "status.targets.ready", "0"),
              TEAM("{apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, guard: {watch: 24h}, canary: "
                   "{percent: 1}}}"),
              EXPECT("deployments/job", CPU_OF_DEPLOY, "285m"), SAYS(REC_OF("job"), "Watched"),
              CHECK("deployments/web", CPU_OF_DEPLOY, "1"),
              CHECK(REC_OF("web"), "status.conditions[Canary].reason", "Waiting"),
              MERGE("profiles/team", "{spec: {apply: {guard: {watch: 1s}}}}"),
              EXPECT("deployments/web", CPU_OF_DEPLOY, "285m")),
        /* One ClusterProfile, two namespaces: a tenant's canary (web) that never rolls out holds only its own rest. */
        STORY("tenant-stuck", WORK("Deployment", "web", "{replicas: 2, paused: true}", POD), DEPLOY("api"),
              PUT("{apiVersion: halflife.dev/v1alpha1, kind: ClusterProfile, metadata: {name: shared}, spec: "
                  "{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: "
                  "[tenant-stuck, tenant-next]}]}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, "
                  "guard: {watch: 2s}, canary: {percent: 1}}}}"),
              SAYS(REC_OF("api"), "Waiting"), EXPECT(SHARED, "status.canary.workloads", "2"),
              EXPECT(SHARED, "status.canary.passed", "1"), CHECK(SHARED, "status.canary.changed", "1"),
              EXPECT("/apis/apps/v1/namespaces/tenant-next/deployments/web", CPU_OF_DEPLOY, "285m"), CYCLES(2),
              CHECK(SHARED, "status.canary.complete", "false"), SAYS(REC_OF("api"), "Waiting"),
              CHECK("deployments/api", CPU_OF_DEPLOY, "1")),
        STORY("tenant-next", DEPLOY("web"), DEPLOY("api"), EXPECT("deployments/api", CPU_OF_DEPLOY, "285m"),
              EXPECT("deployments/web", CPU_OF_DEPLOY, "285m"),
              EXPECT(REC_OF("web"), "status.conditions[Applied].reason", "UpToDate")),
};

int main(void)
{
        return stories_main("canary", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
