/* apply.hpa: Retune. The target is 285m of 1 everywhere, so a target of 70 per cent becomes 246. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../support/story.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m")
#define PUT_BACK    EXPECT("deployments/web", CPU_REQUEST, "1")
#define HPA_OF(meta, metrics)                                                                                          \
        PUT("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web" meta "}, spec: "        \
            "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 9, metrics: [" metrics  \
            "]}}")
#define ON(name, percent)                                                                                              \
        "{type: Resource, resource: {name: " name ", target: {type: Utilization, averageUtilization: " percent "}}}"
#define HPA           HPA_OF("", ON("cpu", "70"))
#define HPA_PATH      "horizontalpodautoscalers/web"
#define VALUE         "spec.metrics[0].resource.target.averageUtilization"
#define ORIGINAL_NOTE "metadata.annotations.<halflife.dev/original-targets>"
#define APPLIED_NOTE  "metadata.annotations.<halflife.dev/applied-targets>"
#define RETUNED       EXPECT(HPA_PATH, VALUE, "246"), CHECK(HPA_PATH, ORIGINAL_NOTE, "{\"Resource/cpu\":70}")
#define AS_ITS_OWNERS                                                                                                  \
        EXPECT(HPA_PATH, VALUE, "70"), EXPECT(HPA_PATH, ORIGINAL_NOTE, "-"), CHECK(HPA_PATH, APPLIED_NOTE, "-")
#define RETUNE AT_ONCE(", hpa: Retune, cooldown: 0s")
#define HOLDS(message)                                                                                                 \
        EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"),                                                   \
                EXPECT(REC, "status.conditions[Applied].message", message), CYCLES(2),                                 \
                CHECK("deployments/web", CPU_REQUEST, "1"), CHECK(HPA_PATH, ORIGINAL_NOTE, "-")

#define VPA(policies)                                                                                                  \
        PUT("{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: sizer}, spec: "         \
            "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, resourcePolicy: {containerPolicies: "     \
            "[" policies "]}}}")
#define SCALED_OBJECT(triggers)                                                                                        \
        PUT("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web}, spec: {scaleTargetRef: {name: " \
            "web}, maxReplicaCount: 9, triggers: [" triggers "]}}")
#define KEDAS_HPA                                                                                                      \
        HPA_OF(", ownerReferences: [{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: web, uid: "               \
               "11111111-2222-4333-8444-555555555555, controller: true}]",                                             \
               ON("cpu", "70"))
#define QUEUE             "{type: rabbitmq, metadata: {queueName: orders, value: '20'}}"
#define CPU_OF(value)     "{type: cpu, metricType: Utilization, metadata: {value: '" value "'}}"
#define SCALED_PATH       "scaledobjects/web"
#define TRIGGER(n)        "spec.triggers[" #n "].metadata.value"
#define HPA_IS_LEFT_ALONE CHECK(HPA_PATH, VALUE, "70"), CHECK(HPA_PATH, ORIGINAL_NOTE, "-")

/* Its pods have the label that the selector of Deployment 'web' asks for. */
#define CANARY                                                                                                         \
        PUT("{apiVersion: apps/v1, kind: Deployment, metadata: {name: canary}, spec: {replicas: 2, selector: "         \
            "{matchLabels: {app: web, track: canary}}, template: {metadata: {labels: {app: web, track: canary}}, "     \
            "spec: {containers: " LIMITED "}}}}")
#define CANARY_REC "recommendations/deployment-canary"
#define CANARY_HELD                                                                                                    \
        EXPECT(CANARY_REC, "status.containers[app].cpu.reason", "HPAShared"),                                          \
                EXPECT(CANARY_REC, "status.conditions[Applied].message",                                               \
                       "HPA 'web' of Deployment 'web' scales on cpu utilization, and counts pods of this workload "    \
                       "too"),                                                                                         \
                CHECK(CANARY_REC, "status.decision.sharedAutoscaler", "[\"cpu\"]"),                                    \
                CHECK("deployments/canary", CPU_REQUEST, "1")
