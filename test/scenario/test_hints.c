/* Lists that only tell more of a kill, of nodes and of Events: where the server never answers them, halflife goes on
 * without, and says of a kill that what caused it is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/story.h"
#include "base/clock.h"
#include "base/mem.h"

#define POD                                                                                                            \
        "{containers: [{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]}"
#define DB_REC "recommendations/statefulset-db"

enum { LONG_MS = 30000, NEVER_MS = 3600 * 1000, SLOW_MS = 3000, SLOWER_MS = 12000 /* than hints are waited for */ };

static const char synced[] = "caches synced", late[] = "its list has not arrived", nodes[] = "/api/v1/nodes",
                  events[] = "/api/v1/events";

/* Memory jumped between two samples. */
static bool killed(struct fake *f, struct story *s)
{
        char at[WALL_TEXT_MAX];
        struct wall soon = {now_read().wall.ms + SECOND_MS}; /* the kubelet tells whole seconds */
        AUTO(mem_free) char *path = story_path(s, "pods/db-0/status");
        AUTO(mem_free)
        char *status = mem_printf("{\"status\":{\"containerStatuses\":[{\"name\":\"app\",\"ready\":true,"
                                  "\"restartCount\":1,\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\","
                                  "\"exitCode\":137,\"finishedAt\":\"%s\"}}}]}}",
                                  wall_print(soon, at));
        return fake_merge(f, path, "kubelet", status) == 200;
}

static struct fake *server(struct story *cast)
{
        struct fake *f = stories_server(cast, 1);
        fake_put(f, "kubelet",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-0\"},\"status\":{"
                 "\"allocatable\":{\"memory\":\"64Gi\"}}}");
        assert_true(stories_run(f, cast, 1, LONG_MS));
        return f;
}

static void play(struct fake *f, struct story *s, struct halflife *h)
{
        bool good = stories_run(f, s, 1, LONG_MS);
        AUTO(mem_free) char *log = good ? NULL : halflife_log(h), *failure = mem_string(s->failure);
        story_release(s);
        if (!good)
                fail_msg("%s\n%s", failure, log);
}

/* With one of the lists so long in coming: so many are gone on without, and that is what is said of a kill. */
static void told_with(const char *path, unsigned delay_ms, int lates, const char *cause)
{
        struct story cast = STORY("hints", TEAM("{apply: {minHistory: 2s}}"),
                                  WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD));
        struct story end = STORY("hints", EXPECT(DB_REC, "status.state", "Ready"), CYCLES(1), CALL(killed),
                                 EXPECT(DB_REC, "status.oomKills", "1"));
        struct fake *f = server(&cast);
        fake_fault(f, &(struct fake_fault){.path = path, .times = FAKE_ALWAYS, .delay_ms = delay_ms});
        struct halflife *h = halflife_start(f, "hints.db", NULL);
        assert_true(halflife_await_log(h, synced, 1, LONG_MS));
        play(f, &end, h);
        assert_int_equal(halflife_get(h, "/readyz"), 200);
        assert_int_equal(halflife_said(h, late), lates);
        assert_true(halflife_said(h, cause));
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

static void test_nodes_never_come(void **state)
{
        (void)state;
        told_with(nodes, NEVER_MS, 1, "cause=unknown");
}

static void test_events_never_come(void **state)
{
        (void)state;
        told_with(events, NEVER_MS, 2, "cause=limit");
}

static void test_nodes_come_late_enough(void **state)
{
        (void)state;
        told_with(nodes, SLOW_MS, 0, "cause=limit");
}

/* Pods are no hint: they are waited for as long as it takes. */
static void test_pods_are_waited_for(void **state)
{
        (void)state;
        struct story cast =
                STORY("hints", TEAM("{}"), WORK("StatefulSet", "db", "{replicas: 2, serviceName: db}", POD));
        struct fake *f = server(&cast);
        fake_fault(f, &(struct fake_fault){.path = "/api/v1/pods", .delay_ms = SLOWER_MS});
        fake_fault(f, &(struct fake_fault){.path = nodes, .times = FAKE_ALWAYS, .delay_ms = NEVER_MS});
        struct halflife *h = halflife_start(f, "pods.db", NULL);
        assert_int_equal(halflife_get(h, "/readyz"), 503);
        assert_true(halflife_await_log(h, "caches synced pods=2 ", 1, LONG_MS));
        assert_int_equal(halflife_said(h, synced), 1);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_nodes_never_come),
                BESIDE(test_events_never_come),
                BESIDE(test_nodes_come_late_enough),
                BESIDE(test_pods_are_waited_for),
        };
        return beside_run("hints", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
