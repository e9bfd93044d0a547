/* What the log says of what goes wrong: one cause is one line, however many it meets, and one when it is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/story.h"
#include "../support/tmp.h"
#include "base/clock.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m"), EXPECT(REC, "status.applied.mode", "Rollout")
#define LOOK        TEAM("{apply: {minHistory: 2s}}")

enum {
        LONG_MS = 40000,
        WATCHES = 12, /* at least so many has every start */
        PLAIN = 1,    /* the warning that the test API server is reached without TLS */
};
static const char fails[] = "watch fails", works[] = "watch works again", troubled[] = "halflife_watches_failing",
                  refused[] = "write refused", full[] = "more kinds than can be watched",
                  metrics_api[] = "/apis/metrics.k8s.io/";

struct stage {
        struct fake *f;
        struct halflife *h;
};

static void say_log(const struct stage *s)
{
        AUTO(mem_free) char *log = halflife_log(s->h);
        fprintf(stderr, "%s", log);
}

static void play(struct stage *s, struct story *story)
{
        bool good = stories_run(s->f, story, 1, LONG_MS);
        AUTO(mem_free) char *failure = mem_string(story->failure);
        story_release(story);
        if (!good) {
                say_log(s);
                fail_msg("%s: %s", story->name, failure);
        }
}
#define PLAY(s, ...)                                                                                                   \
        do {                                                                                                           \
                struct story told_ = __VA_ARGS__;                                                                      \
                play(s, &told_);                                                                                       \
        } while (0)

#define SAID(s, text, times) said(s, text, times, __LINE__)
static void said(const struct stage *s, const char *text, int times, int line)
{
        if (halflife_said(s->h, text) == times)
                return;
        say_log(s);
        fail_msg("line %d: '%s' stands %d times in the log, wanted %d", line, text, halflife_said(s->h, text), times);
}

#define AWAIT(s, text, ms)                                                                                             \
        do {                                                                                                           \
                if (!halflife_await_log((s)->h, text, 1, ms)) {                                                        \
                        say_log(s);                                                                                    \
                        fail_msg("never said: '%s'", text);                                                            \
                }                                                                                                      \
        } while (0)

static int set_up(void **state)
{
        static struct stage s;
        s.f = stories_server(NULL, 0);
        s.h = NULL;
        *state = &s;
        return 0;
}

static int tear_down(void **state)
{
        struct stage *s = *state;
        int result = halflife_stop(s->h);
        if (result != 0) {
                say_log(s);
                fprintf(stderr, "halflife ended with %d\n", result);
        }
        halflife_free(s->h);
        fake_free(s->f);
        return result;
}

static bool all_fail(struct fake *f, void *arg)
{
        (void)f;
        return halflife_metric(arg, troubled) >= WATCHES;
}

static bool none_fails(struct fake *f, void *arg)
{
        (void)f;
        return halflife_metric(arg, troubled) == 0;
}

static void await(struct stage *s, fake_predicate *holds)
{
        for (int i = 0; i < 100 && !holds(s->f, s->h); i++) /* nothing changes at a server that is away */
                (void)fake_wait(s->f, holds, s->h, 200);
        assert_true(holds(s->f, s->h));
}

/* --- watches --- */

