/* What keeps a workload from taking a change, of every kind; and whose template a Rollout runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define TEMPLATE "\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}"
#define DONE     "\"observedGeneration\":4,\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2"
#define PHASE(p) "\"observedGeneration\":\"4\",\"phase\":\"" p "\",\"replicas\":3,\"updatedReplicas\":2"
#define STEPS(s) "\"strategy\":{\"canary\":{\"steps\":[" s "]}}"

static const struct now start = {{1000000000}, {1700000000000}};

static struct workload *put(struct cache *w, const char *group, const char *kind, const char *name, const char *uid,
                            const char *spec, const char *status)
{
        char json[2000];
        struct err err = {0};
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-8000-00000000000%"
                 "s\","
                 "\"generation\":4},\"spec\":{%s},\"status\":{%s}}",
                 name, uid, spec, status);
        if (workload_upsert(w, kind_watched(w, text_of(group), text_of(kind)), text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", json, err.text);
        return workload_find(w, group, kind, "web", name);
}

/* --- one of its own --- */

#define KRUISE  "apps.kruise.io", "CloneSet"
#define ROLLOUT "argoproj.io", "Rollout"
#define PERSON  "its rollout would stop until a person continues it"

static const struct {
        const char *group, *kind, *spec, *status;
        bool named;
        const char *blocked; /* how it begins; NULL: it is not */
        bool done;
} row[] = {
        {"apps", "Deployment", "", DONE, false, NULL, true},
        {"apps", "Deployment", "\"paused\":true,", DONE, false, "the rollout is paused", true},
        {KRUISE, "", DONE, false, NULL, true},
        {KRUISE, "\"updateStrategy\":{\"partition\":\"20%\"},", DONE, false, "its rollout stops at a partition", true},
        {KRUISE, "\"updateStrategy\":{\"rollingUpdate\":{\"paused\":true}},", DONE, false, "the rollout is paused",
         true},
        {KRUISE, "\"updateStrategy\":{\"type\":\"OnDelete\"},", DONE, false, "its strategy is OnDelete", true},
        {KRUISE, "", "\"observedGeneration\":3", false, "a rollout is under way", false},
        /* a Rollout is as far as its phase says: another ReplicaSet may stand beside for long */
        {ROLLOUT, STEPS("") ",", PHASE("Healthy"), false, NULL, true},
        {ROLLOUT, STEPS("") ",", PHASE("Progressing"), false, "a rollout is under way", false},
        {ROLLOUT, STEPS("") ",", PHASE("Paused"), false, "the rollout is paused", false},
        {ROLLOUT, STEPS("") ",", PHASE("Degraded"), true, "its last rollout failed or was aborted", false},
        {ROLLOUT, STEPS("") ",", "\"observedGeneration\":\"3\",\"phase\":\"Healthy\"", false, "a rollout is under way",
         false},
        {ROLLOUT, STEPS("") ",", "", false, "a rollout is under way", false},
        {ROLLOUT, "\"paused\":true," STEPS("") ",", PHASE("Healthy"), true, "the rollout is paused", true},
        /* steps that only a person ends */
        {ROLLOUT, STEPS("{\"setWeight\":20},{\"pause\":{}}") ",", PHASE("Healthy"), false, PERSON, true},
        {ROLLOUT, STEPS("{\"setWeight\":20},{\"pause\":{}}") ",", PHASE("Healthy"), true, NULL, true},
        {ROLLOUT, STEPS("{\"setWeight\":20},{\"pause\":{}}") ",", PHASE("Progressing"), true, "a rollout is under way",
         false},
        {ROLLOUT, STEPS("{\"pause\":{\"duration\":\"1h\"}}") ",", PHASE("Healthy"), false, NULL, true},
        {ROLLOUT, "\"strategy\":{\"blueGreen\":{\"autoPromotionEnabled\":false}},", PHASE("Healthy"), false, PERSON,
         true},
        {ROLLOUT, "\"strategy\":{\"blueGreen\":{}},", PHASE("Healthy"), false, NULL, true},
};

static bool begins(const char *text, const char *with)
{
        return text && with ? strncmp(text, with, strlen(with)) == 0 : text == with;
}

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                char spec[1000];
                cache_init(&w, "halflife", "halflife");
                snprintf(spec, sizeof spec, "\"replicas\":2,%s" TEMPLATE, row[i].spec);
                const struct workload *wl = put(&w, row[i].group, row[i].kind, "a", "1", spec, row[i].status);
                cache_relink(&w, start);
                const char *blocked = rollout_blocked(wl, row[i].named);
                if (!begins(blocked, row[i].blocked) || rollout_done(wl) != row[i].done)
                        fail_msg("%s %s %s: %s, done %d", row[i].kind, row[i].spec, row[i].status,
                                 blocked ? blocked : "free", rollout_done(wl));
                cache_release(&w);
        }
}

