/*
 * What a view tells where Recommendations are all there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "serving/snapshot_from_status.h"

/* One container runs to completion, one only pods have, one is the workload's own. */
static const char recommendation[] =
        "{\"apiVersion\":\"halflife.dev/"
        "v1alpha1\",\"kind\":\"Recommendation\",\"metadata\":{\"name\":\"deployment-web\","
        "\"namespace\":\"shop\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
        "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":"
        "\"broken\"}},\"status\":{\"state\":\"Ready\",\"containers\":["
        "{\"name\":\"app\",\"state\":\"Ready\",\"cpu\":{\"reason\":\"Lowered\"},\"memory\":{\"reason\":\"MemoryOff\"}},"
        "{\"name\":\"prepare\",\"state\":\"NoData\",\"cpu\":{\"reason\":\"Init\"},\"memory\":{\"reason\":\"Init\"}},"
        "{\"name\":\"mesh\",\"state\":\"Ready\",\"cpu\":{\"reason\":\"NotInTemplate\"}}]}}";

static void test_roles(void **state)
{
        (void)state;
        static const enum container_role want[] = {ROLE_MAIN, ROLE_INIT, ROLE_INJECTED};
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
        struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
        const struct snapshot_target *t = snapshot_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        assert_non_null(t);
        assert_int_equal(t->containers, 3);
        for (int i = 0; i < 3; i++)
                if (t->container[i].role != want[i])
                        fail_msg("%s: role %d, not %d", t->container[i].name, t->container[i].role, want[i]);
        snapshot_drop(v);
        cache_release(&w);
}

/* Autoscalers that came after the Recommendation was written hold what they are about, and nothing else. */
static void test_new_autoscalers(void **state)
{
        (void)state;
        static const struct {
                const char *other_autoscaler, *hpa; /* of whom */
                bool other, holds;
        } row[] = {{"other", "other", false, false}, {"web", "other", true, false}, {"other", "web", false, true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct err err = {0};
                cache_init(&w, "halflife", "halflife");
                AUTO(mem_free)
                char *other_autoscaler =
                        mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"sizer\"},\"spec\":{\"targetRef\":"
                                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\"}}}",
                                   row[i].other_autoscaler);
                AUTO(mem_free)
                char *hpa =
                        mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"scaler\"},\"spec\":{"
                                   "\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                   "\"%s\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\","
                                   "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":70}}}]}}",
                                   row[i].hpa);
                assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
                assert_int_equal(other_autoscaler_upsert(&w, text_of(other_autoscaler), 1, &err), 0);
                assert_int_equal(hpa_upsert(&w, text_of(hpa), 1, &err), 0);
                struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
                const struct snapshot_target *t =
                        snapshot_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
                assert_non_null(t);
                if (t->decision.other_autoscaler != row[i].other || t->hpa_holds[CPU] != row[i].holds)
                        fail_msg("row %zu: rival %d, hpa %d", i, t->decision.other_autoscaler, t->hpa_holds[CPU]);
                snapshot_drop(v);
                cache_release(&w);
        }
}

