/* What is booked of pods that start, end and change, over restarts, leaders and clocks that are set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"
#include "cache/bookkeeping.h"

static const int64_t NOON = INT64_C(20000) * DAY_MS + 12 * (int64_t)HOUR_MS, GI = INT64_C(1) << 30;

static struct now now;
static bool leading;

static struct now the_time(void *arg)
{
        (void)arg;
        return now;
}

static bool who_leads(void *arg)
{
        (void)arg;
        return leading;
}

static void pass(int64_t ms)
{
        now.mono.ns += ms * 1000000;
        now.wall.ms += ms;
}

/* --- a database --- */

enum { PAGES = 64 };
static struct {
        struct ledger_page_key key;
        char *packed;
        size_t len;
} page[PAGES];
static int pages;
static char note[24];

static struct store *store;
static char *path;

static _Atomic(struct ledger_report *) reported;

static void stored(void *arg, const struct store_result *r)
{
        (void)arg;
        assert_int_equal(r->err.code, 0);
        if (r->report)
                reported = r->report;
}

static const char *label; /* that is booked by */

static struct bookkeeping *books_new(struct rig *c)
{
        return bookkeeping_new(&(struct bookkeeping_options){&c->cache, &c->live, label, the_time, who_leads, NULL});
}

static void *no_target(void *arg, const struct store_key *key)
{
        (void)arg, (void)key;
        return NULL;
}

static void take_note(void *arg, struct text name, struct text value)
{
        if (text_is(name, BOOKKEEPING_NOTE)) {
                snprintf(note, sizeof note, "%.*s", TEXT_ARG(value));
                if (arg)
                        bookkeeping_load_note(arg, value);
        }
}

static void take_page(void *arg, const struct ledger_page_key *key, struct text packed)
{
        if (arg)
                bookkeeping_load(arg, key, packed);
        assert_in_range(pages, 0, PAGES - 1);
        page[pages].key = *key;
        page[pages].packed = mem_string_n(packed.p, packed.len);
        page[pages++].len = packed.len;
}

static void no_refusal(void *arg, void *target, struct text container, const struct err *why)
{
        (void)arg, (void)target, (void)container;
        fail_msg("%s", why->text);
}

static void forget_pages(void)
{
        while (pages > 0)
                mem_free(page[--pages].packed);
}

static void books_load(struct bookkeeping *b)
{
        const struct store_reader r = {.target = no_target, .note = take_note, .refused = no_refusal, .arg = b};
        struct store_options o = {.path = path, .now = now.wall, .told = stored};
        struct err err;
        char words[512];
        forget_pages();
        assert_int_equal(store_open(&o, &store, words, &err), 0);
        int refused;
        assert_int_equal(store_load(store, &r, &err), 0);
        assert_int_equal(store_load_ledger(store, take_page, b, &refused, &err), 0);
        assert_int_equal(refused, 0);
}

static void books_close(void)
{
        struct err err;
        assert_int_equal(store_close(store, &err), 0);
        store = NULL;
}

static void books_write(struct bookkeeping *b)
{
        struct store_batch *batch = store_batch_new();
        bookkeeping_write(b, batch);
        store_submit(store, batch);
}

/* The sum of an account in the newest day that is stored; name NULL: of all accounts. */
static struct ledger_sum stored_sum(enum ledger_axis a, enum ledger_span s, const char *name)
{
        struct ledger_sum all = {0}, one;
        struct text of;
        for (int i = 0; i < pages; i++) {
                struct ledger_page p;
                if (page[i].key.axis != a || page[i].key.span != s)
                        continue;
                assert_true(ledger_page_open(&p, page[i].packed, page[i].len));
                while (ledger_page_next(&p, &of, &one) > 0)
                        if (!name || text_is(of, name))
                                ledger_sum_add(&all, &one);
        }
        return all;
}

/* Write, close, and read back what is stored. */
static void books_read_back(struct bookkeeping *b)
{
        books_write(b);
        books_close();
        books_load(NULL);
}

