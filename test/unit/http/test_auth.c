/*
 * Verdicts and how long they count: stories as tables of what happens when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "http/auth.h"

static const char *const say_name[] = {"allowed", "allowed lately", "who?", "forbidden", "later", "wait"};

static struct mono at_ms(int64_t ms)
{
        return (struct mono){(ms + 1000) * 1000000};
}

static struct auth_key key_of(const char *token)
{
        return auth_key_of(text_of(token), "get", "shop", "deployment-web");
}

/* --- stories --- */

enum { SETTLE = -1, END = -2 };
struct event {
        int64_t ms;
        const char *token; /* NULL: the end */
        int say;           /* wanted of auth_look; SETTLE: auth_settle with the verdict */
        int ask;           /* wanted: the caller is to ask; of SETTLE: how many waited */
        enum server_verdict verdict;
        int told; /* of SETTLE: what those who waited are told */
};
#define LOOK(ms, token, say, ask)                                                                                      \
        {                                                                                                              \
                ms, token, say, ask, 0, 0                                                                              \
        }
#define TOLD(ms, token, verdict, waited, say)                                                                          \
        {                                                                                                              \
                ms, token, SETTLE, waited, verdict, say                                                                \
        }

static const struct event cached[] = {
        LOOK(0, "a", AUTH_SAYS_WAIT, 1),
        LOOK(1, "a", AUTH_SAYS_WAIT, 0), /* asked once */
        LOOK(2, "b", AUTH_SAYS_WAIT, 1),
        TOLD(10, "a", SERVER_ALLOWS, 2, AUTH_SAYS_ALLOWED),
        TOLD(10, "a", SERVER_FORBIDS, 0, 0), /* nobody asked */
        TOLD(11, "b", SERVER_FORBIDS, 1, AUTH_SAYS_FORBIDDEN),
        LOOK(12, "a", AUTH_SAYS_ALLOWED, 0),
        LOOK(10009, "a", AUTH_SAYS_ALLOWED, 0),
        LOOK(10010, "a", AUTH_SAYS_WAIT, 1), /* over */
        LOOK(10010, "b", AUTH_SAYS_FORBIDDEN, 0),
        LOOK(10011, "b", AUTH_SAYS_WAIT, 1),
        TOLD(10020, "a", SERVER_KNOWS_NOT, 1, AUTH_SAYS_WHO), /* revoked */
        LOOK(10021, "a", AUTH_SAYS_WHO, 0),
        TOLD(10022, "b", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED),
        LOOK(20020, "a", AUTH_SAYS_WAIT, 1),
        LOOK(20021, "b", AUTH_SAYS_ALLOWED, 0),
        {0},
};
static const struct event away[] = {
        LOOK(0, "a", AUTH_SAYS_WAIT, 1),
        TOLD(1, "a", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED),
        LOOK(20000, "a", AUTH_SAYS_WAIT, 1),
        LOOK(20000, "b", AUTH_SAYS_WAIT, 1),
        TOLD(25000, "a", SERVER_CANNOT_TELL, 1, AUTH_SAYS_ALLOWED_LATELY),
        TOLD(25000, "b", SERVER_CANNOT_TELL, 1, AUTH_SAYS_LATER),
        LOOK(25001, "a", AUTH_SAYS_ALLOWED_LATELY, 0), /* no question within 2 s */
        LOOK(25001, "b", AUTH_SAYS_LATER, 0),
        LOOK(27000, "a", AUTH_SAYS_ALLOWED_LATELY, 1), /* one, and he does not wait for it */
        LOOK(27001, "b", AUTH_SAYS_LATER, 0),
        TOLD(32000, "a", SERVER_CANNOT_TELL, 0, AUTH_SAYS_ALLOWED_LATELY),
        LOOK(34000, "b", AUTH_SAYS_WAIT, 1),
        LOOK(34001, "a", AUTH_SAYS_ALLOWED_LATELY, 0),
        TOLD(34002, "b", SERVER_CANNOT_TELL, 1, AUTH_SAYS_LATER),
        LOOK(15 * MINUTE_MS, "a", AUTH_SAYS_ALLOWED_LATELY, 1),
        TOLD(15 * MINUTE_MS, "a", SERVER_CANNOT_TELL, 0, AUTH_SAYS_ALLOWED_LATELY),
        LOOK(15 * MINUTE_MS + 1, "a", AUTH_SAYS_LATER, 0), /* too long ago */
        LOOK(16 * MINUTE_MS, "a", AUTH_SAYS_WAIT, 1),
        TOLD(16 * MINUTE_MS, "a", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED), /* back */
        LOOK(16 * MINUTE_MS, "b", AUTH_SAYS_WAIT, 1),
        LOOK(16 * MINUTE_MS, "c", AUTH_SAYS_WAIT, 1),
        {0},
};
static const struct event revoked_in_between[] = {
        LOOK(0, "a", AUTH_SAYS_WAIT, 1),
        TOLD(1, "a", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED),
        LOOK(20000, "a", AUTH_SAYS_WAIT, 1),
        TOLD(20001, "a", SERVER_CANNOT_TELL, 1, AUTH_SAYS_ALLOWED_LATELY),
        LOOK(23000, "a", AUTH_SAYS_ALLOWED_LATELY, 1),
        TOLD(23001, "a", SERVER_KNOWS_NOT, 0, AUTH_SAYS_WHO),
        LOOK(23002, "a", AUTH_SAYS_WHO, 0),
        LOOK(40000, "a", AUTH_SAYS_WAIT, 1),
        TOLD(40001, "a", SERVER_CANNOT_TELL, 1, AUTH_SAYS_LATER), /* a refusal is no reason to allow, nor to refuse */
        {0},
};

