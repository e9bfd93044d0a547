/* Which VerticalPodAutoscaler a workload's requests are left to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define UID(n) "00000000-0000-4000-8000-00000000000" n
#define VPA(name, version, kind, of, policy)                                                                           \
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name                                                        \
        "\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" of             \
        "\"}" policy "}}"
#define MODE(m)          ",\"updatePolicy\":{\"updateMode\":\"" m "\"}"
#define OF(name, policy) VPA(name, "apps/v1", "Deployment", "web", policy)

#define OF_AGE(name, at)                                                                                               \
        "{\"metadata\":{\"namespace\":\"web\",\"creationTimestamp\":\"" at "\",\"name\":\"" name                       \
        "\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}}}"
#define POLICY(container, more)                                                                                        \
        ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"" container "\"," more "}]}"
#define NOTHING              POLICY("*", "\"mode\":\"Off\"")
#define MEMORY_OF(container) POLICY(container, "\"controlledResources\":[\"memory\"]")

enum what { PUT, OUT, SWEEP };
static const struct {
        enum what what;
        uint32_t epoch;
        const char *json;
        const char *deployment, *set, *stateful; /* whose they are left to; "": nobody's */
} step[] = {
        {PUT, 1, OF("b", MODE("Auto")), "b", "b", ""},
        {PUT, 1, OF("b", MODE("Off")), "", "", ""},
        {PUT, 1, OF("b", ""), "b", "b", ""},
        {PUT, 1, OF("b", MODE("Initial")), "b", "b", ""},
        /* of several the first by name */
        {PUT, 1, OF("c", MODE("Auto")), "b", "b", ""},
        {PUT, 1, OF("a", MODE("Recreate")), "a", "a", ""},
        {OUT, 0, OF("a", ""), "b", "b", ""},
        /* the older one before it, as for the VPA's own components */
        {PUT, 1, OF_AGE("z", "2024-01-01T00:00:00Z"), "b", "b", ""},
        {PUT, 1, OF_AGE("b", "2024-06-01T00:00:00Z"), "c", "c", ""},
        {PUT, 1, OF_AGE("c", "2024-03-01T00:00:00Z"), "z", "z", ""},
        {OUT, 0, OF("z", ""), "c", "c", ""},
        /* one whose policies set nothing */
        {PUT, 1, OF("c", NOTHING), "b", "b", ""},
        {SWEEP, 2, NULL, "", "", ""},
        /* another group, kind, name, namespace: another one */
        {PUT, 1, VPA("d", "apps.kruise.io/v1", "Deployment", "web", ""), "", "", ""},
        {PUT, 1, VPA("d", "v1", "Deployment", "web", ""), "", "", ""},
        {PUT, 1, VPA("d", "apps/v1", "StatefulSet", "web", ""), "", "", ""},
        {PUT, 1, VPA("d", "apps/v1", "Deployment", "wob", ""), "", "", ""},
        {PUT, 1,
         "{\"metadata\":{\"namespace\":\"wob\",\"name\":\"d\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\","
         "\"kind\":\"Deployment\",\"name\":\"web\"}}}",
         "", "", ""},
        {PUT, 1, VPA("d", "apps/v1beta1", "Deployment", "web", ""), "d", "d", ""},
        /* below a workload it is not ours, but what is below */
        {PUT, 1, VPA("d", "apps/v1", "ReplicaSet", "web-1", ""), "", "d", ""},
        /* an owner that nobody watches */
        {PUT, 1, VPA("e", "db.example.org/v1", "Database", "main", ""), "", "d", "e"},
        {PUT, 1, VPA("e", "other.example.org/v1", "Database", "main", ""), "", "d", ""},
        {PUT, 1, VPA("e", "db.example.org/v2", "Database", "main", MODE("Auto")), "", "d", "e"},
        {PUT, 2, VPA("e", "db.example.org/v2", "Database", "main", MODE("Auto")), "", "d", "e"},
        {SWEEP, 2, NULL, "", "", "e"},
        {SWEEP, 0, NULL, "", "", ""},
};