/* --- a cluster --- */

static void open_world(struct rig *c)
{
        now = (struct now){{INT64_C(1000000000)}, {NOON}};
        leading = true;
        rig_begin(c);
        c->live.interval_ms = MINUTE_MS;
        path = tmp_path("books.db");
        remove(path);
        struct err err;
        char words[512];
        struct store_options o = {.path = path, .now = now.wall, .told = stored};
        assert_int_equal(store_open(&o, &store, words, &err), 0);
}

static void close_world(struct rig *c, struct bookkeeping *b)
{
        bookkeeping_free(b);
        books_close();
        forget_pages();
        remove(path);
        mem_free(path);
        rig_end(c);
}

static void put_node(struct rig *c, const char *name, const char *pool)
{
        struct err err;
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"a\":\"b\",\"pool\":\"%s\"}},\"status\":{"
                                "\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}}}",
                                name, pool);
        assert_int_equal(node_upsert(&c->cache, text_of(json), 1, &err), 0);
}

static void put_pod(struct rig *c, const char *phase, const char *cpu, const char *applied)
{
        struct err err;
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"web\",\"uid\":\"00000000-0000-0000-"
                                "0000-000000000001\""
                                ",\"annotations\":{%s}},\"spec\":{\"nodeName\":\"n-1\",\"containers\":[{\"name\":"
                                "\"app\",\"resources\":{"
                                "\"requests\":{\"cpu\":\"%s\",\"memory\":\"1Gi\"}}}]},\"status\":{\"phase\":\"%s\"}}",
                                applied, cpu, phase);
        assert_int_equal(pod_upsert(&c->cache, text_of(json), 1, &err), 0);
}

#define LOWERED                                                                                                        \
        "\"halflife.dev/original-resources\":\"{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"2\\\","                 \
        "\\\"memory\\\":\\\"1Gi\\\"}}}\",\"halflife.dev/applied-resources\":\"{\\\"app\\\":{\\\"requests\\\":{"        \
        "\\\"cpu\\\":\\\"500m\\\"}}}\""

static void assert_cpu(const struct ledger_sum *s, int64_t asked_ms, int64_t in_force_ms)
{
        if (s->of[LEDGER_ASKED][CPU] != (unsigned __int128)asked_ms ||
            s->of[LEDGER_IN_FORCE][CPU] != (unsigned __int128)in_force_ms)
                fail_msg("asked %lld, in force %lld", (long long)s->of[LEDGER_ASKED][CPU],
                         (long long)s->of[LEDGER_IN_FORCE][CPU]);
}

/* Each start, change and end counts from its own moment on, not from the cycle before or after it. */
static void test_to_the_moment(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        c.cache.nodes.pool_label = "pool";
        struct bookkeeping *b = books_new(&c);
        put_node(&c, "n-1", "spot");
        put_pod(&c, "Pending", "2", "");
        bookkeeping_cycle(b);
        pass(7001);
        put_pod(&c, "Running", "2", "");
        pass(20500);
        bookkeeping_cycle(b); /* 20.5 s at 2 cores */
        pass(10000);
        put_pod(&c, "Running", "500m", LOWERED); /* 10 s more */
        pass(3000);
        put_pod(&c, "Succeeded", "500m", LOWERED); /* 3 s at 500m */
        pass(3000);
        bookkeeping_cycle(b);
        books_read_back(b);
        struct ledger_sum sum = stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, "shop");
        assert_cpu(&sum, 2000 * (20500 + 10000 + 3000), 2000 * (20500 + 10000) + 500 * 3000);
        assert_true(sum.of[LEDGER_ASKED][MEMORY] == (unsigned __int128)GI * 33500);
        assert_int_equal(sum.pod_ms, 33500);
        sum = stored_sum(LEDGER_WORKLOAD, LEDGER_DAY, "shop//Pod/web");
        assert_int_equal(sum.pod_ms, 33500);
        sum = stored_sum(LEDGER_POOL, LEDGER_HOUR, "spot");
        assert_int_equal(sum.pod_ms, 33500);
        assert_true(sum.of[LEDGER_ALLOCATABLE][CPU] == (unsigned __int128)4000 * (7001 + 20500 + 10000 + 3000 + 3000));
        close_world(&c, b);
}

