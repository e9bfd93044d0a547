/*
 * Whole cycles at 100 000 containers: the test API server as a process of its own, the controller in this one. CPU is
 * that of the loop's thread from the end of one cycle to the end of the next, so that nothing between them is missed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../src/control/controller_private.h"
#include "../test/support/tmp.h"
#include "base/mem.h"
#include "line.h"

enum { CONTAINERS = 100000, WARM = 3, CYCLES = 10, INTERVAL_MS = 2500, MOST_S = 300 };

static const char policy[] = "apiVersion: halflife.dev/v1alpha1\n"
                             "kind: ClusterProfile\n"
                             "metadata: {name: bench}\n"
                             "spec: {apply: {mode: Recommend, minHistory: 0s}}\n";

struct bench {
        pid_t server;
        char *kubeconfig;
        struct loop *loop;
        struct access *access;
        struct controller *controller;
};

static void fail(const char *what)
{
        fprintf(stderr, "bench_cycle: %s\n", what);
        exit(1);
}

static double thread_seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Resident bytes, the second word of statm. */
static double resident(void)
{
        long pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        if (!f || fscanf(f, "%*s %ld", &pages) != 1)
                fail("/proc/self/statm cannot be read");
        fclose(f);
        return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* --- the test API server, found beside this program's folder --- */

static void fake_begin(struct bench *b, const char *self)
{
        char *program = mem_printf("%.*s/../fake-apiserver", (int)(strrchr(self, '/') - self), self);
        char *profile = tmp_file("profile.yaml", policy);
        char *world = mem_printf("size=%d", CONTAINERS);
        int out[2];
        char byte;
        b->kubeconfig = tmp_path("kubeconfig");
        if (pipe(out) < 0 || (b->server = fork()) < 0)
                fail("no process for the test API server");
        if (b->server == 0) {
                dup2(out[1], STDOUT_FILENO);
                execl(program, program, "--kubeconfig", b->kubeconfig, "--world", world, "--scrape", "1", "--load",
                      "crds", "--load", profile, (char *)NULL);
                _exit(127);
        }
        close(out[1]);
        if (read(out[0], &byte, 1) != 1) /* it says its address once it serves */
                fail("the test API server did not start (is this the project's folder?)");
        close(out[0]);
        mem_free(program);
        mem_free(profile);
        mem_free(world);
}

static void fake_end(struct bench *b)
{
        kill(b->server, SIGTERM);
        waitpid(b->server, NULL, 0);
        mem_free(b->kubeconfig);
}

/* --- the controller --- */

static void controller_begin(struct bench *b)
{
        struct access_options where = {.kubeconfig = b->kubeconfig};
        static const struct controller_options options = {
                .interval_ms = INTERVAL_MS,
                .checkpoint_ms = HOUR_MS,
                .status_ms = 10 * MINUTE_MS,
                .retention_ms = DAY_MS,
                .api_rate = 1e6,
                .api_concurrency = 16,
                .ns = "halflife-system",
                .identity = "bench",
                .user_agent = "halflife-bench",
        };
        struct err err = {0};
        b->loop = loop_new();
        if (access_load(&where, &b->access, &err) < 0 ||
            controller_new(b->loop, b->access, &options, &b->controller, &err) < 0)
                fail(err.text);
}

static void controller_end(struct bench *b)
{
        controller_free(b->controller);
        loop_free(b->loop);
        access_free(b->access);
}

static uint64_t writes_of(const struct controller *c)
{
        enum { FIRST_WRITE = 3 }; /* after get, list, watch: telemetry.c's order */
        uint64_t sum = 0;
        for (int v = FIRST_WRITE; v < VERBS; v++)
                for (int k = 0; k < CODES; k++)
                        sum += c->count.requests[v][k];
        return sum;
}

/* Turn the loop until one more cycle has ended. */
static void next_cycle(struct bench *b)
{
        uint64_t now = b->controller->count.cycles;
        while (b->controller->count.cycles == now || b->controller->stage != CYCLE_IDLE)
                loop_turn(b->loop, 100);
}

/* Until every Recommendation is written: a whole cycle without a write, and none waiting. */
static double publish_all(struct bench *b)
{
        struct controller *c = b->controller;
        struct mono begin = mono_read();
        uint64_t written = 0, before;
        do {
                before = written;
                next_cycle(b);
                written = writes_of(c);
                if (mono_read().ns - begin.ns > (int64_t)MOST_S * 1000000000)
                        fail("the first publishing does not end");
        } while (written != before || written == 0 || queue_count(c->work) > 0);
        return (double)(mono_read().ns - begin.ns) / 1e9;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static void steady(struct bench *b)
{
        struct controller *c = b->controller;
        double took[CYCLES], wall[CYCLES];
        uint64_t samples = c->count.samples[SAMPLE_ACCEPTED], writes = writes_of(c);
        for (int i = 0; i < CYCLES; i++) {
                double begin = thread_seconds();
                next_cycle(b);
                took[i] = thread_seconds() - begin;
                wall[i] = c->count.last_cycle_seconds;
        }
        qsort(took, CYCLES, sizeof took[0], by_value);
        qsort(wall, CYCLES, sizeof wall[0], by_value);
        bench_line("cycle CPU, 100000 containers, median", took[CYCLES / 2], "s", "<= 0.3");
        bench_line("cycle CPU, 100000 containers, most", took[CYCLES - 1], "s", "");
        bench_line("cycle time, test server's included, median", wall[CYCLES / 2], "s", "");
        bench_line("cycle samples folded", (double)(c->count.samples[SAMPLE_ACCEPTED] - samples) / CYCLES, "",
                   "= 100000");
        bench_line("cycle API writes in ten quiet ones", (double)(writes_of(c) - writes), "", "= 0");
}

static void memory(double begun)
{
        double bytes = resident(), budget = 64 * 1048576.0 + 800.0 * CONTAINERS;
        char text[64];
        snprintf(text, sizeof text, "<= %.3f", budget / 1e6);
        bench_line("memory, 100000 containers", bytes / 1e6, "MB", text);
        bench_line("memory a container, over an empty process", (bytes - begun) / CONTAINERS, "B", "");
}

int main(int argc, char **argv)
{
        (void)argc;
        struct bench b = {0};
        log_setup(LOG_ERROR, false);
        fake_begin(&b, argv[0]);
        double begun = resident();
        controller_begin(&b);
        double took = publish_all(&b);
        bench_line("cycle first publishing, 20000 targets", took, "s", "");
        for (int i = 0; i < WARM; i++)
                next_cycle(&b);
        memory(begun);
        steady(&b);
        controller_end(&b);
        fake_end(&b);
        return 0;
}
