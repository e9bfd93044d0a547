/* The ledger: exact sums, the same total on each axis, and nothing twice, over random histories of pods. */
#include "ledger/ledger_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "../../support/slowed.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

static const int64_t DAY_ONE = INT64_C(20000) * DAY_MS;

/* --- a database of pages --- */

enum { PAGES_MOST = 512 };
struct kept_page {
        struct ledger_page_key key;
        size_t len;
        uint8_t *packed;
};
struct kept {
        struct kept_page page[PAGES_MOST];
        int pages;
};

static void kept_put(void *arg, const struct ledger_page_key *key, struct text packed)
{
        struct kept *k = arg;
        int at = 0;
        while (at < k->pages && memcmp(&k->page[at].key, key, sizeof *key) != 0)
                at++;
        assert_in_range(at, 0, PAGES_MOST - 1);
        struct kept_page *p = &k->page[at];
        k->pages += at == k->pages;
        mem_free(p->packed);
        *p = (struct kept_page){*key, packed.len, mem_new(packed.len)};
        memcpy(p->packed, packed.p, packed.len);
}

static void kept_release(struct kept *k)
{
        for (int i = 0; i < k->pages; i++)
                mem_free(k->page[i].packed);
        *k = (struct kept){0};
}

/* The newest period of each axis and span, as a start of halflife reads it. */
static int kept_restore(const struct kept *k, struct ledger *l)
{
        int rc = 0;
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++) {
                        int64_t newest = -1;
                        for (int i = 0; i < k->pages; i++)
                                if (k->page[i].key.axis == a && k->page[i].key.span == s &&
                                    k->page[i].key.start_ms > newest)
                                        newest = k->page[i].key.start_ms;
                        for (int64_t n = 0; n < 4; n++)
                                for (int i = 0; i < k->pages; i++) {
                                        const struct kept_page *p = &k->page[i];
                                        if (p->key.axis != a || p->key.span != s || p->key.start_ms != newest ||
                                            p->key.number != n)
                                                continue;
                                        int one = ledger_restore(l, &p->key,
                                                                 (struct text){(const char *)p->packed, p->len});
                                        rc = one < 0 ? one : rc;
                                }
                }
        return rc;
}

/* The sum of all accounts of an axis and span; name NULL: of all of them. */
static struct ledger_sum kept_sum(const struct kept *k, enum ledger_axis a, enum ledger_span s, const char *name)
{
        struct ledger_sum all = {0}, one;
        struct text of;
        for (int i = 0; i < k->pages; i++) {
                struct ledger_page page;
                int rc;
                if (k->page[i].key.axis != a || k->page[i].key.span != s)
                        continue;
                assert_true(ledger_page_open(&page, k->page[i].packed, k->page[i].len));
                while ((rc = ledger_page_next(&page, &of, &one)) > 0) {
                        /* no row is below zero, and none saves more than was asked */
                        for (int r = 0; r < RESOURCES; r++)
                                assert_true(one.of[LEDGER_IN_FORCE][r] <= one.of[LEDGER_ASKED][r]);
                        if (!name || text_is(of, name))
                                ledger_sum_add(&all, &one);
                }
                assert_int_equal(rc, 0);
        }
        return all;
}

static void assert_sum_equal(const struct ledger_sum *a, const struct ledger_sum *b, const char *what, int seed)
{
        if (!ledger_sum_equal(a, b))
                fail_msg("history %d: %s differ", seed, what);
}

/* --- random histories --- */

enum { PODS = 6, STEPS = 30, HISTORIES = UNLESS_SLOWED(10000, 1000) };
struct played_pod {
        bool runs;
        int64_t original[RESOURCES], request[RESOURCES], used[RESOURCES];
        int workload, pool;
};

struct played {
        uint64_t seed;
        struct ledger *ledger;
        struct kept kept;
        struct played_pod pod[PODS];
        int64_t at_ms;
        struct ledger_sum booked, unwritten; /* what should be in the pages, and what a crash would lose */
};

