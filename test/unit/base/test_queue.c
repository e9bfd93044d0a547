#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/queue.h"

static struct mono at_ms(int64_t ms)
{
        return (struct mono){ms * 1000000};
}

static int key[64]; /* addresses are the keys */

static void adding_twice_is_once(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        assert_null(queue_take(q, at_ms(0)));
        assert_int_equal(queue_wait_ms(q, at_ms(0)), -1);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(queue_add(q, &key[0]), 0);
                assert_int_equal(queue_add(q, &key[1]), 0);
        }
        assert_int_equal(queue_count(q), 2);
        assert_int_equal(queue_wait_ms(q, at_ms(0)), 0);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[1]);
        assert_null(queue_take(q, at_ms(0)));
        assert_int_equal(queue_wait_ms(q, at_ms(0)), -1);
        queue_done(q, &key[0]);
        queue_done(q, &key[1]);
        assert_int_equal(queue_count(q), 0);
        queue_free(q);
        queue_free(NULL);
}

/* The first half of the keys; tenants are pairs of keys. */
static bool key_is_urgent(const void *k)
{
        return (const int *)k < key + 32;
}

static const void *key_pair(const void *k)
{
        return key + ((const int *)k - key) / 2 * 2;
}

/* Urgent keys come first, whatever the order and the tenants; but one take in eight goes by turns, so that none waits
 * for ever. */
static void urgent_keys_come_first(void **state)
{
        (void)state;
        for (int tenants = 0; tenants < 2; tenants++) {
                struct queue *q = queue_new(64, 100, 1000, tenants ? key_pair : NULL);
                int late = 0;
                queue_set_urgent(q, key_is_urgent);
                for (int i = 63; i >= 0; i--)
                        queue_add(q, &key[i]);
                for (int i = 0; i < 64; i++) {
                        int *k = queue_take(q, at_ms(0));
                        assert_non_null(k);
                        if (i < 32 && !key_is_urgent(k))
                                late++;
                        queue_done(q, k);
                }
                assert_int_equal(late, 32 / 8);
                assert_null(queue_take(q, at_ms(0)));
                queue_free(q);
        }
}

static void adding_during_work_is_once_more(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        queue_add(q, &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[0]);
        queue_add(q, &key[0]);
        queue_add(q, &key[0]);
        assert_null(queue_take(q, at_ms(0))); /* never twice at once */
        queue_done(q, &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[0]);
        queue_done(q, &key[0]);
        assert_null(queue_take(q, at_ms(0)));
        queue_free(q);
}

static void delays(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        queue_add_after(q, &key[0], at_ms(0), 500);
        queue_add_after(q, &key[1], at_ms(0), 300);
        queue_add_after(q, &key[0], at_ms(0), 900); /* the sooner stands */
        assert_int_equal(queue_wait_ms(q, at_ms(0)), 300);
        assert_int_equal(queue_wait_ms(q, (struct mono){1}), 300); /* rounded up: never woken too early */
        assert_null(queue_take(q, at_ms(299)));
        assert_int_equal(queue_wait_ms(q, at_ms(400)), 0);
        assert_ptr_equal(queue_take(q, at_ms(600)), &key[1]);
        assert_ptr_equal(queue_take(q, at_ms(600)), &key[0]);
        queue_add_after(q, &key[0], at_ms(600), 50); /* in work: waits beside it */
        queue_done(q, &key[0]);
        assert_null(queue_take(q, at_ms(649)));
        assert_ptr_equal(queue_take(q, at_ms(650)), &key[0]);
        queue_add_after(q, &key[0], at_ms(650), 50);
        assert_null(queue_take(q, at_ms(800))); /* due while in work: after it */
        assert_int_equal(queue_wait_ms(q, at_ms(800)), -1);
        queue_done(q, &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(800)), &key[0]);
        queue_done(q, &key[0]);
        queue_add_after(q, &key[2], at_ms(800), 1000);
        queue_add(q, &key[2]); /* overtakes its delay */
        assert_ptr_equal(queue_take(q, at_ms(800)), &key[2]);
        queue_done(q, &key[2]);
        assert_null(queue_take(q, at_ms(9000)));
        queue_add_after(q, &key[3], at_ms(9000), 0);
        queue_add_after(q, &key[4], at_ms(9000), INT64_MAX);
        assert_ptr_equal(queue_take(q, at_ms(9000)), &key[3]);
        assert_true(queue_wait_ms(q, at_ms(9000)) > 1000000000);
        queue_free(q);
}

