/* What a target keeps of kills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/controller_private.h"
#include "../../support/shop.h"

static const struct {
        const char *container;
        int64_t at_ms;
        double limit;
        int64_t newest_ms;
        const char *limit_of;
} row[] = {
        {"app", 1000, 0, 1000, NULL},    {"app", 1000, 0, 1000, NULL},    {"app", 2000, 5e8, 2000, "app"},
        {"log", 3000, 5e8, 3000, "log"}, {"app", 1500, 5e8, 3000, "log"}, /* heard of late */
        {"app", 4000, 0, 4000, "log"},
};

static void the_newest_is_kept(void **state)
{
        (void)state;
        struct controller c = {0};
        world_init(&c.world, "halflife", "halflife");
        struct target *t = target_get(&c.world, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                const char *name = intern_text(c.world.names, text_of(row[i].container));
                oom_note(&c, t, &(struct oom_kill){.container = name, .at = {row[i].at_ms}, .limit = row[i].limit});
                intern_drop(c.world.names, name);
                if (t->kill_ms != row[i].newest_ms)
                        fail_msg("row %zu: %lld", i, (long long)t->kill_ms);
                assert_true(!t->limit_of == !row[i].limit_of);
                if (t->limit_of)
                        assert_string_equal(t->limit_of, row[i].limit_of);
        }
        world_release(&c.world);
}

/* The log takes the node's memory, and its pod is evicted for that; app is killed by its own limit meanwhile. */
static const char evicted[] =
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-000000000001\","
        "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"
        "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\","
        "\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}},{\"name\":\"log\"}]},\"status\":{\"phase\":\"Failed\","
        "\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. Container log was using 900Mi, "
        "request "
        "is 100Mi, has larger consumption of memory. \",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,"
        "\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}]}}";

static void only_one_is_evicted(void **state)
{
        (void)state;
        struct controller c = {.loop = loop_new(), .options = {.retention_ms = DAY_MS, .interval_ms = MINUTE_MS}};
        struct err err = {0};
        world_init(&c.world, "halflife", "halflife");
        shop_profile(&c.world, 1, "{\"resources\":{\"memory\":{\"enabled\":true}}}");
        shop_deployment(&c.world, "{}");
        assert_int_equal(pod_upsert(&c.world, text_of(evicted), 1, &err), 0);
        struct pod *p = map_get(&c.world.pods, TEXT("web/web-1"));
        p->container[0].last_memory = 1000 << 20;
        p->container[0].sampled_s = (uint32_t)(p->container[0].kills->at_ms[1] / SECOND_MS) - 30;
        world_settle(&c.world, loop_now(c.loop));
        oom_count(&c);
        assert_int_equal(c.count.kills, 2);
        struct target *t = shop_target(&c.world);
        assert_non_null(t->limit_of);
        assert_string_equal(t->limit_of, "app");
        world_release(&c.world);
        loop_free(c.loop);
}

/* A node's clock that is a year ahead: what it tells of a kill holds memory from now on, and not for a year more. */
static void told_by_a_clock_ahead(void **state)
{
        (void)state;
        struct controller c = {.loop = loop_new(), .options = {.retention_ms = DAY_MS, .interval_ms = MINUTE_MS}};
        int64_t now = loop_now(c.loop).wall.ms;
        world_init(&c.world, "halflife", "halflife");
        shop_profile(&c.world, 1, "{\"resources\":{\"memory\":{\"enabled\":true}}}");
        shop_deployment(&c.world, "{}");
        shop_pod(&c.world, 1, 1, now + 365 * (int64_t)DAY_MS);
        world_settle(&c.world, loop_now(c.loop));
        oom_count(&c);
        assert_int_equal(c.count.kills, 1);
        struct target *t = shop_target(&c.world);
        assert_in_range(t->kill_ms, now, loop_now(c.loop).wall.ms);
        assert_int_equal(t->histories->usage.kill[0].at_ms, t->kill_ms);
        world_release(&c.world);
        loop_free(c.loop);
}

/* --- one judgement, with what the node and its other pods tell --- */

#define NODE "{\"metadata\":{\"name\":\"n-1\"},\"status\":{\"allocatable\":{\"memory\":\"4Gi\"}}}"
#define POD(name, owner, limit, status)                                                                                \
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name "\",\"uid\":\"" name "\"" owner                        \
        "},\"spec\":{\"nodeName\":\"n-1\",\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{\"memory\":"    \
        "\"" limit "\"}}}]},\"status\":{\"startTime\":\"2026-07-01T08:00:00Z\"," status "}}"
