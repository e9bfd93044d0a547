/*
 * The rules of a Lease, in a time of our own: single steps, and a world in which contenders are paused, answers get
 * lost and the API server goes away, where at no instant two of them hold it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "kube/elector.h"

/* --- a server of one Lease --------------------------------------------------------------------------------------- */

struct server {
        json_t *lease;
        int version;
        bool away;
};

static char *server_text(const struct server *s)
{
        char *text = json_dumps(s->lease, JSON_COMPACT), *ours = mem_string(text);
        free(text);
        return ours;
}

/* What a request does; *ret_text is the answer's body, or NULL. */
static int serve(struct server *s, enum elector_ask ask, const char *body, char **ret_text)
{
        *ret_text = NULL;
        if (s->away)
                return ERR_RETRY;
        if (ask == ELECTOR_GET) {
                if (s->lease)
                        *ret_text = server_text(s);
                return s->lease ? 0 : ERR_NOTFOUND;
        }
        AUTO(json_decref) json_t *sent = json_loads(body, 0, NULL);
        const char *version = json_string_value(json_object_get(json_object_get(sent, "metadata"), "resourceVersion"));
        if (ask == ELECTOR_POST && s->lease)
                return ERR_CONFLICT;
        if (ask == ELECTOR_PUT && !s->lease)
                return ERR_NOTFOUND;
        if (ask == ELECTOR_PUT && (!version || atoi(version) != s->version))
                return ERR_STALE;
        char text[16];
        snprintf(text, sizeof text, "%d", ++s->version);
        json_object_set_new(json_object_get(sent, "metadata"), "resourceVersion", json_string(text));
        json_decref(s->lease);
        s->lease = json_incref(sent);
        *ret_text = server_text(s);
        return 0;
}

static struct now at_ms(int64_t ms)
{
        return (struct now){{ms * 1000000}, {INT64_C(1700000000000) + ms}};
}

/* One request, answered after so many ms. */
static enum elector_change ask_once(struct elector *e, struct server *s, int64_t *now_ms, int64_t took_ms,
                                    int64_t *ret_wait_ms)
{
        char *body, *answer;
        enum elector_ask ask = elector_begin(e, at_ms(*now_ms), &body);
        int code = serve(s, ask, body, &answer);
        *now_ms += took_ms;
        enum elector_change change = elector_end(e, code, text_of(answer), at_ms(*now_ms).mono, ret_wait_ms);
        mem_free(body);
        mem_free(answer);
        return change;
}

/* Ask until something changes or a wait of its own is due. */
static enum elector_change try_once(struct elector *e, struct server *s, int64_t *now_ms, int64_t *ret_wait_ms)
{
        enum elector_change change;
        do
                change = ask_once(e, s, now_ms, 1, ret_wait_ms);
        while (change == ELECTOR_SAME && *ret_wait_ms == 0);
        return change;
}

static const char *spec(const struct server *s, const char *key)
{
        static char number[32];
        const json_t *value = json_object_get(json_object_get(s->lease, "spec"), key);
        if (json_is_string(value))
                return json_string_value(value);
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return number;
}

/* --- single steps ---------------------------------------------------------------------------------------------------
 */

static void the_first_makes_it_and_keeps_it(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector e;
        int64_t now = 1000, wait;
        elector_init(&e, "halflife", "leader", "me");
        assert_string_equal(elector_holder(&e), "");
        assert_int_equal(try_once(&e, &s, &now, &wait), ELECTOR_GAINED);
        assert_int_equal(wait, TRY_MS);
        assert_true(elector_holds(&e, at_ms(now).mono));
        assert_string_equal(spec(&s, "holderIdentity"), "me");
        assert_string_equal(spec(&s, "leaseDurationSeconds"), "15");
        assert_string_equal(spec(&s, "leaseTransitions"), "0");
        assert_string_equal(spec(&s, "acquireTime"), "2023-11-14T22:13:21.001000Z");
        json_object_set_new(json_object_get(s.lease, "metadata"), "labels", json_pack("{s:s}", "a", "b"));
        for (int i = 0; i < 5; i++) {
                now += wait;
                assert_int_equal(ask_once(&e, &s, &now, 1, &wait), ELECTOR_SAME); /* one PUT, no GET */
                assert_int_equal(s.version, i + 2);
        }
        assert_string_equal(spec(&s, "acquireTime"), "2023-11-14T22:13:21.001000Z");
        assert_string_equal(spec(&s, "renewTime"), "2023-11-14T22:13:31.006000Z");
        assert_string_equal(spec(&s, "leaseTransitions"), "0");
        elector_release(&e);
        json_decref(s.lease);
}

