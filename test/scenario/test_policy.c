/* The policy of the API server refuses a write that another webhook altered: it is told, and not tried again soon. */
#include <stdio.h>
#include <string.h>

#include "../support/story.h"
#include "base/mem.h"

#define LIMITED "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define CPU_OF  "spec.template.spec.containers[app].resources.requests.cpu"
#define DB_REC  "recommendations/statefulset-db"
#define DENIAL  "halflife may change only requests and targets, not container app"
#define CONTESTED(rec)                                                                                                 \
        EXPECT(rec, "status.conditions[Contested].status", "True"),                                                    \
                CHECK(rec, "status.conditions[Contested].message",                                                     \
                      "~the policy refused the write as other admission left it: " DENIAL "; left alone until"),       \
                EXPECT(rec, "status.state", "Held"), CALL(event_tells), CYCLES(4), CALL(asked_once)

/* Every patch of the story's objects of one kind is refused, as by the API server. */
static bool refuse(struct fake *f, const struct story *s, const char *api, const char *plural)
{
        AUTO(mem_free) char *path = mem_printf("%s/namespaces/%s/%s/", api, s->name, plural);
        fake_fault(f, &(struct fake_fault){
                              .verb = "patch",
                              .path = path,
                              .times = FAKE_ALWAYS,
                              .status = 403,
                              .body = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"
                                      "\"it is forbidden: ValidatingAdmissionPolicy 'halflife' with binding "
                                      "'halflife' denied request: " DENIAL "\",\"reason\":\"Forbidden\",\"details\":"
                                      "{\"name\":\"web\"},\"code\":403}"});
        return true;
}

static bool refuse_templates(struct fake *f, struct story *s)
{
        return refuse(f, s, "/apis/apps/v1", "deployments");
}

static bool refuse_pods(struct fake *f, struct story *s)
{
        return refuse(f, s, "/api/v1", "pods");
}

static bool refuse_autoscalers(struct fake *f, struct story *s)
{
        return refuse(f, s, "/apis/autoscaling/v2", "horizontalpodautoscalers");
}

static bool event_tells(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", s->name);
        AUTO(mem_free) char *events = fake_get(f, path);
        return events && strstr(events, "\"Contested\"") && strstr(events, DENIAL);
}

/* One patch in all, some cycles long. */
static bool asked_once(struct fake *f, struct story *s)
{
        static const char *const of[][2] = {{"/apis/apps/v1", "deployments"},
                                            {"/api/v1", "pods"},
                                            {"/apis/autoscaling/v2", "horizontalpodautoscalers"}};
        size_t asked = 0;
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
                AUTO(mem_free) char *path = mem_printf("%s/namespaces/%s/%s/", of[i][0], s->name, of[i][1]);
                asked += fake_count(f, "patch", path);
        }
        if (asked != 1)
                fprintf(stderr, "%s: asked %zu times\n", s->name, asked);
        return asked == 1;
}

static struct story stories[] = {
        STORY("template", CALL(refuse_templates), AT_ONCE(", cooldown: 0s"), WEB(LIMITED), CONTESTED(REC),
              CHECK(REC, "status.containers[app].cpu.reason", "Contested"), CHECK("deployments/web", CPU_OF, "1")),
        STORY("pod", CALL(refuse_pods), TEAM("{apply: {mode: InPlace, minHistory: 2s, maxDecreasePercent: 90}}"),
              WORK("StatefulSet", "db", "{replicas: 1, serviceName: db}", "{containers: " LIMITED "}"),
              CONTESTED(DB_REC)),
        STORY("autoscaler", CALL(refuse_autoscalers), AT_ONCE(", hpa: Retune, cooldown: 0s"),
              PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                  "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 9, metrics: "
                  "[{type: "
                  "Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]}}"),
              WEB(LIMITED), CONTESTED(REC), CHECK("deployments/web", CPU_OF, "1")),
};

int main(void)
{
        return stories_main("policy", stories, sizeof stories / sizeof *stories, NULL, NULL);
}
