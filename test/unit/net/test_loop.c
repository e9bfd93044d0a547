#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop.h"

/* --- timers ------------------------------------------------------------------------------- */

struct tick {
        struct loop *loop;
        struct loop_timer timer;
        int64_t after_ms;
        struct mono set, fired;
        int times, order;
};
static int fired_so_far;

static void on_tick(void *arg)
{
        struct tick *t = arg;
        t->fired = loop_now(t->loop).mono;
        t->times++;
        t->order = ++fired_so_far;
        assert_int_equal(t->timer.place, 0);
}

static void set_tick(struct loop *l, struct tick *t, int64_t after_ms)
{
        t->loop = l;
        t->after_ms = after_ms;
        t->set = mono_read();
        loop_timer_set(l, &t->timer, after_ms, on_tick, t);
}

static void timers_fire_once_in_order_and_never_early(void **state)
{
        (void)state;
        static const int64_t after[] = {30, 0, 20, 10, 20, 5, 25, 15, 1, 0};
        enum { COUNT = sizeof after / sizeof after[0] };
        struct tick tick[COUNT] = {0};
        struct loop *l = loop_new();
        fired_so_far = 0;
        for (int i = 0; i < COUNT; i++)
                set_tick(l, &tick[i], after[i]);
        while (fired_so_far < COUNT)
                loop_turn(l, -1);
        for (int i = 0; i < COUNT; i++) {
                assert_int_equal(tick[i].times, 1);
                assert_true(tick[i].fired.ns - tick[i].set.ns >= after[i] * 1000000);
                for (int k = 0; k < COUNT; k++)
                        if (after[i] < after[k] || (after[i] == after[k] && i < k))
                                assert_true(tick[i].order < tick[k].order);
        }
        loop_free(l);
}

/* A model test: a thousand random sets, moves and stops against a plain array. */
static void the_heap_is_a_heap(void **state)
{
        (void)state;
        enum { COUNT = 200 };
        struct tick *tick = mem_new_array(COUNT, sizeof *tick);
        bool set[COUNT] = {0};
        struct loop *l = loop_new();
        srand(7);
        fired_so_far = 0;
        for (int step = 0; step < 4000; step++) {
                int i = rand() % COUNT;
                if (rand() % 3) {
                        set_tick(l, &tick[i], 5 + rand() % 20);
                        set[i] = true;
                } else {
                        loop_timer_stop(l, &tick[i].timer);
                        set[i] = false;
                }
                assert_int_equal(tick[i].timer.place != 0, set[i]);
        }
        int left = 0;
        for (int i = 0; i < COUNT; i++)
                left += tick[i].timer.place != 0;
        int before = fired_so_far;
        while (fired_so_far < before + left)
                loop_turn(l, -1);
        for (int i = 0; i < COUNT; i++)
                assert_int_equal(tick[i].timer.place, 0);
        assert_int_equal(fired_so_far, before + left);
        loop_free(l);
        mem_free(tick);
}

struct pair {
        struct loop *loop;
        struct loop_timer self, other;
        int fired;
};

static void stop_the_other(void *arg)
{
        struct pair *p = arg;
        p->fired++;
        loop_timer_stop(p->loop, &p->self);
        loop_timer_stop(p->loop, &p->other);
}

static void a_timer_may_stop_another_that_is_due(void **state)
{
        (void)state;
        struct pair p = {.loop = loop_new()};
        loop_timer_set(p.loop, &p.self, 0, stop_the_other, &p);
        loop_timer_set(p.loop, &p.other, 0, stop_the_other, &p);
        for (int i = 0; i < 5; i++)
                loop_turn(p.loop, 1);
        assert_int_equal(p.fired, 1);
        loop_free(p.loop);
}

static void again_at_once(void *arg)
{
        struct pair *p = arg;
        p->fired++;
        loop_timer_set(p->loop, &p->self, 0, again_at_once, p);
}

static void a_timer_set_to_zero_fires_once_a_turn(void **state)
{
        (void)state;
        struct pair p = {.loop = loop_new()};
        again_at_once(&p);
        for (int i = 0; i < 10; i++)
                loop_turn(p.loop, -1);
        assert_int_equal(p.fired, 11);
        loop_free(p.loop);
        assert_int_equal(p.self.place, 0);
}

/* Longer than the clock can tell is for ever, not long ago. */
static void a_timer_beyond_the_clock_does_not_fire(void **state)
{
        (void)state;
        static const int64_t after[] = {INT64_MAX, INT64_MAX / 1000000, INT64_MAX / 1000000 + 1, INT64_MAX / 1000};
        struct loop *l = loop_new();
        for (size_t i = 0; i < sizeof after / sizeof after[0]; i++) {
                struct tick tick = {0};
                set_tick(l, &tick, after[i]);
                loop_turn(l, 0);
                loop_turn(l, 0);
                assert_int_equal(tick.times, 0);
                loop_timer_stop(l, &tick.timer);
        }
        loop_free(l);
}

static void a_turn_without_anything_returns(void **state)
{
        (void)state;
        struct loop *l = loop_new();
        struct mono before = mono_read();
        loop_turn(l, 0);
        assert_true(mono_read().ns - before.ns < 500 * INT64_C(1000000));
        loop_turn(l, 10);
        assert_true(mono_read().ns - before.ns >= 10 * 1000000);
        loop_free(l);
}

/* --- descriptors -------------------------------------------------------------------------- */

