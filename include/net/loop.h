/*
 * The event loop: epoll, timers, signals, and functions posted from other threads. One thread runs the loop, and only
 * that thread may call its functions, except loop_post. All callbacks of one turn see the same time (loop_now).
 */
#ifndef HALFLIFE_NET_LOOP_H
#define HALFLIFE_NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct loop;
struct loop *loop_new(void);
void loop_free(struct loop *l); /* forgets remaining timers and descriptors without calling them */

/* loop_run runs until loop_stop. loop_turn runs one turn and waits at most wait_ms for events (0: not at all, -1:
 * without bound). */
void loop_run(struct loop *l);
void loop_turn(struct loop *l, int wait_ms);
void loop_stop(struct loop *l);
struct now loop_now(const struct loop *l);

/* The caller owns the timer's memory; {0} is an idle timer. A set timer fires once, when after_ms have passed, in a
 * later turn than the one that set it, and is then idle. A time beyond 292 years never comes. Setting a timer again
 * moves it. */
struct loop_timer {
        struct mono due;
        uint64_t serial; /* of timers due together, the one set first fires first */
        void (*fire)(void *arg);
        void *arg;
        size_t place; /* index in the loop's heap, from 1; 0: idle */
};
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t after_ms, void (*fire)(void *arg), void *arg);
void loop_timer_stop(struct loop *l, struct loop_timer *t);

/* Watch a file descriptor for events (EPOLLIN, EPOLLOUT). A later call for fd replaces the earlier one; events 0 ends
 * the watch. Returns 0, or ERR_IO with errno set; fd is then not watched. */
int loop_watch(struct loop *l, int fd, uint32_t events, void (*ready)(void *arg, int fd, uint32_t events), void *arg);

/* Handle a signal on the loop. The signal is blocked in this thread and in threads that it creates later. Returns 0, or
 * ERR_IO with errno set. */
int loop_signal(struct loop *l, int signo, void (*caught)(void *arg, int signo), void *arg);

/* Run fn(arg) on the loop's thread, in the order of posting. Any thread may call this. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);

#endif
