/* Heaps that a template bounds: memory is not lowered below the heap that a runtime begins with, and the Recommendation
 * says where a cap of the heap, and not the request, is what a container fills. By usage alone 1Gi would be 364Mi. */
#include "../support/story.h"

#define MANAGED                                                                                                        \
        TEAM("{resources: {memory: {enabled: true}}, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, "  \
             "cooldown: 0s}}")
#define APP(more)                                                                                                      \
        WORK("Deployment", "web", "{replicas: 2}",                                                                     \
             "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: "    \
             "2Gi}}" more "}]}")
#define MEMORY_REQUEST   "spec.template.spec.containers[app].resources.requests.memory"
#define LOWERED_TO(mi)   EXPECT("deployments/web", MEMORY_REQUEST, mi)
#define REASON_IS(why)   EXPECT(REC, "status.containers[app].memory.reason", why)
#define OPTIONS(options) ", env: [{name: JAVA_TOOL_OPTIONS, value: '" options "'}]"

static struct story stories[] = {
        STORY("by-usage", MANAGED, APP(""), LOWERED_TO("364Mi"), CHECK(REC, "status.conditions[HeapBound]", "-")),
        STORY("by-a-size", MANAGED, APP(", command: [java, -Xms512m, -jar, a.jar]"), LOWERED_TO("512Mi"),
              CHECK(REC, "status.containers[app].memory.target", "512Mi"),
              MERGE("profiles/team", "{spec: {apply: {runtime: Ignore}}}"), LOWERED_TO("364Mi")),
        STORY("by-a-share-of-the-limit", MANAGED, APP(OPTIONS("-XX:InitialRAMPercentage=37.5")), LOWERED_TO("768Mi")),
        STORY("at-the-original", MANAGED, APP(OPTIONS("-Xms1536m")), REASON_IS("HeapStart"),
              CHECK(REC, "status.containers[app].memory.target", "1Gi"), CYCLES(2), LOWERED_TO("1Gi")),
        STORY("filled", MANAGED, APP(OPTIONS("-Xmx320m")), LOWERED_TO("364Mi"),
              EXPECT(REC, "status.conditions[HeapBound].reason", "ByOption"),
              CHECK(REC, "status.conditions[HeapBound].message",
                    "container 'app' fills the heap that -Xmx bounds to 320Mi: a higher request does nothing"),
              MERGE("profiles/team", "{spec: {apply: {runtime: Ignore}}}"),
              EXPECT(REC, "status.conditions[HeapBound]", "-")),
        STORY("not-filled", MANAGED, APP(OPTIONS("-Xmx512m")), LOWERED_TO("364Mi"),
              CHECK(REC, "status.conditions[HeapBound]", "-")),
        STORY("in-place",
              TEAM("{resources: {memory: {enabled: true}}, apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: "
                   "90, cooldown: 0s}}"),
              WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}",
                   "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', "
                   "memory: 2Gi}}" OPTIONS("-Xms512m") "}]}"),
              EXPECT("pods/db-0", "spec.containers[app].resources.requests.memory", "512Mi")),
};

int main(void)
{
        return stories_main("heaps", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
