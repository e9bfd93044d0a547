#include "shop.h"

#include <stdio.h>
#include <stdlib.h>

static void check(int rc, const struct err *err)
{
        if (rc == 0)
                return;
        fprintf(stderr, "%s\n", err->text);
        abort();
}

void shop_profile(struct cache *w, int generation, const char *spec)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"team\",\"generation\":%d},\"spec\":%s}",
                           generation, spec);
        check(profile_upsert(w, false, text_of(json), 1, &err), &err);
}

void shop_workload(struct cache *w, const struct shop_workload *wl)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-8000-"
                           "%012d\",\"generation\":1%s},\"spec\":{%s},\"status\":{%s}}",
                           wl->ns, wl->name, wl->uid, wl->meta ? wl->meta : "", wl->spec, wl->status ? wl->status : "");
        check(workload_upsert(w, kind_watched(w, text_of(wl->group), text_of(wl->kind)), text_of(json), 1, &err), &err);
}

void shop_hpa(struct cache *w, const struct shop_hpa *h)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"annotations\":{%s}},\"spec\":{"
                           "\"scaleTargetRef\":{\"apiVersion\":\"%s/v1\",\"kind\":\"%s\",\"name\":\"%s\"},"
                           "\"metrics\":[%s]}}",
                           h->name, h->annotations ? h->annotations : "", h->group, h->kind, h->scales, h->metrics);
        check(hpa_upsert(w, text_of(json), 1, &err), &err);
}

void shop_deployment(struct cache *w, const char *resources)
{
        AUTO(mem_free)
        char *spec = mem_printf(
                "\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":%s}]}}",
                resources);
        shop_workload(w, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, NULL, spec, SHOP_ROLLED_OUT});
}

static char *last_state(int64_t killed_ms)
{
        char at[WALL_TEXT_MAX];
        if (!killed_ms)
                return mem_string("{}");
        return mem_printf("{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"%s\"}}",
                          wall_print((struct wall){killed_ms}, at));
}

void shop_pod(struct cache *w, int number, int restarts, int64_t killed_ms)
{
        struct err err = {0};
        AUTO(mem_free) char *last = last_state(killed_ms);
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-%d\",\"uid\":\"00000000-0000-4000-8001-%012d\","
                "\"generation\":1" SHOP_OWNED "},\"spec\":{\"containers\":[{\"name\":\"app\"}]},\"status\":{"
                "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":%d,"
                "\"lastState\":%s}]}}",
                number, number, restarts, last);
        check(pod_upsert(w, text_of(json), 1, &err), &err);
}

struct target *shop_target(struct cache *w)
{
        return target_get(w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
}

static void lend(struct usage *u, const struct usage_room *room)
{
        mem_free(histogram_lend(&u->of[room->resource], mem_new_array((size_t)room->cap, sizeof(double)), room->cap));
}

struct sample_watermark shop_learn(struct target *t, const char *container, int64_t from_ms, int samples)
{
        struct sample_watermark watermark = {0};
        enum sample_verdict verdict;
        struct usage_room room;
        struct history *h = history_get(t, container, t->profile->spec->of);
        for (int i = 0; i < samples; i++) {
                struct sample s = {.at = {from_ms + i * SECOND_MS},
                                   .has = {true, true},
                                   .value = {0.25, 300 << 20},
                                   .cpu_weight = 1};
                while (usage_add(&h->usage, &watermark, &s, s.at, &verdict, &room) == ERR_NOSPACE)
                        lend(&h->usage, &room);
                if (verdict != SAMPLE_ACCEPTED)
                        abort();
        }
        return watermark;
}
