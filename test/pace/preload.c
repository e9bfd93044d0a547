/*
 * Inside each process of the group (see pace.h): clocks read the shared page, and a timed wait is an endless one that
 * notes when it is due and is woken by a signal. Waits on conditions are woken by a thread of our own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "pace.h"

enum { A_SECOND = 1000000000 };

static struct pace_page *page;
static uint64_t number; /* of this process; 0: chance is left to the kernel */
static __thread struct pace_slot *own;
static __thread volatile sig_atomic_t ticked;

static void on_tick(int signo)
{
        (void)signo;
        ticked = 1;
}

__attribute__((constructor)) static void pace_join(void)
{
        const char *path = getenv("PACE");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0)
                close(fd);
        if (at == MAP_FAILED)
                return;
        struct sigaction action = {.sa_handler = on_tick};
        sigaction(PACE_TICK, &action, NULL);
        page = at;
        if (getenv("PACE_NO_CHANCE"))
                number = (uint64_t)__atomic_add_fetch(&page->processes, 1, __ATOMIC_SEQ_CST);
}

/* --- chance --- */

/* The same at every call, so that the order of callers does not matter. */
static void fill(unsigned char *ret, size_t len, uint64_t salt)
{
        for (size_t i = 0; i < len; i++) {
                uint64_t z = (salt + 1 + i / 8) * 0x9e3779b97f4a7c15u;
                z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
                z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
                ret[i] = (unsigned char)((z ^ (z >> 31)) >> (i % 8 * 8));
        }
}

ssize_t getrandom(void *ret, size_t len, unsigned flags)
{
        if (!number)
                return syscall(SYS_getrandom, ret, len, flags);
        fill(ret, len, number << 8);
        return (ssize_t)len;
}

int getentropy(void *ret, size_t len)
{
        if (!number)
                return syscall(SYS_getrandom, ret, len, 0) == (ssize_t)len ? 0 : -1;
        fill(ret, len, 0); /* the order of maps, alike in all */
        return 0;
}

/* --- clocks --- */

static int64_t mono_now(void)
{
        return __atomic_load_n(&page->mono_ns, __ATOMIC_SEQ_CST);
}

static struct timespec spec_of(int64_t ns)
{
        return (struct timespec){.tv_sec = ns / A_SECOND, .tv_nsec = ns % A_SECOND};
}

static int64_t ns_of(const struct timespec *t)
{
        return t->tv_sec > INT64_MAX / A_SECOND / 4 ? PACE_NEVER / 4 : (int64_t)t->tv_sec * A_SECOND + t->tv_nsec;
}

static bool is_wall(clockid_t id)
{
        return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI;
}

static bool is_mono(clockid_t id)
{
        return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE ||
               id == CLOCK_BOOTTIME;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
        if (!page || (!is_wall(id) && !is_mono(id)))
                return (int)syscall(SYS_clock_gettime, id, ret);
        *ret = spec_of(mono_now() + (is_wall(id) ? page->wall_less_mono_ns : 0));
        return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
        struct timespec t;
        (void)zone;
        clock_gettime(CLOCK_REALTIME, &t);
        *ret = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
        return 0;
}

time_t time(time_t *ret)
{
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        if (ret)
                *ret = t.tv_sec;
        return t.tv_sec;
}

/* --- waits for files and for time alone --- */

