/*
 * pace SO SECONDS COMMAND...: runs a command and all that it starts by a clock of its own (see pace.h), which begins at
 * 2026-03-04T05:06:07Z, and ends as it ends. SECONDS, by the real clock, are the most that it may take.
 *
 * All wait when every thread sleeps, and none has run since a while before: Linux counts in /proc how often and how
 * long each did. What one sends another over loopback mostly arrives before the sender is back, but a busy kernel puts
 * it off; what a processor has put off it does in order, so meanwhile a packet of our own goes round on each processor
 * that the group may use.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pace.h"

enum { A_SECOND = 1000000000, APART_NS = 250000, PAUSE_NS = 4000000, THREADS = 4096, PROCESSORS = 2 };
static const int64_t began_mono_ns = 10000000ll * A_SECOND, began_wall_ns = 1772600767ll * A_SECOND;

/* A thread. Its files in /proc are kept open: to open one costs more than to read it. */
struct watched {
        int pid, tid; /* tid 0: free */
        int stat, ran, children;
        DIR *threads;      /* of its process; NULL but for the first thread */
        bool seen, ended;  /* by this look */
        char before[2048]; /* what the file of how it ran said at the last glance */
};
static struct watched watched[THREADS];
static int watched_count;
static const char *ran_file = "schedstat"; /* a kernel that does not count there counts in status, which costs more */

static int open_of(int pid, int tid, const char *name)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
        return open(path, O_RDONLY | O_CLOEXEC);
}

static void close_of(int fd)
{
        if (fd >= 0)
                close(fd);
}

static void watched_close(struct watched *w)
{
        close_of(w->stat);
        close_of(w->ran);
        close_of(w->children);
        if (w->threads)
                closedir(w->threads);
        w->tid = 0;
}

static size_t read_again(int fd, char *ret, size_t room)
{
        ssize_t len = fd < 0 ? -1 : pread(fd, ret, room - 1, 0);
        ret[len > 0 ? len : 0] = '\0';
        return len > 0 ? (size_t)len : 0;
}

static struct watched *watched_find(int tid)
{
        for (int i = 0; tid && i < watched_count; i++)
                if (watched[i].tid == tid)
                        return &watched[i];
        return NULL;
}

static struct watched *watched_of(int pid, int tid)
{
        struct watched *w = watched_find(tid);
        if (w)
                return w;
        for (int i = 0; i < watched_count && !w; i++)
                if (!watched[i].tid)
                        w = &watched[i];
        if (!w && watched_count == THREADS)
                return NULL;
        if (!w)
                w = &watched[watched_count++];
        *w = (struct watched){.pid = pid, .tid = tid, .children = open_of(pid, tid, "children")};
        w->stat = open_of(pid, tid, "stat");
        w->ran = open_of(pid, tid, ran_file);
        return w;
}

enum { GONE = '\0' }; /* beside the kernel's states: 'S' sleeps, 'Z' and 'X' have ended */

static char state_of(const struct watched *w)
{
        char text[1024];
        read_again(w->stat, text, sizeof text);
        const char *name_end = strrchr(text, ')');
        return name_end && name_end[1] ? name_end[2] : GONE;
}

/* How often and how long each thread that is known has run. */
static void glance(void)
{
        for (int i = 0; i < watched_count; i++)
                if (watched[i].tid)
                        read_again(watched[i].ran, watched[i].before, sizeof watched[i].before);
}

/* Not seen: its number is another thread's by now, or nobody's. */
static bool has_waited(struct watched *w)
{
        char state = state_of(w), text[sizeof w->before];
        w->seen = state != GONE;
        w->ended = state == 'Z' || state == 'X' || state == GONE;
        if (w->ended)
                return true;
        read_again(w->ran, text, sizeof text);
        return state == 'S' && strcmp(text, w->before) == 0;
}

static struct watched *look_at(int pid);

