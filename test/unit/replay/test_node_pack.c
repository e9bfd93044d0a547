/* Pods on nodes, by numbers worked out by hand: each entity's usage and asks are written into its load as a replay
 * would keep them. One policy and `peak`, without raise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "replay/node_pack.h"

enum { GI = 1 << 30, ASKS = 2 * REPLAY_WAYS };

static const struct node_size size = {{4, 16.0 * GI}};

/* A day of an entity: it asks, and uses that in slots from..to. */
struct day {
        const char *entity;
        int day;
        double ask_cpu, ask_gi;
        int from, to; /* slots of the day; to is not one of them */
        double cpu, gi;
};

static void begin(struct replay *r)
{
        struct profile_spec spec;
        replay_init(r, DAY_MS, NULL);
        assert_int_equal(profile_spec_read(NULL, &spec, NULL), 0);
        assert_int_equal(replay_add_policy(r, "default", &spec), 0);
        profile_spec_release(&spec);
        r->keeps_loads = true;
}

/* A first row makes the entity, without a load; the load is then written by hand. */
static struct replay_entity *entity_of(struct replay *r, const char *name)
{
        struct replay_entity *e = map_get(&r->by_name, text_of(name));
        if (e)
                return e;
        struct trace_row row = {text_of(name), 0, {true, true}, {0.1, 1}};
        const char *why;
        r->keeps_loads = false;
        assert_int_equal(replay_row(r, &row, &why), 0);
        r->keeps_loads = true;
        return map_get(&r->by_name, text_of(name));
}

static void add_day(struct replay *r, const struct day *d)
{
        static const bool has[RESOURCES] = {true, true};
        const double value[RESOURCES] = {d->cpu, d->gi * GI};
        struct replay_entity *e = entity_of(r, d->entity);
        struct wall at = {d->day * (int64_t)DAY_MS + d->from * (int64_t)NODE_SLOT_MS};
        if (node_load_begins_day(&e->load, at)) {
                double *ask = node_load_begin_day(&e->load, at, ASKS, d->ask_cpu >= 0);
                ask[CPU] = d->ask_cpu;
                ask[MEMORY] = d->ask_gi * GI;
        }
        for (int slot = d->from; slot < d->to; slot++, at.ms += NODE_SLOT_MS)
                node_load_add(&e->load, at, has, value);
}

static struct node_score pack(const struct replay *r, enum node_asker asker, int draw)
{
        const struct node_question q = {.size = size, .asker = asker, .draw = draw};
        struct node_score s;
        node_pack(r, &q, &s);
        return s;
}

static void assert_score(const struct node_score *s, int64_t days, int64_t nodes, int64_t slots, int64_t contended,
                         int64_t exhaustions)
{
        if (s->days != days || s->nodes != nodes || s->slots != slots || s->contended != contended ||
            s->exhaustions != exhaustions)
                fail_msg("%lld days, %lld nodes, %lld slots, %lld contended, %lld exhaustions", (long long)s->days,
                         (long long)s->nodes, (long long)s->slots, (long long)s->contended, (long long)s->exhaustions);
}

#define ADD(r, ...)                                                                                                    \
        do {                                                                                                           \
                static const struct day all_[] = {__VA_ARGS__};                                                        \
                for (size_t i_ = 0; i_ < sizeof all_ / sizeof all_[0]; i_++)                                           \
                        add_day(r, &all_[i_]);                                                                         \
        } while (0)

/* 3 + 1, 2 + 2: two nodes. In the order given, 1 and 2 would share the first, and 3 and 2 need one each. */
static void test_first_fit_decreasing(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, 1, 1, 0, 10, 1, 1}, {"b", 0, 2, 1, 0, 10, 1, 1}, {"c", 0, 3, 1, 0, 10, 1, 1},
            {"d", 0, 2, 1, 0, 10, 1, 1});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 2, 20, 0, 0);
        replay_release(&r);
}

