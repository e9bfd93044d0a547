/* Who may wait for the thread that does slow work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http/turns.h"

enum { CLIENTS = QUEUE_MAX + 1 };

static struct rest_listener listener;
static struct turns turns;
static char client[CLIENTS][16];

static struct http_request *request_of(int of)
{
        struct http_request *v = MEM_NEW(struct http_request);
        snprintf(client[of], sizeof client[of], "client-%d", of);
        v->listener = &listener;
        v->job = job_new();
        v->job->client = text_of(client[of]);
        return v;
}

static void request_free(struct http_request *v)
{
        turns_leave(v);
        job_free(v->job);
        mem_free(v);
}

/* It waits, if there is room for it. */
static bool joins(int of)
{
        struct http_request *v = request_of(of);
        bool room = turns_have_room(&turns, v);
        if (room)
                turns_join(&turns, v);
        else
                request_free(v);
        return room;
}

/* The client whose request would be given up for one of another, which is; -1: none would be. */
static int displaced_by(int of)
{
        int from = -1;
        struct http_request *v = request_of(of), *displaced = turns_displaced(&turns, v);
        if (displaced) {
                assert_int_equal(sscanf(displaced->job->client.p, "client-%d", &from), 1);
                request_free(displaced);
        }
        request_free(v);
        return from;
}

static int waits_of(int of)
{
        const struct http_request *v;
        int own = 0;
        TAILQ_FOREACH (v, &turns.waiting, turns_link)
                own += text_equal(v->job->client, text_of(client[of]));
        return own;
}

/* Seven clients, each with as many as it leaves to others, have all places. A further one gets a place of one that has
 * most, until each has one. */
static void test_a_further_client_gets_a_place(void **state)
{
        (void)state;
        enum { FULL = 7 };
        TAILQ_INIT(&turns.waiting);
        turns.working = true; /* for longer than the test */
        assert_int_equal(displaced_by(0), -1);
        for (int i = 0; i < FULL; i++)
                while (joins(i))
                        ;
        assert_int_equal(turns.waits, QUEUE_MAX);
        assert_int_equal(displaced_by(1), -1); /* it has some */
        for (int i = FULL; i < QUEUE_MAX; i++) {
                assert_false(joins(i));
                int from = displaced_by(i);
                if (from < 0 || waits_of(from) < 1)
                        fail_msg("client %d took a place of client %d, which has %d left", i, from, waits_of(from));
                for (int j = 0; j < i; j++)
                        assert_in_range(waits_of(j), 1, waits_of(from) + 1);
                assert_true(joins(i));
        }
        assert_false(joins(QUEUE_MAX));
        assert_int_equal(displaced_by(QUEUE_MAX), -1);
        while (!TAILQ_EMPTY(&turns.waiting))
                request_free(TAILQ_FIRST(&turns.waiting));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_further_client_gets_a_place),
        };
        return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
