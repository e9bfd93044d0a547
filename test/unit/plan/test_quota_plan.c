/* ResourceQuotas of a namespace: taken in, changed, taken out, by event and by list; and which rollouts they admit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"
#include "plan/plan.h"

#define QUOTA(name, spec) "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define PODS(n)           "\"hard\":{\"pods\":" n "}"

enum what { PUT, OUT, SWEEP };
static const struct {
        enum what what;
        uint32_t epoch;
        const char *json;
        const char *want; /* names and pods, in order */
} step[] = {
        {PUT, 1, QUOTA("b", PODS("2")), "b=2"},
        {PUT, 1, QUOTA("c", PODS("3")), "b=2 c=3"},
        {PUT, 1, QUOTA("a", PODS("1")), "a=1 b=2 c=3"},
        {PUT, 1,
         QUOTA("b", PODS("4") ",\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\","
                              "\"operator\":\"In\",\"values\":[\"x\",\"y\"]}]}"),
         "a=1 b=4:x,y c=3"},
        {PUT, 1, QUOTA("b", "\"hard\":\"much\""), "!"},
        {OUT, 0, QUOTA("bb", ""), "a=1 b=4:x,y c=3"},
        {OUT, 0, QUOTA("a", ""), "b=4:x,y c=3"},
        {PUT, 2, QUOTA("c", PODS("3")), "b=4:x,y c=3"},
        {SWEEP, 2, NULL, "c=3"},
        {SWEEP, 3, NULL, ""},
        {PUT, 3, QUOTA("z", PODS("9")), "z=9"},
};

static void print(struct cache *w, char *out, size_t size)
{
        size_t at = 0;
        out[0] = '\0';
        for (const struct quota *q = ns_get(w, TEXT("web"))->quotas; q; q = q->next) {
                at += (size_t)snprintf(out + at, size - at, "%s%s=%lld", at ? " " : "", q->name,
                                       (long long)q->says.hard[QUOTA_PODS].value);
                for (int i = 0; i < q->says.class_count; i++)
                        at += (size_t)snprintf(out + at, size - at, "%c%s", i ? ',' : ':', q->says.class[i]);
        }
}

static void quotas_are_those_of_the_namespace(void **state)
{
        (void)state;
        struct cache w;
        char got[256];
        cache_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
                struct err err = {0};
                int rc = 0;
                if (step[i].what == PUT)
                        rc = quota_upsert(&w, text_of(step[i].json), step[i].epoch, &err);
                else if (step[i].what == OUT)
                        quota_remove(&w, text_of(step[i].json));
                else
                        quota_swept(&w, step[i].epoch);
                print(&w, got, sizeof got);
                if (rc < 0 ? step[i].want[0] != '!' : strcmp(got, step[i].want) != 0)
                        fail_msg("step %zu: %s%s, not %s", i, got, err.text, step[i].want);
        }
        cache_release(&w);
}

/* --- the pods of a rollout --- */

static char deployment[] = "Deployment", rollout[] = "Rollout", set[] = "StatefulSet";

static void surges(void **state)
{
        (void)state;
        static const struct {
                char *kind;
                struct share surge;
                bool referred; /* a Rollout runs its template */
                int64_t replicas, want;
        } row[] = {
                {deployment, {0}, false, 0, 0},
                {deployment, {0}, false, 1, 1},
                {deployment, {0}, false, 4, 1},
                {deployment, {0}, false, 5, 2},
                {deployment, {0}, false, 100, 25},
                {rollout, {0}, false, 100, 25},
                {set, {0}, false, 100, 0},
                {set, {true, false, 2}, false, 100, 2},
                {set, {true, true, 1}, false, 1, 1},
                {set, {true, true, 10}, false, 20, 2},
                {set, {true, false, 2}, true, 8, 2},
                {set, {true, true, 90}, true, 100, 25},
                {set, {true, true, 200}, false, INT64_MAX, INT64_MAX},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct watched_kind kind = {.kind = row[i].kind}, by = {.kind = rollout};
                struct workload_more more = {.rollout_ref.kind = row[i].referred ? &by : NULL};
                const struct workload wl = {.kind = &kind, .more = &more, .surge = row[i].surge};
                if (rollout_surge(&wl, row[i].replicas) != row[i].want)
                        fail_msg("row %zu: %lld", i, (long long)rollout_surge(&wl, row[i].replicas));
        }
}