static struct watched *look_at_children(const struct watched *w)
{
        char text[8192];
        struct watched *busy = NULL;
        read_again(w->children, text, sizeof text);
        for (char *at = text, *next; *at && !busy; at = next) {
                int child = (int)strtol(at, &next, 10);
                if (child <= 0)
                        break;
                busy = look_at(child);
                while (*next == ' ')
                        next++;
        }
        return busy;
}

/* The threads of a process. Its first one keeps the folder open. */
static DIR *threads_of(int pid)
{
        char path[64];
        struct watched *first = watched_of(pid, pid);
        if (!first)
                return NULL;
        if (first->threads) {
                rewinddir(first->threads);
                return first->threads;
        }
        snprintf(path, sizeof path, "/proc/%d/task", pid);
        return first->threads = opendir(path);
}

/* A process, its threads and, by the file of each thread, its children: one that has not waited since the glance. */
static struct watched *look_at(int pid)
{
        struct watched *busy = NULL;
        DIR *d = threads_of(pid);
        for (struct dirent *e; !busy && d && (e = readdir(d));) {
                int tid = atoi(e->d_name);
                struct watched *w = tid > 0 ? watched_of(pid, tid) : NULL;
                if (!w)
                        continue;
                if (pid == getpid())
                        w->seen = true;
                else if (!has_waited(w))
                        return w;
                if (w->seen)
                        busy = look_at_children(w);
        }
        return busy;
}

/* Have all waited since the glance? Else ret_busy is one that has not, or 0: a thread has ended. */
static bool look(int *ret_busy)
{
        bool ended = false;
        for (int i = 0; i < watched_count; i++)
                watched[i].seen = false;
        const struct watched *busy = look_at(getpid());
        *ret_busy = busy ? busy->tid : 0;
        if (busy)
                return false;
        for (int i = 0; i < watched_count; i++)
                if (watched[i].tid && !watched[i].seen) {
                        watched_close(&watched[i]);
                        ended = true;
                }
        return !ended;
}

static bool is_there(const struct pace_slot *s)
{
        const struct watched *w = watched_find(s->tid);
        return w && w->pid == s->pid && !w->ended;
}

/* To the next moment that somebody waits for: the last thread of those that it wakes, or 0 where nobody waits for any.
 */
static int move(struct pace_page *page)
{
        int64_t next = PACE_NEVER;
        for (size_t i = 0; i < PACE_SLOTS; i++) {
                struct pace_slot *s = &page->slot[i];
                if (s->tid && !is_there(s)) {
                        s->due_ns = PACE_NEVER;
                        __atomic_store_n(&s->tid, 0, __ATOMIC_SEQ_CST);
                } else if (s->tid && s->due_ns < next) {
                        next = s->due_ns;
                }
        }
        if (next == PACE_NEVER)
                return 0;
        if (next > page->mono_ns)
                __atomic_store_n(&page->mono_ns, next, __ATOMIC_SEQ_CST);
        int woken = 0;
        for (size_t i = 0; i < PACE_SLOTS; i++)
                if (page->slot[i].tid && page->slot[i].due_ns <= page->mono_ns) {
                        woken = page->slot[i].tid;
                        syscall(SYS_tgkill, page->slot[i].pid, woken, PACE_TICK);
                }
        return woken;
}