static struct workload *put(struct cache *w, const char *kind, const char *name, const char *uid, const char *owner)
{
        char json[1000];
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("apps"), text_of(kind));
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s\",\"generation\":1%s},\"spec\":{"
                 "\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}}}",
                 name, uid, owner);
        if (workload_upsert(w, k, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
        return workload_find(w, "apps", kind, "web", name);
}

static const char *name_of(const struct workload *wl)
{
        return wl->other_autoscaler ? wl->other_autoscaler->name : "";
}

static void requests_are_left_to_whoever_sets_them(void **state)
{
        (void)state;
        struct cache w;
        const struct now now = {.wall = {1763700000000}, .mono = {1}};
        cache_init(&w, "halflife", "halflife");
        const struct workload *set = put(
                &w, "ReplicaSet", "web-1", UID("2"),
                ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"
                "\"" UID("1") "\",\"controller\":true}]");
        const struct workload *deployment = put(&w, "Deployment", "web", UID("1"), "");
        const struct workload *stateful = put(
                &w, "StatefulSet", "db", UID("3"),
                ",\"ownerReferences\":[{\"apiVersion\":\"db.example.org/v1\",\"kind\":\"Database\",\"name\":\"main\","
                "\"uid\":\"" UID("4") "\",\"controller\":true}]");
        for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
                struct err err = {0};
                if (step[i].what == PUT)
                        assert_int_equal(other_autoscaler_upsert(&w, text_of(step[i].json), step[i].epoch, &err), 0);
                else if (step[i].what == OUT)
                        other_autoscaler_remove(&w, text_of(step[i].json));
                else
                        other_autoscaler_swept(&w, step[i].epoch);
                cache_relink(&w, now);
                if (strcmp(name_of(deployment), step[i].deployment) != 0 || strcmp(name_of(set), step[i].set) != 0 ||
                    strcmp(name_of(stateful), step[i].stateful) != 0)
                        fail_msg("step %zu: left to '%s', '%s', '%s'", i, name_of(deployment), name_of(set),
                                 name_of(stateful));
        }
        cache_release(&w);
}

/* A Rollout's pods have the template of the Deployment it refers to. An autoscaler that sets their requests therefore
 * sets that Deployment's. */
static void what_runs_a_template_is_its_workload(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        const struct now now = {.wall = {1763700000000}, .mono = {1}};
        cache_init(&w, "halflife", "halflife");
        const struct workload *deployment = put(&w, "Deployment", "web", UID("1"), "");
        assert_int_equal(
                workload_upsert(&w, kind_watched(&w, TEXT("argoproj.io"), TEXT("Rollout")),
                                TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"r\",\"uid\":\"" UID(
                                        "5") "\"},\"spec\":{\"workloadRef\":{\"apiVersion\":\"apps/v1\",\"kind\":"
                                             "\"Deployment\",\"name\":\"web\"}}}"),
                                1, &err),
                0);
        assert_int_equal(
                other_autoscaler_upsert(&w, TEXT(VPA("f", "argoproj.io/v1alpha1", "Rollout", "r", "")), 1, &err), 0);
        cache_relink(&w, now);
        assert_string_equal(name_of(deployment), "f");
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("g", "")), 1, &err), 0);
        cache_relink(&w, now);
        assert_string_equal(name_of(deployment), "f"); /* the first by name, here too */
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("e", "")), 1, &err), 0);
        cache_relink(&w, now);
        assert_string_equal(name_of(deployment), "e");
        other_autoscaler_swept(&w, 2);
        cache_relink(&w, now);
        assert_string_equal(name_of(deployment), "");
        cache_release(&w);
}

/* Deleted together, and a write about the workload may be under way until the next settle. */
static void both_go(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        const struct now now = {.wall = {1763700000000}, .mono = {1}};
        cache_init(&w, "halflife", "halflife");
        const struct workload *deployment = put(&w, "Deployment", "web", UID("1"), "");
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("a", "")), 1, &err), 0);
        cache_relink(&w, now);
        assert_string_equal(name_of(deployment), "a");
        workload_remove(&w, deployment->kind, TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"web\"}}"));
        other_autoscaler_remove(&w, TEXT(OF("a", "")));
        assert_null(deployment->other_autoscaler);
        cache_release(&w);
}

/* What a VPA says of its own progress links nothing afresh. */
static void its_status_changes_nothing(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("a", MODE("Auto"))), 1, &err), 0);
        w.changed = false;
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("a", MODE("Auto"))), 1, &err), 0);
        assert_false(w.changed);
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("b", MODE("Off"))), 1, &err), 0);
        assert_false(w.changed);
        assert_int_equal(other_autoscaler_upsert(&w, TEXT(OF("a", MODE("Off"))), 1, &err), 0);
        assert_true(w.changed);
        static const char *const says[] = {OF("a", ""), OF("a", MEMORY_OF("*")), OF("a", MEMORY_OF("app")),
                                           OF("a", MEMORY_OF("log")), OF("a", NOTHING)};
        for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
                for (int again = 0; again < 2; again++) {
                        w.changed = false;
                        assert_int_equal(other_autoscaler_upsert(&w, text_of(says[i]), 1, &err), 0);
                        assert_int_equal(w.changed, !again);
                }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(requests_are_left_to_whoever_sets_them),
                                           cmocka_unit_test(what_runs_a_template_is_its_workload),
                                           cmocka_unit_test(both_go), cmocka_unit_test(its_status_changes_nothing)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
