/* Usage that comes in part: what is missing is a gap, later a stale state, never an error. And events: one for a thing,
 * counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/pick.h"
#include "../support/play.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

#define LIMITED "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define LOOK    TEAM("{apply: {minHistory: 2s}}")

enum { LONG_MS = 60000, PATIENCE_MS = 5 * MINUTE_MS, BEFORE_MS = 20 * SECOND_MS };

static void end(struct fake *f, struct halflife *h)
{
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        fake_free(f);
}

/* --- a part of usage is missing --- */

static struct {
        char pod[128];       /* the first one of namespace "part" that was asked for */
        _Atomic bool silent; /* it has no usage */
        _Atomic bool nobody; /* nor has any other of this namespace */
} part;

static bool usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms, int64_t *ret_nano,
                  int64_t *ret_bytes)
{
        bool here = strcmp(ns, "part") == 0;
        (void)arg, (void)container, (void)at_ms;
        if (here && !part.pod[0])
                snprintf(part.pod, sizeof part.pod, "%s", pod);
        *ret_nano = 250000000;
        *ret_bytes = INT64_C(300) << 20;
        return !here || !(part.nobody || (part.silent && strcmp(pod, part.pod) == 0));
}

static struct fake *begin(void)
{
        struct fake *f = stories_server(NULL, 0);
        fake_set_metrics(f, &(struct fake_metrics){.usage = usage, .step_ms = 1000});
        return f;
}

static void all_is_well(struct halflife *h)
{
        assert_true(halflife_metric(h, "halflife_usage_polls_failed_total") == 0);
        assert_true(halflife_metric(h, "halflife_usage_source_up") == 1);
        assert_int_equal(halflife_said(h, "usage"), 0);
}

/* A pod's usage is missing: a gap, Stale after five minutes, well again with its next sample. The pods began most of
 * that ago. */
static void test_one_pod_is_silent(void **state)
{
        (void)state;
        struct fake *f = begin();
        int64_t began_ms = now_read().wall.ms;
        part.silent = true;
        struct halflife *h = halflife_start(f, "silent.db", NULL);
        fake_set_wall(f, began_ms - PATIENCE_MS + BEFORE_MS);
        PLAY(f, h, STORY("part", LOOK, WEB(LIMITED)));
        fake_set_wall(f, 0);
        PLAY(f, h, STORY("part", EXPECT(REC, "status.state", "Ready"), CYCLES(2), CHECK(REC, "status.state", "Ready")));
        all_is_well(h);
        PLAY(f, h,
             STORY("part", EXPECT(REC, "status.state", "Stale"),
                   CHECK(REC, "status.containers[app].cpu.target", "285m")));
        assert_true(now_read().wall.ms - began_ms >= BEFORE_MS - SECOND_MS); /* times of pods are of whole seconds */
        all_is_well(h);
        part.silent = false;
        PLAY(f, h, STORY("part", EXPECT(REC, "status.state", "Ready")));
        end(f, h);
}

/* One namespace has no usage for a while, the other goes on; what was known stands. */
static void test_one_namespace_is_silent(void **state)
{
        (void)state;
        struct fake *f = begin();
        struct halflife *h = halflife_start(f, "part.db", NULL);
        PLAY(f, h, STORY("part", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        part.nobody = true;
        PLAY(f, h, STORY("whole", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready"), CYCLES(3)));
        PLAY(f, h,
             STORY("part", CHECK(REC, "status.state", "Ready"),
                   CHECK(REC, "status.containers[app].cpu.target", "285m")));
        all_is_well(h);
        end(f, h);
}

/* --- events --- */

/* "count" of the events of one reason on one object: that of the only one, or minus how many there are. */
static int64_t count_of(struct fake *f, const char *ns, const char *reason)
{
        AUTO(mem_free) char *path = mem_printf("/apis/events.k8s.io/v1/namespaces/%s/events", ns);
        AUTO(mem_free) char *text = fake_get(f, path);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        int64_t events = 0, count = 1;
        size_t i;
        json_t *e;
        json_array_foreach(json_object_get(list, "items"), i, e)
        {
                if (strcmp(pick_text(e, "reason"), reason) != 0)
                        continue;
                events++;
                if (strcmp(pick_text(e, "series.count"), "-") != 0)
                        count = atoll(pick_text(e, "series.count"));
        }
        return events == 1 ? count : -events;
}

#define BLOCKED    EXPECT(REC, "status.conditions[Applied].reason", "RolloutBlocked")
#define UNBLOCKED  EXPECT(REC, "status.conditions[Applied].reason", "!RolloutBlocked")
#define MODE(mode) MERGE("profiles/team", "{spec: {apply: {mode: " mode "}}}")

static bool counted_twice(struct fake *f, struct story *s)
{
        return count_of(f, s->name, "RolloutBlocked") == 2;
}

static void test_events_are_counted(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, "events.db", NULL);
        PLAY(f, h,
             STORY("events", TEAM("{paused: true, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90}}"),
                   WEB(LIMITED), EXPECT(REC, "status.state", "Ready"),
                   MERGE("deployments/web", "{spec: {paused: true}}"),
                   MERGE("profiles/team", "{spec: {paused: false}}"), BLOCKED, CYCLES(3)));
        assert_int_equal(count_of(f, "events", "RolloutBlocked"), 1); /* not one a cycle */
        PLAY(f, h,
             STORY("events", MODE("Recommend"), UNBLOCKED, MODE("Rollout"), BLOCKED, CALL(counted_twice),
                   MODE("Recommend"), UNBLOCKED, MODE("Rollout"), BLOCKED, CYCLES(1)));
        assert_int_equal(count_of(f, "events", "RolloutBlocked"), 2); /* one Event; its count is written now and then */
        PLAY(f, h,
             STORY("events", MERGE("deployments/web", "{spec: {paused: false}}"),
                   EXPECT(REC, "status.applied.mode", "Rollout"), CYCLES(2)));
        assert_int_equal(count_of(f, "events", "Applied"), 1);
        assert_true(halflife_metric(h, "halflife_events_dropped_total") == 0);
        end(f, h);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_one_pod_is_silent),
                BESIDE(test_one_namespace_is_silent),
                BESIDE(test_events_are_counted),
        };
        return beside_run("usage", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
