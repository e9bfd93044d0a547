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

/* Events of the story that say this; one that is more than one Event, or a series, counts as many. */
static size_t told(struct fake *f, const struct story *s, const char *reason, const char *note)
{
        AUTO(mem_free) char *path = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", s->name);
        AUTO(mem_free) char *text = fake_get(f, path);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        json_t *e;
        size_t i, count = 0;
        json_array_foreach(json_object_get(list, "items"), i, e)
        {
                const char *said = json_string_value(json_object_get(e, "reason"));
                const char *what = json_string_value(json_object_get(e, "note"));
                if (said && what && strcmp(said, reason) == 0 && strcmp(what, note) == 0)
                        count += json_object_get(e, "series") ? 2 : 1;
        }
        return count;
}

static bool admitted_once(struct fake *f, struct story *s)
{
        return told(f, s, "Admitted", "deployed with app cpu 1 -> 300m") == 1;
}

static bool deployed_once(struct fake *f, struct story *s)
{
        return told(f, s, "Deployed", "deployed with app cpu 1 -> 300m") == 1 &&
               told(f, s, "Admitted", "deployed with app cpu 1 -> 300m") == 0;
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
