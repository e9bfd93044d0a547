/* A server that fails, lies, or goes away: halflife goes on, applies nothing it should not, and recovers by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/story.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define POD         "{containers: " LIMITED "}"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m"), EXPECT(REC, "status.applied.mode", "Rollout")
#define LOOK        TEAM("{apply: {minHistory: 2s}}")

enum { LONG_MS = 40000 };
static const char up[] = "halflife_usage_source_up", metrics_api[] = "/apis/metrics.k8s.io/";

struct stage {
        struct fake *f;
        struct halflife *h;
};

static void say_log(struct stage *s)
{
        AUTO(mem_free) char *log = halflife_log(s->h);
        fprintf(stderr, "%s", log);
}

static void play(struct stage *s, struct story *stories, size_t count)
{
        bool good = stories_run(s->f, stories, count, LONG_MS);
        if (!good)
                say_log(s);
        for (size_t i = 0; i < count; i++) {
                AUTO(mem_free) char *failure = mem_string(stories[i].failure);
                story_release(&stories[i]);
                if (failure)
                        fail_msg("%s: %s", stories[i].name, failure);
        }
}
#define PLAY(s, ...)                                                                                                   \
        do {                                                                                                           \
                struct story told_[] = {__VA_ARGS__};                                                                  \
                play(s, told_, sizeof told_ / sizeof told_[0]);                                                        \
        } while (0)

static int set_up(void **state)
{
        static struct stage s;
        s.f = stories_server(NULL, 0);
        s.h = halflife_start(s.f, "outage.db", NULL);
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

/* Ten cycles of constant usage: nothing is written. */
static void test_quiet(void **state)
{
        struct stage *s = *state;
        PLAY(s,
             STORY("quiet", AT_ONCE(""), WEB(LIMITED), WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD),
                   LOWERED, EXPECT("recommendations/statefulset-db", "status.applied.mode", "Rollout"),
                   EXPECT("profiles/team", "status.targets.applied", "2"),
                   EXPECT("profiles/team", "status.saving.cpu", "2860m"), CYCLES(2)));
        fake_count_reset(s->f);
        PLAY(s, STORY("quiet", CYCLES(10)));
        const struct fake_request *last = fake_last(s->f, "write", "/");
        if (fake_count(s->f, "write", "/") > 0) {
                say_log(s);
                fail_msg("%zu writes, the last: %s %s %s", fake_count(s->f, "write", "/"), last->method, last->path,
                         last->body);
        }
        assert_int_equal(fake_count(s->f, "list", "/api/v1/pods"), 0);
        assert_int_equal(halflife_get(s->h, "/healthz"), 200);
}

/* While usage cannot be read, everything that would be applied waits; the profile says why, the log once. */
static void source_goes(struct stage *s, const char *ns, enum fake_metrics_mode mode, const struct fake_fault *fault,
                        const char *because)
{
        int said = halflife_said(s->h, "usage cannot be read");
        struct story before[] = {STORY(ns,
                                       TEAM("{paused: true, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: "
                                            "90}}"),
                                       WEB("[{name: side, resources: {requests: {cpu: '1', memory: 1Gi}}}]"),
                                       EXPECT(REC, "status.state", "Ready"))};
        struct story away[] = {STORY(ns, EXPECT("profiles/team", "status.conditions[Degraded].status", "True"),
                                     CHECK("profiles/team", "status.conditions[Degraded].reason", "UsageUnavailable"),
                                     MERGE("profiles/team", "{spec: {paused: false}}"),
                                     EXPECT(REC, "status.containers[side].cpu.reason", "Stale"),
                                     CHECK(REC, "status.state", "Ready"))};
        struct story still[] = {STORY(ns, CHECK("deployments/web", "metadata.generation", "1"))};
        struct story back[] = {STORY(ns, EXPECT("deployments/web", "metadata.generation", "2"),
                                     EXPECT("profiles/team", "status.conditions[Degraded].status", "False"))};
        play(s, before, 1);
        if (fault)
                fake_fault(s->f, fault);
        if (mode != FAKE_METRICS_ON)
                stories_metrics(s->f, mode);
        play(s, away, 1);
        double failed = halflife_metric(s->h, "halflife_usage_polls_failed_total");
        assert_true(halflife_await_metric(s->h, s->f, "halflife_usage_polls_failed_total", failed + 3, LONG_MS));
        play(s, still, 1);
        assert_true(halflife_metric(s->h, up) == 0);
        assert_int_equal(halflife_get(s->h, "/readyz"), 200);
        assert_int_equal(halflife_said(s->h, "usage cannot be read"), said + 1);
        assert_true(halflife_said(s->h, because) > 0);
        fake_faults_clear(s->f);
        stories_metrics(s->f, FAKE_METRICS_ON);
        play(s, back, 1);
}