/* --- one whose template others run --- */

#define REF(name) "\"workloadRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" name "\"}"
#define CANARY    "\"replicas\":3," STEPS("") ","
#define FOLLOWS(generation, phase)                                                                                     \
        "\"observedGeneration\":\"4\",\"workloadObservedGeneration\":\"" generation "\",\"phase\":\"" phase "\""

static void put_pod(struct cache *w, const char *name, const char *owner)
{
        char json[600];
        struct err err = {0};
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s\",\"ownerReferences\":[{"
                 "\"apiVersion\":"
                 "\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"s\",\"uid\":\"00000000-0000-4000-8000-00000000000%s\","
                 "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"app\"}]},\"status\":{\"phase\":"
                 "\"Running\"}}",
                 name, name, owner);
        assert_int_equal(pod_upsert(w, text_of(json), 1, &err), 0);
}

static void put_set(struct cache *w, const char *name, const char *uid, const char *owner)
{
        char json[800];
        struct err err = {0};
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-8000-00000000000%"
                 "s\","
                 "\"ownerReferences\":[{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Rollout\",\"name\":\"r\","
                 "\"uid\":\"00000000-0000-4000-8000-00000000000%s\",\"controller\":true}]},\"spec\":{" TEMPLATE "}}",
                 name, uid, owner);
        assert_int_equal(workload_upsert(w, kind_watched(w, TEXT("apps"), TEXT("ReplicaSet")), text_of(json), 1, &err),
                         0);
}

static void put_profile(struct cache *w, const char *spec)
{
        char json[600];
        struct err err = {0};
        static int generation;
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"team\",\"generation\":%d},\"spec\":%s}", ++generation,
                 spec);
        assert_int_equal(profile_upsert(w, false, text_of(json), 1, &err), 0);
}

static struct target *deployed(struct cache *w)
{
        return map_get(&w->targets, TEXT("web/apps/Deployment/d"));
}

/* Before and after the Rollout took its pods over, they are the Deployment's: its history goes on. */
static void test_the_template_is_the_target(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put_profile(&w, "{}");
        struct workload *d =
                put(&w, "apps", "Deployment", "d", "1", "\"replicas\":0," TEMPLATE, "\"observedGeneration\":4");
        put_set(&w, "s", "3", "2");
        put_pod(&w, "p", "3");
        put(&w, "argoproj.io", "Rollout", "r", "2", CANARY REF("d"), FOLLOWS("4", "Healthy"));
        cache_relink(&w, start);
        assert_non_null(deployed(&w));
        assert_int_equal(deployed(&w)->pod_count, 1);
        assert_int_equal(w.targets.count, 1); /* the Rollout is none */
        assert_int_equal(workload_replicas(d), 3);
        assert_null(rollout_blocked(d, false));
        assert_true(rollout_done(d));
        cache_release(&w);
}

static void test_a_reference_that_changes(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put_profile(&w, "{}");
        put_set(&w, "s", "3", "2");
        put_pod(&w, "p", "3");
        struct workload *r = put(&w, "argoproj.io", "Rollout", "r", "2", CANARY REF("d"), "");
        cache_relink(&w, start); /* what it refers to is not there: nobody's */
        assert_null(r->owner);
        assert_int_equal(w.targets.count, 0);
        struct workload *d =
                put(&w, "apps", "Deployment", "d", "1", "\"replicas\":0," TEMPLATE, "\"observedGeneration\":4");
        struct workload *e =
                put(&w, "apps", "Deployment", "e", "4", "\"replicas\":0," TEMPLATE, "\"observedGeneration\":4");
        cache_relink(&w, start);
        assert_ptr_equal(r->owner, d);
        assert_int_equal(d->children, 1);
        put(&w, "argoproj.io", "Rollout", "r", "2", CANARY REF("e"), "");
        cache_relink(&w, start);
        assert_ptr_equal(r->owner, e);
        assert_int_equal(d->children, 0);
        assert_null(workload_more(d)->rollout_ref.kind);
        put(&w, "argoproj.io", "Rollout", "r", "2", CANARY TEMPLATE, ""); /* a template of its own */
        cache_relink(&w, start);
        assert_null(r->owner);
        assert_non_null(map_get(&w.targets, TEXT("web/argoproj.io/Rollout/r")));
        workload_remove(&w, d->kind, TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"d\",\"uid\":\"x\"}}"));
        cache_relink(&w, start);
        workloads_free_gone(&w);
        assert_null(w.gone);
        cache_release(&w);
}

