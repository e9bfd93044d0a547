/* The containers that their own limits harm: what a target keeps of them, and what its record does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/apply_state.h"
#include "cache/cache.h"
#include "cache/oom_kill.h"

static struct cache w;

static int begin(void **state)
{
        (void)state;
        cache_init(&w, "halflife", "halflife-system");
        return 0;
}

static int end(void **state)
{
        (void)state;
        cache_release(&w);
        return 0;
}

static struct target *target_named(const char *name)
{
        return target_get(&w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), text_of(name));
}

static void kill_at(struct target *t, const char *container, int64_t at_ms, double limit)
{
        const char *name = intern_text(w.names, text_of(container));
        target_killed(&w, t, &(struct oom_kill){.container = name, .at = {at_ms}, .limit = limit});
        intern_drop(w.names, name);
}

static void assert_row(const struct target *t, const char *container, int64_t at_ms, int64_t limit)
{
        const char *name = intern_text(w.names, text_of(container));
        const struct limit_harm *row = limit_harms_find(t, name);
        intern_drop(w.names, name);
        assert_int_equal(row ? row->kill.at_ms : 0, at_ms);
        assert_int_equal(row ? row->kill.limit : 0, limit);
}

static void test_the_newest_of_each_container(void **state)
{
        (void)state;
        struct target *t = target_named("kills");
        assert_null(limit_harms_newest(t));
        kill_at(t, "app", 1000, 0); /* not by its limit */
        assert_null(t->limit_harms);
        kill_at(t, "app", 3000, 5e8);
        kill_at(t, "log", 2000, 1e8);
        kill_at(t, "app", 2500, 4e8); /* heard of late */
        assert_row(t, "app", 3000, 500000000);
        assert_row(t, "log", 2000, 100000000);
        assert_row(t, "other", 0, 0);
        assert_string_equal(limit_harms_newest(t)->container, "app");
}

static int64_t throttled_under(const struct target *t, const char *container)
{
        const char *name = intern_text(w.names, text_of(container));
        const struct limit_harm *row = limit_harms_find(t, name);
        intern_drop(w.names, name);
        return row ? row->throttled_limit : -1;
}

static int throttled(const struct target *t, const char *container)
{
        const char *name = intern_text(w.names, text_of(container));
        const struct limit_harm *row = limit_harms_find(t, name);
        intern_drop(w.names, name);
        return row ? row->throttled_percent : -1;
}

/* Under a limit of as many millicores as the share has tenths of a per cent, so that one knows whose limit it is. */
static void measure(struct target *t, const char *container, double percent)
{
        const char *name = intern_text(w.names, text_of(container));
        limit_harms_measure(&w, t, name, percent, (int64_t)(10 * percent));
        intern_drop(w.names, name);
}

/* A target whose containers change names for ever keeps the newest ones. */
static void test_a_bound(void **state)
{
        (void)state;
        struct target *t = target_named("many");
        for (int i = 1; i <= 3 * VIEW_CONTAINERS; i++) {
                AUTO(mem_free) char *name = mem_printf("c%d", i);
                kill_at(t, name, i, 5e8);
        }
        assert_int_equal(t->limit_harms->rows, VIEW_CONTAINERS);
        assert_row(t, "c128", 0, 0);
        assert_row(t, "c129", 129, 500000000);
        assert_row(t, "c192", 192, 500000000);
        measure(t, "throttled", 99); /* no kill is forgotten for it */
        assert_int_equal(throttled(t, "throttled"), -1);
        measure(t, "c192", 99);
        limit_harms_measured(&w, t);
        assert_int_equal(throttled(t, "c192"), 90);
        assert_row(t, "c129", 129, 500000000);
}

static void test_adopted(void **state)
{
        (void)state;
        struct target *old = target_named("before"), *t = target_named("after");
        limit_harms_inherit(&w, t, old);
        assert_false(t->apply_state_dirty);
        kill_at(old, "app", 3000, 5e8);
        kill_at(old, "log", 1000, 1e8);
        kill_at(t, "log", 2000, 2e8);
        limit_harms_inherit(&w, t, old);
        assert_true(t->apply_state_dirty);
        assert_row(t, "app", 3000, 500000000);
        assert_row(t, "log", 2000, 200000000);
}

static void test_a_record(void **state)
{
        (void)state;
        struct target *t = target_named("stored"), *back = target_named("loaded"), *again = target_named("again");
        kill_at(t, "app", 1700000000000, 5e8);
        kill_at(t, "a \"name\"", 1700000001000, 1e8);
        t->hold = mem_string("black friday");
        char *record = apply_state_print(t, false);
        apply_state_read(&w, back, text_of(record));
        assert_string_equal(back->hold, "black friday");
        assert_row(back, "app", 1700000000000, 500000000);
        assert_row(back, "a \"name\"", 1700000001000, 100000000);
        assert_int_equal(back->limit_harms->rows, 2);
        char *second = apply_state_print(back, false);
        assert_string_equal(second, record);
        apply_state_read(&w, again, TEXT("{}"));
        assert_null(again->limit_harms);
        assert_null(again->hold);
        free(record);
        free(second);
}

