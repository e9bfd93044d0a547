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

static const char *const say_name[] = {"allowed", "allowed lately", "who?",       "forbidden",
                                       "later",   "busy",           "share used", "wait"};

static struct mono at_ms(int64_t ms)
{
        return (struct mono){(ms + 1000) * 1000000};
}

static struct auth_key key_of(const char *token)
{
        return auth_key_of(text_of(token), "recommendations.halflife.dev", "get", "shop", "deployment-web");
}

static enum auth_say look_from(struct auth *a, struct text address, const char *token, int64_t ms,
                               struct auth_waiter *w, bool *ask)
{
        struct auth_key k = key_of(token);
        return auth_look(a, &k, (struct auth_asker){address, text_of(token)}, at_ms(ms), w, ask);
}

/* --- stories --- */

enum { SETTLE = -1, END = -2 };
struct event {
        int64_t ms;
        const char *token; /* NULL: the end */
        int say;           /* wanted of auth_look; SETTLE: auth_settle with the verdict */
        int ask;           /* wanted: the caller is to ask; of SETTLE: how many waited */
        enum server_verdict verdict;
        int told; /* of SETTLE: the verdict that waiters get */
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
        LOOK(27000, "a", AUTH_SAYS_ALLOWED_LATELY, 1), /* one question, and the caller does not wait for its answer */
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

/* A question that was never sent says nothing about the API server: others are asked about at once, and one that was
 * away still is. */
static const struct event never_sent[] = {
        LOOK(0, "a", AUTH_SAYS_WAIT, 1),
        TOLD(1, "a", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED),
        LOOK(20000, "a", AUTH_SAYS_WAIT, 1),
        LOOK(20000, "b", AUTH_SAYS_WAIT, 1),
        TOLD(25000, "a", SERVER_BUSY, 1, AUTH_SAYS_ALLOWED_LATELY),
        TOLD(25000, "b", SERVER_BUSY, 1, AUTH_SAYS_BUSY),
        LOOK(25001, "a", AUTH_SAYS_WAIT, 1),
        LOOK(25001, "b", AUTH_SAYS_WAIT, 1),
        TOLD(25002, "b", SERVER_FORBIDS, 1, AUTH_SAYS_FORBIDDEN),
        TOLD(25003, "a", SERVER_CANNOT_TELL, 1, AUTH_SAYS_ALLOWED_LATELY),
        LOOK(27003, "c", AUTH_SAYS_WAIT, 1),
        TOLD(27004, "c", SERVER_BUSY, 1, AUTH_SAYS_BUSY),
        LOOK(27005, "d", AUTH_SAYS_WAIT, 1), /* one at a time */
        LOOK(27006, "c", AUTH_SAYS_LATER, 0),
        TOLD(27007, "d", SERVER_ALLOWS, 1, AUTH_SAYS_ALLOWED), /* back */
        LOOK(27008, "c", AUTH_SAYS_WAIT, 1),
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
                        say = look_from(a, TEXT("192.0.2.1"), e[i].token, e[i].ms, &waiter[i], &ask);
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

static void test_a_question_that_was_never_sent(void **state)
{
        (void)state;
        play(never_sent);
}

static void test_a_refusal_ends_it(void **state)
{
        (void)state;
        play(revoked_in_between);
}

/* --- bounds --- */

/* Each asks from an address of its own. */
static enum auth_say look(struct auth *a, int n, int64_t ms, struct auth_waiter *w, bool *ask)
{
        char token[32];
        snprintf(token, sizeof token, "stranger-%d", n);
        return look_from(a, text_of(token), token, ms, w, ask);
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
        assert_int_equal(look(a, AUTH_ASKED_NEW, 0, &waiter[AUTH_ASKED_NEW], &ask), AUTH_SAYS_SHARE_USED);
        assert_false(ask);
        settle(a, 7, 0, SERVER_KNOWS_NOT);
        assert_int_equal(look(a, AUTH_ASKED_NEW, 0, &waiter[AUTH_ASKED_NEW], &ask), AUTH_SAYS_WAIT);
        auth_free(a);
}

static void test_questions_about_known_callers_are_few(void **state)
{
        (void)state;
        static struct auth_waiter waiter[AUTH_ASKED_MAX + 1];
        struct auth *a = auth_new();
        bool ask;
        for (int i = 0; i <= AUTH_ASKED_MAX; i++) {
                assert_int_equal(look(a, i, 0, &waiter[i], &ask), AUTH_SAYS_WAIT);
                settle(a, i, 0, SERVER_ALLOWS);
        }
        for (int i = 0; i < AUTH_ASKED_MAX; i++)
                assert_int_equal(look(a, i, 20000, &waiter[i], &ask), AUTH_SAYS_WAIT);
        assert_int_not_equal(look(a, AUTH_ASKED_MAX, 20000, &waiter[AUTH_ASKED_MAX], &ask), AUTH_SAYS_WAIT);
        assert_false(ask);
        auth_free(a);
}

/* Unknown callers use up the rate of questions, but not the part reserved for callers who were allowed lately. */
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
        assert_int_equal(look(a, 0, 10000, &w, &ask), AUTH_SAYS_WAIT); /* a question about this caller is still sent */
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

/* Somebody makes up tokens as fast as possible: those of other addresses are asked about all the same, at once and
 * while answers take long. */
static void test_an_address_has_a_share_of_the_questions(void **state)
{
        (void)state;
        enum { STEP_MS = 10, STEPS = 500, SLOW_MS = 5000 };
        struct auth *a = auth_new();
        static struct auth_waiter w[STEPS], slow;
        bool ask;
        for (int i = 0; i < STEPS; i++) {
                char token[32];
                snprintf(token, sizeof token, "made-up-%d", i);
                struct auth_key k = key_of(token);
                enum auth_say say = look_from(a, TEXT("192.0.2.66"), token, (int64_t)i * STEP_MS, &w[i], &ask);
                if (say == AUTH_SAYS_WAIT)
                        (void)auth_settle(a, &k, SERVER_KNOWS_NOT, at_ms((int64_t)i * STEP_MS), &say);
                if (i % 100 == 99 && look(a, i, (int64_t)i * STEP_MS, &slow, &ask) != AUTH_SAYS_WAIT)
                        fail_msg("after %d made-up tokens", i);
                if (i % 100 == 99)
                        settle(a, i, (int64_t)i * STEP_MS, SERVER_ALLOWS);
        }
        for (int i = 0; i < STEPS; i++) {
                char token[32];
                snprintf(token, sizeof token, "slow-%d", i);
                (void)look_from(a, TEXT("192.0.2.66"), token, 2 * SLOW_MS + (int64_t)i * STEP_MS, &w[i], &ask);
        }
        assert_int_equal(look(a, STEPS, 3 * SLOW_MS, &slow, &ask), AUTH_SAYS_WAIT);
        auth_free(a);
}

/* One address holds its share of the questions under way. Another one asks again and again within a second, and is
 * refused only once it holds its own share. */
static void test_the_questions_of_others_are_not_an_address_own(void **state)
{
        (void)state;
        enum { FIRST = AUTH_ASKED_NEW / 2, SECOND = AUTH_ASKED_NEW / 4 };
        static const struct {
                struct text address;
                int questions;
        } row[] = {{TEXT("192.0.2.66"), FIRST}, {TEXT("192.0.2.1"), SECOND}};
        struct auth *a = auth_new();
        static struct auth_waiter w[2][AUTH_ASKED_NEW];
        for (int r = 0; r < 2; r++)
                for (int i = 0; i <= row[r].questions; i++) {
                        char token[32];
                        bool ask;
                        snprintf(token, sizeof token, "token-%d-%d", r, i);
                        enum auth_say say = look_from(a, row[r].address, token, i, &w[r][i], &ask);
                        if (say != (i < row[r].questions ? AUTH_SAYS_WAIT : AUTH_SAYS_SHARE_USED))
                                fail_msg("address %d, question %d: %s", r, i, say_name[say]);
                }
        auth_free(a);
}

enum { APART_MS = 5000 }; /* of addresses, so that the rate allows their questions */

/* The token of the n-th question of an address. */
static const char *token_of(int address, int n)
{
        static char token[32];
        snprintf(token, sizeof token, "token-%d-%d", address, n);
        return token;
}

static struct text address_of(int n)
{
        static char text[32];
        snprintf(text, sizeof text, "192.0.2.%d", n);
        return text_of(text);
}

static enum auth_say ask_from(struct auth *a, int address, int n)
{
        static struct auth_waiter w[AUTH_ASKED_NEW + 1][AUTH_ASKED_NEW];
        bool ask;
        enum auth_say say =
                look_from(a, address_of(address), token_of(address, n), address * APART_MS, &w[address][n], &ask);
        assert_true(ask == (say == AUTH_SAYS_WAIT));
        return say;
}

static bool withdraw_for(struct auth *a, int address, struct auth_key *ret_key)
{
        struct auth_waiter *waiting;
        if (!auth_withdraw(a, address_of(address), at_ms(address * APART_MS), ret_key, &waiting))
                return false;
        assert_int_equal(line_length(waiting), 1);
        return true;
}

/* Six addresses, each with as many as it leaves to others, have all places while answers take long. A further one gets
 * a place of one that has most, until each address has one. */
static void test_a_further_address_gets_a_place(void **state)
{
        (void)state;
        enum { FULL = 6 };
        struct auth *a = auth_new();
        struct auth_key k, withdrawn;
        int asked = 0;
        for (int i = 0; i < FULL; i++)
                for (int n = 0; ask_from(a, i, n) == AUTH_SAYS_WAIT; n++)
                        asked++;
        assert_int_equal(asked, AUTH_ASKED_NEW);
        for (int i = FULL; i < AUTH_ASKED_NEW; i++) {
                assert_int_equal(ask_from(a, i, 0), AUTH_SAYS_SHARE_USED);
                assert_true(withdraw_for(a, i, &withdrawn));
                for (int j = 0; j < i; j++) { /* no address loses its only one */
                        k = key_of(token_of(j, 0));
                        assert_memory_not_equal(&withdrawn, &k, sizeof k);
                }
                assert_int_equal(ask_from(a, i, 0), AUTH_SAYS_WAIT);
                assert_false(withdraw_for(a, i, &withdrawn)); /* it has one */
        }
        assert_int_equal(ask_from(a, AUTH_ASKED_NEW, 0), AUTH_SAYS_SHARE_USED);
        assert_false(withdraw_for(a, AUTH_ASKED_NEW, &withdrawn));
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

/* {"iss":"k8s","sub":"system:serviceaccount:mallory:a"}, and of another namespace */
#define MALLORY "eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bWFsbG9yeTphIn0"
#define TRUDY   "eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6dHJ1ZHk6YSJ9"

/* The n-th token of one namespace's service account, from a pod of its own, is allowed. */
static void allow_claims(struct auth *a, const char *claims, int n, int64_t ms)
{
        struct auth_waiter w;
        enum auth_say say;
        bool ask;
        char token[128];
        snprintf(token, sizeof token, "h.%s.%d", claims, n);
        struct auth_key k = key_of(token);
        assert_int_equal(look_from(a, text_of(token), token, ms, &w, &ask), AUTH_SAYS_WAIT);
        (void)auth_settle(a, &k, SERVER_ALLOWS, at_ms(ms), &say);
}

static void allow_mallory(struct auth *a, int n, int64_t ms)
{
        allow_claims(a, MALLORY, n, ms);
}

/* Whoever has many tokens that are allowed pays for them with its own verdicts, old and new. */
static void test_a_caller_pushes_out_itself(void **state)
{
        (void)state;
        enum { OTHERS = 100, STEP_MS = 25 };
        struct auth *a = auth_new();
        struct auth_waiter w = {0};
        bool ask;
        int64_t ms = 0;
        for (int i = 0; i < OTHERS; i++, ms += STEP_MS) {
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_WAIT);
                settle(a, i, ms, SERVER_ALLOWS);
        }
        for (int i = 0; i < AUTH_ENTRIES_MAX + 500; i++, ms += STEP_MS)
                allow_mallory(a, i, ms);
        assert_int_equal(auth_entries(a), AUTH_ENTRIES_MAX);
        for (int i = OTHERS; i < 2 * OTHERS; i++, ms += 2 * STEP_MS) {
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_WAIT);
                settle(a, i, ms, i % 2 ? SERVER_FORBIDS : SERVER_KNOWS_NOT);
                allow_mallory(a, -i, ms);
        }
        for (int i = OTHERS; i < 2 * OTHERS; i++)
                assert_int_equal(look(a, i, ms, &w, &ask), i % 2 ? AUTH_SAYS_FORBIDDEN : AUTH_SAYS_WHO);
        assert_int_equal(look(a, 0, ms, &w, &ask), AUTH_SAYS_WAIT);
        settle(a, 0, ms, SERVER_CANNOT_TELL);
        for (int i = 1; i < OTHERS; i++)
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_ALLOWED_LATELY);
        auth_free(a);
}