static void test_server_down_at_the_start(void **state)
{
        struct stage *s = *state;
        fake_stop(s->f);
        s->h = halflife_start(s->f, "down.db", NULL);
        AWAIT(s, fails, LONG_MS);
        assert_true(all_fail(s->f, s->h));
        assert_int_equal(halflife_get(s->h, "/readyz"), 503);
        assert_true(fake_start(s->f));
        PLAY(s, STORY("down", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        AWAIT(s, works, LONG_MS);
        SAID(s, fails, 1);
        SAID(s, "does the server run", 1);
        SAID(s, works, 1);
        SAID(s, "WARN", 1 + PLAIN);
        assert_true(halflife_metric(s->h, troubled) == 0);
}

static void test_server_goes(void **state)
{
        struct stage *s = *state;
        s->h = halflife_start(s->f, "goes.db", NULL);
        PLAY(s, STORY("goes", AT_ONCE(""), WEB(LIMITED), LOWERED));
        fake_stop(s->f);
        AWAIT(s, fails, LONG_MS);
        await(s, all_fail);
        assert_true(fake_start(s->f));
        AWAIT(s, works, LONG_MS);
        PLAY(s, STORY("goes", WORK("Deployment", "api", "{replicas: 2}", POD),
                      EXPECT("deployments/api", CPU_REQUEST, "285m")));
        SAID(s, fails, 1);
        SAID(s, works, 1);
        SAID(s, refused, 0);
}

/* One line for all that fail within the time of gathering: under the thread sanitizer some come later. */
static void test_everything_forbidden(void **state)
{
        struct stage *s = *state;
        fake_deny(s->f, &(struct fake_rule){.verb = "list"});
        fake_deny(s->f, &(struct fake_rule){.verb = "watch"});
        s->h = halflife_start(s->f, "forbidden.db", NULL);
        AWAIT(s, fails, LONG_MS);
#ifdef __SANITIZE_THREAD__
        await(s, all_fail);
#else
        assert_true(all_fail(s->f, s->h));
        SAID(s, fails, 1);
        SAID(s, "manifests/base/rbac.yaml", 1);
#endif
        fake_allow_all(s->f);
        PLAY(s, STORY("forbidden", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        await(s, none_fails); /* no further log line reports the failure */
        int lines = halflife_said(s->h, fails);
        assert_true(halflife_await_log(s->h, works, lines, LONG_MS));
        SAID(s, works, lines);
        SAID(s, "manifests/base/rbac.yaml", lines);
#ifndef __SANITIZE_THREAD__
        SAID(s, fails, 1);
#endif
}

/* Two causes are two lines; a cause that one watch has for itself ends for itself. */
static void test_two_causes(void **state)
{
        struct stage *s = *state;
        fake_deny(s->f, &(struct fake_rule){.group = "autoscaling", .resource = "horizontalpodautoscalers"});
        s->h = halflife_start(s->f, "two.db", NULL);
        AWAIT(s, fails, LONG_MS);
        SAID(s, "watches=1 ", 1);
        PLAY(s, STORY("two", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        fake_stop(s->f);
        assert_true(halflife_await_log(s->h, fails, 2, LONG_MS));
        assert_true(fake_start(s->f));
        AWAIT(s, works, LONG_MS);
        fake_allow_all(s->f);
        assert_true(halflife_await_log(s->h, works, 2, LONG_MS));
        SAID(s, fails, 2);
}

/* A kind that may not be watched, and that nobody asks for any more, does not work again. */
static void test_watch_ends_in_trouble(void **state)
{
        struct stage *s = *state;
        story_define_kind(s->f, "example.org", "Widget");
        fake_deny(s->f, &(struct fake_rule){.group = "example.org", .resource = "widgets"});
        s->h = halflife_start(s->f, "ends.db", NULL);
        PLAY(s, STORY("ends", TEAM("{targets: [{apiVersion: example.org/v1, kind: Widget}]}")));
        AWAIT(s, fails, LONG_MS);
        assert_true(halflife_metric(s->h, troubled) == 1);
        PLAY(s, STORY("ends", DELETE("profiles/team")));
        AWAIT(s, "is no longer watched", LONG_MS);
        PLAY(s, STORY("ends", LOOK, WEB(LIMITED), CYCLES(1)));
        assert_true(halflife_metric(s->h, troubled) == 0);
        SAID(s, works, 0);
}

/* More kinds than may be watched: said once, however often it is tried, and the others are watched. */
static void test_too_many_kinds(void **state)
{
        enum { EACH_PROFILE = 16, PROFILES = 3 };
        struct stage *s = *state;
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free) char *targets = mem_string("");
                for (int k = 0; k < EACH_PROFILE; k++) {
                        AUTO(mem_free) char *kind = mem_printf("Widget%d", i * EACH_PROFILE + k);
                        story_define_kind(s->f, "example.org", kind);
                        char *longer = mem_printf("%s%s{\"apiVersion\":\"example.org/v1\",\"kind\":\"%s\"}", targets,
                                                  k ? "," : "", kind);
                        mem_free(targets);
                        targets = longer;
                }
                AUTO(mem_free)
                char *profile = mem_printf("{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\","
                                           "\"metadata\":{\"namespace\":\"kinds%d\",\"name\":\"p\"},\"spec\":{"
                                           "\"targets\":[%s]}}",
                                           i, targets);
                fake_put(s->f, "kubectl", profile);
        }
        s->h = halflife_start(s->f, "kinds.db", NULL);
        AWAIT(s, full, LONG_MS);
        PLAY(s, STORY("many", LOOK, WEB(LIMITED), CYCLES(3), EXPECT(REC, "status.state", "Ready")));
        SAID(s, full, 1);
        PLAY(s, STORY("kinds0", DELETE("profiles/p")));
        AWAIT(s, "is no longer watched", LONG_MS);
        PLAY(s, STORY("many", CYCLES(2)));
        SAID(s, full, 1);
}

/* --- writes --- */

#define WORKLOAD(n)  WORK("Deployment", "web-" n, "{replicas: 2}", POD)
#define IS_DENIED(n) EXPECT("recommendations/deployment-web-" n, "status.conditions[Degraded].reason", "Forbidden")

static void test_one_rule_for_many_writes(void **state)
{
        struct stage *s = *state;
        fake_deny(s->f, &(struct fake_rule){.verb = "patch", .group = "apps", .resource = "deployments"});
        s->h = halflife_start(s->f, "many.db", NULL);
        PLAY(s, STORY("many", AT_ONCE(""), WORKLOAD("1"), WORKLOAD("2"), WORKLOAD("3"), WORKLOAD("4"), WORKLOAD("5"),
                      WORKLOAD("6"), IS_DENIED("1"), IS_DENIED("2"), IS_DENIED("3"), IS_DENIED("4"), IS_DENIED("5"),
                      IS_DENIED("6"), CYCLES(2)));
        SAID(s, refused, 1);
        fake_allow_all(s->f);
        PLAY(s, STORY("many", EXPECT("deployments/web-1", CPU_REQUEST, "285m"),
                      EXPECT("deployments/web-6", CPU_REQUEST, "285m")));
}

/* A failure that passes by itself is not reported; one that lasts is, once. */
static void test_writes_that_fail_for_long(void **state)
{
        struct stage *s = *state;
        fake_fault(s->f,
                   &(struct fake_fault){.verb = "patch", .path = "/apis/apps/", .times = FAKE_ALWAYS, .status = 500});
        s->h = halflife_start(s->f, "long.db", NULL);
        PLAY(s, STORY("long", AT_ONCE(""), WORKLOAD("1"), WORKLOAD("2"), WORKLOAD("3"),
                      EXPECT("recommendations/deployment-web-1", "status.state", "Ready")));
        AWAIT(s, refused, LONG_MS);
        PLAY(s, STORY("long", CYCLES(3)));
        SAID(s, refused, 1);
        fake_faults_clear(s->f);
}

/* --- namespaces that go --- */

/* The watch has not delivered the deletion yet. */
static void test_namespace_refuses_what_is_new(void **state)
{
        static const char recommendations[] = "/apis/halflife.dev/v1alpha1/namespaces/ending/recommendations";
        struct stage *s = *state;
        fake_fault(s->f, &(struct fake_fault){
                                 .verb = "patch",
                                 .path = recommendations,
                                 .times = FAKE_ALWAYS,
                                 .status = 403,
                                 .body = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,\"message\":"
                                         "\"recommendations.halflife.dev \\\"x\\\" is forbidden: unable to create "
                                         "new content in namespace ending because it is being terminated\"}"});
        s->h = halflife_start(s->f, "ending.db", NULL);
        PLAY(s, STORY("ending", AT_ONCE(""), WORKLOAD("1"), WORKLOAD("2"), CYCLES(5)));
        assert_true(fake_count(s->f, "patch", recommendations) >= 2);
        SAID(s, "WARN", PLAIN);
}

static void test_namespace_goes_under_a_patch(void **state)
{
        static const char web[] = "/apis/apps/v1/namespaces/under/deployments/web";
        struct stage *s = *state;
        fake_fault(s->f, &(struct fake_fault){.verb = "patch", .path = web, .delay_ms = 4000});
        s->h = halflife_start(s->f, "under.db", NULL);
        PLAY(s, STORY("stays", LOOK, WEB(LIMITED))); /* else no usage is asked for in the end */
        PLAY(s, STORY("under", AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        assert_true(fake_wait_delayed(s->f, 1, LONG_MS));
        PLAY(s, STORY("under", CYCLES(1)));
        assert_int_equal(fake_delete(s->f, "/api/v1/namespaces/under"), 200);
        assert_true(fake_wait_count(s->f, "patch", web, 1, LONG_MS));
        assert_int_equal(fake_last(s->f, "patch", web)->status, 404);
        PLAY(s, STORY("under", CYCLES(2), CHECK(REC, "", "-")));
        SAID(s, "WARN", PLAIN);
        PLAY(s, STORY("under", AT_ONCE(""), WEB(LIMITED), LOWERED, CYCLES(2),
                      CHECK("deployments/web", "metadata.generation", "2")));
        SAID(s, "WARN", PLAIN);
}

/* --- usage --- */

/* It comes byte by byte: deciding waits no longer than a cycle, or 5 s where that is shorter. */
static void test_usage_drips(void **state)
{
        struct stage *s = *state;
        s->h = halflife_start(s->f, "drips.db", NULL);
        PLAY(s, STORY("drips", LOOK, WORK("Deployment", "web", "{replicas: 12}", POD),
                      EXPECT(REC, "status.state", "Ready")));
        fake_fault(s->f, &(struct fake_fault){
                                 .verb = "list", .path = metrics_api, .times = 2, .split_every = 200, .drip_ms = 500});
        int64_t began = mono_read().ns;
        AWAIT(s, "usage was read only in part", LONG_MS);
        assert_true((mono_read().ns - began) / 1000000 < 15000);
        fake_faults_clear(s->f);
        PLAY(s, STORY("drips", CYCLES(4), CHECK(REC, "status.state", "Ready")));
        SAID(s, "usage was read only in part", 1);
        SAID(s, "usage cannot be read", 0);
        assert_true(halflife_metric(s->h, "halflife_usage_polls_failed_total") == 0);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_server_down_at_the_start),
                BESIDE(test_server_goes),
                BESIDE(test_everything_forbidden),
                BESIDE(test_two_causes),
                BESIDE(test_watch_ends_in_trouble),
                BESIDE(test_too_many_kinds),
                BESIDE(test_one_rule_for_many_writes),
                BESIDE(test_writes_that_fail_for_long),
                BESIDE(test_namespace_refuses_what_is_new),
                BESIDE(test_namespace_goes_under_a_patch),
                BESIDE(test_usage_drips),
        };
        return beside_run("causes", tests, sizeof tests / sizeof tests[0], set_up, tear_down);
}