/* Memory fills a node as CPU does, and a pod that asks for more than a node has one of its own. */
static void test_memory_and_large_asks(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, 0.1, 10, 0, 10, 1, 1}, {"b", 0, 0.1, 10, 0, 10, 1, 1}, {"c", 0, 9, 1, 0, 10, 1, 1});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 3, 30, 0, 0);
        replay_release(&r);
}

/* On one node for 100 slots: CPU is short in 10 of them, memory twice; each time counts once, however long. */
static void test_usage(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, 1, 1, 0, 20, 1, 9}, {"a", 0, 0, 0, 20, 30, 3, 9}, {"a", 0, 0, 0, 30, 40, 1, 9},
            {"a", 0, 0, 0, 40, 50, 1, 1}, {"a", 0, 0, 0, 50, 60, 1, 9}, {"a", 0, 0, 0, 60, 100, 1, 1},
            {"b", 0, 1, 1, 10, 100, 1.5, 8});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 1, 100, 10, 2);
        assert_true(node_score_contended(&s) > 0.0999 && node_score_contended(&s) < 0.1001);
        double weeks = 100.0 * 300 / 604800;
        assert_true(node_score_exhaustions(&s) > 2 / weeks - 1e-6 && node_score_exhaustions(&s) < 2 / weeks + 1e-6);
        replay_release(&r);
}

/* Usage holds on through one slot without rows, and through no more. */
static void test_gaps(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, 1, 1, 0, 1, 4, 16}, {"a", 0, 0, 0, 2, 3, 4, 16}, {"a", 0, 0, 0, 6, 7, 4, 16},
            {"b", 0, 1, 1, 0, 288, 0.5, 1});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 1, 288, 5, 2);
        replay_release(&r);
}

/* A day at whose first row there was no request is nobody's. Days follow one another, and each is packed anew. */
static void test_days(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, -1, 1, 0, 288, 1, 1}, {"a", 1, 3, 1, 0, 288, 1, 1}, {"a", 5, 1, 1, 0, 288, 1, 1},
            {"b", 1, 3, 1, 0, 288, 1, 1}, {"b", 5, 3, 1, 0, 144, 1, 1});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 2, 3, 3 * 288, 0, 0);
        assert_true(node_score_nodes(&s) > 1.4999 && node_score_nodes(&s) < 1.5001);
        replay_release(&r);
}

/* The clairvoyant asks for what will be used; what the owner said is taken by name. */
static void test_askers(void **state)
{
        (void)state;
        struct replay r;
        struct map owners = {0};
        begin(&r);
        ADD(&r, {"a", 0, 1, 1, 0, 10, 1, 1}, {"a", 0, 1, 1, 10, 11, 3.9, 1}, {"b", 0, 1, 1, 0, 11, 0.2, 1});
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 1, 11, 1, 0);
        s = pack(&r, NODE_CLAIRVOYANT, 0);
        assert_score(&s, 1, 2, 22, 0, 0);
        assert_false(node_pack_has_owners(&r, &size));
        struct replay_owner a = {{2, 9.0 * GI}}, b = {{2, 9.0 * GI}};
        map_put(&owners, TEXT("a"), &a);
        r.owners = &owners;
        assert_false(node_pack_has_owners(&r, &size));
        map_put(&owners, TEXT("b"), &b);
        assert_true(node_pack_has_owners(&r, &size));
        s = pack(&r, NODE_BY_OWNER, 0);
        assert_score(&s, 1, 2, 22, 0, 0);
        map_release(&owners);
        replay_release(&r);
}

/* An entity that no node can hold is left out, and its owner need say nothing. */
static void test_too_large(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        ADD(&r, {"a", 0, 1, 1, 0, 10, 1, 1}, {"b", 0, 1, 1, 0, 10, 4.5, 1}, {"c", 0, 1, 1, 0, 10, 1, 17});
        struct node_pods pods = node_pack_pods(&r, &size);
        assert_int_equal(pods.fit, 1);
        assert_int_equal(pods.large, 2);
        struct node_score s = pack(&r, NODE_BY_POLICY, 0);
        assert_score(&s, 1, 1, 10, 0, 0);
        replay_release(&r);
}

