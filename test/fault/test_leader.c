/* Only the leader writes: no process writes after it lost the Lease, and nothing is written twice. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/play.h"
#include "base/clock.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define WORKLOAD(n) WORK("Deployment", n, "{replicas: 2}", "{containers: " LIMITED "}")
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED(n)  EXPECT("deployments/" n, CPU_REQUEST, "285m")
#define ONCE(n)     CHECK("deployments/" n, "metadata.generation", "2")
#define IS_READY(n) EXPECT("recommendations/deployment-" n, "status.state", "Ready")
#define LEASE       "/apis/coordination.k8s.io/v1/namespaces/halflife-system/leases/halflife"
#define MATCHED     "status.targets.matched"
#define EACH(of)    of("a"), of("b"), of("c"), of("d"), of("e"), of("f"), of("g"), of("h")

enum { LONG_MS = 60000, DELAY_MS = 9000, AT_ONCE_MOST = 2 }; /* of 4 requests at once, a namespace has half */
static const char leads[] = "holds the Lease", deployments[] = "/apis/apps/v1/namespaces/led/deployments/";

#define AWAIT(h, text, ms)                                                                                             \
        do {                                                                                                           \
                if (!halflife_await_log(h, text, 1, ms)) {                                                             \
                        play_say_log(h);                                                                               \
                        fail_msg("never said: '%s'", text);                                                            \
                }                                                                                                      \
        } while (0)

static struct fake *begin(void)
{
        struct fake *f = stories_server(NULL, 0);
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        return f;
}

static void end(struct fake *f, struct halflife *h)
{
        int result = halflife_stop(h);
        if (result != 0) {
                play_say_log(h);
                fail_msg("halflife ended with %d", result);
        }
        halflife_free(h);
        fake_free(f);
}

/* Killed, it gives nothing up: the second waits until the Lease has run out, and does nothing that was done. */
static void test_a_leader_dies(void **state)
{
        static const char *const elect[] = {"--leader-elect", "true", NULL};
        (void)state;
        struct fake *f = begin();
        struct halflife *first = halflife_start(f, "dies.db", elect);
        AWAIT(first, leads, LONG_MS);
        struct halflife *second = halflife_start(f, "waits.db", elect);
        PLAY(f, first, STORY("led", AT_ONCE(""), WORKLOAD("a"), LOWERED("a")));
        int64_t killed = mono_read().ns;
        halflife_kill(first);
        PLAY(f, second, STORY("led", WORKLOAD("b")));
        size_t before = fake_count(f, "write", deployments);
        AWAIT(second, leads, 30000);
        assert_true((mono_read().ns - killed) / 1000000 >= 10000); /* the last renewal is 3 s old at most */
        assert_int_equal(fake_count(f, "write", deployments), before);
        PLAY(f, second, STORY("led", LOWERED("b"), CYCLES(3), ONCE("a"), ONCE("b")));
        assert_int_equal(fake_count(f, "write", deployments), 2);
        halflife_free(first);
        end(f, second);
}

static void take_lease(struct fake *f, int seconds)
{
        char time[WALL_TEXT_MAX];
        wall_print_micro(now_read().wall, time);
        AUTO(mem_free)
        char *lease = mem_printf("{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
                                 "\"halflife\",\"namespace\":\"halflife-system\"},\"spec\":{\"holderIdentity\":"
                                 "\"another\",\"leaseDurationSeconds\":%d,\"acquireTime\":\"%s\",\"renewTime\":\"%s\","
                                 "\"leaseTransitions\":7}}",
                                 seconds, time, time);
        fake_put(f, "another", lease);
}

/*
 * Two patches are under way and the others wait for their turn when the Lease is lost: what has not reached the server
 * never does, no answer that comes later is acted on, and all is read again before the next write.
 */
