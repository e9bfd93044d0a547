/*
 * Checkpoints: what the loop and the store's thread spend on 100 000 dirty histories, and what a start with 200 000
 * histories (1 M containers) takes. Five watermarks a history, 40 occupied buckets, names of ordinary length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "../test/support/live_defaults.h"
#include "../test/support/tmp.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/controller.h"
#include "line.h"
#include "store/store.h"

enum { DIRTY = 100000, HISTORIES = 200000, WATERMARKS = 5, BUCKETS = 20, ROUNDS = 3 };

/* --- what is stored --- */

static struct usage template(void)
{
        static double w[RESOURCES][BUCKETS];
        struct usage u = {.samples = 1000, .first_ms = 1000, .newest_ms = 60000000};
        u.sampled = u.running = (struct usage_minutes){1000, 1000, 1};
        for (int r = 0; r < RESOURCES; r++) {
                histogram_init(&u.of[r], (enum resource)r, DAY_MS);
                for (int n = 0; n < BUCKETS; n++)
                        w[r][n] = 0.1 + n / 3.0;
                u.of[r].w = w[r];
                u.of[r].first = 30;
                u.of[r].count = u.of[r].cap = BUCKETS;
        }
        return u;
}

static void pack(struct store_batch *b, int from, int to)
{
        struct usage u = template();
        struct store_watermark watermark[WATERMARKS];
        char ns[32], name[48];
        for (int i = from; i < to; i++) {
                int n = (int)((int64_t)i * 7919 % HISTORIES); /* in no order, as a hash map gives them */
                snprintf(ns, sizeof ns, "namespace-%d", n % 500);
                snprintf(name, sizeof name, "deployment-with-a-name-%d", n);
                struct store_key key = {text_of(ns), TEXT("apps"), TEXT("Deployment"), text_of(name), TEXT("app")};
                for (int d = 0; d < WATERMARKS; d++)
                        watermark[d] = (struct store_watermark){{(uint8_t)n, (uint8_t)d}, 60000000 + n};
                store_batch_usage(b, &key, &u, watermark, WATERMARKS);
        }
}

static double pack_alone(void)
{
        struct usage u = template();
        struct store_watermark watermark[WATERMARKS] = {0};
        struct store_key key = {TEXT("namespace-100"), TEXT("apps"), TEXT("Deployment"),
                                TEXT("deployment-with-a-name-12345"), TEXT("app")};
        struct store_batch *b = store_batch_new();
        double start = bench_seconds(CLOCK_MONOTONIC);
        for (int i = 0; i < DIRTY; i++)
                store_batch_usage(b, &key, &u, watermark, WATERMARKS);
        double took = bench_seconds(CLOCK_MONOTONIC) - start;
        store_batch_free(b);
        return took;
}

/* --- the store --- */

static double thread_cpu, batch_cpu, last_ms; /* batch_cpu: of the last batch alone */
static int64_t bytes;

/* On the store's thread: its own clock tells what it has spent. */
static void told(void *arg, const struct store_result *r)
{
        (void)arg;
        if (r->err.code)
                bench_fail("%s", r->err.text);
        double spent = bench_seconds(CLOCK_THREAD_CPUTIME_ID);
        batch_cpu = spent - thread_cpu;
        thread_cpu = spent;
        last_ms = (double)r->took_ms;
        bytes = r->file_bytes;
}

static struct store *open_store(const char *path)
{
        struct store_options o = {.path = path, .told = told};
        struct store *s;
        struct err err;
        char note[512];
        if (store_open(&o, &s, note, &err) < 0)
                bench_fail("%s", err.text);
        return s;
}

static void close_store(struct store *s)
{
        struct err err;
        if (store_close(s, &err) < 0)
                bench_fail("%s", err.text);
}

static void *on_target(void *arg, const struct store_key *key)
{
        (void)key;
        return arg;
}

static void on_record(void *arg, void *target, struct text record, struct wall gone)
{
        (void)arg, (void)target, (void)record, (void)gone;
}

static void on_usage(void *arg, void *target, struct text container, const struct usage *u,
                     const struct store_watermark *watermark, size_t watermarks)
{
        (void)target, (void)container, (void)u, (void)watermark, (void)watermarks;
        ++*(int *)arg;
}

static void on_kill(void *arg, void *target, struct text container, const struct store_kill *kill)
{
        (void)arg, (void)target, (void)container, (void)kill;
}

static void on_note(void *arg, struct text name, struct text value)
{
        (void)arg, (void)name, (void)value;
}

static void on_refused(void *arg, void *target, struct text container, const struct err *why)
{
        (void)arg, (void)target, (void)container;
        bench_fail("%s", why->text);
}

static struct store *start(const char *path, int want)
{
        int count = 0;
        struct store_reader r = {on_target, on_record, on_usage, on_kill, on_note, on_refused, &count};
        struct err err = {0};
        struct store *s = open_store(path);
        thread_cpu = 0;
        if (store_load(s, &r, &err) < 0 || count != want)
                bench_fail("%d of %d histories: %s", count, want, err.text);
        return s;
}