static int line_length(const struct auth_waiter *w)
{
        int n = 0;
        for (; w; w = w->next)
                n++;
        return n;
}

static void play(const struct event *e)
{
        static struct auth_waiter waiter[64];
        struct auth *a = auth_new();
        for (int i = 0; e[i].token; i++) {
                struct auth_key k = key_of(e[i].token);
                enum auth_say say = AUTH_SAYS_WAIT;
                bool ask = false;
                int waited = 0;
                if (e[i].say == SETTLE)
                        waited = line_length(auth_settle(a, &k, e[i].verdict, at_ms(e[i].ms), &say));
                else
                        say = auth_look(a, &k, at_ms(e[i].ms), &waiter[i], &ask);
                bool right = e[i].say == SETTLE ? waited == e[i].ask && (!waited || (int)say == e[i].told)
                                                : (int)say == e[i].say && ask == (e[i].ask != 0);
                if (!right)
                        fail_msg("event %d at %lld ms about '%s': %s, ask %d, %d waited", i, (long long)e[i].ms,
                                 e[i].token, say_name[say], ask, waited);
        }
        auth_free(a);
}

static void test_a_verdict_counts_ten_seconds(void **state)
{
        (void)state;
        play(cached);
}

static void test_while_the_server_is_away(void **state)
{
        (void)state;
        play(away);
}

static void test_a_refusal_ends_it(void **state)
{
        (void)state;
        play(revoked_in_between);
}

/* --- bounds --- */

static enum auth_say look(struct auth *a, int n, int64_t ms, struct auth_waiter *w, bool *ask)
{
        char token[32];
        snprintf(token, sizeof token, "stranger-%d", n);
        struct auth_key k = key_of(token);
        return auth_look(a, &k, at_ms(ms), w, ask);
}

static void settle(struct auth *a, int n, int64_t ms, enum server_verdict v)
{
        char token[32];
        enum auth_say say;
        snprintf(token, sizeof token, "stranger-%d", n);
        struct auth_key k = key_of(token);
        (void)auth_settle(a, &k, v, at_ms(ms), &say);
}

static void test_questions_under_way_are_few(void **state)
{
        (void)state;
        static struct auth_waiter waiter[AUTH_ASKED_MAX + 1];
        struct auth *a = auth_new();
        bool ask;
        for (int i = 0; i < AUTH_ASKED_NEW; i++)
                assert_int_equal(look(a, i, 0, &waiter[i], &ask), AUTH_SAYS_WAIT);
        assert_int_equal(look(a, AUTH_ASKED_NEW, 0, &waiter[AUTH_ASKED_NEW], &ask), AUTH_SAYS_LATER);
        assert_false(ask);
        settle(a, 7, 0, SERVER_KNOWS_NOT);
        assert_int_equal(look(a, AUTH_ASKED_NEW, 0, &waiter[AUTH_ASKED_NEW], &ask), AUTH_SAYS_WAIT);
        auth_free(a);
}

