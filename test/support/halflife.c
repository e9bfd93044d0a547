#include "halflife.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fetch.h"
#include "tmp.h"

enum { LOG_MAX = 64 << 20, ARGS_MAX = 48, STOP_MS = 20000, LISTEN_MS = 20000 };

struct halflife {
        const char *command;
        pid_t pid; /* 0: it has ended */
        int result;
        int out;
        char *address;
        pthread_t reader;
        pthread_mutex_t lock;
        pthread_cond_t more;
        struct buf log;
        bool closed;
};

/* --- its log --- */

static void *read_log(void *arg)
{
        struct halflife *h = arg;
        char piece[4096];
        ssize_t n;
        while ((n = read(h->out, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
                pthread_mutex_lock(&h->lock);
                buf_add(&h->log, piece, (size_t)n);
                pthread_cond_broadcast(&h->more);
                pthread_mutex_unlock(&h->lock);
        }
        pthread_mutex_lock(&h->lock);
        h->closed = true;
        pthread_cond_broadcast(&h->more);
        pthread_mutex_unlock(&h->lock);
        return NULL;
}

static int count_of(const struct buf *log, const char *text)
{
        int count = 0;
        size_t len = strlen(text);
        const char *at = log->data, *end = at ? at + log->len : at;
        while (at && (at = memmem(at, (size_t)(end - at), text, len))) {
                count++;
                at += len;
        }
        return count;
}

int halflife_said(struct halflife *h, const char *text)
{
        pthread_mutex_lock(&h->lock);
        int count = count_of(&h->log, text);
        pthread_mutex_unlock(&h->lock);
        return count;
}

char *halflife_log(struct halflife *h)
{
        pthread_mutex_lock(&h->lock);
        char *text = mem_string_n(h->log.data ? h->log.data : "", h->log.len);
        pthread_mutex_unlock(&h->lock);
        return text;
}

static struct timespec deadline_of(int64_t timeout_ms)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += timeout_ms / 1000;
        t.tv_nsec += timeout_ms % 1000 * 1000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        return t;
}

bool halflife_await_log(struct halflife *h, const char *text, int least, int64_t timeout_ms)
{
        struct timespec until = deadline_of(timeout_ms);
        bool late = false;
        pthread_mutex_lock(&h->lock);
        while (count_of(&h->log, text) < least && !h->closed && !late)
                late = pthread_cond_timedwait(&h->more, &h->lock, &until) == ETIMEDOUT;
        bool good = count_of(&h->log, text) >= least;
        pthread_mutex_unlock(&h->lock);
        return good;
}

/* --- start and end --- */

char *halflife_program(void)
{
        const char *build = getenv("HALFLIFE_BUILD");
        char self[PATH_MAX] = "";
        if (build)
                return mem_printf("%s/halflife", build);
        ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
        char *end = len > 0 ? strstr(self, "/test/") : NULL;
        for (char *next = end; next; next = strstr(end + 1, "/test/"))
                end = next;
        if (end)
                *end = '\0';
        return mem_printf("%s/halflife", self);
}

struct halflife *halflife_command(const char *const *args)
{
        const char *argv[ARGS_MAX] = {"halflife"};
        int n = 1, pipes[2];
        AUTO(mem_free) char *program = halflife_program();
        struct halflife *h = MEM_NEW(struct halflife);
        pthread_condattr_t monotonic;
        h->command = args[0];
        while (*args && n < ARGS_MAX - 1)
                argv[n++] = *args++;
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_mutex_init(&h->lock, NULL);
        pthread_cond_init(&h->more, &monotonic);
        pthread_condattr_destroy(&monotonic);
        buf_init(&h->log, LOG_MAX);
        /* A fork would copy what maps a sanitizer's memory, which takes longer than most commands. */
        if (pipe2(pipes, O_CLOEXEC) < 0 || (h->pid = vfork()) < 0) {
                perror("halflife");
                abort();
        }
        if (h->pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
                dup2(pipes[1], STDOUT_FILENO);
                dup2(pipes[1], STDERR_FILENO);
                execv(program, (char *const *)(uintptr_t)argv);
                perror(program);
                _exit(127);
        }
        close(pipes[1]);
        h->out = pipes[0];
        pthread_create(&h->reader, NULL, read_log, h);
        return h;
}

/* What the log says of the address where that is served. */
static char *address_of(struct halflife *h, const char *what)
{
        static const char mark[] = "address=";
        AUTO(mem_free) char *log = halflife_log(h);
        char *at = strstr(log, what);
        at = at ? strstr(at, mark) : NULL;
        if (!at)
                return NULL;
        at += strlen(mark) + (at[strlen(mark)] == '"');
        at[strcspn(at, "\" \n")] = '\0';
        return mem_string(at);
}

char *halflife_rest_address(struct halflife *h)
{
        if (!halflife_await_log(h, "serves /api/v1", 1, LISTEN_MS))
                return NULL;
        if (!h->address)
                h->address = address_of(h, "serves /healthz");
        return address_of(h, "serves /api/v1");
}

char *halflife_watcher_address(struct halflife *h)
{
        return halflife_await_log(h, "serves /watcher", 1, LISTEN_MS) ? address_of(h, "serves /watcher") : NULL;
}

static bool is_given(const char *const *args, const char *option)
{
        for (; args && *args; args++)
                if (strcmp(*args, option) == 0)
                        return true;
        return false;
}

struct halflife *halflife_start(struct fake *f, const char *database, const char *const *args)
{
        static int started;
        AUTO(mem_free) char *name = mem_printf("kubeconfig-%d", started++);
        AUTO(mem_free) char *kubeconfig = tmp_path(name);
        AUTO(mem_free) char *db = database ? tmp_path(database) : mem_string("/dev/null/none");
        const char *const standard[][2] = {
                {"--kubeconfig", kubeconfig},       {"--database", db},          {"--interval", "1s"},
                {"--checkpoint-interval", "1s"},    {"--status-interval", "1s"}, {"--leader-elect", "false"},
                {"--namespace", "halflife-system"}, {"--api-rate", "1000"},      {"--listen", "127.0.0.1:0"},
        };
        const char *argv[ARGS_MAX] = {"run"};
        int n = 1;
        for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
                if (!is_given(args, standard[i][0])) {
                        argv[n++] = standard[i][0];
                        argv[n++] = standard[i][1];
                }
        for (; args && *args && n < ARGS_MAX - 1; args++)
                argv[n++] = *args;
        if (!fake_write_kubeconfig(f, kubeconfig))
                abort();
        struct halflife *h = halflife_command(argv);
        if (!halflife_await_log(h, "serves /healthz", 1, LISTEN_MS)) {
                AUTO(mem_free) char *log = halflife_log(h);
                fprintf(stderr, "halflife does not listen:\n%s\n", log);
                abort();
        }
        h->address = address_of(h, "serves /healthz");
        return h;
}

void halflife_signal(struct halflife *h, int signo)
{
        if (h->pid)
                kill(h->pid, signo);
}

/* Its end is seen by its log's: both streams close with the process. */
int halflife_await(struct halflife *h, int64_t timeout_ms)
{
        struct timespec until = deadline_of(timeout_ms);
        bool late = false;
        int status;
        if (!h->pid)
                return h->result;
        pthread_mutex_lock(&h->lock);
        while (!h->closed && !late)
                late = pthread_cond_timedwait(&h->more, &h->lock, &until) == ETIMEDOUT;
        bool closed = h->closed;
        pthread_mutex_unlock(&h->lock);
        if (!closed)
                return INT_MIN;
        waitpid(h->pid, &status, 0);
        h->pid = 0;
        return h->result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int halflife_stop(struct halflife *h)
{
        halflife_signal(h, SIGTERM);
        int result = halflife_await(h, STOP_MS);
        if (result != INT_MIN)
                return result;
        halflife_kill(h);
        return INT_MIN;
}

void halflife_kill(struct halflife *h)
{
        halflife_signal(h, SIGKILL);
        halflife_await(h, STOP_MS);
}

/* test/golden compares all output. It goes to one file for each program. */
static void keep_log(const struct halflife *h)
{
        static int kept;
        const char *folder = getenv("FAKE_KEEP");
        if (!folder)
                return;
        AUTO(mem_free) char *path = mem_printf("%s/said-%d-%04d", folder, (int)getpid(), kept++);
        FILE *out = fopen(path, "we");
        if (!out)
                return;
        fprintf(out, "$ halflife %s\n", h->command);
        if (h->log.len)
                fwrite(h->log.data, 1, h->log.len, out);
        fclose(out);
}

void halflife_free(struct halflife *h)
{
        if (!h)
                return;
        halflife_kill(h);
        pthread_join(h->reader, NULL);
        keep_log(h);
        close(h->out);
        buf_release(&h->log);
        pthread_cond_destroy(&h->more);
        pthread_mutex_destroy(&h->lock);
        mem_free(h->address);
        mem_free(h);
}

char *halflife_run(int want, const char *const *args)
{
        struct halflife *h = halflife_command(args);
        int code = halflife_await(h, 30000);
        char *said = halflife_log(h);
        if (code != want)
                fail_msg("%s %s %s: exit %d, not %d\n%s", args[0], args[1] ? args[1] : "",
                         args[1] && args[2] ? args[2] : "", code, want, said);
        halflife_free(h);
        return said;
}

/* --- its own server --- */

static struct got get(const struct halflife *h, const char *path)
{
        AUTO(mem_free) char *url = mem_printf("http://%s%s", h->address ? h->address : "127.0.0.1:0", path);
        return fetch(&(struct fetch){.url = url, .timeout_ms = 5000});
}

long halflife_get(struct halflife *h, const char *path)
{
        AUTO(got_release) struct got g = get(h, path);
        return g.status;
}

double halflife_metric(struct halflife *h, const char *name)
{
        AUTO(got_release) struct got g = get(h, "/metrics");
        size_t len = strlen(name);
        for (const char *line = g.body; line && *line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (strncmp(line, name, len) == 0 && line[len] == ' ')
                        return strtod(line + len, NULL);
        }
        return (double)NAN;
}

struct metric_wanted {
        struct halflife *h;
        const char *name;
        double least;
};

static bool metric_reached(struct fake *f, void *arg)
{
        const struct metric_wanted *w = arg;
        (void)f;
        return halflife_metric(w->h, w->name) >= w->least;
}

bool halflife_await_metric(struct halflife *h, struct fake *f, const char *name, double least, int64_t timeout_ms)
{
        return fake_wait(f, metric_reached, &(struct metric_wanted){h, name, least}, timeout_ms);
}

bool halflife_await_cycles(struct halflife *h, struct fake *f, int more, int64_t timeout_ms)
{
        static const char cycles[] = "halflife_cycles_total";
        double now = halflife_metric(h, cycles);
        return halflife_await_metric(h, f, cycles, (isnan(now) ? 0 : now) + more, timeout_ms);
}