/* Each pod goes from 1000m to 300m, and is limited to 500m; of memory, from 2000 bytes to 600, and to 700. */
static void rollouts_that_fit(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                char *kind;
                int64_t replicas;
                enum quota_count count;
                int64_t used, hard;
                const char *says; /* NULL: they fit */
        } row[] = {
                {"a surge of one", deployment, 4, QUOTA_CPU, 4000, 4300, NULL},
                {"no room for it", deployment, 4, QUOTA_CPU, 4000, 4299,
                 "ResourceQuota 'room': 4 of 4299m requests.cpu are used, the rollout needs 300m more"},
                {"limits", deployment, 4, QUOTA_LIMITS_CPU, 2000, 2500, NULL},
                {"no room for limits", deployment, 4, QUOTA_LIMITS_CPU, 2000, 2499,
                 "ResourceQuota 'room': 2 of 2499m limits.cpu are used, the rollout needs 500m more"},
                {"no room for memory", deployment, 4, QUOTA_MEMORY, 8000, 8599,
                 "ResourceQuota 'room': 8000 of 8599 requests.memory are used, the rollout needs 600 more"},
                {"no room for limits of memory", deployment, 4, QUOTA_LIMITS_MEMORY, 2800, 3499,
                 "ResourceQuota 'room': 2800 of 3499 limits.memory are used, the rollout needs 700 more"},
                {"pods", deployment, 4, QUOTA_PODS, 4, 5, NULL},
                {"no room for a pod", deployment, 4, QUOTA_PODS, 4, 4,
                 "ResourceQuota 'room': 4 of 4 pods are used, the rollout needs 1 more"},
                {"no surge, and full", set, 4, QUOTA_CPU, 4000, 4000, NULL},
                {"the first successor fits in what is left", set, 4, QUOTA_CPU, 4000, 3300, NULL},
                {"it does not", set, 4, QUOTA_CPU, 4000, 3299,
                 "ResourceQuota 'room': 4 of 3299m requests.cpu are used, the rollout needs 0 more"},
                {"no pods", deployment, 0, QUOTA_CPU, 4000, 4000, NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                char name[] = "room";
                struct quota quota = {.name = name};
                struct watched_kind kind = {.kind = row[i].kind};
                struct workload wl = {.kind = &kind, .replicas = row[i].replicas};
                struct plan_container c = {.facts.current = {{true, 1000}, {true, 2000}},
                                           .facts.limit = {{true, 500}, {true, 700}},
                                           .advice.gate = {{.value = 300}, {.value = 600}}};
                struct target t = {.ns = "web", .workload = &wl};
                struct plan p = {.target = &t, .container = &c, .containers = 1, .apply = true};
                cache_init(&w, "halflife", "halflife");
                quota.says.hard[row[i].count] = (struct amount){true, row[i].hard};
                quota.says.used[row[i].count] = (struct amount){true, row[i].used};
                ns_get(&w, TEXT("web"))->quotas = &quota;
                plan_ask_quota(&w, &p);
                if (p.apply != !row[i].says || strcmp(p.no_room, row[i].says ? row[i].says : "") != 0)
                        fail_msg("%s: '%s'", row[i].what, p.no_room);
                assert_int_equal(c.advice.gate[CPU].hold, row[i].says ? REASON_QUOTA : REASON_NONE);
                ns_get(&w, TEXT("web"))->quotas = NULL;
                cache_release(&w);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(quotas_are_those_of_the_namespace),
                cmocka_unit_test(surges),
                cmocka_unit_test(rollouts_that_fit),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