static void another_waits_for_the_time_it_saw_pass_itself(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a, b;
        int64_t now = 1000, wait;
        elector_init(&a, "ns", "l", "a");
        elector_init(&b, "ns", "l", "b");
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_GAINED);
        now += INT64_C(3600000); /* the record is an hour old by its own times: that proves nothing */
        int64_t first_seen = now + 1;
        assert_int_equal(try_once(&b, &s, &now, &wait), ELECTOR_SAME);
        assert_in_range(wait, TRY_MS, 4400);
        assert_string_equal(elector_holder(&b), "a");
        while (now + wait < first_seen + LEASE_MS) {
                now += wait;
                assert_int_equal(try_once(&b, &s, &now, &wait), ELECTOR_SAME);
        }
        now += wait;
        assert_int_equal(try_once(&b, &s, &now, &wait), ELECTOR_GAINED);
        assert_string_equal(spec(&s, "leaseTransitions"), "1");
        assert_false(elector_holds(&a, at_ms(now).mono));
        /* the first comes back, is refused, looks, and gives in */
        assert_true(elector_expire(&a, at_ms(now).mono));
        assert_false(elector_expire(&a, at_ms(now).mono));
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_SAME);
        assert_string_equal(elector_holder(&a), "b");
        elector_release(&a);
        elector_release(&b);
        json_decref(s.lease);
}

static void a_holder_that_is_refused_looks_at_once(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a;
        int64_t now = 1000, wait;
        elector_init(&a, "ns", "l", "a");
        try_once(&a, &s, &now, &wait);
        /* somebody labels the Lease: still ours */
        s.version++;
        json_object_set_new(json_object_get(s.lease, "metadata"), "resourceVersion", json_string("2"));
        now += wait;
        assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME);
        assert_int_equal(wait, 0);
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_SAME);
        assert_int_equal(wait, TRY_MS);
        assert_true(elector_holds(&a, at_ms(now).mono));
        assert_int_equal(s.version, 3);
        /* somebody deletes it: made again */
        json_decref(s.lease);
        s.lease = NULL;
        now += wait;
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_SAME);
        assert_true(elector_holds(&a, at_ms(now).mono) && s.lease);
        /* somebody else is in it: lost, at once */
        json_object_set_new(json_object_get(s.lease, "spec"), "holderIdentity", json_string("thief"));
        s.version++;
        now += wait;
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_LOST);
        assert_false(elector_holds(&a, at_ms(now).mono));
        elector_release(&a);
        json_decref(s.lease);
}

static void without_success_it_is_over_before_another_may(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a;
        int64_t now = 1000, wait;
        elector_init(&a, "ns", "l", "a");
        try_once(&a, &s, &now, &wait);
        int64_t renewed = now - 1; /* counted from the sending */
        s.away = true;
        while (now + wait < renewed + RENEW_MS) {
                now += wait;
                assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME);
                assert_int_equal(wait, TRY_MS);
                assert_true(elector_holds(&a, at_ms(now).mono));
                assert_false(elector_expire(&a, at_ms(now).mono));
        }
        assert_true(elector_holds(&a, at_ms(renewed + RENEW_MS - 1).mono));
        assert_false(elector_holds(&a, at_ms(renewed + RENEW_MS).mono));
        assert_true(elector_expire(&a, at_ms(renewed + RENEW_MS).mono));
        elector_release(&a);
        json_decref(s.lease);
}

/* A process that slept over its own answer does not lead by it. */
static void an_old_answer_proves_nothing(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a;
        int64_t now = 1000, wait;
        elector_init(&a, "ns", "l", "a");
        assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME);
        assert_int_equal(ask_once(&a, &s, &now, 60000, &wait), ELECTOR_SAME);
        assert_string_equal(spec(&s, "holderIdentity"), "a");
        assert_false(elector_holds(&a, at_ms(now).mono));
        now += wait;
        assert_int_equal(try_once(&a, &s, &now, &wait), ELECTOR_GAINED);
        elector_release(&a);
        json_decref(s.lease);
}

/* It slept over its answer, and meanwhile somebody deleted what it had made: what it makes next is not known to be
 * there. */