static struct pace_slot *slot_find(void)
{
        int32_t tid = (int32_t)syscall(SYS_gettid);
        if (own && own->tid == tid)
                return own;
        for (size_t i = 0; i < PACE_SLOTS; i++) {
                int32_t none = 0;
                if (page->slot[i].tid == tid || __atomic_compare_exchange_n(&page->slot[i].tid, &none, tid, false,
                                                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                        own = &page->slot[i];
                        own->due_ns = PACE_NEVER;
                        own->pid = (int32_t)getpid();
                        return own;
                }
        }
        abort();
}

static int poll_now(struct pollfd *fds, nfds_t count, const struct timespec *for_how_long, const sigset_t *mask)
{
        return (int)syscall(SYS_ppoll, fds, count, for_how_long, mask, (size_t)8);
}

/* The tick is blocked but inside ppoll, so that none is lost between the look at the clock and the wait. */
static int wait_until(struct pollfd *fds, nfds_t count, int64_t due_ns, const sigset_t *mask)
{
        sigset_t tick, before, inside;
        struct pace_slot *slot = slot_find();
        int rc;
        sigemptyset(&tick);
        sigaddset(&tick, PACE_TICK);
        pthread_sigmask(SIG_BLOCK, &tick, &before);
        inside = mask ? *mask : before;
        sigdelset(&inside, PACE_TICK);
        for (;;) {
                struct timespec none = {0};
                ticked = 0;
                __atomic_store_n(&slot->due_ns, due_ns, __ATOMIC_SEQ_CST);
                bool late = mono_now() >= due_ns;
                struct timespec rest = none;
                rc = poll_now(fds, count, late ? &rest : NULL, &inside);
                if (rc >= 0 || errno != EINTR || !ticked)
                        break;
        }
        int error = errno;
        __atomic_store_n(&slot->due_ns, PACE_NEVER, __ATOMIC_SEQ_CST);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        errno = error;
        return rc;
}

static int64_t due_in(int64_t ns)
{
        return ns < 0 ? PACE_NEVER : mono_now() + ns;
}

int poll(struct pollfd *fds, nfds_t count, int ms)
{
        if (page && ms > 0)
                return wait_until(fds, count, due_in((int64_t)ms * 1000000), NULL);
        struct timespec none = {0};
        return poll_now(fds, count,
                        ms < 0 ? NULL
                        : page ? &none
                               : &(struct timespec){ms / 1000, ms % 1000 * 1000000L},
                        NULL);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *left, const sigset_t *mask)
{
        if (page && left && ns_of(left) > 0)
                return wait_until(fds, count, due_in(ns_of(left)), mask);
        struct timespec copy = left ? *left : (struct timespec){0};
        return poll_now(fds, count, left ? &copy : NULL, mask);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room);
int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room)
{
        (void)room;
        return poll(fds, count, ms);
}

int epoll_pwait(int epoll, struct epoll_event *ret, int most, int ms, const sigset_t *mask)
{
        if (page && ms > 0) {
                struct pollfd fd = {.fd = epoll, .events = POLLIN};
                if (wait_until(&fd, 1, due_in((int64_t)ms * 1000000), mask) < 0)
                        return -1;
                ms = 0;
        }
        return (int)syscall(SYS_epoll_pwait, epoll, ret, most, ms, mask, (size_t)8);
}

int epoll_wait(int epoll, struct epoll_event *ret, int most, int ms)
{
        return epoll_pwait(epoll, ret, most, ms, NULL);
}

int pselect(int most, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad,
            const struct timespec *restrict left, const sigset_t *restrict mask)
{
        struct pollfd fds[FD_SETSIZE];
        nfds_t count = 0;
        for (int fd = 0; fd < most && fd < FD_SETSIZE; fd++) {
                int events = (in && FD_ISSET(fd, in) ? POLLIN : 0) | (out && FD_ISSET(fd, out) ? POLLOUT : 0) |
                             (bad && FD_ISSET(fd, bad) ? POLLPRI : 0);
                if (events)
                        fds[count++] = (struct pollfd){.fd = fd, .events = (short)events};
        }
        int rc = ppoll(fds, count, left, mask), ready = 0;
        if (rc < 0)
                return rc;
        for (nfds_t i = 0; i < count; i++) {
                fd_set *const set[] = {in, out, bad};
                const int what[] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
                for (int k = 0; k < 3; k++) {
                        if (!set[k] || !FD_ISSET(fds[i].fd, set[k]))
                                continue;
                        if (fds[i].revents & what[k])
                                ready++;
                        else
                                FD_CLR(fds[i].fd, set[k]);
                }
        }
        return ready;
}