/* Two callers hold half of the places each, none more than its share: others lose neither permissions nor refusals. */
static void test_colluding_callers_push_out_themselves(void **state)
{
        (void)state;
        enum { OTHERS = 100, STEP_MS = 25 };
        struct auth *a = auth_new();
        struct auth_waiter w = {0};
        bool ask;
        int64_t ms = 0;
        for (int i = 0; i < OTHERS; i++, ms += STEP_MS) {
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_WAIT);
                settle(a, i, ms, SERVER_ALLOWS);
        }
        for (int i = 0; i < AUTH_ENTRIES_MAX; i++, ms += STEP_MS)
                allow_claims(a, i % 2 ? MALLORY : TRUDY, i, ms);
        assert_int_equal(auth_entries(a), AUTH_ENTRIES_MAX);
        for (int i = OTHERS; i < 2 * OTHERS; i++, ms += 3 * STEP_MS) {
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_WAIT);
                settle(a, i, ms, i % 2 ? SERVER_FORBIDS : SERVER_KNOWS_NOT);
                allow_claims(a, MALLORY, -i, ms);
                allow_claims(a, TRUDY, -i, ms);
        }
        for (int i = OTHERS; i < 2 * OTHERS; i++)
                assert_int_equal(look(a, i, ms, &w, &ask), i % 2 ? AUTH_SAYS_FORBIDDEN : AUTH_SAYS_WHO);
        assert_int_equal(look(a, 0, ms, &w, &ask), AUTH_SAYS_WAIT);
        settle(a, 0, ms, SERVER_CANNOT_TELL);
        for (int i = 1; i < OTHERS; i++)
                assert_int_equal(look(a, i, ms, &w, &ask), AUTH_SAYS_ALLOWED_LATELY);
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
                assert_int_equal(look_from(a, TEXT("192.0.2.1"), "a", 0, &w[i], &ask), AUTH_SAYS_WAIT);
        auth_leave(a, &k, &w[1]);
        assert_int_equal(line_length(auth_settle(a, &k, SERVER_ALLOWS, at_ms(1), &say)), 2);
        auth_leave(a, &k, &w[0]);
        auth_free(a);
}