static void what_was_deleted_meanwhile_is_not_renewed(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a;
        int64_t now = 1000, wait;
        char *body;
        elector_init(&a, "ns", "l", "a");
        assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME);
        assert_int_equal(ask_once(&a, &s, &now, 60000, &wait), ELECTOR_SAME);
        assert_false(elector_holds(&a, at_ms(now).mono));
        json_decref(s.lease);
        s.lease = NULL;
        assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME); /* it looks: nothing there */
        s.away = true;
        assert_int_equal(ask_once(&a, &s, &now, 1, &wait), ELECTOR_SAME); /* it makes one, and hears nothing */
        assert_int_equal(elector_begin(&a, at_ms(now), &body), ELECTOR_GET);
        assert_null(body);
        elector_release(&a);
}

static void given_up_it_is_free_at_once(void **state)
{
        (void)state;
        struct server s = {.version = 0};
        struct elector a, b;
        int64_t now = 1000, wait;
        char *answer;
        elector_init(&a, "ns", "l", "a");
        elector_init(&b, "ns", "l", "b");
        try_once(&a, &s, &now, &wait);
        try_once(&b, &s, &now, &wait);
        assert_null(elector_resign(&b, at_ms(now))); /* not its own */
        char *body = elector_resign(&a, at_ms(now));
        assert_non_null(body);
        assert_false(elector_holds(&a, at_ms(now).mono));
        assert_int_equal(serve(&s, ELECTOR_PUT, body, &answer), 0);
        assert_string_equal(spec(&s, "holderIdentity"), "");
        assert_string_equal(spec(&s, "leaseDurationSeconds"), "1");
        assert_int_equal(try_once(&b, &s, &now, &wait), ELECTOR_GAINED);
        mem_free(body);
        mem_free(answer);
        elector_release(&a);
        elector_release(&b);
        json_decref(s.lease);
}

static void odd_answers_are_failures(void **state)
{
        (void)state;
        static const char *const odd[] = {"", "{", "[]", "null", "{\"spec\":{}}", "{\"metadata\":7}"};
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
                struct elector e;
                char *body;
                int64_t wait;
                elector_init(&e, "ns", "l", "a");
                assert_int_equal(elector_begin(&e, at_ms(0), &body), ELECTOR_GET);
                assert_null(body);
                assert_int_equal(elector_end(&e, 0, text_of(odd[i]), at_ms(1).mono, &wait), ELECTOR_SAME);
                assert_in_range(wait, TRY_MS, 4400);
                assert_int_equal(elector_begin(&e, at_ms(0), &body), ELECTOR_GET);
                elector_release(&e);
        }
        /* a Lease made by hand, empty: it is free */
        struct elector e;
        char *body;
        int64_t wait;
        elector_init(&e, "ns", "l", "a");
        elector_begin(&e, at_ms(0), &body);
        elector_end(&e, 0, TEXT("{\"metadata\":{\"resourceVersion\":\"1\"}}"), at_ms(1).mono, &wait);
        assert_int_equal(wait, 0);
        assert_int_equal(elector_begin(&e, at_ms(2), &body), ELECTOR_PUT);
        assert_non_null(strstr(body, "\"holderIdentity\":\"a\""));
        mem_free(body);
        elector_release(&e);
}

/* --- a hard world
 * ----------------------------------------------------------------------------------------------------- */

enum { CONTENDERS = 3 };

/* Events of one contender come at due: the request reaches the server, its answer reaches the contender, or it asks. */
struct contender {
        struct elector e;
        char identity[16];
        enum { ASKS, ARRIVES, ANSWERS } next;
        int64_t due, timeout, paused, skew; /* skew: its clock against the world's */
        enum elector_ask ask;
        char *body, *answer;
        int code;
        bool told; /* as its owner believes, from what was gained and lost */
};

static uint64_t seed;
static bool peace; /* nothing is slow or lost */

static unsigned draw(unsigned below)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(seed >> 33) % below;
}

static struct now its_time(const struct contender *c, int64_t now)
{
        return at_ms(now + c->skew);
}