static const char *const workloads[] = {"a/apps/Deployment/web", "a/apps/Deployment/db", "b/apps/Deployment/web"},
                         *const namespaces[] = {"a", "a", "b"}, *const profiles[] = {"shared", "", "b/own"},
                         *const pools[] = {"", "spot"}, *const labels[] = {"team=a", "", "team=b"};

static uint32_t up_to(uint64_t *seed, uint32_t most)
{
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return (uint32_t)((*seed >> 16) % ((uint64_t)most + 1));
}

static int64_t pick_amount(uint64_t *p)
{
        return up_to(p, 3) ? (int64_t)up_to(p, 64000) : (int64_t)up_to(p, UINT32_MAX) << 20;
}

static void play_pod(struct played *h, struct played_pod *p)
{
        p->runs = up_to(&h->seed, 3) > 0;
        p->workload = (int)up_to(&h->seed, 2);
        p->pool = (int)up_to(&h->seed, 1);
        for (int r = 0; r < RESOURCES; r++) {
                p->original[r] = pick_amount(&h->seed);
                p->request[r] = pick_amount(&h->seed); /* now and then above the original */
                p->used[r] = pick_amount(&h->seed);
        }
}

/* The same in another way: a product for each resource and flow. */
static void play_expect(struct played *h, const struct played_pod *p, int64_t ms)
{
        struct ledger_sum s = {.pod_ms = (uint64_t)ms};
        for (int r = 0; r < RESOURCES; r++) {
                int64_t asked = p->original[r] > p->request[r] ? p->original[r] : p->request[r];
                s.of[LEDGER_ASKED][r] = (unsigned __int128)asked * (uint64_t)ms;
                s.of[LEDGER_IN_FORCE][r] = (unsigned __int128)p->request[r] * (uint64_t)ms;
                s.of[LEDGER_USED][r] = (unsigned __int128)p->used[r] * (uint64_t)ms;
        }
        ledger_sum_add(&h->unwritten, &s);
}

static void play_book(struct played *h, const struct played_pod *p, int64_t from_ms, int64_t ms)
{
        const struct ledger_names names = {{namespaces[p->workload], profiles[p->workload], pools[p->pool],
                                            workloads[p->workload], labels[p->workload]}};
        struct ledger_rates rates = {.pods = 1};
        memcpy(rates.of[LEDGER_ASKED], p->original, sizeof p->original);
        memcpy(rates.of[LEDGER_IN_FORCE], p->request, sizeof p->request);
        memcpy(rates.of[LEDGER_USED], p->used, sizeof p->used);
        while (ms > 0) { /* in pieces of any length, which end where an hour does */
                int64_t left = HOUR_MS - from_ms % HOUR_MS, piece = 1 + (int64_t)up_to(&h->seed, (uint32_t)ms - 1);
                struct ledger_sum sum = {0};
                piece = piece < left ? piece : left;
                ledger_sum_flow(&sum, &rates, piece);
                ledger_book(h->ledger, &names, &sum, from_ms);
                from_ms += piece;
                ms -= piece;
        }
}

static void play_write(struct played *h)
{
        ledger_write(h->ledger, h->at_ms, kept_put, &h->kept);
        ledger_sum_add(&h->booked, &h->unwritten);
        h->unwritten = (struct ledger_sum){0};
}

static void play_restart(struct played *h)
{
        if (up_to(&h->seed, 1))
                play_write(h); /* a clean stop; else kill -9 */
        h->unwritten = (struct ledger_sum){0};
        ledger_free(h->ledger);
        h->ledger = ledger_new((uint32_t)up_to(&h->seed, UINT32_MAX - 1) | 1);
        assert_int_equal(kept_restore(&h->kept, h->ledger), 0);
}

static void play_step(struct played *h)
{
        int64_t ms = 1 + (int64_t)up_to(&h->seed, 100000);
        for (int i = 0; i < PODS; i++) {
                if (h->pod[i].runs) {
                        play_book(h, &h->pod[i], h->at_ms, ms);
                        play_expect(h, &h->pod[i], ms);
                }
                if (up_to(&h->seed, 3) == 0)
                        play_pod(h, &h->pod[i]);
        }
        h->at_ms += ms;
        switch (up_to(&h->seed, 9)) {
        case 0:
                play_restart(h);
                break;
        case 1: /* the clock is set, either way */
                h->at_ms += ((int64_t)up_to(&h->seed, 96) - 48) * HOUR_MS;
                break;
        case 2:
        case 3:
        case 4:
                play_write(h);
                break;
        default:
                break;
        }
}