static void test_hours_and_days(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        now.wall.ms = NOON + 12 * (int64_t)HOUR_MS - 20000; /* 20 s before midnight */
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        pass(60000);
        bookkeeping_cycle(b);
        books_read_back(b); /* the newest periods alone */
        assert_int_equal(stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, "shop").pod_ms, 40000);
        assert_int_equal(stored_sum(LEDGER_NAMESPACE, LEDGER_HOUR, "shop").pod_ms, 40000);
        close_world(&c, b);
}

/* After a kill -9 what was checkpointed stands, and the time since is not booked; the ledger says how much that is. */
static void test_restart(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        pass(60000);
        books_write(b);
        pass(50000);
        bookkeeping_cycle(b); /* never written */
        books_close();
        bookkeeping_free(b);
        pass(30000);
        now.mono.ns = 5000000; /* another machine */
        b = books_new(&c);
        books_load(b);
        put_pod(&c, "Running", "1", ""); /* it is listed */
        bookkeeping_cycle(b);
        pass(10000);
        books_read_back(b);
        assert_int_equal(stored_sum(LEDGER_WORKLOAD, LEDGER_DAY, NULL).pod_ms, 70000);
        assert_int_equal(stored_sum(LEDGER_POOL, LEDGER_DAY, NULL).unbooked_ms, 80000);
        close_world(&c, b);
}

static void test_not_while_another_leads(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        leading = false;
        bookkeeping_cycle(b);
        pass(60000);
        leading = true;
        bookkeeping_cycle(b);
        pass(1000);
        bookkeeping_cycle(b);
        leading = false;
        pass(1000);
        put_pod(&c, "Running", "2", ""); /* the Lease may have been lost at any time since */
        pass(1000);
        bookkeeping_cycle(b);
        leading = true;
        bookkeeping_cycle(b);
        pass(500);
        books_read_back(b);
        assert_int_equal(stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, "shop").pod_ms, 1500);
        close_world(&c, b);
}

/* The wall clock says in which hour, never how long. */
static void test_clock_set(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        pass(60000);
        now.wall.ms += 3 * (int64_t)DAY_MS;
        bookkeeping_cycle(b);
        pass(60000);
        now.wall.ms -= 3 * (int64_t)DAY_MS;
        bookkeeping_cycle(b);
        pass(60000);
        now.wall.ms += 3 * (int64_t)DAY_MS;
        books_read_back(b);
        assert_int_equal(stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, "shop").pod_ms, 120000); /* of the later day */
        close_world(&c, b);
}

/* A process that stood still for long does not know what the pods were meanwhile. */
static void test_long_gap(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        pass(BOOKED_AT_ONCE_MS + 1);
        bookkeeping_cycle(b);
        pass(BOOKED_AT_ONCE_MS);
        books_read_back(b);
        assert_int_equal(stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, "shop").pod_ms, BOOKED_AT_ONCE_MS);
        assert_int_equal(stored_sum(LEDGER_PROFILE, LEDGER_DAY, "").unbooked_ms, BOOKED_AT_ONCE_MS + 1);
        close_world(&c, b);
}