static void contender_step(struct contender *c, struct server *s, int64_t now)
{
        int64_t wait;
        if (now < c->paused) { /* the process stands still; the world does not */
                if (c->next == ARRIVES)
                        goto arrive;
                c->due = c->paused;
                return;
        }
        if (elector_expire(&c->e, its_time(c, now).mono))
                c->told = false;
        switch (c->next) {
        case ASKS:
                c->ask = elector_begin(&c->e, its_time(c, now), &c->body);
                c->timeout = now + REQUEST_MS;
                c->due = now + draw(peace || draw(8) ? 50 : 8000);
                c->next = ARRIVES;
                return;
        case ARRIVES:
        arrive:
                c->code = serve(s, c->ask, c->body, &c->answer);
                mem_free(c->body);
                c->due = now + draw(peace || draw(8) ? 50 : 8000);
                if ((!peace && draw(20) == 0) || c->due > c->timeout) { /* done, and never known */
                        c->code = ERR_RETRY;
                        c->due = c->timeout > now ? c->timeout : now;
                }
                c->next = ANSWERS;
                return;
        case ANSWERS:
                break;
        }
        enum elector_change change =
                elector_end(&c->e, c->code, text_of(c->code ? NULL : c->answer), its_time(c, now).mono, &wait);
        mem_free(c->answer);
        c->answer = NULL;
        c->told = change == ELECTOR_SAME ? c->told : change == ELECTOR_GAINED;
        c->due = now + wait;
        c->next = ASKS;
}

static int holders(const struct contender c[CONTENDERS], int64_t now)
{
        int count = 0;
        for (int i = 0; i < CONTENDERS; i++)
                count += elector_holds(&c[i].e, its_time(&c[i], now).mono);
        return count;
}

static int first_due(const struct contender c[CONTENDERS])
{
        int first = 0;
        for (int i = 1; i < CONTENDERS; i++)
                if (c[i].due < c[first].due)
                        first = i;
        return first;
}

static void disturb(struct contender c[CONTENDERS], struct server *s, int64_t now)
{
        if (draw(200) == 0)
                s->away = !s->away;
        if (draw(100) == 0)
                c[draw(CONTENDERS)].paused = now + (int64_t)draw(40000);
        if (draw(2000) == 0) {
                json_decref(s->lease); /* somebody deletes it: the one thing that no rule can cover at once */
                s->lease = NULL;
        }
}

static void run_world(unsigned number, int64_t *held_ms)
{
        struct server s = {.version = 0};
        struct contender c[CONTENDERS] = {{.due = 0}};
        int64_t now = 1000, deleted = -LEASE_MS;
        seed = number;
        peace = false;
        for (int i = 0; i < CONTENDERS; i++) {
                snprintf(c[i].identity, sizeof c[i].identity, "c%d", i);
                elector_init(&c[i].e, "ns", "l", c[i].identity);
                c[i].due = now + draw(3000);
                c[i].skew = (int64_t)draw(1u << 30);
        }
        while (now < INT64_C(1800000)) {
                int first = first_due(c);
                int64_t next = c[first].due > now ? c[first].due : now;
                *held_ms += holders(c, next) ? next - now : 0;
                now = next;
                contender_step(&c[first], &s, now);
                bool there = s.lease != NULL;
                disturb(c, &s, now);
                if (there && !s.lease)
                        deleted = now;
                if (holders(c, now) > 1 && now - deleted > LEASE_MS)
                        fail_msg("world %u: two hold it after %lld ms", number, (long long)now);
                for (int i = 0; i < CONTENDERS; i++)
                        if (elector_holds(&c[i].e, its_time(&c[i], now).mono) && !c[i].told)
                                fail_msg("world %u: %d holds it and was not told", number, i);
        }
        /* then someone leads soon, and on */
        s.away = false;
        peace = true;
        for (int64_t end = now + 120000; now < end;) {
                int first = first_due(c);
                now = c[first].due > now ? c[first].due : now;
                contender_step(&c[first], &s, now);
        }
        if (holders(c, now) != 1)
                fail_msg("world %u: %d hold it in peace", number, holders(c, now));
        for (int i = 0; i < CONTENDERS; i++) {
                elector_release(&c[i].e);
                if (c[i].next == ARRIVES)
                        mem_free(c[i].body);
                mem_free(c[i].answer);
        }
        json_decref(s.lease);
}

static void never_do_two_hold_it(void **state)
{
        (void)state;
        int64_t held_ms = 0;
        for (unsigned number = 1; number <= 100; number++)
                run_world(number, &held_ms);
        assert_true(held_ms > INT64_C(100) * 1800000 / 5); /* and it is not by nobody holding it */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_makes_it_and_keeps_it),
                cmocka_unit_test(another_waits_for_the_time_it_saw_pass_itself),
                cmocka_unit_test(a_holder_that_is_refused_looks_at_once),
                cmocka_unit_test(without_success_it_is_over_before_another_may),
                cmocka_unit_test(an_old_answer_proves_nothing),
                cmocka_unit_test(what_was_deleted_meanwhile_is_not_renewed),
                cmocka_unit_test(given_up_it_is_free_at_once),
                cmocka_unit_test(odd_answers_are_failures),
                cmocka_unit_test(never_do_two_hold_it),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