/* What is open, with the pages so far, is all that was booked: on each axis, by the hour and by the day. */
static void play_report(const struct played *h, int seed)
{
        struct ledger_sum want = h->booked;
        ledger_sum_add(&want, &h->unwritten);
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++) {
                        const struct ledger_ask ask = {.axis = a, .span = s, .since_ms = 2 * DAY_ONE};
                        if (!ledger_keeps(a, s))
                                continue;
                        struct ledger_report *r = ledger_report_new(&ask, 2 * DAY_ONE);
                        ledger_report_read(r, h->ledger);
                        for (int i = 0; i < h->kept.pages; i++) {
                                const struct kept_page *p = &h->kept.page[i];
                                if (p->key.axis == a && p->key.span == s)
                                        ledger_report_page(r, &p->key, (struct text){(const char *)p->packed, p->len});
                        }
                        struct ledger_sum total = ledger_report_total(r), rows = {0};
                        for (size_t i = 0; i < r->rows; i++)
                                ledger_sum_add(&rows, &r->row[i]->sum);
                        assert_sum_equal(&total, &want, "a report and what was booked", seed);
                        assert_sum_equal(&rows, &want, "a report's rows and what was booked", seed);
                        ledger_report_free(r);
                }
}

static void play_history(int seed)
{
        struct played *h = MEM_NEW(struct played);
        h->seed = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1;
        h->ledger = ledger_new(1 + (uint32_t)seed);
        h->at_ms = DAY_ONE + (int64_t)up_to(&h->seed, DAY_MS);
        for (int i = 0; i < PODS; i++)
                play_pod(h, &h->pod[i]);
        for (int i = 0; i < STEPS; i++)
                play_step(h);
        play_report(h, seed);
        play_write(h);
        play_report(h, seed);
        const struct ledger_sum namespaces_sum = kept_sum(&h->kept, LEDGER_NAMESPACE, LEDGER_DAY, NULL);
        assert_sum_equal(&namespaces_sum, &h->booked, "namespaces and what was booked", seed);
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++) {
                        const struct ledger_sum sum = kept_sum(&h->kept, a, s, NULL);
                        if (ledger_keeps(a, s))
                                assert_sum_equal(&sum, &namespaces_sum, "axes", seed);
                }
        kept_release(&h->kept);
        ledger_free(h->ledger);
        mem_free(h);
}

static void test_random_histories(void **state)
{
        (void)state;
        for (int seed = 0; seed < HISTORIES; seed++)
                play_history(seed);
}

/* --- single cases --- */

static void book(struct ledger *l, const char *ns, int64_t at_ms, int64_t ms)
{
        const struct ledger_rates rates = {.pods = 1, .of = {[LEDGER_ASKED] = {1000, 1 << 30}}};
        struct ledger_sum sum = {0};
        ledger_sum_flow(&sum, &rates, ms);
        ledger_book(l, &(struct ledger_names){{ns, "", "", ns, ns}}, &sum, at_ms);
}

static void test_seconds(void **state)
{
        (void)state;
        const struct ledger_rates rates = {.pods = 2, .of = {[LEDGER_IN_FORCE] = {1500, INT64_C(3) << 30}}};
        struct ledger_sum sum = {0};
        ledger_sum_flow(&sum, &rates, 4000);
        assert_int_equal(sum.pod_ms, 8000);
        assert_true(ledger_sum_seconds(&sum, LEDGER_ASKED, CPU) == 6.0);
        assert_true(ledger_sum_seconds(&sum, LEDGER_IN_FORCE, CPU) == 6.0);
        assert_true(ledger_sum_seconds(&sum, LEDGER_IN_FORCE, MEMORY) == 12.0);
        assert_true(ledger_sum_seconds(&sum, LEDGER_USED, CPU) == 0.0);
}