static void test_metrics_unavailable(void **state)
{
        source_goes(*state, "unavailable", FAKE_METRICS_UNAVAILABLE, NULL, "503");
}

static void test_metrics_missing(void **state)
{
        source_goes(*state, "missing", FAKE_METRICS_MISSING, NULL, "is metrics-server installed?");
}

static void test_metrics_denied(void **state)
{
        source_goes(*state, "denied", FAKE_METRICS_ON,
                    &(struct fake_fault){.verb = "list", .path = metrics_api, .times = FAKE_ALWAYS, .status = 403},
                    "403");
}

static void test_metrics_garbage(void **state)
{
        source_goes(*state, "garbage", FAKE_METRICS_ON,
                    &(struct fake_fault){.verb = "list",
                                         .path = metrics_api,
                                         .times = FAKE_ALWAYS,
                                         .status = 200,
                                         .body = "<html>welcome</html>",
                                         .type = "text/html"},
                    "usage cannot be read");
}

/* Cut in its middle, an answer is a gap: what came counts, and the next one is whole. */
static void test_metrics_cut(void **state)
{
        struct stage *s = *state;
        struct story one[] = {STORY("cut", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready"))};
        struct story on[] = {STORY("cut", CYCLES(4), CHECK(REC, "status.state", "Ready"))};
        play(s, one, 1);
        fake_fault(s->f,
                   &(struct fake_fault){
                           .verb = "list", .path = metrics_api, .times = FAKE_ALWAYS, .cut = true, .cut_after = 900});
        play(s, on, 1);
        fake_faults_clear(s->f);
        assert_true(halflife_await_metric(s->h, s->f, up, 1, LONG_MS));
}

/* 200 000 cores and 1.2 PB. */
static bool absurd_usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms,
                         int64_t *ret_nanocores, int64_t *ret_bytes)
{
        (void)arg, (void)ns, (void)pod, (void)container, (void)at_ms;
        *ret_nanocores = INT64_C(200000000000000);
        *ret_bytes = INT64_C(1200000000000000);
        return true;
}

/* Numbers that no machine can have are counted and change nothing, and the source is not away. */
static void test_metrics_absurd(void **state)
{
        struct stage *s = *state;
        PLAY(s, STORY("absurd", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
                      EXPECT(REC, "status.containers[app].cpu.model", "259m")));
        fake_set_metrics(s->f, &(struct fake_metrics){.usage = absurd_usage, .step_ms = 1000});
        assert_true(halflife_await_metric(s->h, s->f, "halflife_samples_total{result=\"absurd\"}", 4, LONG_MS));
        PLAY(s, STORY("absurd", CHECK(REC, "status.state", "Ready"),
                      CHECK(REC, "status.containers[app].cpu.model", "259m")));
        assert_true(halflife_metric(s->h, up) == 1);
        assert_int_equal(halflife_said(s->h, "usage cannot be read"), 0);
        stories_metrics(s->f, FAKE_METRICS_ON);
}

/* --- the API server --- */

static bool sees(struct stage *s, const char *ns)
{
        struct story one[] = {STORY(ns, LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
                                    EXPECT(REC, "status.containers[app].cpu.model", "!-"))};
        play(s, one, 1);
        return true;
}

static void test_server_gone(void **state)
{
        struct stage *s = *state;
        assert_true(sees(s, "gone-before"));
        fake_stop(s->f);
        assert_true(halflife_await_log(s->h, "watch fails", 1, LONG_MS));
        assert_int_equal(halflife_get(s->h, "/healthz"), 200);
        assert_int_equal(halflife_get(s->h, "/readyz"), 200);
        assert_true(fake_start(s->f));
        assert_true(sees(s, "gone-after"));
        PLAY(s, STORY("gone-before", EXPECT(REC, "status.state", "Ready"), CYCLES(1)));
        for (int i = 0; i < 60 && halflife_metric(s->h, "halflife_watches_failing") > 0; i++)
                assert_true(halflife_await_cycles(s->h, s->f, 1, LONG_MS));
        assert_true(halflife_metric(s->h, "halflife_watches_failing") == 0);
}

static void test_everything_expired(void **state)
{
        struct stage *s = *state;
        assert_true(sees(s, "expired-before"));
        size_t lists = fake_count(s->f, NULL, "/api/v1/pods");
        fake_compact(s->f);
        fake_end_watches(s->f);
        assert_true(fake_wait_count(s->f, NULL, "/api/v1/pods", lists + 1, LONG_MS));
        PLAY(s, STORY("expired-before", WORK("Deployment", "stays", "{replicas: 1}", "{containers: " LIMITED "}"),
                      DELETE("deployments/web"), CYCLES(1), CHECK(REC, "spec.targetRef.name", "web")));
        assert_true(sees(s, "expired-after"));
}

static void test_too_many_requests(void **state)
{
        struct stage *s = *state;
        fake_fault(s->f, &(struct fake_fault){.times = 12, .status = 429, .retry_after = 1});
        assert_true(sees(s, "throttled"));
        fake_faults_clear(s->f);
}

static void test_writes_fail(void **state)
{
        struct stage *s = *state;
        struct story one[] = {STORY("refused", AT_ONCE(""), WEB(LIMITED), LOWERED, CYCLES(2),
                                    CHECK("deployments/web", "metadata.generation", "2"))};
        fake_fault(s->f, &(struct fake_fault){.verb = "patch", .path = "/apis/", .times = 4, .status = 500});
        fake_fault(s->f, &(struct fake_fault){.verb = "patch", .path = "/apis/apps/", .times = 2, .status = 409});
        fake_fault(s->f, &(struct fake_fault){.verb = "patch", .path = "/apis/apps/", .times = 1, .refuse = true});
        play(s, one, 1);
        fake_faults_clear(s->f);
}

/* It still answers, and ends on a signal (tear_down). */
static void test_slow_server(void **state)
{
        struct stage *s = *state;
        assert_true(sees(s, "slow"));
        fake_fault(s->f, &(struct fake_fault){
                                 .verb = "list", .path = metrics_api, .times = 1, .split_every = 1, .drip_ms = 1000});
        assert_true(fake_wait_count(s->f, "list", metrics_api, fake_count(s->f, "list", metrics_api) + 1, LONG_MS));
        for (int i = 0; i < 10; i++)
                assert_int_equal(halflife_get(s->h, "/healthz"), 200);
}

static void test_huge_object(void **state)
{
        struct stage *s = *state;
        assert_true(sees(s, "huge"));
        double before = halflife_metric(s->h, "process_resident_memory_bytes");
        fake_fault(s->f,
                   &(struct fake_fault){.verb = "list", .path = "/api/v1/limitranges", .huge = (size_t)300 << 20});
        fake_fault(s->f,
                   &(struct fake_fault){.verb = "watch", .path = "/api/v1/limitranges", .huge = (size_t)300 << 20});
        fake_compact(s->f);
        fake_end_watches(s->f);
        assert_true(halflife_await_log(s->h, "limitranges", 1, LONG_MS));
        assert_true(sees(s, "huge-after"));
        assert_true(halflife_metric(s->h, "process_resident_memory_bytes") < before + (64 << 20));
        fake_faults_clear(s->f);
}

/* The server's clock is set back an hour: samples with those times are refused as reordered, later ones count again. */
static void test_wrong_dates(void **state)
{
        struct stage *s = *state;
        assert_true(sees(s, "dates"));
        fake_fault(s->f, &(struct fake_fault){.verb = "list", .path = metrics_api, .times = 3, .date_ms = 1});
        PLAY(s, STORY("dates", CYCLES(4), CHECK(REC, "status.state", "Ready")));
        fake_faults_clear(s->f);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_quiet),
                BESIDE(test_metrics_unavailable),
                BESIDE(test_metrics_missing),
                BESIDE(test_metrics_denied),
                BESIDE(test_metrics_garbage),
                BESIDE(test_metrics_cut),
                BESIDE(test_metrics_absurd),
                BESIDE(test_server_gone),
                BESIDE(test_everything_expired),
                BESIDE(test_too_many_requests),
                BESIDE(test_writes_fail),
                BESIDE(test_slow_server),
                BESIDE(test_huge_object),
                BESIDE(test_wrong_dates),
        };
        return beside_run("outage", tests, sizeof tests / sizeof tests[0], set_up, tear_down);
}
