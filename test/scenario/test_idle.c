/* What nobody asks for costs nothing: no usage is read without a target, no kind is watched that no profile names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/story.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define WIDGETS     "/apis/example.org/v1/widgets"
#define WREC        "recommendations/widget.example.org-w"
#define WIDGET_TEAM TEAM("{targets: [{apiVersion: example.org/v1, kind: Widget}], apply: {minHistory: 2s}}")
#define WIDGET                                                                                                         \
        PUT("{apiVersion: example.org/v1, kind: Widget, metadata: {name: w}, spec: {replicas: 2, template: "           \
            "{spec: " POD "}}}")
#define WIDGET_POD                                                                                                     \
        PUT("{apiVersion: v1, kind: Pod, metadata: {name: w-0, ownerReferences: [{apiVersion: example.org/v1, kind: "  \
            "Widget, name: w, uid: '$UID(widgets/w)', controller: true}]}, spec: " POD "}")

enum { LONG_MS = 30000, LOOK_MS = 100 };
static const char usage[] = "/apis/metrics.k8s.io/", source_up[] = "halflife_usage_source_up",
                  cycles[] = "halflife_cycles_total";
static const char crd[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"widgets.example.org\"},\"spec\":{\"group\":\"example.org\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
        "\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\"},\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}";

#define PLAY(f, h, ...)                                                                                                \
        do {                                                                                                           \
                struct story told_ = STORY("idle", __VA_ARGS__);                                                       \
                story_play(f, h, &told_, LONG_MS);                                                                     \
        } while (0)

static bool never(struct fake *f, void *arg)
{
        (void)f, (void)arg;
        return false;
}

/* Cycles that may ask the server for nothing: looked for now and then. */
static void let_cycles_pass(struct fake *f, struct halflife *h, int more)
{
        double now = halflife_metric(h, cycles), until = (isnan(now) ? 0 : now) + more;
        bool passed = false;
        for (int i = 0; i < LONG_MS / LOOK_MS && !passed; i++) {
                (void)fake_wait(f, never, NULL, LOOK_MS);
                passed = halflife_metric(h, cycles) >= until; /* not where it has no time to answer */
        }
        assert_true(passed);
}