/* How long the key backs off after a failure at now. */
static int64_t fails_at(struct queue *q, void *k, int64_t now_ms, int64_t at_least_ms)
{
        assert_ptr_equal(queue_take(q, at_ms(now_ms)), k);
        queue_retry(q, k, at_ms(now_ms), at_least_ms);
        return queue_wait_ms(q, at_ms(now_ms));
}

static void back_off_doubles_with_jitter(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        int64_t now_ms = 0, most[] = {100, 200, 400, 800, 1000, 1000, 1000};
        bool varied = false;
        for (int round = 0; round < 20; round++) {
                queue_add(q, &key[0]);
                for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
                        int64_t wait = fails_at(q, &key[0], now_ms, 0);
                        if (wait < most[i] / 2 || wait > most[i])
                                fail_msg("failure %zu: %" PRId64 " ms", i, wait);
                        varied = varied || wait != most[i];
                        now_ms += wait;
                }
                assert_ptr_equal(queue_take(q, at_ms(now_ms)), &key[0]);
                queue_done(q, &key[0]); /* forgets the failures */
        }
        assert_true(varied);
        queue_add(q, &key[0]);
        assert_int_equal(fails_at(q, &key[0], now_ms, 30000), 30000); /* what the server asked for */
        queue_free(q);
}

static void a_change_during_a_failure_is_seen_at_once(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        queue_add(q, &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[0]);
        queue_add(q, &key[0]);
        queue_retry(q, &key[0], at_ms(0), 0);
        int64_t wait = fails_at(q, &key[0], 0, 0);
        assert_in_range(wait, 100, 200); /* the second failure, counted as such */
        queue_add(q, &key[0]);           /* so is one while it backs off */
        wait = fails_at(q, &key[0], 0, 0);
        assert_in_range(wait, 200, 400);
        queue_add_after(q, &key[0], at_ms(0), 1);
        assert_ptr_equal(queue_take(q, at_ms(1)), &key[0]);
        queue_add_after(q, &key[0], at_ms(1), 1);
        queue_retry(q, &key[0], at_ms(1), 0); /* the back-off replaces a sooner delay */
        assert_true(queue_wait_ms(q, at_ms(1)) >= 400);
        queue_free(q);
}

static void it_is_bounded(void **state)
{
        (void)state;
        struct queue *q = queue_new(3, 100, 1000, NULL);
        assert_int_equal(queue_add(q, &key[0]), 0);
        assert_int_equal(queue_add_after(q, &key[1], at_ms(0), 100), 0);
        assert_int_equal(queue_add(q, &key[2]), 0);
        assert_int_equal(queue_add(q, &key[3]), ERR_TOOBIG);
        assert_int_equal(queue_add_after(q, &key[3], at_ms(0), 1), ERR_TOOBIG);
        assert_int_equal(queue_add(q, &key[1]), 0);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[0]);
        assert_int_equal(queue_add(q, &key[3]), ERR_TOOBIG); /* work is held, too */
        queue_done(q, &key[0]);
        assert_int_equal(queue_add(q, &key[3]), 0);
        queue_free(q);
}

static void forgotten_keys_never_come(void **state)
{
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, NULL);
        queue_forget(q, &key[0]);
        queue_add(q, &key[0]);
        queue_add(q, &key[1]);
        queue_add_after(q, &key[2], at_ms(0), 10);
        queue_add_after(q, &key[3], at_ms(0), 20);
        queue_forget(q, &key[0]);
        queue_forget(q, &key[2]);
        assert_ptr_equal(queue_take(q, at_ms(100)), &key[1]);
        queue_add(q, &key[1]);
        queue_forget(q, &key[1]); /* in work and added again */
        queue_done(q, &key[1]);
        queue_retry(q, &key[1], at_ms(100), 0);
        assert_ptr_equal(queue_take(q, at_ms(100)), &key[3]);
        queue_done(q, &key[3]);
        assert_int_equal(queue_count(q), 0);
        assert_null(queue_take(q, at_ms(100000)));
        queue_free(q);
}

/* --- against a model: a plain array that says of each key what may happen to it
 * ------------------------------------------------- */

enum { KEYS = sizeof key / sizeof *key, HELD_MAX = 40 };

struct model {
        struct {
                bool ready, in_work, waits;
                bool woken; /* its time may have come at a take already: jitter hides when, and so its place in line */
                int64_t due_least_ms, due_most_ms, order;
        } of[KEYS];
        int64_t order;
};

static int model_held(const struct model *m)
{
        int held = 0;
        for (int i = 0; i < KEYS; i++)
                held += m->of[i].ready || m->of[i].in_work || m->of[i].waits;
        return held;
}