/* A draw is half of the entities, the same for each asker and each time; another draw is another half. */
static void test_draws(void **state)
{
        (void)state;
        enum { ENTITIES = 40 };
        struct replay r;
        begin(&r);
        for (int i = 0; i < ENTITIES; i++) { /* a node each; the slots of the draw say which they are */
                char name[16];
                snprintf(name, sizeof name, "e%d", i);
                const struct day d = {name, 0, 4, 16, 0, 1 + i, 1, 1};
                add_day(&r, &d);
        }
        int64_t slots[4];
        for (int draw = 1; draw <= 4; draw++) {
                struct node_score s = pack(&r, NODE_BY_POLICY, draw), again = pack(&r, NODE_BY_POLICY, draw),
                                  other = pack(&r, NODE_CLAIRVOYANT, draw);
                assert_int_equal(s.nodes, ENTITIES / 2);
                assert_int_equal(again.slots, s.slots);
                assert_true(other.nodes < s.nodes);
                slots[draw - 1] = s.slots;
        }
        assert_true(slots[0] != slots[1] || slots[1] != slots[2] || slots[2] != slots[3]);
        replay_release(&r);
}

static void test_nothing(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        struct node_score s = pack(&r, NODE_BY_POLICY, 1);
        assert_score(&s, 0, 0, 0, 0, 0);
        assert_true(node_score_nodes(&s) <= 0 && node_score_contended(&s) <= 0 && node_score_exhaustions(&s) <= 0);
        assert_false(node_pack_has_owners(&r, &size));
        replay_release(&r);
}

/* From the rows themselves: packed from the first whole day on that begins with a request. */
static void test_from_rows(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        for (int64_t at = 600; at < 3 * 86400; at += 300) {
                struct trace_row row = {TEXT("a"), at, {true, false}, {0.05, 0}};
                const char *why;
                assert_int_equal(replay_row(&r, &row, &why), 0);
        }
        /* Ready 24 h after 600 s, on the second day; the third begins with 62m */
        struct node_score s = pack(&r, NODE_BY_POLICY, 1);
        assert_score(&s, 1, 1, 288, 0, 0);
        const double *ask = replay_ask(&r, r.entity[0], 2, 0, REPLAY_AS_SET);
        assert_true(ask[CPU] > 0.0619 && ask[CPU] < 0.0621 && ask[MEMORY] <= 0);
        const double *peak = replay_ask(&r, r.entity[0], 2, 1, REPLAY_AS_SET);
        assert_true(peak[CPU] > 0.0499 && peak[CPU] < 0.0501);
        replay_release(&r);
}

/* More than may be kept is refused, and only where loads are kept at all. */
static void test_bounds(void **state)
{
        (void)state;
        const struct trace_row row = {TEXT("a"), 0, {true, true}, {0.1, 1}};
        const char *why;
        struct replay r;
        begin(&r);
        r.slots = NODE_SLOTS_MAX;
        assert_int_equal(replay_row(&r, &row, &why), ERR_TOOBIG);
        r.slots = 0;
        r.days = NODE_DAYS_MAX;
        assert_int_equal(replay_row(&r, &row, &why), ERR_TOOBIG);
        r.days = 0;
        assert_int_equal(replay_row(&r, &row, &why), 0);
        assert_int_equal(r.slots, 1);
        assert_int_equal(r.days, 1);
        replay_release(&r);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first_fit_decreasing),
                cmocka_unit_test(test_memory_and_large_asks),
                cmocka_unit_test(test_usage),
                cmocka_unit_test(test_gaps),
                cmocka_unit_test(test_days),
                cmocka_unit_test(test_askers),
                cmocka_unit_test(test_too_large),
                cmocka_unit_test(test_draws),
                cmocka_unit_test(test_nothing),
                cmocka_unit_test(test_from_rows),
                cmocka_unit_test(test_bounds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