/* Of several pods the most throttled counts, and what an answer no longer has is throttled no more. */
static void test_throttled(void **state)
{
        (void)state;
        struct target *t = target_named("throttled");
        measure(t, "app", 31);
        measure(t, "app", 47);
        measure(t, "app", 13);
        measure(t, "log", 13);
        assert_int_equal(throttled(t, "app"), 0); /* the answer is not whole yet */
        limit_harms_measured(&w, t);
        assert_int_equal(throttled(t, "app"), 40);
        assert_int_equal(throttled_under(t, "app"), 470); /* of that pod */
        assert_int_equal(throttled(t, "log"), -1);        /* its row is gone */
        assert_null(limit_harms_newest(t));               /* no limit killed */
        char *record = apply_state_print(t, false);
        if (strstr(record, "limit"))
                fail_msg("%s", record);
        free(record);
        measure(t, "app", 50);
        limit_harms_measured(&w, t);
        assert_int_equal(throttled(t, "app"), 40);
        assert_int_equal(throttled_under(t, "app"), 500);
        kill_at(t, "app", 1000, 5e8);
        limit_harms_measured(&w, t);
        assert_int_equal(throttled(t, "app"), 0);
        assert_row(t, "app", 1000, 500000000);
        measure(t, "app", 99);
        limit_harms_measured(&w, t);
        limit_harms_unmeasured(t);
        assert_int_equal(throttled(t, "app"), 0);
}

/* After a restart, what is published is what was known. */
static void test_recalled(void **state)
{
        (void)state;
        struct err err = {0};
        struct target *t = target_named("recalled");
        limit_harms_recall(&w, t);
        assert_null(t->limit_harms);
        static const char object[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-recalled\"},\"spec\":{\"targetRef\":{"
                "\"apiVersion\":\"apps/"
                "v1\",\"kind\":\"Deployment\",\"name\":\"recalled\"}},\"status\":{\"containers\":["
                "{\"name\":\"log\"},{\"name\":\"app\",\"limits\":{\"cpu\":{\"current\":\"1\",\"advised\":\"1300m\","
                "\"reason\":\"Throttled\",\"throttledPercent\":30},\"memory\":{\"current\":\"1Mi\",\"advised\":\"2Mi\","
                "\"reason\":\"KilledAtLimit\"}}}]}}";
        assert_int_equal(published_upsert(&w, text_of(object), 1, &err), 0);
        target_set_published(t, published_get(&w, TEXT("web/deployment-recalled")), 0);
        limit_harms_recall(&w, t);
        assert_int_equal(throttled(t, "app"), 30);
        assert_int_equal(throttled_under(t, "app"), 1000);
        assert_int_equal(throttled(t, "log"), -1);
        measure(t, "app", 24); /* it had begun */
        limit_harms_measured(&w, t);
        assert_int_equal(throttled(t, "app"), 20);
}

/* Rows of other versions, and what nobody wrote. */
static void test_other_records(void **state)
{
        (void)state;
        static const struct {
                const char *record;
                int64_t at_ms, limit;
        } row[] = {
                {"{\"killedByLimit\":1700000000000,\"limitOf\":\"app\"}", 1700000000000, 0}, /* the version before */
                {"{\"killedByLimit\":0,\"limitOf\":\"app\"}", 0, 0},
                {"{\"killedByLimit\":1700000000000}", 0, 0},
                {"{\"limitKills\":[],\"killedByLimit\":7,\"limitOf\":\"app\"}", 7, 0},
                {"{\"limitKills\":{\"app\":{\"at\":7,\"limit\":5,\"later\":1}}}", 7, 5},
                {"{\"limitKills\":{\"app\":{\"at\":7,\"limit\":-5}}}", 7, 0},
                {"{\"limitKills\":{\"app\":{\"at\":-7,\"limit\":5}}}", 0, 0},
                {"{\"limitKills\":{\"app\":[7,5]}}", 0, 0},
                {"{\"limitKills\":{\"app\":{\"at\":\"7\",\"limit\":\"5\"}}}", 0, 0},
                {"{\"limitKills\":{\"app\":{\"at\":9223372036854775807,\"limit\":5}}}", 253402300799999, 5},
                /* a row of ours counts, although the newest beside it has no limit */
                {"{\"limitKills\":{\"app\":{\"at\":7,\"limit\":5}},\"killedByLimit\":7,\"limitOf\":\"app\"}", 7, 5},
                /* the version before went on and counted one more */
                {"{\"limitKills\":{\"app\":{\"at\":7,\"limit\":5}},\"killedByLimit\":9,\"limitOf\":\"app\"}", 9, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *name = mem_printf("other-%zu", i);
                struct target *t = target_named(name);
                apply_state_read(&w, t, text_of(row[i].record));
                const struct limit_harm *got = limit_harms_newest(t);
                if ((got ? got->kill.at_ms : 0) != row[i].at_ms || (got ? got->kill.limit : 0) != row[i].limit)
                        fail_msg("%s", row[i].record);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_newest_of_each_container),
                cmocka_unit_test(test_a_bound),
                cmocka_unit_test(test_adopted),
                cmocka_unit_test(test_a_record),
                cmocka_unit_test(test_throttled),
                cmocka_unit_test(test_recalled),
                cmocka_unit_test(test_other_records),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
