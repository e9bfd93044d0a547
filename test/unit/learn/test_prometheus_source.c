/* Live usage from Prometheus: containers that cannot be told from others with their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../net/peer.h"
#include "plan/plan.h"

#define CGROUP(uid)                                                                                                    \
        "{\"metric\":{\"namespace\":\"web\",\"pod\":\"web-1\",\"container\":\"app\",\"id\":\"/kubepods/pod" uid        \
        "/a\"},\"values\":[[%lld,\"%s\"]]}"
#define OURS   "8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab"
#define OTHERS "8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac"

/* What is told: at which time, and whether of two pods. */
static struct {
        int64_t at_s;
        bool both;
} told;

static bool answer(struct conn *c, void *arg)
{
        bool cpu = conn_asks(c, "container_cpu_usage_seconds_total");
        char body[1024];
        size_t at = (size_t)snprintf(body, sizeof body, "{\"data\":{\"result\":[" CGROUP(OURS), (long long)told.at_s,
                                     cpu ? "0.25" : "1e8");
        (void)arg;
        if (told.both)
                at += (size_t)snprintf(body + at, sizeof body - at, "," CGROUP(OTHERS), (long long)told.at_s,
                                       cpu ? "0.5" : "2e8");
        snprintf(body + at, sizeof body - at, "]}}");
        return conn_answer(c, 200, NULL, body);
}

struct poll {
        struct rig *rig;
        bool done;
        int64_t refused;
};

static void on_pod(void *arg, const struct pod_metrics_view *m, struct wall date)
{
        struct poll *poll = arg;
        (void)date;
        poll->rig->learner->cursor = 0;
        ingest_fold(poll->rig->learner, m, (struct wall){0});
}

static void on_done(void *arg, const struct metrics_result *r)
{
        struct poll *poll = arg;
        assert_int_equal(r->err.code, 0);
        poll->refused = r->refused;
        poll->done = true;
}

/* Poll once; returns how many measurements were left out. */
static int64_t poll_at(struct rig *c, struct usage_source *source, int64_t at_s, bool both)
{
        struct poll poll = {.rig = c};
        told.at_s = at_s;
        told.both = both;
        source->poll(source, NULL, 5000, (struct usage_sink){on_pod, on_done, &poll});
        while (!poll.done)
                loop_turn(c->loop, 1000);
        return poll.refused;
}

/* "" where there is no such condition */
static const char *message_of(struct rig *c, const char *condition)
{
        const struct plan_facts facts = {.now = loop_now(c->loop), .interval_ms = MINUTE_MS};
        static struct plan plan;
        arena_reset(&c->plans);
        plan_judge(&c->cache, shop_target(&c->cache), &facts, &c->plans, &plan);
        plan_finish(&c->cache, &facts, &c->plans, &plan);
        const struct plan_condition *said = plan_condition(&plan, condition);
        return said ? said->message : "";
}

static void test_doubt(void **state)
{
        (void)state;
        enum { MINUTE_S = 60 };
        struct rig c;
        struct err err = {0};
        struct prometheus *prometheus;
        struct peer *peer = peer_start(answer, NULL, NULL);
        const struct prometheus_options o = {
                .url = peer->url, .rate_window_ms = MINUTE_MS, .user_agent = "test", .queries = 2};
        int64_t begin = now_read().wall.ms / 1000 - 60 * MINUTE_S;
        rig_begin(&c);
        shop_profile(&c.cache, 1, "{}");
        shop_deployment(&c.cache, "{\"requests\":{\"cpu\":\"1\"}}");
        shop_pod(&c.cache, 1, 0, 0);
        cache_relink(&c.cache, loop_now(c.loop));
        assert_int_equal(prometheus_new(c.loop, &o, &prometheus, &err), 0);
        struct usage_source *source = prometheus_source_new(prometheus, c.loop, &c.cache, &c.live);
        /* ten minutes of it count */
        for (int i = 0; i < 10; i++)
                assert_int_equal(poll_at(&c, source, begin + i * MINUTE_S, true), 0);
        const struct usage *u = &shop_target(&c.cache)->histories->usage;
        assert_int_equal(u->samples, 10);
        assert_string_equal(message_of(&c, "SamplesRefused"), "");
        /* no more does, and it is told, as all that is refused */
        for (int i = 10; i < 15; i++)
                assert_int_equal(poll_at(&c, source, begin + i * MINUTE_S, true), 1);
        assert_int_equal(u->samples, 10);
        assert_non_null(
                strstr(message_of(&c, "SamplesRefused"), "4 or more samples refused lately, first of pod 'web-1'"));
        assert_non_null(strstr(message_of(&c, "SamplesRefused"), ": Prometheus tells usage of several pods"));
        assert_null(strstr(message_of(&c, "Ready"), "several pods"));
        /* it ends; and a new one is a new one */
        assert_int_equal(poll_at(&c, source, begin + 15 * MINUTE_S, false), 0);
        assert_int_equal(u->samples, 11);
        assert_int_equal(poll_at(&c, source, begin + 30 * MINUTE_S, true), 0);
        assert_int_equal(u->samples, 12);
        source->free(source);
        prometheus_free(prometheus);
        peer_stop(peer);
        rig_end(&c);
}

