/*
 * pace SO SECONDS COMMAND...: runs a command and all that it starts by a clock of its own (see pace.h), which begins at
 * 2026-03-04T05:06:07Z, and ends as it ends. SECONDS, by the real clock, are the most that it may take.
 *
 * All wait when every thread sleeps, and none has been switched to between two looks: Linux counts that in /proc. What
 * one sends another over loopback mostly arrives before the sender is back, but a busy kernel puts it off; what a
 * processor has put off it does in order, so between the looks a packet of our own goes round on each processor that
 * the group may use.
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

struct look {
        int count;
        struct {
                int pid, tid;
                unsigned long switches;
        } at[THREADS];
        bool asleep; /* all of them */
};

/* A thread's files in /proc are kept open: to open one costs more than to read it. */
struct watched {
        int tid, status, children; /* tid 0: free */
        bool seen;                 /* by this look */
};
static struct watched watched[THREADS];
static int watched_count;

static int open_of(int pid, int tid, const char *name)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
        return open(path, O_RDONLY | O_CLOEXEC);
}

static void watched_close(struct watched *w)
{
        if (w->status >= 0)
                close(w->status);
        if (w->children >= 0)
                close(w->children);
        w->tid = 0;
}

static struct watched *watched_of(int pid, int tid)
{
        struct watched *w = NULL;
        for (int i = 0; i < watched_count; i++) {
                if (watched[i].tid == tid)
                        return &watched[i];
                if (!watched[i].tid)
                        w = &watched[i];
        }
        if (!w && watched_count == THREADS)
                return NULL;
        if (!w)
                w = &watched[watched_count++];
        *w = (struct watched){
                .tid = tid, .status = open_of(pid, tid, "status"), .children = open_of(pid, tid, "children")};
        return w;
}

static size_t read_again(int fd, char *ret, size_t room)
{
        ssize_t len = fd < 0 ? -1 : pread(fd, ret, room - 1, 0);
        ret[len > 0 ? len : 0] = '\0';
        return len > 0 ? (size_t)len : 0;
}

static unsigned long number_of(const char *text, const char *name)
{
        const char *at = strstr(text, name);
        return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static void look_at_thread(struct look *l, int pid, struct watched *w)
{
        char text[4096];
        if (!read_again(w->status, text, sizeof text)) { /* it has ended */
                watched_close(w);
                return;
        }
        const char *state = strstr(text, "\nState:\t");
        char is = state ? state[8] : 'R';
        if (is == 'Z' || is == 'X' || l->count == THREADS)
                return;
        l->asleep &= is == 'S';
        l->at[l->count].pid = pid;
        l->at[l->count].tid = w->tid;
        l->at[l->count++].switches =
                number_of(text, "\nvoluntary_ctxt_switches:") + number_of(text, "\nnonvoluntary_ctxt_switches:");
}

static void look_at(struct look *l, int pid);

static void look_at_children(struct look *l, const struct watched *w)
{
        char text[8192];
        read_again(w->children, text, sizeof text);
        for (char *at = text, *next; *at; at = next) {
                int child = (int)strtol(at, &next, 10);
                if (child <= 0)
                        break;
                look_at(l, child);
                while (*next == ' ')
                        next++;
        }
}

/* A process, its threads and, by the file of each thread, its children. */
static void look_at(struct look *l, int pid)
{
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", pid);
        DIR *d = opendir(path);
        for (struct dirent *e; d && (e = readdir(d));) {
                int tid = atoi(e->d_name);
                struct watched *w = tid > 0 ? watched_of(pid, tid) : NULL;
                if (!w)
                        continue;
                w->seen = true;
                if (pid != getpid())
                        look_at_thread(l, pid, w);
                if (w->tid)
                        look_at_children(l, w);
        }
        if (d)
                closedir(d);
}

static void look(struct look *l)
{
        l->count = 0;
        l->asleep = true;
        for (int i = 0; i < watched_count; i++)
                watched[i].seen = false;
        look_at(l, getpid());
        for (int i = 0; i < watched_count; i++)
                if (watched[i].tid && !watched[i].seen)
                        watched_close(&watched[i]);
}

static bool same(const struct look *a, const struct look *b)
{
        return a->count == b->count && memcmp(a->at, b->at, (size_t)a->count * sizeof a->at[0]) == 0;
}

static bool is_there(const struct look *l, const struct pace_slot *s)
{
        for (int i = 0; i < l->count; i++)
                if (l->at[i].tid == s->tid && l->at[i].pid == s->pid)
                        return true;
        return false;
}

/* To the next moment that somebody waits for; false: nobody waits for any. */
static bool move(struct pace_page *page, const struct look *l)
{
        int64_t next = PACE_NEVER;
        for (size_t i = 0; i < PACE_SLOTS; i++) {
                struct pace_slot *s = &page->slot[i];
                if (s->tid && !is_there(l, s)) {
                        s->due_ns = PACE_NEVER;
                        __atomic_store_n(&s->tid, 0, __ATOMIC_SEQ_CST);
                } else if (s->tid && s->due_ns < next) {
                        next = s->due_ns;
                }
        }
        if (next == PACE_NEVER)
                return false;
        if (next > page->mono_ns)
                __atomic_store_n(&page->mono_ns, next, __ATOMIC_SEQ_CST);
        for (size_t i = 0; i < PACE_SLOTS; i++)
                if (page->slot[i].tid && page->slot[i].due_ns <= page->mono_ns)
                        syscall(SYS_tgkill, page->slot[i].pid, page->slot[i].tid, PACE_TICK);
        return true;
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

static int drive(struct pace_page *page, pid_t child, long seconds)
{
        static struct look before, now;
        struct timespec t;
        long busy = APART_NS; /* those who work are looked at again after a while, which grows */
        clock_gettime(CLOCK_MONOTONIC, &t);
        for (time_t end = t.tv_sec + seconds; t.tv_sec < end; clock_gettime(CLOCK_MONOTONIC, &t)) {
                int status;
                pid_t ended;
                while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
                        if (ended == child)
                                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                look(&before);
                if (!before.asleep) {
                        pause_ns(busy);
                        busy = busy < PAUSE_NS ? 2 * busy : PAUSE_NS;
                        continue;
                }
                busy = APART_NS;
                pause_ns(APART_NS);
                machine_flush();
                look(&now);
                if (now.asleep && same(&before, &now))
                        (void)move(page, &now);
        }
        fprintf(stderr, "pace: not done after %ld s\n", seconds);
        look(&now);
        for (int i = 0; i < now.count; i++)
                kill(now.at[i].pid, SIGKILL);
        return 124;
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