static void model_ready(struct model *m, int i)
{
        m->of[i].waits = false;
        if (!m->of[i].ready)
                m->of[i].order = ++m->order;
        m->of[i].ready = true;
}

static void model_end_work(struct model *m, int i)
{
        m->of[i].in_work = false;
        if (m->of[i].ready)
                m->of[i].order = ++m->order;
}

static void model_add(struct model *m, struct queue *q, int i, int64_t now_ms, int64_t delay_ms)
{
        bool held = m->of[i].ready || m->of[i].in_work || m->of[i].waits;
        bool fits = held || model_held(m) < HELD_MAX;
        int rc = delay_ms < 0 ? queue_add(q, &key[i]) : queue_add_after(q, &key[i], at_ms(now_ms), delay_ms);
        assert_int_equal(rc, fits ? 0 : ERR_TOOBIG);
        if (!fits)
                return;
        if (delay_ms <= 0) {
                model_ready(m, i);
        } else if (!m->of[i].ready) {
                int64_t due = now_ms + delay_ms;
                bool sooner = !m->of[i].waits || due < m->of[i].due_most_ms;
                m->of[i].due_least_ms = m->of[i].waits && m->of[i].due_least_ms < due ? m->of[i].due_least_ms : due;
                m->of[i].due_most_ms = sooner ? due : m->of[i].due_most_ms;
                m->of[i].waits = true;
        }
}

/* Keys whose delay is over for sure, or may be. */
static void model_wake(struct model *m, int64_t now_ms)
{
        for (int i = 0; i < KEYS; i++) {
                if (!m->of[i].waits)
                        continue;
                m->of[i].woken = m->of[i].woken || m->of[i].due_least_ms <= now_ms;
                if (m->of[i].due_most_ms <= now_ms)
                        model_ready(m, i);
        }
}

/* The key that came must be one that could; of those that were simply ready, the one that was so for longest. */
static void model_take(struct model *m, struct queue *q, int64_t now_ms)
{
        const int *k = queue_take(q, at_ms(now_ms));
        model_wake(m, now_ms);
        int oldest = -1;
        for (int i = 0; i < KEYS; i++) {
                if (!m->of[i].ready || m->of[i].in_work)
                        continue;
                if (!k)
                        fail_msg("key %d is due at %" PRId64 " and did not come", i, now_ms);
                if (!m->of[i].woken && (oldest < 0 || m->of[i].order < m->of[oldest].order))
                        oldest = i;
        }
        if (!k)
                return;
        int i = (int)(k - key);
        bool may = m->of[i].ready || (m->of[i].waits && m->of[i].woken);
        if (!may || m->of[i].in_work || (oldest >= 0 && i != oldest && !m->of[i].woken))
                fail_msg("key %d came at %" PRId64 ", not %d", i, now_ms, oldest);
        m->of[i].ready = m->of[i].waits = m->of[i].woken = false;
        m->of[i].in_work = true;
}

static void model_retry(struct model *m, struct queue *q, int i, int64_t now_ms)
{
        queue_retry(q, &key[i], at_ms(now_ms), 5);
        if (!m->of[i].ready) {
                m->of[i].waits = true;
                m->of[i].due_least_ms = m->of[i].woken ? now_ms : now_ms + 5;
                m->of[i].due_most_ms = now_ms + 80;
        }
        model_end_work(m, i);
}

static void behaves_like_the_model(void **state)
{
        (void)state;
        struct queue *q = queue_new(HELD_MAX, 10, 80, NULL);
        struct model m = {0};
        uint64_t random = 42;
        int64_t now_ms = 0;
        for (int step = 0; step < 300000; step++) {
                random = random * 6364136223846793005 + 1442695040888963407;
                int i = (int)(random >> 33) % KEYS, what = (int)(random >> 50) % 8;
                if (what == 0) {
                        model_add(&m, q, i, now_ms, -1);
                } else if (what == 1) {
                        model_add(&m, q, i, now_ms, (int64_t)(random >> 40) % 60);
                } else if (what == 2) {
                        now_ms += (int64_t)(random >> 40) % 10;
                } else if (what <= 4) {
                        model_take(&m, q, now_ms);
                } else if (what == 5 && m.of[i].in_work) {
                        queue_done(q, &key[i]);
                        model_end_work(&m, i);
                } else if (what == 6 && m.of[i].in_work) {
                        model_retry(&m, q, i, now_ms);
                } else if (what == 7 && step % 16 == 0) {
                        queue_forget(q, &key[i]);
                        m.of[i].ready = m.of[i].in_work = m.of[i].waits = m.of[i].woken = false;
                }
                assert_int_equal(queue_count(q), model_held(&m));
        }
        queue_free(q);
}

