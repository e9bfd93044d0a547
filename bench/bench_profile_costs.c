/*
 * 1 000 Profiles of a namespace, each with a selector of 16 expressions, beside 1 000 of its own workloads with 250
 * labels each: CPU of the loop's thread for a pass after a change.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cache/cache.h"
#include "line.h"

enum { PROFILES = 1000, WORKLOADS = 1000, RUNS = 1 };

static void fail(const char *what)
{
        fprintf(stderr, "bench_profiles: %s\n", what);
        exit(1);
}

static double thread_ms(void)
{
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double held(void)
{
        return (double)mallinfo2().uordblks;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static void put_profiles(struct cache *w, const char *ns, int different)
{
        struct err err = {0};
        AUTO(buf_release) struct buf req;
        buf_init(&req, 1 << 20);
        for (int k = 0; k < 16; k++)
                buf_printf(&req,
                           "%s{\"key\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-%04d\","
                           "\"operator\":\"%s\"%s}",
                           k ? "," : "", 9000 + k, k == 15 ? "In" : "NotIn", ",\"values\":[\"x\"]");
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free)
                char *json = mem_printf(
                        "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"%s\",\"uid\":\"%s-%d\",\"generation\":1,"
                        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"selector\":{\"matchExpressions\":["
                        "%s]},"
                        "\"targets\":[{\"apiVersion\":\"apps/"
                        "v1\",\"kind\":\"Deployment\"}],\"containers\":["
                        "{\"name\":\"log%d\",\"mode\":\"Ignore\"}]}}",
                        i, ns, ns, i, buf_text(&req).p, i % different);
                if (profile_upsert(w, false, text_of(json), 1, &err) < 0)
                        fail(err.text);
        }
}

static void put_workloads(struct cache *w)
{
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("apps"), TEXT("Deployment"));
        AUTO(buf_release) struct buf l;
        buf_init(&l, 1 << 20);
        for (int i = 0; i < 250; i++)
                buf_printf(&l, "%s\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-%04d\":\"x\"",
                           i ? "," : "", i);
        for (int i = 0; i < WORKLOADS; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"name\":\"web-%d\",\"namespace\":\"mallory\",\"uid\":"
                                        "\"5eed0001-0000-4000-8000-%012x\",\"labels\":{%s}},\"spec\":{"
                                        "\"replicas\":1,\"template\":{}}}",
                                        i, (unsigned)i, buf_text(&l).p);
                if (workload_upsert(w, k, text_of(json), 1, &err) < 0)
                        fail(err.text);
        }
}

/* The median CPU of what a pass does to profiles when something changed. */
static double relink_ms(struct cache *w)
{
        double took[RUNS];
        for (int i = 0; i < RUNS; i++) {
                double begin = thread_ms();
                cache_set_changed(w);
                cache_relink(w, (struct now){.wall = {1767225600000}});
                watched_kinds_settle(w);
                took[i] = thread_ms() - begin;
        }
        qsort(took, RUNS, sizeof took[0], by_value);
        return took[RUNS / 2];
}

static void measure(const char *what, const char *ns, int different, const char *budget)
{
        struct cache w;
        cache_init(&w, "halflife", NULL);
        put_workloads(&w);
        double none = relink_ms(&w), before = held();
        put_profiles(&w, ns, different);
        double bytes = (held() - before) / PROFILES, many = relink_ms(&w);
        AUTO(mem_free) char *cpu = mem_printf("profiles_5000_%s_cpu", what);
        AUTO(mem_free) char *growth = mem_printf("profiles_5000_%s_growth", what);
        AUTO(mem_free) char *memory = mem_printf("profiles_5000_%s_bytes", what);
        bench_line(cpu, many, "ms", budget);
        bench_line(growth, many - none, "ms", "");
        bench_line(memory, bytes, "B/profile", "");
        cache_release(&w);
}

int main(void)
{
        measure("heavy", "mallory", PROFILES, "");
        return 0;
}
