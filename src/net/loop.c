#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mailbox.h"
#include "base/mem.h"

enum { EVENTS_A_TURN = 64, SIGNALS = 65 };

struct watch {
        uint32_t events; /* 0: not watched */
        uint32_t serial; /* differs from the serials of earlier watches of this descriptor number */
        void (*ready)(void *arg, int fd, uint32_t events);
        void *arg;
};

struct post {
        struct mailbox_item item;
        void (*fn)(void *arg);
        void *arg;
};

struct loop {
        int epoll, wake, signals;
        struct now now;
        bool turning, stopped;

        struct watch *watch; /* indexed by descriptor */
        size_t watches;
        uint32_t serial;

        struct loop_timer **heap; /* heap[0] is unused: places are 1-based */
        size_t timers, heap_cap;
        uint64_t timer_serial;

        sigset_t caught;
        struct {
                void (*caught)(void *arg, int signo);
                void *arg;
        } signal[SIGNALS];

        struct mailbox posts;
};

/* --- descriptors --- */

static uint64_t watch_tag(const struct loop *l, int fd)
{
        return (uint64_t)l->watch[fd].serial << 32 | (uint32_t)fd;
}

static void watch_forget(struct loop *l, int fd)
{
        if ((size_t)fd >= l->watches || l->watch[fd].events == 0)
                return;
        l->watch[fd] = (struct watch){0};
        (void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, fd,
                        NULL); /* fails when fd is closed: then epoll has dropped fd itself */
}

int loop_watch(struct loop *l, int fd, uint32_t events, void (*ready)(void *arg, int fd, uint32_t events), void *arg)
{
        assert(fd >= 0);
        if (events == 0) {
                watch_forget(l, fd);
                return 0;
        }
        if ((size_t)fd >= l->watches) {
                size_t count = (size_t)fd + 64;
                l->watch = mem_resize(l->watch, count, sizeof *l->watch);
                memset(l->watch + l->watches, 0, (count - l->watches) * sizeof *l->watch);
                l->watches = count;
        }
        bool known = l->watch[fd].events != 0;
        uint32_t serial = known ? l->watch[fd].serial : ++l->serial;
        l->watch[fd] = (struct watch){.events = events, .serial = serial, .ready = ready, .arg = arg};

        struct epoll_event e = {.events = events, .data.u64 = watch_tag(l, fd)};
        int rc = epoll_ctl(l->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e);
        if (rc < 0 && known && errno == ENOENT) /* fd was closed, and another descriptor has its number now */
                rc = epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e);
        if (rc < 0) {
                l->watch[fd] = (struct watch){0};
                return ERR_IO;
        }
        return 0;
}

/* Call a watch for an event, if the tag is still the same: an earlier callback of this turn may have ended or replaced
 * the watch. */
static void watch_call(struct loop *l, const struct epoll_event *e)
{
        int fd = (int)(uint32_t)e->data.u64;
        const struct watch *w = &l->watch[fd];
        if (w->events != 0 && watch_tag(l, fd) == e->data.u64)
                w->ready(w->arg, fd, e->events);
}

/* --- timers: a binary heap by due time, and those due together by when they were set --- */

static bool fires_before(const struct loop_timer *a, const struct loop_timer *b)
{
        return a->due.ns != b->due.ns ? a->due.ns < b->due.ns : a->serial < b->serial;
}

static void heap_put(struct loop *l, size_t place, struct loop_timer *t)
{
        l->heap[place] = t;
        t->place = place;
}

static void heap_rise(struct loop *l, size_t place, struct loop_timer *t)
{
        while (place > 1 && fires_before(t, l->heap[place / 2])) {
                heap_put(l, place, l->heap[place / 2]);
                place /= 2;
        }
        heap_put(l, place, t);
}

static void heap_sink(struct loop *l, size_t place, struct loop_timer *t)
{
        for (size_t child; (child = 2 * place) <= l->timers; place = child) {
                if (child < l->timers && fires_before(l->heap[child + 1], l->heap[child]))
                        child++;
                if (fires_before(t, l->heap[child]))
                        break;
                heap_put(l, place, l->heap[child]);
        }
        heap_put(l, place, t);
}

void loop_timer_stop(struct loop *l, struct loop_timer *t)
{
        size_t place = t->place;
        if (place == 0)
                return;
        assert(place <= l->timers && l->heap[place] == t);
        t->place = 0;
        struct loop_timer *last = l->heap[l->timers--];
        if (last == t)
                return;
        if (place > 1 && fires_before(last, l->heap[place / 2]))
                heap_rise(l, place, last);
        else
                heap_sink(l, place, last);
}

void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t after_ms, void (*fire)(void *arg), void *arg)
{
        loop_timer_stop(l, t);
        if (l->timers + 2 > l->heap_cap) {
                l->heap_cap = l->heap_cap ? 2 * l->heap_cap : 64;
                l->heap = mem_resize(l->heap, l->heap_cap, sizeof(struct loop_timer *));
        }
        t->due = mono_after(loop_now(l).mono, after_ms > 0 ? after_ms : 0);
        t->serial = ++l->timer_serial;
        t->fire = fire;
        t->arg = arg;
        heap_rise(l, ++l->timers, t);
}