#define COUNTS_CANARY "HPA 'web' scales on cpu utilization, and counts pods of Deployment 'canary' too"

static bool forbid(struct fake *f, struct story *s)
{
        fake_deny(f, &(struct fake_rule){"patch", "autoscaling", "horizontalpodautoscalers", s->name});
        return true;
}

/* Every other request about the autoscaler goes wrong, each in its way: also done, and the answer lost. */
static bool trouble(struct fake *f, struct story *s)
{
        AUTO(mem_free) char *path = story_path(s, HPA_PATH);
        fake_fault(f, &(struct fake_fault){.verb = "get", .path = path, .status = 503});
        fake_fault(f, &(struct fake_fault){.verb = "get", .path = path, .nth = 1, .cut = true, .cut_after = 100});
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = path, .status = 500});
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = path, .nth = 1, .status = 409});
        fake_fault(f, &(struct fake_fault){.verb = "patch", .path = path, .nth = 2, .cut = true, .cut_after = 10});
        return true;
}

static struct story stories[] = {
        STORY("retuned", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              EXPECT(HPA_PATH, APPLIED_NOTE, "{\"Resource/cpu\":246}"),
              EXPECT(REC, "status.conditions[Retuned].status", "True"), CYCLES(2), CHECK(HPA_PATH, VALUE, "246"),
              CHECK(HPA_PATH, "spec.maxReplicas", "9"), CHECK(REC, "status.conditions[Applied].status", "True")),
        STORY("container-of-two", RETUNE,
              HPA_OF("", "{type: External, external: {metric: {name: queue}, target: {type: Value, value: 5}}}, {type: "
                         "ContainerResource, containerResource: {name: cpu, container: app, target: {type: "
                         "Utilization, averageUtilization: 60}}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1'}}}, {name: side, resources: {requests: {cpu: 50m}}}]"),
              LOWERED, EXPECT(HPA_PATH, "spec.metrics[1].containerResource.target.averageUtilization", "211"),
              CHECK(HPA_PATH, ORIGINAL_NOTE, "{\"ContainerResource/app/cpu\":60}"),
              CHECK(HPA_PATH, "spec.metrics[0].external.metric.name", "queue")),
        STORY("comes-later", RETUNE, WEB(LIMITED), LOWERED, HPA, RETUNED,
              CHECK("deployments/web", CPU_REQUEST, "285m")),
        STORY("back-to-hold", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE("profiles/team", "{spec: {apply: {hpa: Hold}}}"), PUT_BACK, AS_ITS_OWNERS,
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"), CYCLES(2), CHECK(HPA_PATH, VALUE, "70")),
        STORY("to-ignore", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE("profiles/team", "{spec: {apply: {hpa: Ignore}}}"), AS_ITS_OWNERS, LOWERED),
        STORY("its-owner-speaks", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE(HPA_PATH, "{spec: {metrics: [" ON("cpu", "50") "]}}"), EXPECT(HPA_PATH, VALUE, "175"),
              CHECK(HPA_PATH, ORIGINAL_NOTE, "{\"Resource/cpu\":50}"), CHECK("deployments/web", CPU_REQUEST, "285m")),
        STORY("other-metrics-come", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE(HPA_PATH, "{spec: {metrics: [" ON("memory", "80") ", " ON("cpu", "246") "]}}"), CYCLES(3),
              CHECK(HPA_PATH, "spec.metrics[1].resource.target.averageUtilization", "246"),
              CHECK(HPA_PATH, ORIGINAL_NOTE, "{\"Resource/cpu\":70}")),
        STORY("put-back", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE(HPA_PATH, "{spec: {metrics: [" ON("cpu", "70") "]}}"), PUT_BACK,
              EXPECT(REC, "status.conditions[Contested].status", "True"),
              CHECK(REC, "status.conditions[Contested].message", "~HPA 'web': its target utilization was put back"),
              CHECK(REC, "status.conditions[Contested].message", "~by kubectl-edit"), AS_ITS_OWNERS, CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "1"), CHECK(HPA_PATH, VALUE, "70")),
        STORY("applied-by-another", RETUNE,
              APPLY(HPA_PATH, "flux",
                    "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: "
                    "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 9, metrics: "
                    "[" ON("cpu", "70") "]}}"),
              WEB(LIMITED), HOLDS("HPA 'web': 'flux' owns its metrics by server-side apply")),
        STORY("forbidden", CALL(forbid), RETUNE, HPA, WEB(LIMITED),
              HOLDS("~horizontalpodautoscalers.autoscaling \"web\" is forbidden")),
        STORY("troubled", CALL(trouble), RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED, CYCLES(2),
              CHECK(HPA_PATH, VALUE, "246"), CHECK(HPA_PATH, APPLIED_NOTE, "{\"Resource/cpu\":246}")),
        STORY("made-by-another", RETUNE,
              HPA_OF(", ownerReferences: [{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: gone, uid: "
                     "11111111-2222-4333-8444-555555555555, controller: true}]",
                     ON("cpu", "70")),
              WEB(LIMITED), HOLDS("~was made by ScaledObject 'gone'")),
        STORY("not-understood", RETUNE, HPA_OF("", ON("cpu", "70") ", " ON("cpu", "60")), WEB(LIMITED),
              HOLDS("~has a metric that halflife does not understand")),
        STORY("unreadable", RETUNE, HPA_OF(", annotations: {halflife.dev/original-targets: '[70]'}", ON("cpu", "70")),
              WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"),
              EXPECT(REC, "status.conditions[Applied].message",
                     "~cannot read its annotation halflife.dev/original-targets"),
              CYCLES(2), CHECK("deployments/web", CPU_REQUEST, "1"), CHECK(HPA_PATH, VALUE, "70")),
        STORY("keda-held", AT_ONCE(", cooldown: 0s"), SCALED_OBJECT(CPU_OF("70")), KEDAS_HPA, WEB(LIMITED),
              HOLDS("ScaledObject 'web' scales on cpu utilization")),
        STORY("keda-retuned", RETUNE, SCALED_OBJECT(QUEUE ", " CPU_OF("70")), KEDAS_HPA, WEB(LIMITED), LOWERED,
              EXPECT(SCALED_PATH, TRIGGER(1), "246"), CHECK(SCALED_PATH, ORIGINAL_NOTE, "{\"Resource/cpu\":70}"),
              CHECK(SCALED_PATH, TRIGGER(0), "20"),
              EXPECT(REC, "status.conditions[Retuned].message", "~the targets of ScaledObject 'web'"), CYCLES(2),
              HPA_IS_LEFT_ALONE, MERGE("profiles/team", "{spec: {apply: {hpa: Hold}}}"), PUT_BACK,
              EXPECT(SCALED_PATH, TRIGGER(1), "70"), EXPECT(SCALED_PATH, ORIGINAL_NOTE, "-"), HPA_IS_LEFT_ALONE),
        STORY("keda-put-back", RETUNE, SCALED_OBJECT(CPU_OF("70")), KEDAS_HPA, WEB(LIMITED), LOWERED,
              EXPECT(SCALED_PATH, TRIGGER(0), "246"), MERGE(SCALED_PATH, "{spec: {triggers: [" CPU_OF("70") "]}}"),
              PUT_BACK, EXPECT(REC, "status.conditions[Contested].status", "True"),
              EXPECT(SCALED_PATH, ORIGINAL_NOTE, "-"), HPA_IS_LEFT_ALONE),
        STORY("keda-on-a-queue", RETUNE, SCALED_OBJECT(QUEUE), WEB(LIMITED), LOWERED, CYCLES(1),
              CHECK(SCALED_PATH, ORIGINAL_NOTE, "-"), CHECK(SCALED_PATH, TRIGGER(0), "20")),
        STORY("keda-not-understood", RETUNE, SCALED_OBJECT(CPU_OF("many")), WEB(LIMITED),
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAHold"),
              CHECK(REC, "status.conditions[Applied].message", "~ScaledObject 'web' has a metric"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "1"), CHECK(SCALED_PATH, TRIGGER(0), "many")),
        STORY("on-average-value", RETUNE,
              HPA_OF("", "{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}"),
              WEB(LIMITED), LOWERED, CYCLES(1), CHECK(HPA_PATH, ORIGINAL_NOTE, "-")),
        STORY("vpa-of-memory", RETUNE, VPA("{containerName: '*', controlledResources: [memory]}"), HPA, WEB(LIMITED),
              LOWERED, RETUNED),
        STORY("vpa-of-what-it-counts", RETUNE,
              VPA("{containerName: '*', mode: 'Off'}, {containerName: side, controlledResources: [cpu]}"), HPA,
              WEB("[{name: app, resources: {requests: {cpu: '1'}}}, {name: side, resources: {requests: {cpu: '1'}}}]"),
              HOLDS("~HPA 'web' scales on cpu utilization, and a VerticalPodAutoscaler sets requests that it counts"),
              CHECK(REC, "status.containers[side].cpu.reason", "OtherAutoscaler"), CHECK(HPA_PATH, VALUE, "70")),
        STORY("vpa-of-another-container", RETUNE,
              VPA("{containerName: '*', mode: 'Off'}, {containerName: side, controlledResources: [cpu]}"),
              HPA_OF("", "{type: ContainerResource, containerResource: {name: cpu, container: app, target: {type: "
                         "Utilization, averageUtilization: 60}}}"),
              WEB("[{name: app, resources: {requests: {cpu: '1'}}}, {name: side, resources: {requests: {cpu: '1'}}}]"),
              LOWERED, EXPECT(HPA_PATH, "spec.metrics[0].containerResource.target.averageUtilization", "211"),
              CHECK("deployments/web", "spec.template.spec.containers[side].resources.requests.cpu", "1")),
        STORY("shared", RETUNE, HPA, CANARY, WEB(LIMITED),
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAShared"),
              EXPECT(REC, "status.conditions[Applied].reason", "HPAShared"),
              EXPECT(REC, "status.conditions[Applied].message", COUNTS_CANARY), CANARY_HELD, CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "1"), HPA_IS_LEFT_ALONE,
              MERGE("deployments/canary", "{spec: {replicas: 0}}"), LOWERED, RETUNED),
        STORY("shared-later", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED, CANARY, PUT_BACK, AS_ITS_OWNERS,
              EXPECT(REC, "status.containers[app].cpu.reason", "HPAShared"), CANARY_HELD, CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "1"), HPA_IS_LEFT_ALONE, DELETE("deployments/canary"), LOWERED,
              RETUNED),
        STORY("shared-before-a-rollout", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE("deployments/web", "{spec: {paused: true}}"), CANARY, AS_ITS_OWNERS,
              EXPECT(REC, "status.containers[app].cpu.reason", "RolloutBlocked"), CYCLES(2),
              CHECK("deployments/web", CPU_REQUEST, "285m"), HPA_IS_LEFT_ALONE,
              MERGE("deployments/web", "{spec: {paused: false}}"), PUT_BACK, CYCLES(1), HPA_IS_LEFT_ALONE),
        STORY("shared-held", AT_ONCE(", cooldown: 0s"), HPA, CANARY, WEB(LIMITED), HOLDS(COUNTS_CANARY), CANARY_HELD),
        STORY("shared-ignored", AT_ONCE(", hpa: Ignore, cooldown: 0s"), HPA, CANARY, WEB(LIMITED), LOWERED,
              EXPECT("deployments/canary", CPU_REQUEST, "285m"), HPA_IS_LEFT_ALONE),
        STORY("profile-goes", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED,
              MERGE("profiles/team", "{spec: {apply: {mode: Recommend}}}"),
              EXPECT(REC, "status.conditions[Applied].reason", "Orphaned"), CYCLES(2), CHECK(HPA_PATH, VALUE, "246"),
              MERGE("deployments/web", "{spec: {template: {spec: {containers: " LIMITED "}}}}"), AS_ITS_OWNERS),
};

