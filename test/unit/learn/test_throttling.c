/* How long Prometheus' answer which containers are throttled counts while no other comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "learn/throttling.h"

/* Nobody answers: the query stays under way, because the loop is not turned. */
static void connect_nowhere(struct rig *c)
{
        static const struct prometheus_options nowhere = {.url = "http://127.0.0.1:1"};
        struct err err = {0};
        assert_int_equal(prometheus_new(c->loop, &nowhere, &c->learner->prometheus, &err), 0);
}

static int throttled_percent(struct rig *c)
{
        const char *name = intern_text(c->cache.names, TEXT("app"));
        const struct limit_harm *row = limit_harms_find(shop_target(&c->cache), name);
        intern_drop(c->cache.names, name);
        return row ? row->throttled_percent : -1;
}

static void measure(struct rig *c, double percent)
{
        struct target *t = shop_target(&c->cache);
        const char *name = intern_text(c->cache.names, TEXT("app"));
        limit_harms_measure(&c->cache, t, name, percent, 1000);
        limit_harms_measured(&c->cache, t);
        intern_drop(c->cache.names, name);
}

/* For the hour that its shares are of, or until the next query but one is due. */
static void test_an_answer_is_kept(void **state)
{
        (void)state;
        static const struct {
                int64_t status_ms, age_ms;
                bool kept;
        } row[] = {
                {MINUTE_MS, HOUR_MS, true},
                {MINUTE_MS, HOUR_MS + 1, false},
                {30 * MINUTE_MS, HOUR_MS, true},
                {30 * MINUTE_MS, HOUR_MS + 1, false},
                {HOUR_MS, HOUR_MS + 1, true},
                {HOUR_MS, 2 * HOUR_MS, true},
                {HOUR_MS, 2 * HOUR_MS + 1, false},
                {24 * HOUR_MS, 48 * HOUR_MS, true},
                {24 * HOUR_MS, 48 * HOUR_MS + 1, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                rig_begin(&c);
                connect_nowhere(&c);
                c.live.status_ms = row[i].status_ms;
                shop_profile(&c.cache, 1, "{}");
                shop_deployment(&c.cache, "{}");
                cache_relink(&c.cache, loop_now(c.loop));
                struct throttling *t = throttling_new(c.learner);
                struct mono begin = loop_now(c.loop).mono;
                throttling_tick(t, begin);
                measure(&c, 47);
                assert_int_equal(throttled_percent(&c), 40);
                throttling_tick(t, mono_after(begin, row[i].age_ms));
                if (throttled_percent(&c) != (row[i].kept ? 40 : 0))
                        fail_msg("row %zu: %d per cent", i, throttled_percent(&c));
                throttling_free(t);
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_answer_is_kept),
        };
        return cmocka_run_group_tests_name("throttling", tests, NULL, NULL);
}