static void test_writes_end_with_the_lease(void **state)
{
        (void)state;
        struct fake *f = begin();
        struct halflife *h = halflife_start(
                f, "loses.db", (const char *const[]){"--leader-elect", "true", "--api-concurrency", "3", NULL});
        AWAIT(h, leads, LONG_MS);
        PLAY(f, h,
             STORY("led", TEAM("{paused: true, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90}}"),
                   EACH(WORKLOAD), EACH(IS_READY)));
        fake_count_reset(f);
        fake_fault(f, &(struct fake_fault){
                              .verb = "patch", .path = deployments, .times = FAKE_ALWAYS, .delay_ms = DELAY_MS});
        PLAY(f, h, STORY("led", MERGE("profiles/team", "{spec: {paused: false}}")));
        assert_true(fake_wait_delayed(f, AT_ONCE_MOST, LONG_MS));
        take_lease(f, 25);
        AWAIT(h, "lost the Lease", LONG_MS);
        assert_int_equal(fake_count(f, "patch", deployments), 0);
        assert_true(fake_wait_count(f, "patch", deployments, AT_ONCE_MOST, LONG_MS)); /* they had arrived before */
        fake_faults_clear(f);
        PLAY(f, h, STORY("led", CYCLES(4)));
        assert_int_equal(fake_count(f, "patch", deployments), AT_ONCE_MOST);
        assert_int_equal(halflife_said(h, "requests changed"), 0);
        assert_int_equal(halflife_said(h, "write refused"), 0);
        size_t writes = fake_count(f, "write", "/apis/halflife.dev/");
        size_t reads = fake_count(f, "watch", "/apis/apps/v1/deployments");
        AWAIT(h, "holds the Lease again", LONG_MS);
        assert_int_equal(fake_count(f, "write", "/apis/halflife.dev/"), writes);
        AWAIT(h, "everything was read again", LONG_MS);
        assert_true(fake_count(f, "watch", "/apis/apps/v1/deployments") > reads);
        PLAY(f, h, STORY("led", EACH(LOWERED), CYCLES(2), EACH(ONCE)));
        assert_int_equal(fake_count(f, "patch", deployments), 8);
        end(f, h);
}

/* Another leader may meanwhile have written another status. */
static void test_status_is_written_again(void **state)
{
        (void)state;
        struct fake *f = begin();
        struct halflife *h = halflife_start(f, "again.db", (const char *const[]){"--leader-elect", "true", NULL});
        AWAIT(h, leads, LONG_MS);
        PLAY(f, h, STORY("led", TEAM("{}"), WORKLOAD("a"), EXPECT("profiles/team", MATCHED, "1")));
        take_lease(f, 15);
        AWAIT(h, "lost the Lease", LONG_MS);
        fake_merge(f, "/apis/halflife.dev/v1alpha1/namespaces/led/profiles/team/status", "another",
                   "{\"status\":{\"targets\":{\"matched\":9}}}");
        PLAY(f, h, STORY("led", CYCLES(2), CHECK("profiles/team", MATCHED, "9")));
        AWAIT(h, "everything was read again", LONG_MS);
        PLAY(f, h, STORY("led", EXPECT("profiles/team", MATCHED, "1")));
        end(f, h);
}

/* Patches that hang are waited for a while; then they are given up, and the Lease after them. */
static void test_stops_with_writes_that_hang(void **state)
{
        (void)state;
        struct fake *f = begin();
        struct halflife *h = halflife_start(f, "hangs.db", (const char *const[]){"--leader-elect", "true", NULL});
        AWAIT(h, leads, LONG_MS);
        fake_fault(f, &(struct fake_fault){
                              .verb = "patch", .path = deployments, .times = FAKE_ALWAYS, .delay_ms = LONG_MS});
        PLAY(f, h, STORY("led", AT_ONCE(""), WORKLOAD("a"), WORKLOAD("b")));
        assert_true(fake_wait_delayed(f, 2, LONG_MS));
        PLAY(f, h, STORY("led", CYCLES(2)));
        int64_t began = mono_read().ns;
        end(f, h);
        int64_t took_ms = (mono_read().ns - began) / 1000000;
        assert_true(took_ms >= 8000 && took_ms < 15000);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_a_leader_dies),
                BESIDE(test_writes_end_with_the_lease),
                BESIDE(test_status_is_written_again),
                BESIDE(test_stops_with_writes_that_hang),
        };
        return beside_run("leader", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