/* Fire due timers with serials up to `last`. Timers set in this turn wait for the next, so a timer set to 0 ms fires
 * once a turn. */
static void fire_timers(struct loop *l, uint64_t last)
{
        while (l->timers > 0 && l->heap[1]->due.ns <= l->now.mono.ns && l->heap[1]->serial <= last) {
                struct loop_timer *t = l->heap[1];
                loop_timer_stop(l, t);
                t->fire(t->arg);
        }
}

/* How long epoll may wait for the next timer, in ms, rounded up so that no timer fires early. */
static int wait_for_timers(const struct loop *l, int wait_ms)
{
        if (l->timers == 0)
                return wait_ms;
        int64_t left_ns = l->heap[1]->due.ns - l->now.mono.ns;
        int64_t ms = left_ns <= 0 ? 0 : (left_ns - 1) / 1000000 + 1;
        if (wait_ms >= 0 && wait_ms < ms)
                return wait_ms;
        return ms < HOUR_MS ? (int)ms : HOUR_MS;
}

/* --- signals and posts --- */

static void signals_ready(void *arg, int fd, uint32_t events)
{
        struct loop *l = arg;
        (void)events;
        struct signalfd_siginfo info;
        while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
                assert(info.ssi_signo < SIGNALS);
                if (l->signal[info.ssi_signo].caught)
                        l->signal[info.ssi_signo].caught(l->signal[info.ssi_signo].arg, (int)info.ssi_signo);
        }
}

int loop_signal(struct loop *l, int signo, void (*caught)(void *arg, int signo), void *arg)
{
        assert(signo > 0 && signo < SIGNALS);
        sigaddset(&l->caught, signo);
        int fd = signalfd(l->signals, &l->caught, SFD_NONBLOCK | SFD_CLOEXEC);
        if (fd < 0 || pthread_sigmask(SIG_BLOCK, &l->caught, NULL) != 0)
                return ERR_IO;
        l->signals = fd;
        l->signal[signo].caught = caught;
        l->signal[signo].arg = arg;
        return loop_watch(l, fd, EPOLLIN, signals_ready, l);
}

void loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
        struct post *p = MEM_NEW(struct post);
        p->fn = fn;
        p->arg = arg;
        (void)mailbox_post(&l->posts, &p->item); /* cannot fail: the mailbox has no bound and is never closed */
}

static void loop_wake(void *arg)
{
        const struct loop *l = arg;
        ssize_t put = write(l->wake, &(uint64_t){1}, sizeof(uint64_t));
        assert(put == (ssize_t)sizeof(uint64_t));
}

/* Run the posted functions. Functions posted meanwhile wait for the next turn. */
static void posts_ready(void *arg, int fd, uint32_t events)
{
        struct loop *l = arg;
        (void)events;
        uint64_t count;
        if (read(fd, &count, sizeof count) < 0)
                return;
        struct mailbox_items posts;
        mailbox_drain(&l->posts, &posts);
        for (struct post *p; (p = mailbox_items_next(&posts));) {
                p->fn(p->arg);
                mem_free(p);
        }
}

/* --- the loop --- */

struct loop *loop_new(void)
{
        struct loop *l = MEM_NEW(struct loop);
        l->epoll = epoll_create1(EPOLL_CLOEXEC);
        l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        l->signals = -1;
        assert(l->epoll >= 0 && l->wake >= 0); /* this fails only in a process that starts without free descriptors */
        sigemptyset(&l->caught);
        mailbox_init(&l->posts, 0, loop_wake, l);
        int rc = loop_watch(l, l->wake, EPOLLIN, posts_ready, l);
        assert(rc == 0);
        return l;
}

void loop_free(struct loop *l)
{
        if (!l)
                return;
        assert(!l->turning);
        struct mailbox_items posts;
        mailbox_drain(&l->posts, &posts);
        for (struct post *p; (p = mailbox_items_next(&posts));)
                mem_free(p);
        while (l->timers > 0)
                loop_timer_stop(l, l->heap[l->timers]);
        if (l->signals >= 0)
                close(l->signals);
        close(l->wake);
        close(l->epoll);
        mailbox_release(&l->posts);
        mem_free(l->watch);
        mem_free(l->heap);
        mem_free(l);
}

/* Outside a turn, read the clock, so that a timer set before the first turn counts from the time of the call. */
struct now loop_now(const struct loop *l)
{
        return l->turning ? l->now : now_read();
}

void loop_turn(struct loop *l, int wait_ms)
{
        assert(!l->turning); /* no turn within a turn */
        l->turning = true;
        l->now = now_read();
        uint64_t last_timer = l->timer_serial;
        struct epoll_event event[EVENTS_A_TURN];
        int count = epoll_wait(l->epoll, event, EVENTS_A_TURN, wait_for_timers(l, wait_ms));
        assert(count >= 0 || errno == EINTR);
        l->now = now_read();
        for (int i = 0; i < count; i++)
                watch_call(l, &event[i]);
        fire_timers(l, last_timer);
        l->turning = false;
}

void loop_run(struct loop *l)
{
        l->stopped = false;
        while (!l->stopped)
                loop_turn(l, -1);
}

void loop_stop(struct loop *l)
{
        l->stopped = true;
}
