/*
 * Folding samples of 1 M containers into 200 000 histories, 5 replicas each, in the server's order; percentiles; bytes.
 * The budgets are of more than is measured here: 10 M samples/s with names matched, 800 bytes a container with all
 * else.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/recommend.h"
#include "line.h"

enum { HISTORIES = 200000, REPLICAS = 5, CONTAINERS = HISTORIES * REPLICAS, CYCLES = 3 };

static const struct resource_policy policy[RESOURCES] = {
        [CPU] = {.enabled = true, .percentile = 950, .half_life_ms = DAY_MS},
        [MEMORY] = {.enabled = true,
                    .percentile = 990,
                    .half_life_ms = DAY_MS,
                    .oom_hold_ms = 7 * DAY_MS,
                    .oom_bump = 1200},
};

static uint64_t random_state = 88172645463325252u;
static double draw(void)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (double)(random_state >> 11) * 0x1p-53;
}

/* As slabs lend: eight doubles at a time. Returns the bytes more. */
static size_t lend(struct usage *u, struct usage_room room)
{
        int cap = (room.cap + 7) / 8 * 8, had = u->of[room.resource].cap;
        mem_free(histogram_lend(&u->of[room.resource], mem_new_array((size_t)cap, sizeof(double)), cap));
        return (size_t)(cap - had) * sizeof(double);
}

struct fixture {
        struct usage *history;
        struct sample_watermark *watermark;
        struct sample *sample;
        double *cores, *bytes; /* what each history uses, about */
        size_t lent;
};

static void fixture_init(struct fixture *f)
{
        *f = (struct fixture){
                .history = mem_new_array(HISTORIES, sizeof(struct usage)),
                .watermark = mem_new_array(CONTAINERS, sizeof(struct sample_watermark)),
                .sample = mem_new_array(CONTAINERS, sizeof(struct sample)),
                .cores = mem_new_array(HISTORIES, sizeof(double)),
                .bytes = mem_new_array(HISTORIES, sizeof(double)),
        };
        for (int i = 0; i < HISTORIES; i++) {
                usage_init(&f->history[i], policy);
                f->cores[i] = 0.02 + 4 * draw() * draw() * draw();
                f->bytes[i] = 3e7 + 8e9 * draw() * draw() * draw();
        }
}

static void fixture_release(struct fixture *f)
{
        for (int i = 0; i < HISTORIES; i++)
                for (int r = 0; r < RESOURCES; r++)
                        mem_free(f->history[i].of[r].w);
        mem_free(f->history);
        mem_free(f->watermark);
        mem_free(f->sample);
        mem_free(f->cores);
        mem_free(f->bytes);
}

static void draw_samples(struct fixture *f, int64_t at_ms)
{
        for (int i = 0; i < CONTAINERS; i++) {
                double noise = 0.5 + draw();
                f->sample[i] = (struct sample){
                        .at = {at_ms + (int64_t)(30000 * draw())},
                        .has = {true, true},
                        .value = {f->cores[i / REPLICAS] * noise, f->bytes[i / REPLICAS] * (0.9 + 0.2 * noise)},
                        .cpu_weight = 1,
                };
        }
}

/* Seconds for one cycle's samples. */
static double fold(struct fixture *f, int64_t at_ms)
{
        draw_samples(f, at_ms);
        double start = bench_cpu_seconds();
        for (int i = 0; i < CONTAINERS; i++) {
                struct usage *u = &f->history[i / REPLICAS];
                const struct sample *s = &f->sample[i];
                enum sample_verdict verdict;
                struct usage_room room;
                while (usage_add(u, &f->watermark[i], s, s->at, &verdict, &room) == ERR_NOSPACE)
                        f->lent += lend(u, room);
        }
        return bench_cpu_seconds() - start;
}

static void bench_fold(struct fixture *f)
{
        const int64_t begin = INT64_C(1700000000000);
        double best = 1e9, add = 1e9;
        int cap;
        for (int cycle = 0; cycle < CYCLES; cycle++) {
                double took = fold(f, begin + (int64_t)cycle * MINUTE_MS);
                best = took < best ? took : best;
        }
        bench_line("usage fold, 1000000 containers, no names", CONTAINERS / best * 1e-6, "M samples/s", ">= 10");
        bench_line("usage bytes a container",
                   (double)(HISTORIES * sizeof(struct usage) + f->lent) / CONTAINERS + sizeof(struct sample_watermark),
                   "B", "<= 800, with all else");
        for (int run = 0; run < CYCLES; run++) {
                double start = bench_cpu_seconds();
                for (int i = 0; i < CONTAINERS; i++)
                        histogram_add(&f->history[i / REPLICAS].of[CPU], f->sample[i].value[CPU], 1, f->sample[i].at,
                                      &cap);
                double took = bench_cpu_seconds() - start;
                add = took < add ? took : add;
        }
        bench_line("histogram add, 1000000 containers", add / CONTAINERS * 1e9, "ns", "");
}

static void bench_ask(struct fixture *f)
{
        struct recommend_facts facts = {.now = f->sample[0].at, .interval_ms = MINUTE_MS};
        double sum = 0, got;
        double start = bench_cpu_seconds();
        for (int i = 0; i < HISTORIES; i++)
                if (histogram_percentile(&f->history[i].of[MEMORY], 990, NULL, &got) == 0)
                        sum += got;
        bench_line("histogram percentile", (bench_cpu_seconds() - start) / HISTORIES * 1e9, "ns", "");
        start = bench_cpu_seconds();
        for (int i = 0; i < HISTORIES; i++) {
                struct recommendation r;
                recommend(&f->history[i], policy, &facts, &r);
                sum += (double)r.of[CPU].model;
        }
        bench_line("recommend, one history", (bench_cpu_seconds() - start) / HISTORIES * 1e9, "ns", "");
        assert(sum > 0);
}

static void bench_store(const struct fixture *f)
{
        static uint8_t packed[USAGE_PACK_MAX];
        static struct usage_memory memory;
        size_t bytes = 0;
        double start = bench_cpu_seconds();
        for (int i = 0; i < HISTORIES; i++)
                bytes += usage_pack(&f->history[i], packed);
        double pack = bench_cpu_seconds() - start;
        start = bench_cpu_seconds();
        for (int i = 0; i < HISTORIES; i++) {
                struct usage u;
                int rc = usage_unpack(packed, usage_pack(&f->history[i], packed), &u, &memory);
                assert(rc == 0);
                (void)rc;
        }
        bench_line("usage pack, one history", pack / HISTORIES * 1e9, "ns", "");
        bench_line("usage unpack, one history", (bench_cpu_seconds() - start - pack) / HISTORIES * 1e9, "ns", "");
        bench_line("usage packed, one history", (double)bytes / HISTORIES, "B", "");
}

int main(void)
{
        struct fixture f;
        fixture_init(&f);
        bench_fold(&f);
        bench_ask(&f);
        bench_store(&f);
        fixture_release(&f);
        return 0;
}