/* A part that the Recommendation has, and a VPA that sets another part by now: until both agree, all is left. */
static void test_part_of_a_vpa(void **state)
{
        (void)state;
#define FACTS(list) ",\"decision\":{\"facts\":[\"OtherAutoscaler\"]" list "}"
#define OF_APP                                                                                                         \
        ",\"otherAutoscaler\":[{\"container\":\"*\",\"resources\":[]},{\"container\":\"app\",\"resources\":[\"cpu\"]}" \
        "]"
#define SETS(of)                                                                                                       \
        ",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\",\"mode\":\"Off\"},{\"containerName\":"   \
        "\"app\",\"controlledResources\":[\"" of "\"]}]}"
        static const struct {
                const char *facts, *vpa; /* NULL: no VPA */
                bool app_cpu, app_memory, side;
        } row[] = {
                {FACTS(OF_APP), NULL, true, false, false},
                {FACTS(OF_APP), SETS("cpu"), true, false, false},
                {FACTS(OF_APP), SETS("memory"), true, true, true},
                {FACTS(OF_APP), "", true, true, true},
                {FACTS(""), NULL, true, true, true},
                {FACTS(""), SETS("cpu"), true, true, true},
                {"", SETS("memory"), false, true, false},
                {"", "", true, true, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                struct err err = {0};
                cache_init(&w, "halflife", "halflife");
                AUTO(mem_free)
                char *published =
                        mem_printf("{\"metadata\":{\"name\":\"deployment-web\",\"namespace\":\"shop\"},\"spec\":{"
                                   "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                   "\"web\"}},\"status\":{\"state\":\"Ready\"%s}}",
                                   row[i].facts);
                AUTO(mem_free)
                char *vpa =
                        mem_printf("{\"metadata\":{\"namespace\":\"shop\",\"name\":\"sizer\"},\"spec\":{\"targetRef\":"
                                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"}%s}}",
                                   row[i].vpa ? row[i].vpa : "");
                assert_int_equal(published_upsert(&w, text_of(published), 1, &err), 0);
                if (row[i].vpa)
                        assert_int_equal(other_autoscaler_upsert(&w, text_of(vpa), 1, &err), 0);
                struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
                const struct snapshot_target *t =
                        snapshot_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
                assert_non_null(t);
                assert_true(t->decision.other_autoscaler);
                if (vpa_policy_sets(t->left, TEXT("app"), CPU) != row[i].app_cpu ||
                    vpa_policy_sets(t->left, TEXT("app"), MEMORY) != row[i].app_memory ||
                    vpa_policy_sets(t->left, TEXT("side"), CPU) != row[i].side)
                        fail_msg("row %zu", i);
                snapshot_drop(v);
                cache_release(&w);
        }
}

#define OTHER(name, kind, target, containers, more)                                                                    \
        "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"shop\",\"uid\":\"" name                                  \
        "\",\"resourceVersion\":\"1\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"v1\",\"kind\":\"" kind                \
        "\",\"name\":\"" target "\"},\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":\"x\"}},\"status\":{"        \
        "\"state\":\"Ready\",\"containers\":[" containers "]" more "}}"
#define ROW(name)       "{\"name\":\"" name "\",\"state\":\"Ready\",\"cpu\":{\"original\":\"2\",\"target\":\"1\"}}"
#define APPLIED(reason) ",\"conditions\":[{\"type\":\"Applied\",\"status\":\"False\",\"reason\":\"" reason "\"}]"

/* What is all of a pod together is no container of it; what is never written is known by its kind, or says so. */
static void test_dimensions(void **state)
{
        (void)state;
        static const struct {
                const char *json, *kind, *name;
                enum container_role last;
                bool never;
        } row[] = {
                {OTHER("pod-db-0", "Pod", "db-0", ROW("app") "," ROW("*"), APPLIED("RecommendOnly")), "Pod", "db-0",
                 ROLE_WHOLE, true},
                {OTHER("pod-lone", "Pod", "lone", ROW("app") "," ROW("*"), APPLIED("NextDeploy")), "Pod", "lone",
                 ROLE_WHOLE, false},
                {OTHER("namespace-shop", "Namespace", "shop", ROW("*"),
                       ",\"quota\":{\"cpu\":{\"hard\":\"20\",\"used\":\"12\"}}"),
                 "Namespace", "shop", ROLE_MAIN, true},
        };
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        size_t rows = sizeof row / sizeof row[0];
        for (size_t i = 0; i < rows; i++)
                assert_int_equal(published_upsert(&w, text_of(row[i].json), 1, &err), 0);
        for (const struct watched_kind *k = w.kinds; k; k = k->next) /* pods are watched as pods */
                assert_int_equal(kind_dimension(text_of(k->group), text_of(k->kind)), DIMENSION_WORKLOAD);
        struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
        for (size_t i = 0; i < rows; i++) {
                const struct snapshot_target *t =
                        snapshot_find(v, TEXT("shop"), TEXT(""), text_of(row[i].kind), text_of(row[i].name));
                assert_non_null(t);
                if (t->container[t->containers - 1].role != row[i].last || t->decision.never_written != row[i].never)
                        fail_msg("%s: role %d, %s", row[i].name, t->container[t->containers - 1].role,
                                 t->decision.never_written ? "never written" : "written");
        }
        const struct status_quota *quota =
                snapshot_find(v, TEXT("shop"), TEXT(""), TEXT("Namespace"), TEXT("shop"))->quota;
        assert_int_equal(quota[CPU].hard, 20000);
        assert_int_equal(quota[CPU].used, 12000);
        assert_int_equal(quota[MEMORY].hard, -1);
        snapshot_drop(v);
        cache_release(&w);
}

/* A profile that never could be read has nothing to show. */
static void test_a_profile_never_read(void **state)
{
        (void)state;
        static const char broken[] =
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{"
                "\"name\":\"broken\",\"uid\":\"p\",\"resourceVersion\":\"1\"},\"spec\":{\"priority\":"
                "\"high\"}}";
        struct cache w;
        struct err err = {0};
        struct profile *p;
        cache_init(&w, "halflife", "halflife");
        (void)profile_upsert(&w, true, text_of(broken), 1, &err);
        assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
        struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
        size_t at = 0;
        p = map_each(&w.profiles, &at);
        assert_non_null(p);
        assert_false(p->valid);
        assert_null(p->shown);
        assert_int_equal(v->profiles, 0);
        assert_null(v->target[0]->profile);
        snapshot_drop(v);
        cache_release(&w);
}

/* Who may not list profiles still sees which one selects a workload: its Recommendation names it. */
static void test_unlisted_profiles(void **state)
{
        (void)state;
        static const char own[] = "{\"metadata\":{\"name\":\"deployment-%s\",\"namespace\":\"%s\"},\"spec\":{"
                                  "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\"},"
                                  "\"profileRef\":{\"kind\":\"Profile\",\"name\":\"own\"}},\"status\":{}}";
        static const char *const place[][2] = {{"shop", "a"}, {"shop", "b"}, {"bank", "a"}};
        static const struct {
                const char *why[2]; /* of ClusterProfiles, and of Profiles */
                size_t profiles;
                bool of_cluster, of_ns; /* whether targets have them */
        } row[] = {
                {{NULL, NULL}, 0, false, false}, /* they are gone */
                {{"no list of ClusterProfiles", NULL}, 1, true, false},
                {{NULL, "no list of Profiles"}, 2, false, true}, /* one for each namespace */
                {{"no list of ClusterProfiles", "no list of Profiles"}, 3, true, true},
        };
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
        for (int i = 0; i < 3; i++) {
                AUTO(mem_free) char *json = mem_printf(own, place[i][1], place[i][0], place[i][1]);
                assert_int_equal(published_upsert(&w, text_of(json), 1, &err), 0);
        }
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct snapshot *v = snapshot_from_shown(&w, row[i].why, (struct wall){1000});
                const struct snapshot_profile *of[3],
                        *broken =
                                snapshot_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"))->profile;
                for (int k = 0; k < 3; k++)
                        of[k] = snapshot_find(v, text_of(place[k][0]), TEXT("apps"), TEXT("Deployment"),
                                              text_of(place[k][1]))
                                        ->profile;
                assert_int_equal(v->profiles, row[i].profiles);
                assert_int_equal(broken != NULL, row[i].of_cluster);
                assert_int_equal(of[0] != NULL, row[i].of_ns);
                assert_ptr_equal(of[0], of[1]);
                if (broken && (strcmp(broken->name, "broken") != 0 || broken->ns || !broken->unseen))
                        fail_msg("row %zu: it is %s", i, broken->name);
                if (of[0] && (of[2] == of[0] || strcmp(of[2]->ns, "bank") != 0 || strcmp(of[0]->name, "own") != 0))
                        fail_msg("row %zu: Profiles of two namespaces are one", i);
                for (int k = 0; k < 2; k++)
                        if (row[i].why[k])
                                assert_string_equal(v->unlisted[k], row[i].why[k]);
                        else
                                assert_null(v->unlisted[k]);
                snapshot_drop(v);
        }
        cache_release(&w);
}

/* A Profile of namespace shop that selects Deployments with a label of its name; its status has the condition. */
static void put_profile(struct cache *w, const char *name, int priority, const char *condition)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\",\"generation\":1},\"spec\":{"
                "\"priority\":%d,\"selector\":{\"matchLabels\":{\"%s\":\"\"}}},\"status\":{\"conditions\":["
                "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Accepted\"},{\"type\":\"Degraded\",%s}]}}",
                name, priority, name, condition);
        assert_int_equal(profile_upsert(w, false, text_of(json), 1, &err), 0);
}

