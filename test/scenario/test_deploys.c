/*
 * The controller reports deploys with requests from admission or render by Events, whichever replica answered. halflife
 * serve writes no Events, because the answered object may still have been refused.
 */
#include <string.h>

#include "../support/story.h"
#include "base/mem.h"
#include "base/yaml.h"

#define POD    "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]}"
#define OURS   "[{name: app, resources: {requests: {cpu: 300m, memory: 1Gi}}}]"
#define ON(at) TEAM("{apply: {mode: OnDeploy, at: " at ", minHistory: 2s}}")
#define RECORDED                                                                                                       \
        "{halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}', "            \
        "halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"300m\"}}}'}"
#define ADMITTED(name)                                                                                                 \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: " name ", annotations: " RECORDED ", ownerReferences: "      \
            "[{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: $UID(statefulsets/db), controller: true}]}, "    \
            "spec: {containers: " OURS "}}")

static bool admitted_once(struct fake *f, struct story *s)
{
        return story_events(f, s, "Admitted", "deployed with app cpu 1 -> 300m") == 1;
}

static bool deployed_once(struct fake *f, struct story *s)
{
        return story_events(f, s, "Deployed", "deployed with app cpu 1 -> 300m") == 1 &&
               story_events(f, s, "Admitted", "deployed with app cpu 1 -> 300m") == 0;
}

static struct story stories[] = {
        STORY("pods", ON("Pod"), WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD),
              EXPECT("recommendations/statefulset-db", "status.state", "Ready"), ADMITTED("one"), CALL(admitted_once),
              ADMITTED("two"), CYCLES(3), CALL(admitted_once)),
        STORY("templates", ON("Workload"), WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", POD),
              EXPECT("recommendations/statefulset-db", "status.state", "Ready"),
              MERGE("statefulsets/db",
                    "{spec: {template: {metadata: {annotations: " RECORDED "}, spec: {containers: " OURS "}}}}"),
              CALL(deployed_once), MERGE("statefulsets/db", "{spec: {replicas: 2}}"), CYCLES(3), CALL(deployed_once)),
};

int main(void)
{
        return stories_main("deploys", stories, sizeof stories / sizeof stories[0], NULL, NULL);
}