/* By the label that the workload itself has, at the moment of booking; a label of its template alone is none. */
static void test_by_label(void **state)
{
        static const char spec[] = "\"replicas\":1,\"template\":{\"metadata\":{\"labels\":{\"owner\":\"x\"}},\"spec\":{"
                                   "\"containers\":[{\"name\":\"app\",\"resources\":{}}]}}";
        static const char *const team[] = {",\"labels\":{\"app\":\"web\",\"team\":\"pay\"}",
                                           ",\"labels\":{\"team\":\"data\",\"app\":\"web\"}", ""};
        struct rig c;
        (void)state;
        open_world(&c);
        label = "team";
        struct bookkeeping *b = books_new(&c);
        assert_string_equal(bookkeeping_label(b), "team");
        bookkeeping_cycle(b);
        for (int i = 0; i < 3; i++) {
                shop_workload(&c.cache, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, team[i], spec,
                                                                SHOP_ROLLED_OUT});
                if (i == 0)
                        shop_pod(&c.cache, 1, 0, 0);
                cache_relink(&c.cache, loop_now(c.loop));
                pass((i + 1) * 1000);
                bookkeeping_cycle(b);
        }
        put_pod(&c, "Running", "1", ""); /* of no workload */
        pass(500);
        bookkeeping_count(&c.cache, shop_target(&c.cache), LEDGER_CHANGE);
        books_read_back(b);
        label = NULL;
        assert_int_equal(stored_sum(LEDGER_LABEL, LEDGER_DAY, "team=pay").pod_ms, 1000);
        assert_int_equal(stored_sum(LEDGER_LABEL, LEDGER_HOUR, "team=data").pod_ms, 2000);
        assert_int_equal(stored_sum(LEDGER_LABEL, LEDGER_DAY, "").pod_ms, 3000 + 2 * 500);
        assert_int_equal(stored_sum(LEDGER_LABEL, LEDGER_DAY, "").events[LEDGER_CHANGE], 1);
        const struct ledger_sum all = stored_sum(LEDGER_NAMESPACE, LEDGER_DAY, NULL),
                                labels = stored_sum(LEDGER_LABEL, LEDGER_DAY, NULL);
        assert_true(ledger_sum_equal(&all, &labels));
        close_world(&c, b);
        open_world(&c);
        b = books_new(&c);
        assert_string_equal(bookkeeping_label(b), "");
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        pass(1000);
        books_read_back(b);
        for (int i = 0; i < pages; i++)
                assert_true(page[i].key.axis != LEDGER_LABEL);
        close_world(&c, b);
}

/* Days that are over are read from the database, beside what is open; what waits to be written is read as well. */
static void test_report_of_days(void **state)
{
        enum { DAYS = 5, OPEN_MS = 700 };
        struct rig c;
        struct ledger_ask ask = {.axis = LEDGER_NAMESPACE, .span = LEDGER_DAY, .since_ms = 3 * (int64_t)DAY_MS};
        (void)state;
        open_world(&c);
        struct bookkeeping *b = books_new(&c);
        put_pod(&c, "Running", "1", "");
        bookkeeping_cycle(b);
        for (int day = 0; day < DAYS; day++) {
                pass(60000);
                books_write(b);
                now.wall.ms += DAY_MS;
                bookkeeping_cycle(b);
        }
        pass(OPEN_MS);
        bookkeeping_cycle(b);
        struct ledger_report *r = ledger_report_new(&ask, bookkeeping_now_ms(b));
        ledger_report_read(r, bookkeeping_ledger(b));
        store_read_ledger(store, r, &c);
        books_close();
        assert_ptr_equal(reported, r);
        assert_int_equal(r->damaged, 0);
        assert_int_equal(r->periods, 4);
        assert_int_equal(r->period[0].sum.pod_ms, 60000);
        assert_int_equal(r->period[3].sum.pod_ms, OPEN_MS);
        assert_int_equal(ledger_report_total(r).pod_ms, 3 * 60000 + OPEN_MS);
        ledger_report_free(r);
        books_load(NULL);
        close_world(&c, b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_to_the_moment), cmocka_unit_test(test_hours_and_days),
                cmocka_unit_test(test_restart),       cmocka_unit_test(test_not_while_another_leads),
                cmocka_unit_test(test_clock_set),     cmocka_unit_test(test_long_gap),
                cmocka_unit_test(test_by_label),      cmocka_unit_test(test_report_of_days),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
