/* Prices of nodes from Prometheus: the mean of a pool, what is no price, and what stays where no answer helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "learn/node_prices.h"

static void connect_nowhere(struct rig *c)
{
        static const struct prometheus_options nowhere = {.url = "http://127.0.0.1:1"};
        struct err err = {0};
        assert_int_equal(prometheus_new(c->loop, &nowhere, &c->learner->prometheus, &err), 0);
}

static void put_node(struct rig *c, const char *name, const char *pool, int cores)
{
        struct err err;
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"pool\":\"%s\"}},\"status\":{"
                                "\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"8Gi\"}}}",
                                name, pool, cores);
        assert_int_equal(node_upsert(&c->cache, text_of(json), 1, &err), 0);
}

/* An answer of one point a node. */
enum { NODES = 5 };
static void answer(struct node_prices *n, const struct prometheus_point point[static NODES])
{
        static const struct prometheus_series series[NODES] = {{{"", 0}, {"n-0", 3}, {"", 0}},
                                                               {{"", 0}, {"n-1", 3}, {"", 0}},
                                                               {{"", 0}, {"n-2", 3}, {"", 0}},
                                                               {{"", 0}, {"n-3", 3}, {"", 0}},
                                                               {{"", 0}, {"strange", 7}, {"", 0}}};
        struct prometheus_point copy[NODES];
        for (uint32_t i = 0; i < NODES; i++) {
                copy[i] = point[i];
                copy[i].series = i;
        }
        node_prices_take(n, &(struct prometheus_answer){
                                    .series = series, .series_count = NODES, .point = copy, .points = NODES});
}

static const struct prometheus_point sound[NODES] = {
        {.has = {true, true}, .value = {0.03, 0.004}}, {.has = {true, true}, .value = {0.01, 0.002}},
        {.has = {true, true}, .value = {0.5, 0.5}},    {.has = {true, false}, .value = {7, 0}},
        {.has = {true, true}, .value = {9, 9}},
};

static void begin(struct rig *c, const char *pool_label, struct node_prices **ret)
{
        struct err err = {0};
        rig_begin(c);
        connect_nowhere(c);
        c->cache.nodes.pool_label = pool_label;
        put_node(c, "n-0", "spot", 1);
        put_node(c, "n-1", "spot", 3);
        put_node(c, "n-2", "large", 4);
        put_node(c, "n-3", "large", 4);
        assert_int_equal(node_prices_new(c->learner, "USD, opencost", ret, &err), 0);
        assert_null(node_prices_now(*ret));
}

static void end(struct rig *c, struct node_prices *n)
{
        node_prices_free(n);
        rig_end(c);
}

static void expect(const struct node_prices *n, const char *pool, int64_t cpu, int64_t memory)
{
        const struct prices *now = node_prices_now(n);
        const struct price *p = now ? prices_of(now, pool) : NULL;
        if (!p || p->of[CPU] != cpu || p->of[MEMORY] != memory)
                fail_msg("%s: %lld/%lld", pool, p ? (long long)p->of[CPU] : -1, p ? (long long)p->of[MEMORY] : -1);
        assert_string_equal(now->currency, "USD");
}

/* By what the nodes have for pods. A node without one of the two, or of another cluster, does not count. */
static void test_means(void **state)
{
        struct node_prices *n;
        struct rig c;
        (void)state;
        begin(&c, "pool", &n);
        answer(n, sound);
        expect(n, "spot", 15000000, 3000000);
        expect(n, "large", 500000000, 500000000);
        assert_null(prices_of(node_prices_now(n), "other"));
        end(&c, n);
        begin(&c, NULL, &n); /* one pool */
        answer(n, sound);
        expect(n, "", (30000000 + 3 * 10000000 + 4 * INT64_C(500000000)) / 8, 506000000 / 3);
        assert_non_null(prices_only(node_prices_now(n)));
        end(&c, n);
}

static void test_what_is_no_price(void **state)
{
        static const struct prometheus_point huge[NODES] = {{.has = {true, true}, .value = {1e9, 1}},
                                                            {.has = {true, true}, .value = {1, 1e300}},
                                                            {.has = {false, true}, .value = {0, 1}},
                                                            {.has = {true, true}, .value = {1, 1}, .doubtful = true}},
                                             some[NODES] = {{.has = {true, true}, .value = {1e6, 0}}};
        struct node_prices *n;
        struct rig c;
        (void)state;
        begin(&c, "pool", &n);
        answer(n, huge);
        assert_null(node_prices_now(n));
        answer(n, some);
        expect(n, "spot", PRICE_LIMIT * PRICE_UNIT, 0);
        answer(n, huge); /* the last ones still count */
        expect(n, "spot", PRICE_LIMIT * PRICE_UNIT, 0);
        node_prices_take(n, &(struct prometheus_answer){.refused = 3});
        expect(n, "spot", PRICE_LIMIT * PRICE_UNIT, 0);
        end(&c, n);
}

static void test_setting(void **state)
{
        struct node_prices *n = NULL;
        struct err err = {0};
        struct rig c;
        (void)state;
        rig_begin(&c);
        assert_int_equal(node_prices_new(c.learner, "USD, opencost", &n, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "prometheus-url is not set"));
        assert_int_equal(node_prices_new(c.learner, "USD", &n, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "setting 'prices'"));
        assert_null(n);
        assert_int_equal(node_prices_new(c.learner, "EUR, *=1/2", &n, &err), 0);
        node_prices_tick(n, loop_now(c.loop).mono); /* asks nobody: there is no Prometheus */
        assert_int_equal(prices_of(node_prices_now(n), "")->of[MEMORY], 2 * PRICE_UNIT);
        node_prices_free(n);
        node_prices_free(NULL);
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_means),
                cmocka_unit_test(test_what_is_no_price),
                cmocka_unit_test(test_setting),
        };
        return cmocka_run_group_tests_name("node_prices", tests, NULL, NULL);
}