static void test_no_target_no_poll(void **state)
{
        (void)state;
        struct story cast = STORY("idle", WEB(LIMITED));
        struct fake *f = stories_server(&cast, 1);
        struct halflife *h = halflife_start(f, "unasked.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        assert_true(halflife_await_log(h, "caches synced", 1, LONG_MS));
        let_cycles_pass(f, h, 3);
        assert_int_equal(fake_count(f, "list", usage), 0);
        PLAY(f, h, TEAM("{apply: {minHistory: 2s}}"), EXPECT(REC, "status.state", "Ready"), DELETE("profiles/team"),
             EXPECT(REC, "", "-"));
        let_cycles_pass(f, h, 1);
        size_t polls = fake_count(f, "list", usage);
        assert_true(polls > 0);
        let_cycles_pass(f, h, 2);
        assert_int_equal(fake_count(f, "list", usage), polls);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* A source that was away when the last profile went is not away for ever: nobody asks it. */
static void test_source_that_nobody_asks(void **state)
{
        (void)state;
        struct story cast = STORY("idle", WEB(LIMITED), TEAM("{}"),
                                  EXPECT("profiles/team", "status.conditions[Degraded].reason", "UsageUnavailable"));
        struct fake *f = stories_server(&cast, 1);
        stories_metrics(f, FAKE_METRICS_UNAVAILABLE);
        struct halflife *h = halflife_start(f, "away.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        let_cycles_pass(f, h, 1);
        assert_true(halflife_metric(h, source_up) == 0);
        PLAY(f, h, DELETE("profiles/team"), EXPECT(REC, "", "-"));
        let_cycles_pass(f, h, 2);
        assert_true(halflife_metric(h, source_up) == 1);
        assert_int_equal(halflife_said(h, "usage is not read"), 1);
        stories_metrics(f, FAKE_METRICS_ON);
        PLAY(f, h, TEAM("{apply: {minHistory: 2s}}"), EXPECT(REC, "status.state", "Ready"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static bool unwatched(struct fake *f, void *arg)
{
        (void)arg;
        return fake_watches(f, WIDGETS) == 0;
}

/* Named, not named any more, named again; and kept in sight for as long as a workload of it carries our values. */
static void test_kind_no_longer_named(void **state)
{
        (void)state;
        struct story cast = STORY("idle", WIDGET_TEAM, WIDGET, WIDGET_POD, EXPECT(WREC, "status.state", "Ready"));
        struct fake *f = stories_server(&cast, 1);
        fake_put(f, "kubectl", crd);
        struct halflife *h = halflife_start(f, "unnamed.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        assert_int_equal(fake_watches(f, WIDGETS), 1);
        PLAY(f, h, MERGE("profiles/team", "{spec: {targets: [{apiVersion: apps/v1, kind: Deployment}]}}"),
             EXPECT(WREC, "", "-"));
        assert_true(fake_wait(f, unwatched, NULL, LONG_MS));
        PLAY(f, h, MERGE("profiles/team", "{spec: {targets: [{apiVersion: example.org/v1, kind: Widget}]}}"),
             EXPECT(WREC, "status.state", "Ready"),
             MERGE("profiles/team", "{spec: {apply: {mode: Rollout, maxDecreasePercent: 90}}}"),
             EXPECT("widgets/w", APP_REQUESTS ".cpu", "285m"), EXPECT(WREC, "status.applied.mode", "Rollout"),
             DELETE("profiles/team"), EXPECT(WREC, "status.state", "Held"));
        let_cycles_pass(f, h, 2);
        assert_int_equal(fake_watches(f, WIDGETS), 1);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        h = halflife_start(f, "unnamed.db", NULL); /* the orphan is seen after a start, too */
        assert_true(fake_wait_watches(f, WIDGETS, 1, LONG_MS));
        let_cycles_pass(f, h, 2);
        PLAY(f, h, CHECK(WREC, "status.state", "Held"), DELETE("widgets/w"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static double histories(struct halflife *h)
{
        return halflife_metric(h, "halflife_histories");
}

/* What was learned of a kind that nobody asks for any more lasts for the retention time, and no longer. */
static void test_kind_no_longer_named_is_forgotten(void **state)
{
        (void)state;
        struct story cast = STORY("idle", WIDGET_TEAM, WIDGET, WIDGET_POD, EXPECT(WREC, "status.state", "Ready"));
        struct fake *f = stories_server(&cast, 1);
        fake_put(f, "kubectl", crd);
        struct halflife *h = halflife_start(f, "forgets.db", (const char *const[]){"--retention", "3s", NULL});
        story_play(f, h, &cast, LONG_MS);
        assert_true(histories(h) > 0);
        PLAY(f, h, DELETE("profiles/team"), EXPECT(WREC, "", "-"));
        for (int i = 0; i < LONG_MS / LOOK_MS && histories(h) > 0; i++)
                (void)fake_wait(f, never, NULL, LOOK_MS);
        assert_true(histories(h) == 0);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* A kind whose definition is taken away while it is watched is asked for again, and no watch fails. */
static void test_kind_that_goes(void **state)
{
        (void)state;
        struct story cast = STORY("idle", WIDGET_TEAM, WIDGET, WIDGET_POD, EXPECT(WREC, "status.state", "Ready"));
        struct fake *f = stories_server(&cast, 1);
        fake_put(f, "kubectl", crd);
        struct halflife *h = halflife_start(f, "goes.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        assert_int_equal(fake_watches(f, WIDGETS), 1);
        fake_delete(f, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org");
        assert_true(halflife_await_log(h, "the server no longer has it", 1, LONG_MS));
        let_cycles_pass(f, h, 2);
        assert_int_equal(halflife_said(h, "watch fails"), 0);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

#define VPAS(version)                                                                                                  \
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"    \
        "\"verticalpodautoscalers.autoscaling.k8s.io\"},\"spec\":{\"group\":\"autoscaling.k8s.io\",\"scope\":"         \
        "\"Namespaced\",\"names\":{\"plural\":\"verticalpodautoscalers\",\"singular\":\"verticalpodautoscaler\","      \
        "\"kind\":\"VerticalPodAutoscaler\"},\"versions\":[{\"name\":\"" version                                       \
        "\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","                    \
        "\"x-kubernetes-preserve-unknown-fields\":true}}}]}}"

/* What others have installed is seen by the version that is served now, and holds for as long as any is. */
static void test_guest_by_another_version(void **state)
{
        (void)state;
        struct story cast =
                STORY("idle", AT_ONCE(""),
                      PUT("{apiVersion: autoscaling.k8s.io/v1beta2, kind: VerticalPodAutoscaler, metadata: {name: "
                          "sizer}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"),
                      WEB(LIMITED), EXPECT(REC, "status.conditions[OtherAutoscaler].status", "True"));
        struct fake *f = stories_server(&cast, 1);
        fake_put(f, "kubectl", VPAS("v1beta2"));
        struct halflife *h = halflife_start(f, "guest.db", NULL);
        story_play(f, h, &cast, LONG_MS);
        fake_put(f, "kubectl", VPAS("v1"));
        fake_end_watches(f);
        assert_true(fake_wait_watches(f, "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers", 1, LONG_MS));
        let_cycles_pass(f, h, 2);
        PLAY(f, h, CHECK(REC, "status.conditions[OtherAutoscaler].status", "True"),
             CHECK("deployments/web", APP_REQUESTS ".cpu", "1"));
        fake_delete(f, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                       "verticalpodautoscalers.autoscaling.k8s.io");
        fake_end_watches(f);
        PLAY(f, h, EXPECT("deployments/web", APP_REQUESTS ".cpu", "285m"));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_no_target_no_poll),    BESIDE(test_source_that_nobody_asks),
                BESIDE(test_kind_no_longer_named), BESIDE(test_kind_no_longer_named_is_forgotten),
                BESIDE(test_kind_that_goes),       BESIDE(test_guest_by_another_version),
        };
        return beside_run("idle", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
