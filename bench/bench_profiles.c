/*
 * 5 000 profiles of one namespace beside 4 000 workloads of others, none of them changed: CPU of the loop's thread for
 * a pass after a change, with and without them, and bytes of heap a profile. Then the same for the namespace's own 100
 * workloads.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cache/cache.h"
#include "line.h"

enum { PROFILES = 5000, WORKLOADS = 4000, RUNS = 9 };

static double held(void)
{
        return (double)mallinfo2().uordblks;
}

static void put_profiles(struct cache *w, const char *ns, int different)
{
        struct err err = {0};
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free)
                char *json = mem_printf(
                        "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"%s\",\"uid\":\"%s-%d\",\"generation\":1,"
                        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{\"selector\":{\"matchLabels\":{"
                        "\"app\":"
                        "\"none-%d\"}},\"targets\":[{\"apiVersion\":\"apps/"
                        "v1\",\"kind\":\"Deployment\"}],\"containers\":["
                        "{\"name\":\"log\",\"mode\":\"Ignore\"}]}}",
                        i, ns, ns, i, i % different);
                if (profile_upsert(w, false, text_of(json), 1, &err) < 0)
                        bench_fail("%s", err.text);
        }
}

static void put_workloads(struct cache *w)
{
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("apps"), TEXT("Deployment"));
        for (int i = 0; i < WORKLOADS; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"name\":\"web-%d\",\"namespace\":\"shop-%d\",\"uid\":"
                                        "\"5eed0001-0000-4000-8000-%012x\",\"labels\":{\"app\":\"web-%d\"}},\"spec\":{"
                                        "\"replicas\":1,\"template\":{}}}",
                                        i, i / 100, (unsigned)i, i);
                if (workload_upsert(w, k, text_of(json), 1, &err) < 0)
                        bench_fail("%s", err.text);
        }
}

/* The median CPU of what a pass does to profiles when something changed. */
static double relink_ms(struct cache *w)
{
        double took[RUNS];
        for (int i = 0; i < RUNS; i++) {
                double begin = bench_thread_seconds();
                cache_set_changed(w);
                cache_relink(w, (struct now){.wall = {1767225600000}});
                watched_kinds_settle(w);
                took[i] = (bench_thread_seconds() - begin) * 1e3;
        }
        qsort(took, RUNS, sizeof took[0], bench_by_value);
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
        measure("elsewhere", "mallory", PROFILES, "");
        measure("elsewhere_equal", "mallory", 1, "");
        measure("own", "shop-7", PROFILES, "");
        return 0;
}