int select(int most, fd_set *restrict in, fd_set *restrict out, fd_set *restrict bad, struct timeval *restrict left)
{
        struct timespec t = left ? (struct timespec){left->tv_sec, left->tv_usec * 1000} : (struct timespec){0};
        return pselect(most, in, out, bad, left ? &t : NULL, NULL);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *ret_left)
{
        if (!page)
                return syscall(SYS_clock_nanosleep, id, flags, t, ret_left) < 0 ? errno : 0;
        int64_t due = !(flags & TIMER_ABSTIME) ? due_in(ns_of(t))
                      : is_wall(id)            ? ns_of(t) - page->wall_less_mono_ns
                                               : ns_of(t);
        if (wait_until(NULL, 0, due, NULL) == 0)
                return 0;
        if (ret_left)
                *ret_left = spec_of(due > mono_now() ? due - mono_now() : 0);
        return errno;
}

int nanosleep(const struct timespec *t, struct timespec *ret_left)
{
        int rc = clock_nanosleep(CLOCK_MONOTONIC, 0, t, ret_left);
        errno = rc;
        return rc ? -1 : 0;
}

int usleep(useconds_t us)
{
        struct timespec t = spec_of((int64_t)us * 1000);
        return nanosleep(&t, NULL);
}

unsigned sleep(unsigned s)
{
        struct timespec t = {.tv_sec = s}, left = {0};
        return nanosleep(&t, &left) < 0 ? (unsigned)left.tv_sec : 0;
}

/* --- waits for conditions --- */

enum { CONDITIONS = 256 };
static struct {
        pthread_mutex_t lock;
        struct {
                pthread_cond_t *cond;
                int64_t due_ns;
        } at[CONDITIONS];
        int wake[2];
        pid_t of; /* the process that has the thread */
} timed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *conditions_wake(void *arg)
{
        (void)arg;
        for (;;) {
                char said[64];
                int64_t next = PACE_NEVER;
                pthread_mutex_lock(&timed.lock);
                for (size_t i = 0; i < CONDITIONS; i++) {
                        if (!timed.at[i].cond)
                                continue;
                        if (timed.at[i].due_ns <= mono_now()) {
                                pthread_cond_broadcast(timed.at[i].cond);
                                timed.at[i].cond = NULL;
                        } else if (timed.at[i].due_ns < next) {
                                next = timed.at[i].due_ns;
                        }
                }
                pthread_mutex_unlock(&timed.lock);
                struct pollfd fd = {.fd = timed.wake[0], .events = POLLIN};
                if (wait_until(&fd, 1, next, NULL) > 0)
                        (void)!read(fd.fd, said, sizeof said);
        }
        return NULL;
}

static void conditions_begin(void)
{
        sigset_t all, before;
        pthread_t thread;
        if (timed.of == getpid())
                return;
        timed.of = getpid();
        memset(timed.at, 0, sizeof timed.at);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pipe2(timed.wake, O_CLOEXEC) < 0 || pthread_create(&thread, NULL, conditions_wake, NULL) != 0)
                abort();
        pthread_detach(thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int condition_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
        /* The two clocks lie so far apart that the value tells which is meant. */
        int64_t due = ns_of(until) - (until->tv_sec > A_SECOND ? page->wall_less_mono_ns : 0);
        size_t i = 0;
        if (mono_now() >= due)
                return ETIMEDOUT;
        pthread_mutex_lock(&timed.lock);
        conditions_begin();
        while (i < CONDITIONS && timed.at[i].cond)
                i++;
        if (i == CONDITIONS)
                abort();
        timed.at[i].cond = cond;
        timed.at[i].due_ns = due;
        pthread_mutex_unlock(&timed.lock);
        (void)!write(timed.wake[1], "", 1);
        pthread_cond_wait(cond, mutex);
        pthread_mutex_lock(&timed.lock);
        if (timed.at[i].cond == cond && timed.at[i].due_ns == due)
                timed.at[i].cond = NULL;
        pthread_mutex_unlock(&timed.lock);
        return mono_now() >= due ? ETIMEDOUT : 0;
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
        typedef int timed_wait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
        static timed_wait *real;
        if (page)
                return condition_wait(cond, mutex, until);
        if (!real)
                *(void **)&real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
        return real(cond, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t id,
                           const struct timespec *restrict until)
{
        (void)id;
        return pthread_cond_timedwait(cond, mutex, until);
}