struct pipes {
        struct loop *loop;
        int fd[2][2];
        int ready[2];
};

static void read_and_forget_the_other(void *arg, int fd, uint32_t events)
{
        struct pipes *p = arg;
        int i = fd == p->fd[1][0];
        char c;
        assert_true(events & EPOLLIN);
        assert_int_equal(read(fd, &c, 1), 1);
        p->ready[i]++;
        loop_watch(p->loop, p->fd[!i][0], 0, NULL, NULL);
}

/* Both are in one batch of epoll; the first to be called forgets the second. */
static void a_descriptor_forgotten_in_its_batch_is_not_called(void **state)
{
        (void)state;
        struct pipes p = {.loop = loop_new()};
        for (int i = 0; i < 2; i++) {
                assert_int_equal(pipe(p.fd[i]), 0);
                assert_int_equal(write(p.fd[i][1], "x", 1), 1);
                assert_int_equal(loop_watch(p.loop, p.fd[i][0], EPOLLIN, read_and_forget_the_other, &p), 0);
        }
        loop_turn(p.loop, 0);
        loop_turn(p.loop, 0);
        assert_int_equal(p.ready[0] + p.ready[1], 1);
        for (int i = 0; i < 2; i++) {
                close(p.fd[i][0]);
                close(p.fd[i][1]);
        }
        loop_free(p.loop);
}

static void count_ready(void *arg, int fd, uint32_t events)
{
        (void)fd, (void)events;
        ++*(int *)arg;
}

static void a_descriptor_reused_is_watched_again(void **state)
{
        (void)state;
        struct loop *l = loop_new();
        int a[2], b[2], ready = 0;
        assert_int_equal(pipe(a), 0);
        assert_int_equal(loop_watch(l, a[0], EPOLLIN, count_ready, &ready), 0);
        close(a[0]); /* without a word to the loop */
        close(a[1]);
        assert_int_equal(pipe(b), 0);
        assert_int_equal(b[0], a[0]);
        assert_int_equal(loop_watch(l, b[0], EPOLLIN, count_ready, &ready), 0);
        assert_int_equal(write(b[1], "x", 1), 1);
        loop_turn(l, 0);
        assert_int_equal(ready, 1);
        loop_watch(l, b[0], 0, NULL, NULL);
        loop_turn(l, 0);
        assert_int_equal(ready, 1);
        close(b[0]);
        close(b[1]);
        loop_free(l);
}

/* --- signals and posts -------------------------------------------------------------------- */

static void on_caught(void *arg, int signo)
{
        *(int *)arg = signo;
}

static void signals_come_through_the_loop(void **state)
{
        (void)state;
        struct loop *l = loop_new();
        int one = 0, two = 0;
        assert_int_equal(loop_signal(l, SIGUSR1, on_caught, &one), 0);
        assert_int_equal(loop_signal(l, SIGHUP, on_caught, &two), 0);
        kill(getpid(), SIGHUP);
        loop_turn(l, 100);
        assert_int_equal(two, SIGHUP);
        kill(getpid(), SIGUSR1);
        loop_turn(l, 100);
        assert_int_equal(one, SIGUSR1);
        loop_free(l);
}

enum { POSTS = 5000 };
struct posted {
        struct loop *loop;
        int next, made;
};
struct numbered {
        struct posted *p;
        int number;
};

static void on_post(void *arg)
{
        struct numbered *n = arg;
        assert_int_equal(n->number, n->p->next);
        if (++n->p->next == POSTS)
                loop_stop(n->p->loop);
        mem_free(n);
}

static void *post_all(void *arg)
{
        struct posted *p = arg;
        for (int i = 0; i < POSTS; i++) {
                struct numbered *n = MEM_NEW(struct numbered);
                *n = (struct numbered){p, i};
                loop_post(p->loop, on_post, n);
        }
        return NULL;
}

static void posts_from_another_thread_come_in_order(void **state)
{
        (void)state;
        struct posted p = {.loop = loop_new()};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, post_all, &p), 0);
        loop_run(p.loop);
        pthread_join(thread, NULL);
        assert_int_equal(p.next, POSTS);
        loop_free(p.loop);
}

static void post_again(void *arg)
{
        struct posted *p = arg;
        p->made++;
        loop_post(p->loop, post_again, p);
}

static void a_post_within_a_post_is_for_the_next_turn(void **state)
{
        (void)state;
        struct posted p = {.loop = loop_new()};
        loop_post(p.loop, post_again, &p);
        for (int i = 1; i <= 5; i++) {
                loop_turn(p.loop, -1);
                assert_int_equal(p.made, i);
        }
        loop_free(p.loop); /* with one still waiting */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(timers_fire_once_in_order_and_never_early),
                cmocka_unit_test(the_heap_is_a_heap),
                cmocka_unit_test(a_timer_may_stop_another_that_is_due),
                cmocka_unit_test(a_timer_set_to_zero_fires_once_a_turn),
                cmocka_unit_test(a_timer_beyond_the_clock_does_not_fire),
                cmocka_unit_test(a_turn_without_anything_returns),
                cmocka_unit_test(a_descriptor_forgotten_in_its_batch_is_not_called),
                cmocka_unit_test(a_descriptor_reused_is_watched_again),
                cmocka_unit_test(signals_come_through_the_loop),
                cmocka_unit_test(posts_from_another_thread_come_in_order),
                cmocka_unit_test(a_post_within_a_post_is_for_the_next_turn),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
