/* Containers that read a request: the request stays as its owner set it, comes back where it was lowered, and the
 * Recommendation names the reader. The target is 285m of 1 everywhere. */
#include "../support/story.h"

#define LIMITED "resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}"
#define CPUS(field, divisor)                                                                                           \
        "env: [{name: CPUS, valueFrom: {resourceFieldRef: {resource: " field ", divisor: " divisor "}}}]"
#define MILLI       CPUS("requests.cpu", "1m")
#define POD         "{containers: [{name: app, " LIMITED "}]}"
#define READS       "{containers: [{name: app, " LIMITED ", " MILLI "}]}"
#define APP(pod)    WORK("Deployment", "web", "{replicas: 2}", pod)
#define DB(pod)     WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", pod)
#define DB_REC      "recommendations/statefulset-db"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define CPU_OF_POD  "spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m")
#define READ_BY(rec, reader)                                                                                           \
        EXPECT(rec, "status.containers[app].cpu.reason", "ReadByContainer"),                                           \
                CHECK(rec, "status.containers[app].cpu.target", "285m"),                                               \
                CHECK(rec, "status.conditions[RequestRead].reason", "CPU"),                                            \
                CHECK(rec, "status.conditions[RequestRead].message",                                                   \
                      reader " reads the cpu request of container 'app', which therefore stays as its owner set it")
#define HELD(reader)                                                                                                   \
        READ_BY(REC, reader), CHECK(REC, "status.conditions[Applied].reason", "ReadByContainer"), CYCLES(2),           \
                CHECK("deployments/web", CPU_REQUEST, "1")
#define BY_APP   "variable 'CPUS' of container 'app'"
#define IN(more) TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90, cooldown: 0s" more "}}")

static struct story stories[] = {
        STORY("own-variable", AT_ONCE(""), APP(READS), HELD(BY_APP),
              MERGE("profiles/team", "{spec: {apply: {runtime: Ignore}}}"), LOWERED,
              CHECK(REC, "status.conditions[RequestRead]", "-"),
              MERGE("profiles/team", "{spec: {apply: {runtime: Respect}}}"),
              EXPECT("deployments/web", CPU_REQUEST, "1"),
              CHECK("deployments/web", "spec.template.metadata.annotations.<halflife.dev/applied-resources>", "-")),
        STORY("a-limit", AT_ONCE(""), APP("{containers: [{name: app, " LIMITED ", " CPUS("limits.cpu", "1m") "}]}"),
              LOWERED, CHECK(REC, "status.conditions[RequestRead]", "-")),
        STORY("whole-cores", AT_ONCE(""),
              APP("{containers: [{name: app, " LIMITED ", " CPUS("requests.cpu", "'0'") "}]}"), LOWERED),
        STORY("of-an-init-container", AT_ONCE(""),
              APP("{initContainers: [{name: first, env: [{name: CPUS, valueFrom: {resourceFieldRef: {containerName: "
                  "app, resource: requests.cpu, divisor: 1m}}}]}], containers: [{name: app, " LIMITED "}]}"),
              HELD("variable 'CPUS' of container 'first'")),
        STORY("a-file", AT_ONCE(""),
              APP("{containers: [{name: app, " LIMITED "}], volumes: [{name: info, projected: {sources: [{downwardAPI: "
                  "{items: [{path: cpu, resourceFieldRef: {containerName: app, resource: requests.cpu, divisor: 1m}}]}}"
                  "]}}]}"),
              HELD("file 'cpu' of volume 'info'")),
        STORY("its-memory-alone",
              TEAM("{resources: {memory: {enabled: true}}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: "
                   "90}}"),
              APP("{containers: [{name: app, " LIMITED ", env: [{name: MEM, valueFrom: {resourceFieldRef: {resource: "
                  "requests.memory, divisor: 1Mi}}}]}]}"),
              LOWERED, EXPECT(REC, "status.containers[app].memory.reason", "ReadByContainer"),
              CHECK(REC, "status.conditions[RequestRead].reason", "Memory"), CYCLES(2),
              CHECK("deployments/web", "spec.template.spec.containers[app].resources.requests.memory", "1Gi")),
        STORY("comes-later", AT_ONCE(""), APP(POD), LOWERED, EXPECT(REC, "status.applied.mode", "Rollout"),
              MERGE("deployments/web",
                    "{spec: {template: {spec: {containers: [{name: app, image: 'app:1', resources: {requests: {cpu: "
                    "285m, memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}, " MILLI "}]}}}}"),
              EXPECT("deployments/web", CPU_REQUEST, "1"), READ_BY(REC, BY_APP), CYCLES(2),
              CHECK(REC, "status.conditions[Contested]", "-")),
        STORY("in-place", IN(""), DB(READS), READ_BY(DB_REC, BY_APP), CYCLES(2), CHECK("pods/db-0", CPU_OF_POD, "1"),
              MERGE("profiles/team", "{spec: {apply: {runtime: Ignore}}}"), EXPECT("pods/db-0", CPU_OF_POD, "285m"),
              EXPECT("pods/db-1", CPU_OF_POD, "285m"), MERGE("profiles/team", "{spec: {apply: {runtime: Respect}}}"),
              EXPECT("pods/db-0", CPU_OF_POD, "1"), EXPECT("pods/db-1", CPU_OF_POD, "1"),
              EXPECT("pods/db-0", "metadata.annotations.<halflife.dev/original-resources>", "-")),
        STORY("on-deploy", TEAM("{apply: {mode: OnDeploy, minHistory: 2s}}"), APP(READS), READ_BY(REC, BY_APP),
              CHECK(REC, "status.conditions[Applied].reason", "ReadByContainer")),
        STORY("recommended", TEAM("{apply: {minHistory: 2s}}"), APP(READS),
              EXPECT(REC, "status.containers[app].cpu.reason", "RecommendOnly"),
              CHECK(REC, "status.conditions[RequestRead].reason", "CPU")),
};

int main(void)
{
        return stories_main("readers", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