/* The controller itself, up to its first turn: histories and watermarks where they are used, not only read. */
static double start_controller(char *path)
{
        static const char kubeconfig[] = "apiVersion: v1\nkind: Config\ncurrent-context: none\n"
                                         "clusters: [{name: none, cluster: {server: 'http://127.0.0.1:9'}}]\n"
                                         "contexts: [{name: none, context: {cluster: none, user: ''}}]\n";
        AUTO(mem_free) char *file = tmp_file("kubeconfig", kubeconfig);
        struct access_options where = {.kubeconfig = file};
        struct controller_options o = {.live = live_defaults(),
                                       .ns = "halflife-system",
                                       .identity = "bench",
                                       .database = path,
                                       .user_agent = "halflife-bench"};
        o.live.checkpoint_ms = HOUR_MS;
        struct loop *l = loop_new();
        struct access *a;
        struct controller *c;
        struct err err = {0};
        if (access_load(&where, &a, &err) < 0)
                bench_fail("%s", err.text);
        double begin = bench_seconds(CLOCK_MONOTONIC);
        if (controller_new(l, a, &o, &c, &err) < 0)
                bench_fail("%s", err.text);
        double took = bench_seconds(CLOCK_MONOTONIC) - begin;
        controller_free(c);
        loop_free(l);
        access_free(a);
        return took;
}

static void checkpoint(struct store *s, int from, int to)
{
        struct store_batch *b = store_batch_new();
        pack(b, from, to);
        store_submit(s, b);
}

/* --- the ledger beside it --- */

static void add_page(void *to, const struct ledger_page_key *key, struct text packed)
{
        store_batch_ledger(to, key, packed);
}

/* What five pods of each workload asked for and used in five minutes of the day. */
static void book(struct ledger *l)
{
        const struct ledger_rates rates = {
                .pods = 5, .of = {{10000, INT64_C(20) << 30}, {2270, INT64_C(20) << 30}, {2100, INT64_C(3) << 30}}};
        struct ledger_sum sum = {0};
        char ns[32], name[80];
        ledger_sum_flow(&sum, &rates, 5 * MINUTE_MS);
        for (int n = 0; n < DIRTY; n++) {
                snprintf(ns, sizeof ns, "namespace-%d", n % 500);
                snprintf(name, sizeof name, "%s/apps/Deployment/deployment-with-a-name-%d", ns, n);
                ledger_book(l, &(struct ledger_names){{ns, "shared", "", name}}, &sum, 1);
        }
}

/* Returns what packing the pages took on the loop. */
static double checkpoint_booked(struct store *s, struct ledger *l, int from, int to)
{
        struct store_batch *b = store_batch_new();
        pack(b, from, to);
        book(l);
        double start = bench_thread_seconds();
        ledger_write(l, 1, add_page, b);
        double took = bench_thread_seconds() - start;
        store_submit(s, b);
        return took;
}

/* As the rounds in main, with as many workloads in the ledger as there are dirty histories. */
static void bench_ledger(const char *path, double alone_cpu)
{
        double cpu = 1e9, loop = 1e9;
        struct ledger *l = ledger_new(1);
        for (int round = 0; round < ROUNDS; round++) {
                struct store *s = start(path, HISTORIES);
                for (int part = 0; part < 4; part++)
                        bench_least(&loop, checkpoint_booked(s, l, part % 2 * DIRTY, part % 2 * DIRTY + DIRTY));
                close_store(s);
                bench_least(&cpu, batch_cpu);
        }
        bench_line("store checkpoint, 100000 workloads booked too", cpu, "s", "");
        bench_line("store checkpoint, the ledger's share", (cpu / alone_cpu - 1) * 100, "%", "<= 10");
        bench_line("ledger pages of 100000 workloads, on the loop", loop, "s", "<= 0.02");
        ledger_free(l);
}

int main(void)
{
        char *path AUTO(mem_free) = tmp_path("bench.db");
        double wall = 1e9, cpu = 1e9, start_wall = 1e9, start_cpu = 1e9;
        log_setup(LOG_ERROR, false);
        struct store *s = open_store(path);
        checkpoint(s, 0, HISTORIES);
        close_store(s);
        bench_line("store first checkpoint, 200000 histories", last_ms / 1e3, "s", "");
        bench_line("store first checkpoint, thread's CPU", batch_cpu, "s", "");
        for (int round = 0; round < ROUNDS; round++) {
                double at = bench_seconds(CLOCK_MONOTONIC), at_cpu = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
                s = start(path, HISTORIES);
                bench_least(&start_wall, bench_seconds(CLOCK_MONOTONIC) - at);
                bench_least(&start_cpu, bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - at_cpu);
                for (int part = 0; part < 4; part++)
                        checkpoint(s, part % 2 * DIRTY, part % 2 * DIRTY + DIRTY);
                close_store(s);
                bench_least(&wall, last_ms / 1e3);
                bench_least(&cpu, batch_cpu);
        }
        bench_line("store checkpoint, 100000 dirty", wall, "s", "<= 0.6");
        bench_line("store checkpoint, 100000 dirty, thread's CPU", cpu, "s", "");
        bench_ledger(path, cpu);
        bench_line("store batch, one row of the loop", pack_alone() / DIRTY * 1e6, "us", "<= 1");
        bench_line("store restart, 200000 histories", start_wall, "s", "<= 1");
        bench_line("store restart, 200000 histories, CPU", start_cpu, "s", "");
        bench_line("start of the controller, 1000000 containers", start_controller(path), "s", "<= 1");
        bench_line("store bytes on disk a history", (double)bytes / HISTORIES, "B", "");
        return 0;
}
