/* What a sample becomes: its weight, and whose it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"

static void open_shop(struct rig *c, const char *resources)
{
        rig_begin(c);
        shop_profile(&c->cache, 1, "{}");
        shop_deployment(&c->cache, resources);
        shop_pod(&c->cache, 1, 0, 0);
        cache_relink(&c->cache, loop_now(c->loop));
}

static void close_shop(struct rig *c)
{
        rig_end(c);
}

static void fold(struct rig *c, int64_t at_ms, int64_t nanocores)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {at_ms}, .containers = 1};
        m.container[0] =
                (struct pod_metrics_container_view){.name = TEXT("app"), .has = {true, false}, .cpu_nano = nanocores};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

static const struct {
        const char *resources;
        double weight;
} row[] = {
        {"{\"requests\":{\"cpu\":\"4\"}}", 4},
        {"{\"limits\":{\"cpu\":\"2\"}}", 2},
        {"{\"requests\":{\"cpu\":\"50m\"}}", 0.1},
        {"{}", 0.1},
};

/* The first sample of a history weighs by the original request, which no decision has looked at yet. */
static void test_first_weight(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                double buckets[8];
                struct histogram want;
                int64_t at = now_read().wall.ms - MINUTE_MS;
                open_shop(&c, row[i].resources);
                fold(&c, at, 250000000);
                const struct target *t = shop_target(&c.cache);
                assert_true(t->histories && !t->histories->next);
                const struct histogram *got = &t->histories->usage.of[CPU];
                histogram_init(&want, CPU, got->half_life_ms);
                histogram_lend(&want, buckets, 8);
                assert_int_equal(histogram_add(&want, 0.25, row[i].weight, (struct wall){at}, &(int){0}), 0);
                assert_int_equal(got->count, want.count);
                if (memcmp(got->w, want.w, (size_t)got->count * sizeof *got->w) != 0)
                        fail_msg("%s: the first sample weighs %g, not %g", row[i].resources, got->w[0], want.w[0]);
                close_shop(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_weight)};
        return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