static void install_kinds(struct fake *f)
{
        story_define_kind(f, "autoscaling.k8s.io", "VerticalPodAutoscaler");
        fake_put(f, "kubectl-create",
                 "{\"apiVersion\":\"apiextensions.k8s.io/"
                 "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
                 "\"scaledobjects.keda.sh\"},\"spec\":{\"group\":\"keda.sh\",\"scope\":\"Namespaced\",\"names\":{"
                 "\"plural\":\"scaledobjects\",\"singular\":\"scaledobject\",\"kind\":\"ScaledObject\"},\"versions\":[{"
                 "\"name\":\"v1alpha1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                 "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]}}");
}

/* --- between cycles --- */

enum { LONG_MS = 30000 };

static void play(struct fake *f, struct halflife *h, struct story *s)
{
        bool good = stories_run(f, s, 1, LONG_MS);
        AUTO(mem_free) char *failure = mem_string(s->failure), *log = good ? NULL : halflife_log(h);
        story_release(s);
        if (!good)
                fail_msg("%s\n%s", failure ? failure : "", log);
}

static bool never(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return false;
}

/* The first cycle is over, and whatever it made to be decided again. */
static void settle(struct fake *f, struct halflife *h)
{
        enum { LOOK_MS = 100, QUIET_MS = 2000 };
        bool over = false;
        for (int i = 0; i < LONG_MS / LOOK_MS && !over; i++) {
                (void)fake_wait(f, never, NULL, LOOK_MS);
                over = halflife_metric(h, "halflife_cycles_total") >= 1;
        }
        assert_true(over);
        (void)fake_wait(f, never, NULL, QUIET_MS);
}