/* Strangers use up what may be asked, but not what is kept for those who were allowed. */
static void test_questions_a_second_are_few(void **state)
{
        (void)state;
        struct auth *a = auth_new();
        struct auth_waiter w = {0};
        bool ask;
        assert_int_equal(look(a, 0, 0, &w, &ask), AUTH_SAYS_WAIT);
        settle(a, 0, 0, SERVER_ALLOWS);
        int asked = 0;
        for (int i = 1; i < 1000; i++)
                if (look(a, i, 10000, &w, &ask) == AUTH_SAYS_WAIT) {
                        settle(a, i, 10000, SERVER_KNOWS_NOT);
                        asked++;
                }
        assert_int_equal(asked, AUTH_BURST - AUTH_BURST_RESERVE);
        assert_int_equal(look(a, 0, 10000, &w, &ask), AUTH_SAYS_WAIT); /* he is asked about all the same */
        settle(a, 0, 10000, SERVER_ALLOWS);
        asked = 0;
        for (int i = 1000; i < 2000; i++)
                if (look(a, i, 11000, &w, &ask) == AUTH_SAYS_WAIT) {
                        settle(a, i, 11000, SERVER_KNOWS_NOT);
                        asked++;
                }
        assert_int_equal(asked, AUTH_RATE - 1);
        auth_free(a);
}

static void test_strangers_push_out_nobody(void **state)
{
        (void)state;
        struct auth *a = auth_new();
        struct auth_waiter w = {0};
        bool ask;
        int64_t ms = 0;
        for (int i = 0; i < AUTH_ENTRIES_MAX + 500; i++, ms += 25) {
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_WAIT);
                settle(a, i, ms, i < 100 ? SERVER_ALLOWS : SERVER_KNOWS_NOT);
                assert_in_range(auth_entries(a), 1, AUTH_ENTRIES_MAX);
        }
        assert_int_equal(auth_entries(a), AUTH_ENTRIES_MAX);
        settle(a, 99, ms, SERVER_CANNOT_TELL); /* nothing was asked: nothing happens */
        assert_int_equal(look(a, 99, ms, &w, &ask), AUTH_SAYS_WAIT);
        settle(a, 99, ms, SERVER_CANNOT_TELL);
        assert_int_equal(look(a, 98, ms, &w, &ask), AUTH_SAYS_ALLOWED_LATELY); /* still known */
        auth_free(a);
}

static void test_who_leaves_is_not_called(void **state)
{
        (void)state;
        struct auth *a = auth_new();
        struct auth_waiter w[3];
        struct auth_key k = key_of("a");
        enum auth_say say;
        bool ask;
        for (int i = 0; i < 3; i++)
                assert_int_equal(auth_look(a, &k, at_ms(0), &w[i], &ask), AUTH_SAYS_WAIT);
        auth_leave(a, &k, &w[1]);
        assert_int_equal(line_length(auth_settle(a, &k, SERVER_ALLOWS, at_ms(1), &say)), 2);
        auth_leave(a, &k, &w[0]);
        auth_free(a);
}

/* No two questions share a key, however their parts are cut. */
static void test_keys(void **state)
{
        (void)state;
        static const char *const q[][4] = {
                {"t", "get", "shop", "web"}, {"t", "get", "shopw", "eb"}, {"t", "get", "shop", ""},
                {"t", "list", "shop", ""},   {"tget", "", "shop", ""},    {"", "tget", "shop", ""},
                {"t", "get", "", "shop"},    {"u", "get", "shop", "web"},
        };
        enum { N = sizeof q / sizeof q[0] };
        for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                        struct auth_key a = auth_key_of(text_of(q[i][0]), q[i][1], q[i][2], q[i][3]);
                        struct auth_key b = auth_key_of(text_of(q[j][0]), q[j][1], q[j][2], q[j][3]);
                        if ((memcmp(&a, &b, sizeof a) == 0) != (i == j))
                                fail_msg("questions %d and %d", i, j);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_verdict_counts_ten_seconds),
                cmocka_unit_test(test_while_the_server_is_away),
                cmocka_unit_test(test_a_refusal_ends_it),
                cmocka_unit_test(test_questions_under_way_are_few),
                cmocka_unit_test(test_questions_a_second_are_few),
                cmocka_unit_test(test_strangers_push_out_nobody),
                cmocka_unit_test(test_who_leaves_is_not_called),
                cmocka_unit_test(test_keys),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