static void test_negative_rates_are_none(void **state)
{
        (void)state;
        const struct ledger_rates rates = {.of = {[LEDGER_ASKED] = {-5, -5}, [LEDGER_USED] = {INT64_MIN, -1}}};
        const struct ledger_sum none = {0};
        struct ledger_sum sum = {0};
        ledger_sum_flow(&sum, &rates, 1000);
        assert_true(ledger_sum_equal(&sum, &none));
}

/* The largest rates for the longest stretch, added for centuries. */
static void test_range(void **state)
{
        (void)state;
        const struct ledger_rates rates = {.of = {[LEDGER_USED] = {INT64_MAX, INT64_MAX}}};
        struct ledger_sum one = {0}, twice;
        ledger_sum_flow(&one, &rates, INT32_MAX);
        for (int i = 0; i < 33; i++) {
                twice = one;
                ledger_sum_add(&twice, &one);
                assert_true(twice.of[LEDGER_USED][CPU] / 2 == one.of[LEDGER_USED][CPU]);
                one = twice;
        }
}

static void test_page_round_trip(void **state)
{
        (void)state;
        static uint8_t packed[LEDGER_PAGE_BYTES];
        struct ledger_sum put = {.pod_ms = UINT64_MAX, .unbooked_ms = 127, .events = {1, 128, UINT64_MAX}}, got;
        struct ledger_page page;
        struct text name;
        for (int f = 0; f < LEDGER_FLOWS; f++)
                put.of[f][CPU] = put.of[f][MEMORY] = ~(unsigned __int128)0 >> (31 * f);
        size_t len = ledger_page_begin(packed);
        for (int i = 0; i < LEDGER_PAGE_ACCOUNTS; i++)
                len = ledger_page_add(packed, len, TEXT("some/name"), &put);
        assert_true(ledger_page_open(&page, packed, len));
        for (int i = 0; i < LEDGER_PAGE_ACCOUNTS; i++) {
                assert_int_equal(ledger_page_next(&page, &name, &got), 1);
                assert_true(text_is(name, "some/name") && ledger_sum_equal(&put, &got));
        }
        assert_int_equal(ledger_page_next(&page, &name, &got), 0);
        size_t one = (len - 1) / LEDGER_PAGE_ACCOUNTS;
        for (size_t cut = 2; cut <= one; cut++) {
                assert_true(ledger_page_open(&page, packed, cut));
                assert_int_equal(ledger_page_next(&page, &name, &got), ERR_DAMAGED);
        }
        memset(packed + 1, 0xff, 40);
        assert_true(ledger_page_open(&page, packed, len));
        assert_int_equal(ledger_page_next(&page, &name, &got), ERR_DAMAGED);
        packed[0]++;
        assert_false(ledger_page_open(&page, packed, len));
        assert_false(ledger_page_open(&page, packed, 0));
}

static void test_too_many_accounts(void **state)
{
        (void)state;
        struct ledger *l = ledger_new(1);
        struct kept *k = MEM_NEW(struct kept);
        char name[16];
        for (int i = 0; i < 10500; i++) {
                snprintf(name, sizeof name, "ns-%d", i);
                book(l, name, DAY_ONE, 1);
        }
        ledger_write(l, DAY_ONE, kept_put, k);
        struct ledger_sum all = kept_sum(k, LEDGER_NAMESPACE, LEDGER_DAY, NULL),
                          others = kept_sum(k, LEDGER_NAMESPACE, LEDGER_DAY, LEDGER_OTHERS);
        assert_int_equal(all.pod_ms, 10500);
        assert_int_equal(others.pod_ms, 500);
        all = kept_sum(k, LEDGER_LABEL, LEDGER_DAY, NULL);
        others = kept_sum(k, LEDGER_LABEL, LEDGER_DAY, LEDGER_OTHERS);
        assert_int_equal(all.pod_ms, 10500);
        assert_int_equal(others.pod_ms, 9500);
        kept_release(k);
        mem_free(k);
        ledger_free(l);
}

