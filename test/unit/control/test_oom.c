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
        struct controller c = {.loop = loop_new(), .options = {.retention_ms = DAY_MS}};
        struct err err = {0};
        world_init(&c.world, "halflife", "halflife");
        shop_profile(&c.world, 1, "{\"resources\":{\"memory\":{\"enabled\":true}}}");
        shop_deployment(&c.world, "{}");
        assert_int_equal(pod_upsert(&c.world, text_of(evicted), 1, &err), 0);
        struct pod *p = map_get(&c.world.pods, TEXT("web/web-1"));
        p->container[0].last_memory = 1000 << 20;
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
        struct controller c = {.loop = loop_new(), .options = {.retention_ms = DAY_MS}};
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

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(the_newest_is_kept), cmocka_unit_test(only_one_is_evicted),
                                           cmocka_unit_test(told_by_a_clock_ahead)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
