#include "shop.h"

#include <stdio.h>
#include <stdlib.h>

#define UID(n) "\"uid\":\"00000000-0000-4000-8000-00000000000" n "\""

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

void shop_deployment(struct cache *w, const char *resources)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"web\"," UID(
                                        "1") ",\"generation\":1},\"spec\":{\"replicas\":2,\"template\":{\"spec\":{"
                                             "\"containers\":[{\"name\":\"app\",\"resources\":%s}]}}},\"status\":{"
                                             "\"observedGeneration\":1,\"replicas\":2,\"updatedReplicas\":2,"
                                             "\"availableReplicas\":2}}",
                                resources);
        check(workload_upsert(w, kind_watched(w, TEXT("apps"), TEXT("Deployment")), text_of(json), 1, &err), &err);
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
                "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"," UID(
                        "1") ",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\"}]},\"status\":{"
                             "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":%d,"
                             "\"lastState\":%s}]}}",
                number, number, restarts, last);
        check(pod_upsert(w, text_of(json), 1, &err), &err);
}

struct target *shop_target(struct cache *w)
{
        return target_get(w, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
}