/* --- nodes --- */

static bool answer_nodes(struct conn *c, void *arg)
{
        bool cpu = conn_asks(c, "node_cpu_usage_seconds_total");
        char body[512];
        (void)arg;
        snprintf(body, sizeof body,
                 told.at_s ? "{\"data\":{\"result\":[{\"metric\":{\"node\":\"n-1\",\"instance\":\"10.0.0.1:10250\"},"
                             "\"values\":[[%lld,\"%s\"]]},{\"metric\":{\"instance\":\"n-2:10250\"},\"values\":[[%lld,"
                             "\"%s\"]]}]}}"
                           : "{\"data\":{\"result\":[]}}",
                 (long long)told.at_s, cpu ? "0.25" : "1e9", (long long)told.at_s, cpu ? "1.5" : "2e9");
        return conn_answer(c, 200, NULL, body);
}

struct node_poll {
        char text[256];
        struct metrics_result result;
        bool done;
};

static void on_node(void *arg, const struct node_metrics_view *m, struct wall date)
{
        struct node_poll *p = arg;
        size_t at = strlen(p->text);
        (void)date;
        snprintf(p->text + at, sizeof p->text - at, " %.*s %lld:%lld %lld:%lld at %lld", TEXT_ARG(m->name),
                 (long long)m->has[CPU], (long long)m->cpu_nano, (long long)m->has[MEMORY], (long long)m->memory_bytes,
                 (long long)(m->at.ms / SECOND_MS));
}

static void on_nodes_done(void *arg, const struct metrics_result *r)
{
        struct node_poll *p = arg;
        p->result = *r;
        p->done = true;
}

static void test_nodes(void **state)
{
        struct rig c;
        struct err err = {0};
        struct prometheus *prometheus;
        (void)state;
        told.at_s = 0;
        struct peer *peer = peer_start(answer_nodes, NULL, NULL);
        const struct prometheus_options o = {.url = peer->url,
                                             .names = PROMETHEUS_KUBELET,
                                             .rate_window_ms = MINUTE_MS,
                                             .user_agent = "test",
                                             .queries = 2};
        rig_begin(&c);
        assert_int_equal(prometheus_new(c.loop, &o, &prometheus, &err), 0);
        struct usage_source *source = prometheus_source_new(prometheus, c.loop, &c.cache, &c.live);
        for (int i = 0; i < 2; i++) {
                struct node_poll p = {.done = false};
                source->poll_nodes(source, 5000, (struct node_usage_sink){on_node, on_nodes_done, &p});
                while (!p.done)
                        loop_turn(c.loop, 1000);
                assert_string_equal(p.text, i == 0 ? ""
                                                   : " n-1 1:250000000 1:1000000000 at 1700000000 n-2 1:1500000000 "
                                                     "1:2000000000 at 1700000000");
                assert_int_equal(p.result.pods, i == 0 ? 0 : 2);
                assert_int_equal(p.result.err.code, i == 0 ? ERR_NOTFOUND : 0);
                told.at_s = 1700000000;
        }
        struct node_poll p = {.done = false};
        source->poll_nodes(source, 5000, (struct node_usage_sink){on_node, on_nodes_done, &p});
        source->stop(source); /* ends it without a callback */
        assert_false(p.done);
        source->free(source);
        prometheus_free(prometheus);
        peer_stop(peer);
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_doubt), cmocka_unit_test(test_nodes)};
        return cmocka_run_group_tests_name("prometheus_source", tests, NULL, NULL);
}
