/*
 * What one namespace's owner can make halflife compare: 1 000 Profiles, each with a selector of 16 expressions, beside
 * 1 000 workloads with 250 labels each; and 10 HPAs whose workload's selector has 250 expressions, beside 1 000
 * workloads whose pods have 250 labels. All but the last expression hold. CPU of the loop's thread for a pass after a
 * change; of the Profiles, what one admission review of a workload there costs, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cache/cache.h"
#include "line.h"
#include "serving/snapshot_from_status.h"

enum { PROFILES = 1000, HPAS = 10, WORKLOADS = 1000, LABELS = 250, RUNS = 3, KEY_LEN = 63 };

static const struct now at = {.wall = {1767225600000}};

static void need(int rc, const struct err *err)
{
        if (rc < 0)
                bench_fail("%s", err->text);
}

/* A key as long as one may be that differs from the others in its end. */
static char *label_key(int i)
{
        return mem_printf("%0*d", KEY_LEN, i);
}

static char *labels_new(void)
{
        struct buf b;
        buf_init(&b, 1 << 20);
        for (int i = 0; i < LABELS; i++) {
                AUTO(mem_free) char *key = label_key(i);
                buf_printf(&b, "%s\"%s\":\"x\"", i ? "," : "", key);
        }
        return buf_steal(&b);
}

/* Requirements on labels that nothing has; the last is not met. */
static char *expressions_new(int count)
{
        struct buf b;
        buf_init(&b, 1 << 20);
        for (int i = 0; i < count; i++) {
                AUTO(mem_free) char *key = label_key(LABELS + i);
                buf_printf(&b, "%s{\"key\":\"%s\",\"operator\":\"%s\",\"values\":[\"x\",\"y\"]}", i ? "," : "", key,
                           i == count - 1 ? "In" : "NotIn");
        }
        return buf_steal(&b);
}

static void put_profiles(struct cache *w)
{
        struct err err = {0};
        AUTO(mem_free) char *expressions = expressions_new(16);
        for (int i = 0; i < PROFILES; i++) {
                AUTO(mem_free)
                char *json =
                        mem_printf("{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"mallory\",\"generation\":1},"
                                   "\"spec\":{\"selector\":{\"matchExpressions\":[%s]},\"targets\":[{\"apiVersion\":"
                                   "\"apps/v1\",\"kind\":\"Deployment\"}]}}",
                                   i, expressions);
                need(profile_upsert(w, false, text_of(json), 1, &err), &err);
        }
}

static void put_workloads(struct cache *w, int count)
{
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("apps"), TEXT("Deployment"));
        AUTO(mem_free) char *labels = labels_new();
        AUTO(mem_free) char *expressions = expressions_new(LABELS);
        for (int i = 0; i < count; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"name\":\"web-%d\",\"namespace\":\"mallory\",\"uid\":"
                                        "\"5eed0001-0000-4000-8000-%012x\",\"labels\":{%s}},\"spec\":{\"replicas\":1,"
                                        "\"selector\":{\"matchExpressions\":[%s]},"
                                        "\"template\":{\"metadata\":{\"labels\":{%s}}}}}",
                                        i, (unsigned)i, labels, i == 0 ? expressions : "", labels);
                need(workload_upsert(w, k, text_of(json), 1, &err), &err);
        }
}

static void put_hpas(struct cache *w)
{
        struct err err = {0};
        for (int i = 0; i < HPAS; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"name\":\"h%d\",\"namespace\":\"mallory\"},\"spec\":{"
                                        "\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
                                        "\"name\":\"web-0\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{"
                                        "\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
                                        "\"averageUtilization\":60}}}]}}",
                                        i);
                need(hpa_upsert(w, text_of(json), 1, &err), &err);
        }
}

/* The median CPU of a pass after a change. */
static double relink_ms(struct cache *w)
{
        double took[RUNS];
        for (int i = 0; i < RUNS; i++) {
                double begin = bench_thread_seconds();
                ns_recount(w, "mallory");
                cache_set_changed(w);
                cache_relink(w, at);
                took[i] = (bench_thread_seconds() - begin) * 1e3;
        }
        qsort(took, RUNS, sizeof took[0], bench_by_value);
        return took[RUNS / 2];
}

/* A review of a workload where there are two, so that as many Profiles as one subject may have are in force. */
static double review_ms(void)
{
        enum { REVIEWS = 20 };
        struct cache w;
        cache_init(&w, "halflife", NULL);
        put_workloads(&w, 2);
        put_profiles(&w);
        struct snapshot *v = snapshot_from_status(&w, at.wall);
        const struct workload *wl = workload_find(&w, "apps", "Deployment", "mallory", "web-1");
        double begin = bench_thread_seconds();
        for (int i = 0; i < REVIEWS; i++)
                if (snapshot_choose(v, TEXT("mallory"), TEXT("apps"), TEXT("Deployment"), wl->labels.pair,
                                    wl->labels.count))
                        bench_fail("a profile is chosen");
        double took = (bench_thread_seconds() - begin) * 1e3 / REVIEWS;
        snapshot_drop(v);
        cache_release(&w);
        return took;
}

int main(void)
{
        struct cache w;
        cache_init(&w, "halflife", NULL);
        put_workloads(&w, WORKLOADS);
        double none = relink_ms(&w);
        put_profiles(&w);
        bench_line("profile_costs_growth", relink_ms(&w) - none, "ms", "");
        bench_line("profile_costs_review", review_ms(), "ms", "");
        profile_swept(&w, false, 2);
        put_hpas(&w);
        bench_line("autoscaler_costs_growth", relink_ms(&w) - none, "ms", "");
        cache_release(&w);
        return 0;
}