/* A ReplicaSet's or a PodTemplate's template is not followed: the Rollout is a target of its own, without a template.
 */
static void test_other_references(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put_profile(&w, "{}");
        struct workload *r =
                put(&w, "argoproj.io", "Rollout", "r", "2",
                    CANARY "\"workloadRef\":{\"apiVersion\":\"v1\",\"kind\":\"PodTemplate\",\"name\":\"t\"}", "");
        cache_relink(&w, start);
        assert_null(r->owner);
        assert_non_null(r->target);
        assert_int_equal(r->containers, 0);
        cache_release(&w);
}

static void test_who_stands_in_blocks(void **state)
{
        (void)state;
        static const struct {
                const char *deployment, *rollout, *status;
                bool named;
                const char *blocked;
                bool done;
        } of[] = {
                {"\"replicas\":0,", "", FOLLOWS("4", "Healthy"), false, NULL, true},
                {"\"replicas\":0,\"paused\":true,", "", FOLLOWS("4", "Healthy"), false, NULL, true},
                {"\"replicas\":2,", "", FOLLOWS("4", "Healthy"), false, "a rollout is under way", false},
                {"\"replicas\":0,", "", FOLLOWS("3", "Healthy"), false, "a rollout is under way", false},
                {"\"replicas\":0,", "", FOLLOWS("4", "Progressing"), false, "a rollout is under way", false},
                {"\"replicas\":0,", "", FOLLOWS("4", "Degraded"), true, "its last rollout failed", false},
                {"\"replicas\":0,", STEPS("{\"pause\":{}}") ",", FOLLOWS("4", "Healthy"), false, PERSON, true},
                {"\"replicas\":0,", STEPS("{\"pause\":{}}") ",", FOLLOWS("4", "Healthy"), true, NULL, true},
        };
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
                struct cache w;
                char spec[1000];
                cache_init(&w, "halflife", "halflife");
                snprintf(spec, sizeof spec, "%s" TEMPLATE, of[i].deployment);
                struct workload *d = put(&w, "apps", "Deployment", "d", "1", spec, "\"observedGeneration\":4");
                snprintf(spec, sizeof spec, "\"replicas\":3,%s" REF("d"), of[i].rollout);
                put(&w, "argoproj.io", "Rollout", "r", "2", spec, of[i].status);
                cache_relink(&w, start);
                const char *blocked = rollout_blocked(d, of[i].named);
                if (!begins(blocked, of[i].blocked) || rollout_done(d) != of[i].done)
                        fail_msg("%s %s %s: %s, done %d", of[i].deployment, of[i].rollout, of[i].status,
                                 blocked ? blocked : "free", rollout_done(d));
                cache_release(&w);
        }
}

/* A profile for Rollouts means what they run, too; and an autoscaler of theirs scales it. */
static void test_who_is_named(void **state)
{
        (void)state;
        static const struct {
                const char *spec;
                bool chosen;
        } of[] = {
                {"{\"targets\":[{\"apiVersion\":\"argoproj.io/v1alpha1\",\"kind\":\"Rollout\"}]}", true},
                {"{\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\"}]}", true},
                {"{\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\"}]}", false},
        };
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        struct workload *d =
                put(&w, "apps", "Deployment", "d", "1", "\"replicas\":0," TEMPLATE, "\"observedGeneration\":4");
        put(&w, "argoproj.io", "Rollout", "r", "2", CANARY REF("d"), FOLLOWS("4", "Healthy"));
        static const char hpa[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":"
                "\"argoproj.io/v1alpha1\",\"kind\":\"Rollout\",\"name\":\"r\"},\"metrics\":[{\"type\":\"Resource\","
                "\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":60}}}]}}";
        assert_int_equal(hpa_upsert(&w, text_of(hpa), 1, &err), 0);
        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
                put_profile(&w, of[i].spec);
                cache_relink(&w, start);
                if ((d->target && d->target->profile) != of[i].chosen)
                        fail_msg("%s", of[i].spec);
                assert_true(d->autoscaler && autoscaler_utilizes(d->autoscaler, CPU));
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_the_template_is_the_target),
                cmocka_unit_test(test_a_reference_that_changes),
                cmocka_unit_test(test_other_references),
                cmocka_unit_test(test_who_stands_in_blocks),
                cmocka_unit_test(test_who_is_named),
        };
        return cmocka_run_group_tests_name("rollout", tests, NULL, NULL);
}