static void pause_ns(long ns)
{
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* --- what the kernel has put off --- */

static struct {
        cpu_set_t all, each[PROCESSORS];
        int count, socket;
} machine;

/* The group is held to a few processors, each group to others. */
static void machine_take(void)
{
        cpu_set_t may;
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof at;
        sched_getaffinity(0, sizeof may, &may);
        for (int k = 0, first = getpid() * PROCESSORS; k < CPU_SETSIZE && machine.count < PROCESSORS; k++) {
                int cpu = (first + k) % CPU_SETSIZE;
                if (!CPU_ISSET((unsigned)cpu, &may))
                        continue;
                CPU_SET((unsigned)cpu, &machine.all);
                CPU_SET((unsigned)cpu, &machine.each[machine.count++]);
        }
        sched_setaffinity(0, sizeof machine.all, &machine.all);
        machine.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (machine.socket < 0 || bind(machine.socket, (struct sockaddr *)&at, len) < 0 ||
            getsockname(machine.socket, (struct sockaddr *)&at, &len) < 0 ||
            connect(machine.socket, (struct sockaddr *)&at, len) < 0) {
                perror("pace");
                exit(2);
        }
}

static void machine_flush(void)
{
        char c = 0;
        for (int i = 0; i < machine.count; i++) {
                sched_setaffinity(0, sizeof machine.each[i], &machine.each[i]);
                if (send(machine.socket, &c, 1, 0) == 1)
                        (void)!recv(machine.socket, &c, 1, 0);
        }
        sched_setaffinity(0, sizeof machine.all, &machine.all);
}

static bool works(int tid)
{
        const struct watched *w = watched_find(tid);
        char state = w ? state_of(w) : GONE;
        return state != 'S' && state != 'Z' && state != 'X' && state != GONE;
}

/* Who lives has not waited since a glance that saw nothing, and so is found, one a look. */
static void kill_all(void)
{
        enum { LOOKS = 10000 };
        for (int k = 0, busy = 1; busy && k < LOOKS; k++) {
                for (int i = 0; i < watched_count; i++)
                        watched[i].before[0] = '\0';
                if (!look(&busy) && busy)
                        kill(watched_find(busy)->pid, SIGKILL);
        }
}

static int drive(struct pace_page *page, pid_t child, long seconds)
{
        struct timespec t;
        int busy = 0;          /* a thread that worked when all were looked at */
        long pause = APART_NS; /* it is looked at again after a while, which grows */
        clock_gettime(CLOCK_MONOTONIC, &t);
        for (time_t end = t.tv_sec + seconds; t.tv_sec < end; clock_gettime(CLOCK_MONOTONIC, &t)) {
                int status;
                pid_t ended;
                while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
                        if (ended == child)
                                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                if (works(busy)) {
                        pause_ns(pause);
                        pause = pause < PAUSE_NS ? 2 * pause : PAUSE_NS;
                        continue;
                }
                pause = APART_NS;
                glance();
                pause_ns(APART_NS);
                machine_flush();
                if (look(&busy))
                        busy = move(page);
        }
        fprintf(stderr, "pace: not done after %ld s\n", seconds);
        kill_all();
        return 124;
}

/* Does this kernel count how often its threads run where that is cheap to read? */
static void ran_file_choose(void)
{
        char text[128];
        int fd = open_of(getpid(), getpid(), ran_file);
        read_again(fd, text, sizeof text);
        close_of(fd);
        const char *times = strrchr(text, ' ');
        if (!times || atol(times) == 0)
                ran_file = "status";
}

int main(int argc, char **argv)
{
        char path[] = "/tmp/pace-XXXXXX";
        if (argc < 4) {
                fputs("usage: pace SO SECONDS COMMAND...\n", stderr);
                return 2;
        }
        int fd = mkstemp(path);
        if (fd < 0 || ftruncate(fd, sizeof(struct pace_page)) < 0) {
                perror("pace");
                return 2;
        }
        struct pace_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED) {
                perror("pace");
                return 2;
        }
        page->mono_ns = began_mono_ns;
        page->wall_less_mono_ns = began_wall_ns - began_mono_ns;
        machine_take();
        ran_file_choose();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        setenv("PACE", path, 1);
        setenv("LD_PRELOAD", argv[1], 1);
        pid_t child = fork();
        if (child == 0) {
                execvp(argv[3], argv + 3);
                perror(argv[3]);
                _exit(127);
        }
        unsetenv("LD_PRELOAD");
        int rc = child < 0 ? 2 : drive(page, child, atol(argv[2]));
        unlink(path);
        return rc;
}