/* Pods turn over as their owner deploys: the target goes along, and waits for no cycle. */
static void test_follows_pods_at_once(void **state)
{
        (void)state;
        struct story before = STORY("at-once", RETUNE, HPA, WEB(LIMITED), LOWERED, RETUNED);
        struct story deploy = STORY("at-once",
                                    MERGE("deployments/web",
                                          "{spec: {template: {spec: {containers: [{name: app, resources: {requests: "
                                          "{cpu: '2', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}}}}"),
                                    EXPECT("deployments/web", CPU_REQUEST, "285m"), EXPECT(HPA_PATH, VALUE, "491"));
        struct fake *f = stories_server(&before, 1);
        struct halflife *h = halflife_start(f, "at-once.db", NULL);
        play(f, h, &before);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        h = halflife_start(f, "at-once.db", (const char *const[]){"--interval", "5m", NULL});
        settle(f, h);
        play(f, h, &deploy);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* From now on no pod is heard of by a watch. */
static bool pods_unwatched(struct fake *f, struct story *s)
{
        static const char *const verbs[] = {"watch", "list"};
        (void)s;
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
                fake_fault(f, &(struct fake_fault){
                                      .verb = verbs[i], .path = "/api/v1/pods", .status = 503, .times = FAKE_ALWAYS});
        fake_end_watches(f);
        return true;
}

static bool is_unwatched(struct fake *f, struct story *s)
{
        (void)s;
        return fake_watches(f, "/api/v1/pods") == 0;
}

/* What a resize was answered with tells what the pod asked for before: the watch may come later. */
static void test_follows_what_was_resized(void **state)
{
        (void)state;
        struct story s =
                STORY("resized", TEAM("{apply: {mode: Recommend, hpa: Retune, minHistory: 2s}}"), HPA, WEB(LIMITED),
                      EXPECT(REC, "status.state", "Ready"), CALL(pods_unwatched), CALL(is_unwatched),
                      TEAM("{apply: {mode: InPlace, hpa: Retune, minHistory: 2s, maxDecreasePercent: 90}}"), RETUNED);
        struct fake *f = stories_server(&s, 1);
        struct halflife *h = halflife_start(f, "resized.db", NULL);
        play(f, h, &s);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_follows_pods_at_once),
                                           cmocka_unit_test(test_follows_what_was_resized)};
        int failed = stories_main("retune", stories, sizeof stories / sizeof stories[0], NULL, install_kinds);
        return failed ? failed : cmocka_run_group_tests_name("retune, between cycles", tests, NULL, NULL);
}