/* No two questions share a key, however their parts are cut. */
static void test_keys(void **state)
{
        (void)state;
        static const char *const q[][5] = {
                {"t", "r", "get", "shop", "web"},   {"t", "r", "get", "shopw", "eb"},
                {"t", "r", "get", "shop", ""},      {"t", "r", "list", "shop", ""},
                {"tget", "r", "", "shop", ""},      {"", "r", "tget", "shop", ""},
                {"t", "r", "get", "", "shop"},      {"u", "r", "get", "shop", "web"},
                {"t", "nodes", "list", "shop", ""}, {"t", "nodeslist", "", "shop", ""},
        };
        enum { N = sizeof q / sizeof q[0] };
        for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                        struct auth_key a = auth_key_of(text_of(q[i][0]), q[i][1], q[i][2], q[i][3], q[i][4]);
                        struct auth_key b = auth_key_of(text_of(q[j][0]), q[j][1], q[j][2], q[j][3], q[j][4]);
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
                cmocka_unit_test(test_a_question_that_was_never_sent),
                cmocka_unit_test(test_questions_under_way_are_few),
                cmocka_unit_test(test_questions_about_known_callers_are_few),
                cmocka_unit_test(test_questions_a_second_are_few),
                cmocka_unit_test(test_an_address_has_a_share_of_the_questions),
                cmocka_unit_test(test_the_questions_of_others_are_not_an_address_own),
                cmocka_unit_test(test_a_further_address_gets_a_place),
                cmocka_unit_test(test_strangers_push_out_nobody),
                cmocka_unit_test(test_a_caller_pushes_out_itself),
                cmocka_unit_test(test_colluding_callers_push_out_themselves),
                cmocka_unit_test(test_who_leaves_is_not_called),
                cmocka_unit_test(test_keys),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