static const char *chosen_for(const struct snapshot *v, const char *label)
{
        const struct label_pair pair = {text_of(label), TEXT("")};
        const struct snapshot_profile *p = snapshot_choose(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), &pair, 1);
        return p ? p->name : "none";
}

/* Without workloads a replica cannot tell which Profiles are too many: their statuses say so. Where one that was left
 * out is first, none selects anything. A ClusterProfile takes nobody's place. */
static void test_left_out_by_status(void **state)
{
        (void)state;
#define SELECTS  "\"status\":\"False\",\"reason\":\"AsExpected\""
#define ONCE     "\"status\":\"False\",\"reason\":\"TooManyProfiles\""
#define LEFT_OUT "\"status\":\"True\",\"reason\":\"TooManyProfiles\""
        static const struct {
                const char *condition[3]; /* of the first, second and third */
                const char *chosen[4];    /* for a workload of each, and for one of none */
        } row[] = {
                {{SELECTS, SELECTS, ONCE}, {"first", "second", "third", "all"}},
                {{SELECTS, SELECTS, LEFT_OUT}, {"first", "second", "none", "none"}},
                {{SELECTS, LEFT_OUT, LEFT_OUT}, {"first", "none", "none", "none"}},
                {{LEFT_OUT, SELECTS, SELECTS}, {"none", "none", "none", "none"}},
        };
        static const char *const name[] = {"first", "second", "third", "other"};
        static const char all[] = "{\"metadata\":{\"name\":\"all\"},\"spec\":{}}";
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(profile_upsert(&w, true, text_of(all), 1, &err), 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                for (int k = 0; k < 3; k++)
                        put_profile(&w, name[k], -k, row[i].condition[k]);
                struct snapshot *v = snapshot_from_status(&w, (struct wall){1000});
                for (int k = 0; k < 4; k++)
                        if (strcmp(chosen_for(v, name[k]), row[i].chosen[k]) != 0)
                                fail_msg("row %zu, %s: %s is chosen", i, name[k], chosen_for(v, name[k]));
                snapshot_drop(v);
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_roles),
                cmocka_unit_test(test_part_of_a_vpa),
                cmocka_unit_test(test_new_autoscalers),
                cmocka_unit_test(test_dimensions),
                cmocka_unit_test(test_a_profile_never_read),
                cmocka_unit_test(test_unlisted_profiles),
                cmocka_unit_test(test_left_out_by_status),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