/* Without a label to book by there are no accounts by label, also where there were some. */
static void test_no_label(void **state)
{
        (void)state;
        struct ledger *l = ledger_new(1);
        struct kept *k = MEM_NEW(struct kept);
        struct ledger_sum second = {.pod_ms = 1000};
        for (int i = 0; i < 4; i++)
                ledger_book(l, &(struct ledger_names){{"a", "", "", "a", i % 2 ? "team=x" : NULL}}, &second, DAY_ONE);
        ledger_write(l, DAY_ONE, kept_put, k);
        assert_int_equal(kept_sum(k, LEDGER_NAMESPACE, LEDGER_DAY, "a").pod_ms, 4000);
        assert_int_equal(kept_sum(k, LEDGER_LABEL, LEDGER_DAY, NULL).pod_ms, 2000);
        assert_int_equal(kept_sum(k, LEDGER_LABEL, LEDGER_HOUR, "team=x").pod_ms, 2000);
        kept_release(k);
        mem_free(k);
        ledger_free(l);
}

static void count_total(void *arg, const char *ns, const struct ledger_sum *sum)
{
        uint64_t *all = arg;
        all[0] += sum->pod_ms;
        all[1]++;
        all[2] += strcmp(ns, LEDGER_OTHERS) == 0 ? sum->pod_ms : 0;
}

static void test_totals(void **state)
{
        (void)state;
        struct ledger *l = ledger_new(1);
        char name[16];
        uint64_t all[3] = {0};
        for (int i = 0; i < LEDGER_TOTALS + 50; i++) {
                snprintf(name, sizeof name, "ns-%d", i);
                book(l, name, DAY_ONE + i * (int64_t)HOUR_MS, 2);
        }
        ledger_totals(l, count_total, all);
        assert_int_equal(all[0], 2 * (LEDGER_TOTALS + 50));
        assert_int_equal(all[1], LEDGER_TOTALS + 1);
        assert_int_equal(all[2], 100);
        ledger_free(l);
}

/* A period goes on after a restart; one whose page cannot be read keeps it, and goes on with others. */
static void test_damaged_page(void **state)
{
        (void)state;
        struct ledger *l = ledger_new(1);
        struct kept *k = MEM_NEW(struct kept);
        book(l, "a", DAY_ONE, 10);
        ledger_write(l, DAY_ONE, kept_put, k);
        ledger_free(l);
        int before = k->pages;
        for (int i = 0; i < k->pages; i++)
                k->page[i].len--;
        l = ledger_new(7);
        assert_int_equal(kept_restore(k, l), ERR_DAMAGED);
        for (int i = 0; i < k->pages; i++)
                k->page[i].len++;
        book(l, "a", DAY_ONE, 5);
        ledger_write(l, DAY_ONE, kept_put, k);
        assert_int_equal(k->pages, 2 * before);
        assert_int_equal(kept_sum(k, LEDGER_POOL, LEDGER_DAY, NULL).pod_ms, 15);
        kept_release(k);
        mem_free(k);
        ledger_free(l);
}

static void test_only_changed_pages(void **state)
{
        (void)state;
        struct ledger *l = ledger_new(1);
        struct kept *k = MEM_NEW(struct kept);
        book(l, "a", DAY_ONE, 10);
        ledger_write(l, DAY_ONE, kept_put, k);
        assert_int_equal(k->pages, LEDGER_AXES * LEDGER_SPANS - 1);
        kept_release(k);
        ledger_write(l, DAY_ONE, kept_put, k);
        assert_int_equal(k->pages, 0);
        ledger_write_again(l);
        ledger_write(l, DAY_ONE, kept_put, k);
        assert_int_equal(k->pages, LEDGER_AXES * LEDGER_SPANS - 1);
        kept_release(k);
        mem_free(k);
        ledger_free(l);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random_histories),
                cmocka_unit_test(test_seconds),
                cmocka_unit_test(test_negative_rates_are_none),
                cmocka_unit_test(test_range),
                cmocka_unit_test(test_page_round_trip),
                cmocka_unit_test(test_too_many_accounts),
                cmocka_unit_test(test_no_label),
                cmocka_unit_test(test_totals),
                cmocka_unit_test(test_damaged_page),
                cmocka_unit_test(test_only_changed_pages),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
