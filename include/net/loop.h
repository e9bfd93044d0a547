/*
 * The event loop: epoll, timers, signals, and work posted from other threads. One thread runs it and owns all that
 * hangs on it. The time is read once a turn; callbacks get it by loop_now.
 */
#ifndef HALFLIFE_NET_LOOP_H
#define HALFLIFE_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct loop;
struct loop *loop_new(void);
void loop_free(struct loop *l); /* timers and fds left are dropped without a call */

/* Run until loop_stop; or one turn, waiting at most wait_ms (0: do not wait, -1: for ever). */
void loop_run(struct loop *l);
void loop_turn(struct loop *l, int wait_ms);
void loop_stop(struct loop *l);
struct now loop_now(const struct loop *l);

/* A timer is the caller's memory, {0} when idle; it fires once, later than after_ms, then is idle (never, where that is
 * beyond 292 years). Setting it again moves it. */
struct loop_timer {
        struct mono due;
        void (*fire)(void *arg);
        void *arg;
        size_t place; /* in the heap, 1-based; 0: idle */
};
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t after_ms, void (*fire)(void *arg), void *arg);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* Watch a file descriptor; events are EPOLLIN | EPOLLOUT. Setting again replaces; events 0 forgets it. Returns 0, or
 * ERR_IO with errno, and then it is not watched. */
int loop_watch(struct loop *l, int fd, uint32_t events, void (*ready)(void *arg, int fd, uint32_t events), void *arg);

/* Take a signal through the loop (blocked in this and later threads). Returns 0, or ERR_IO with errno. */
int loop_signal(struct loop *l, int signo, void (*caught)(void *arg, int signo), void *arg);

/* From any thread: run fn(arg) on the loop's thread, in order. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);

#endif