/* The tenant of key[i] is its ten. */
static const void *tenant_of(const void *k)
{
        return &key[((const int *)k - key) / 10 * 10];
}

static void tenants_take_turns(void **state)
{
        static const int added[] = {0, 1, 2, 3, 10, 11, 20}, taken[] = {0, 10, 20, 1, 11, 21, 2, 3};
        (void)state;
        struct queue *q = queue_new(10, 100, 1000, tenant_of);
        for (size_t i = 0; i < sizeof added / sizeof added[0]; i++)
                assert_int_equal(queue_add(q, &key[added[i]]), 0);
        for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
                assert_ptr_equal(queue_take(q, at_ms(0)), &key[taken[i]]);
                if (taken[i] == 20)
                        queue_add(q, &key[21]); /* its tenant had its turn, so the others' next is first */
        }
        assert_null(queue_take(q, at_ms(0)));
        queue_forget(q, &key[0]);
        queue_add(q, &key[4]);
        queue_add(q, &key[12]);
        queue_forget(q, &key[4]); /* the only one of its tenant */
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[12]);
        assert_null(queue_take(q, at_ms(0)));
        queue_add(q, &key[5]); /* is freed with the queue */
        queue_free(q);
}

/* While no other has a key, a tenant has all places but one, and the one place if there is no other. */
static void a_tenant_alone(void **state)
{
        (void)state;
        for (size_t places = 1; places <= 3; places++) {
                struct queue *q = queue_new(10, 100, 1000, tenant_of);
                queue_set_places(q, places);
                for (int i = 0; i < 4; i++)
                        queue_add(q, &key[i]);
                size_t most = places > 1 ? places - 1 : 1;
                for (size_t i = 0; i < most; i++)
                        assert_ptr_equal(queue_take(q, at_ms(0)), &key[i]);
                assert_null(queue_take(q, at_ms(0)));
                queue_add(q, &key[10]);
                if (places > 1)
                        assert_ptr_equal(queue_take(q, at_ms(0)), &key[10]);
                assert_null(queue_take(q, at_ms(0)));
                queue_free(q);
        }
}

/* Beside another and of 16 places, tenants whose keys stay in work have 8, 4, 2 and 1; each key that ends makes place
 * for the tenants that have few. */
static void a_tenant_leaves_places_to_others(void **state)
{
        static const int want[] = {8, 4, 2, 1, 1, 0};
        enum { PLACES = 17, TENANTS = sizeof want / sizeof want[0], OF_A_TENANT = 10 };
        (void)state;
        struct queue *q = queue_new(TENANTS * OF_A_TENANT + 1, 100, 1000, tenant_of);
        queue_set_places(q, PLACES);
        queue_add(q, &key[TENANTS * OF_A_TENANT]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[TENANTS * OF_A_TENANT]);
        for (int t = 0; t < TENANTS; t++) {
                for (int i = 0; i < OF_A_TENANT; i++)
                        queue_add(q, &key[t * OF_A_TENANT + i]);
                for (int i = 0; i < want[t]; i++)
                        assert_ptr_equal(queue_take(q, at_ms(0)), &key[t * OF_A_TENANT + i]);
                if (queue_take(q, at_ms(0)))
                        fail_msg("tenant %d has more than %d", t, want[t]);
        }
        queue_done(q, &key[0]);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[50]); /* the one that has none */
        assert_null(queue_take(q, at_ms(0)));
        queue_forget(q, &key[1]); /* its place is free again */
        queue_retry(q, &key[2], at_ms(0), 0);
        assert_ptr_equal(queue_take(q, at_ms(0)), &key[31]); /* whose turn it is, of those that have one */
        assert_null(queue_take(q, at_ms(0)));
        queue_free(q);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(adding_twice_is_once),
                cmocka_unit_test(adding_during_work_is_once_more),
                cmocka_unit_test(urgent_keys_come_first),
                cmocka_unit_test(delays),
                cmocka_unit_test(back_off_doubles_with_jitter),
                cmocka_unit_test(a_change_during_a_failure_is_seen_at_once),
                cmocka_unit_test(it_is_bounded),
                cmocka_unit_test(forgotten_keys_never_come),
                cmocka_unit_test(tenants_take_turns),
                cmocka_unit_test(a_tenant_alone),
                cmocka_unit_test(a_tenant_leaves_places_to_others),
                cmocka_unit_test(behaves_like_the_model),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
