/* cli/replay: rows a second, parsed, learned and scored, from memory: under one profile, entities apart and mixed, and
 * as
 * --compare --raise does it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/replay_policy.h"
#include "line.h"

enum { ENTITIES = 100, ROWS = 10000, STEP_S = 300, RUNS = 3, TRACE_MAX = 64 << 20 };

struct bytes {
        const char *p;
        size_t left;
};

static ssize_t give(void *arg, void *buf, size_t size)
{
        struct bytes *b = arg;
        size_t n = b->left < size ? b->left : size;
        memcpy(buf, b->p, n);
        b->p += n;
        b->left -= n;
        return (ssize_t)n;
}

static void add_row(struct buf *b, int entity, int row)
{
        int noise = (row * 7919 + entity * 104729) % 1000;
        buf_printf(b, "shop-%03d,%d,%.4g,%d\n", entity, 1700000000 + STEP_S * row, 0.02 + 0.001 * noise,
                   50000000 + 100000 * noise);
}

static void make_trace(struct buf *b, bool mixed)
{
        for (int i = 0; i < ENTITIES * ROWS; i++)
                add_row(b, mixed ? i % ENTITIES : i / ROWS, mixed ? i / ENTITIES : i % ROWS);
}

static void replay_trace(const struct buf *b, const struct profile_spec *spec, bool compared)
{
        struct bytes source = {b->data, b->len};
        struct trace_row row;
        struct replay r;
        struct trace t;
        const char *why;
        struct raise_policy raise;
        raise_policy_defaults(&raise);
        replay_init(&r, DAY_MS, compared ? &raise : NULL);
        replay_add_policy(&r, "default", spec);
        if (compared && replay_policies_compare(&r) < 0)
                abort();
        trace_init(&t, give, &source);
        while (trace_next(&t, &row, NULL) == 1)
                replay_row(&r, &row, &why);
        if (r.rows != ENTITIES * ROWS || r.refused != 0)
                abort();
        trace_release(&t);
        replay_release(&r);
}

/* Rows a second, the best of several runs. */
static double best_rate(const struct buf *b, bool compared)
{
        struct profile_spec spec;
        double best = 0;
        if (profile_spec_read(NULL, &spec, NULL) < 0)
                abort();
        for (int run = 0; run < RUNS; run++) {
                int64_t begin = mono_read().ns;
                replay_trace(b, &spec, compared);
                double rate = (double)ENTITIES * ROWS * 1e9 / (double)(mono_read().ns - begin);
                best = rate > best ? rate : best;
        }
        profile_spec_release(&spec);
        return best;
}

int main(void)
{
        for (int mixed = 0; mixed < 2; mixed++) {
                struct buf b __attribute__((cleanup(buf_release_auto)));
                buf_init(&b, TRACE_MAX);
                make_trace(&b, mixed);
                bench_line(mixed ? "replay, rows interleaved" : "replay, rows by entity", best_rate(&b, false),
                           "rows/s", ">= 1000000");
                if (!mixed) /* 3.5 M rows of recorded traces: seconds, not minutes */
                        bench_line("replay --compare --raise", best_rate(&b, true), "rows/s", ">= 350000");
        }
        return 0;
}