#define OWNED                                                                                                          \
        ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"          \
        "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]"
#define KILLED(code)                                                                                                   \
        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":1,\"lastState\":{"            \
        "\"terminated\":{"                                                                                             \
        "\"reason\":\"OOMKilled\",\"exitCode\":" code ",\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}]"
#define RUNNING "\"phase\":\"Running\""

enum { MIB = 1 << 20 };
static const struct {
        const char *what, *node; /* NULL: no node is known */
        const char *limit, *code;
        int64_t used, other; /* MiB, by samples of half a minute before; 0: none */
        uint64_t kills, not_believed;
        bool limit_blamed;
} judged[] = {
        {"jumped to a limit that its node has room for", NODE, "1Gi", "137", 100, 1000, 1, 0, true},
        {"a full node, far below its limit", NODE, "2Gi", "137", 100, 3500, 1, 0, false},
        {"a node that is not known", NULL, "1Gi", "137", 100, 1000, 1, 0, false},
        {"the other is not measured", NODE, "1Gi", "137", 100, 0, 1, 0, false},
        {"not measured itself", NODE, "1Gi", "137", 0, 1000, 1, 0, true},
        {"ended with 1", NODE, "1Gi", "1", 100, 1000, 0, 1, false},
        {"ended with 1 at its limit", NODE, "1Gi", "1", 1000, 1000, 1, 0, true},
};

static void sample(struct world *w, const char *pod, int64_t mib)
{
        struct wall ten;
        assert_int_equal(wall_parse("2026-07-01T10:00:00Z", 20, &ten), 0);
        struct pod *p = map_get(&w->pods, text_of(pod));
        p->container[0].last_memory = mib * MIB;
        p->container[0].sampled_s = mib ? (uint32_t)(ten.ms / SECOND_MS) - 30 : 0;
}

static void take(struct world *w, const char *pod)
{
        struct err err = {0};
        if (pod_upsert(w, text_of(pod), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void the_node_tells(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
                struct controller c = {.loop = loop_new(),
                                       .options = {.retention_ms = INT64_MAX / 4, .interval_ms = MINUTE_MS}};
                struct err err = {0};
                world_init(&c.world, "halflife", "halflife");
                shop_profile(&c.world, 1, "{\"resources\":{\"memory\":{\"enabled\":true}}}");
                shop_deployment(&c.world, "{}");
                if (judged[i].node)
                        assert_int_equal(node_upsert(&c.world, text_of(judged[i].node), 1, &err), 0);
                take(&c.world, POD("other", "", "8Gi", RUNNING));
                bool two = strcmp(judged[i].limit, "2Gi") == 0, one = strcmp(judged[i].code, "1") == 0;
                take(&c.world, two   ? POD("web-1", OWNED, "2Gi", KILLED("137"))
                               : one ? POD("web-1", OWNED, "1Gi", KILLED("1"))
                                     : POD("web-1", OWNED, "1Gi", KILLED("137")));
                sample(&c.world, "web/web-1", judged[i].used);
                sample(&c.world, "web/other", judged[i].other);
                world_settle(&c.world, loop_now(c.loop));
                oom_count(&c);
                struct target *t = shop_target(&c.world);
                if (c.count.kills != judged[i].kills || c.count.kills_not_believed != judged[i].not_believed ||
                    (t->limit_of != NULL) != judged[i].limit_blamed)
                        fail_msg("%s: %llu kills, %llu not believed, limit %s", judged[i].what,
                                 (unsigned long long)c.count.kills, (unsigned long long)c.count.kills_not_believed,
                                 t->limit_of ? "too low" : "not told of");
                oom_count(&c); /* told again */
                take(&c.world,
                     one ? POD("web-1", OWNED, "1Gi", KILLED("1")) : POD("web-1", OWNED, "1Gi", KILLED("137")));
                oom_count(&c);
                assert_int_equal(c.count.kills + c.count.kills_not_believed, 1);
                world_release(&c.world);
                loop_free(c.loop);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(the_newest_is_kept), cmocka_unit_test(only_one_is_evicted),
                                           cmocka_unit_test(told_by_a_clock_ahead), cmocka_unit_test(the_node_tells)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
