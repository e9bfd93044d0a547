#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mailbox.h"
#include "base/mem.h"

struct letter {
        struct mailbox_item item;
        int sender, number;
};

static void count_wake(void *arg)
{
        ++*(int *)arg;
}

static bool letter_post(struct mailbox *m, struct letter *l, int number)
{
        l->number = number;
        return mailbox_post(m, &l->item);
}

static void messages_keep_their_order(void **state)
{
        (void)state;
        struct mailbox m;
        struct letter l[3];
        mailbox_init(&m, 0, NULL, NULL);
        for (int i = 0; i < 3; i++)
                assert_true(letter_post(&m, &l[i], i));
        for (int i = 0; i < 3; i++)
                assert_ptr_equal(mailbox_wait(&m), &l[i]);
        for (int i = 0; i < 3; i++)
                assert_true(letter_post(&m, &l[i], i));
        struct mailbox_items all;
        assert_true(mailbox_drain(&m, &all));
        for (int i = 0; i < 3; i++)
                assert_ptr_equal(mailbox_items_next(&all), &l[i]);
        assert_null(mailbox_items_next(&all));
        mailbox_release(&m);
}

static void what_is_beyond_the_bound_stays_the_senders(void **state)
{
        (void)state;
        struct mailbox m;
        struct letter l[4];
        struct mailbox_items all;
        mailbox_init(&m, 2, NULL, NULL);
        assert_true(letter_post(&m, &l[0], 0));
        assert_true(letter_post(&m, &l[1], 1));
        assert_false(letter_post(&m, &l[2], 2));
        assert_ptr_equal(mailbox_wait(&m), &l[0]);
        assert_true(letter_post(&m, &l[2], 2));
        assert_false(letter_post(&m, &l[3], 3));
        assert_ptr_equal(mailbox_take_back(&m), &l[2]);
        assert_true(letter_post(&m, &l[3], 3));
        assert_true(mailbox_drain(&m, &all));
        assert_ptr_equal(mailbox_items_next(&all), &l[1]);
        assert_ptr_equal(mailbox_items_next(&all), &l[3]);
        assert_null(mailbox_take_back(&m));
        assert_true(letter_post(&m, &l[0], 0)); /* a drained mailbox has room again */
        assert_true(letter_post(&m, &l[1], 1));
        assert_false(letter_post(&m, &l[2], 2));
        assert_true(mailbox_drain(&m, &all));
        mailbox_release(&m);
}

static void a_closed_one_hands_out_what_waits(void **state)
{
        (void)state;
        struct mailbox m;
        struct letter l[3];
        struct mailbox_items all;
        mailbox_init(&m, 0, NULL, NULL);
        letter_post(&m, &l[0], 0);
        letter_post(&m, &l[1], 1);
        mailbox_close(&m);
        assert_false(letter_post(&m, &l[2], 2));
        assert_ptr_equal(mailbox_wait(&m), &l[0]);
        assert_false(mailbox_drain(&m, &all));
        assert_ptr_equal(mailbox_items_next(&all), &l[1]);
        assert_null(mailbox_wait(&m));
        assert_false(mailbox_drain(&m, &all));
        assert_null(mailbox_items_next(&all));
        mailbox_release(&m);
}

static void the_first_of_a_batch_wakes_the_reader(void **state)
{
        (void)state;
        struct mailbox m;
        struct letter l[3];
        struct mailbox_items all;
        int woken = 0;
        mailbox_init(&m, 2, count_wake, &woken);
        letter_post(&m, &l[0], 0);
        letter_post(&m, &l[1], 1);
        letter_post(&m, &l[2], 2);
        assert_int_equal(woken, 1);
        mailbox_drain(&m, &all);
        letter_post(&m, &l[0], 0);
        assert_int_equal(woken, 2);
        mailbox_close(&m);
        assert_int_equal(woken, 3);
        letter_post(&m, &l[1], 1); /* refused */
        assert_int_equal(woken, 3);
        mailbox_drain(&m, &all);
        mailbox_release(&m);
}

/* --- threads --- */

enum { SENDERS = 4, EACH = 2000 };

struct sender {
        struct mailbox *to;
        int id;
        pthread_t thread;
};

static void *send_all(void *arg)
{
        struct sender *s = arg;
        for (int i = 0; i < EACH; i++) {
                struct letter *l = MEM_NEW(struct letter);
                *l = (struct letter){.sender = s->id, .number = i};
                while (!mailbox_post(s->to, &l->item))
                        sched_yield();
        }
        return NULL;
}

static void senders_start(struct sender s[static SENDERS], struct mailbox *to)
{
        for (int i = 0; i < SENDERS; i++) {
                s[i] = (struct sender){.to = to, .id = i};
                assert_int_equal(pthread_create(&s[i].thread, NULL, send_all, &s[i]), 0);
        }
}

static void *join_and_close(void *arg)
{
        struct sender *s = arg;
        for (int i = 0; i < SENDERS; i++)
                pthread_join(s[i].thread, NULL);
        mailbox_close(s[0].to);
        return NULL;
}

/* Nothing is lost or comes twice, and what one sender posts comes in its order. */
static void letter_check(struct letter *l, int next[static SENDERS])
{
        assert_int_equal(l->number, next[l->sender]);
        next[l->sender]++;
        mem_free(l);
}

static void a_thread_reads_what_threads_post(void **state)
{
        (void)state;
        struct mailbox m;
        struct sender s[SENDERS];
        pthread_t closer;
        int next[SENDERS] = {0};
        mailbox_init(&m, 8, NULL, NULL);
        senders_start(s, &m);
        assert_int_equal(pthread_create(&closer, NULL, join_and_close, s), 0);
        for (struct letter *l; (l = mailbox_wait(&m));)
                letter_check(l, next);
        pthread_join(closer, NULL);
        for (int i = 0; i < SENDERS; i++)
                assert_int_equal(next[i], EACH);
        mailbox_release(&m);
}

static void post_semaphore(void *arg)
{
        sem_post(arg);
}

static void a_loop_drains_what_threads_post(void **state)
{
        (void)state;
        struct mailbox m;
        struct mailbox_items all;
        struct sender s[SENDERS];
        pthread_t closer;
        sem_t woken;
        int next[SENDERS] = {0};
        sem_init(&woken, 0, 0);
        mailbox_init(&m, 0, post_semaphore, &woken);
        senders_start(s, &m);
        assert_int_equal(pthread_create(&closer, NULL, join_and_close, s), 0);
        for (bool open = true; open;) {
                sem_wait(&woken);
                open = mailbox_drain(&m, &all);
                for (struct letter *l; (l = mailbox_items_next(&all));)
                        letter_check(l, next);
        }
        pthread_join(closer, NULL);
        for (int i = 0; i < SENDERS; i++)
                assert_int_equal(next[i], EACH);
        mailbox_release(&m);
        sem_destroy(&woken);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(messages_keep_their_order),
                cmocka_unit_test(what_is_beyond_the_bound_stays_the_senders),
                cmocka_unit_test(a_closed_one_hands_out_what_waits),
                cmocka_unit_test(the_first_of_a_batch_wakes_the_reader),
                cmocka_unit_test(a_thread_reads_what_threads_post),
                cmocka_unit_test(a_loop_drains_what_threads_post),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
