#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cache/cache.h"

static const struct now start = {{1000000000}, {1700000000000}};

/* Names are letters: the UID of 'a' is made of it, and so is its controller owner's ("" : none). */
static struct workload *put_in(struct cache *w, const char *ns, const char *kind, const char *name, const char *owner)
{
        char json[1024], ref[256] = "";
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("apps"), text_of(kind));
        if (*owner)
                snprintf(ref, sizeof ref,
                         ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\","
                         "\"uid\":\"00000000-0000-0000-0000-00000000000%s\",\"controller\":true}]",
                         owner, owner);
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"00000000-0000-0000-0000-00000000000%"
                 "s\","
                 "\"generation\":1%s},\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"app\"}]}}}}",
                 ns, name, name, ref);
        if (workload_upsert(w, k, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", json, err.text);
        return workload_find(w, "apps", kind, ns, name);
}

static struct workload *put(struct cache *w, const char *kind, const char *name, const char *owner)
{
        return put_in(w, "web", kind, name, owner);
}

/* A pod that names ReplicaSet 'b' as its owner. */
static void put_pod(struct cache *w, const char *ns)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"%s\",\"name\":\"b-1\",\"uid\":\"00000000-0000-0000-0000-"
                           "0000000000f%zu\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
                           "\"name\":\"b\",\"uid\":\"00000000-0000-0000-0000-00000000000b\",\"controller\":true}]},"
                           "\"spec\":{\"containers\":[{\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\"}}",
                           ns, strlen(ns));
        if (pod_upsert(w, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", json, err.text);
}

static void drop(struct cache *w, const char *kind, const char *name)
{
        char json[256];
        snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"x\"}}", name);
        workload_remove(w, kind_watched(w, TEXT("apps"), text_of(kind)), text_of(json));
}

static size_t gone(const struct cache *w)
{
        size_t n = 0;
        for (const struct workload *wl = w->gone; wl; wl = wl->next_gone)
                n++;
        return n;
}

static void test_owner_cycles(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        struct workload *a = put(&w, "Deployment", "a", "b"), *b = put(&w, "Deployment", "b", "c"),
                        *c = put(&w, "Deployment", "c", "a"), *d = put(&w, "Deployment", "d", "d");
        cache_relink(&w, start); /* it ends */
        assert_null(d->owner);
        assert_int_equal(!a->owner + !b->owner + !c->owner, 1);
        cache_release(&w);
}

/* The UID of another namespace's workload makes nothing part of it: not a pod, nor a workload with its own pods. */
static void test_owner_of_another_namespace(void **state)
{
        (void)state;
        static const char *const ns[] = {"web", "mallory"};
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        struct workload *a = put(&w, "Deployment", "a", ""), *b = put(&w, "ReplicaSet", "b", "a"),
                        *c = put_in(&w, "mallory", "ReplicaSet", "c", "a");
        for (size_t i = 0; i < sizeof ns / sizeof ns[0]; i++)
                put_pod(&w, ns[i]);
        cache_relink(&w, start);
        assert_ptr_equal(b->owner, a);
        assert_null(c->owner);
        assert_int_equal(a->children, 1);
        assert_int_equal(b->children, 1);
        assert_int_equal(w.ordered, 2);
        for (size_t i = 0; i < w.ordered; i++)
                assert_ptr_equal(w.order[i]->owner, strcmp(w.order[i]->ns, "web") == 0 ? b : NULL);
        cache_release(&w);
}

static void test_adopted_by_another(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        struct workload *a = put(&w, "Deployment", "a", ""), *set = put(&w, "ReplicaSet", "c", "a");
        cache_relink(&w, start);
        assert_ptr_equal(set->owner, a);
        drop(&w, "Deployment", "a"); /* --cascade=orphan */
        put(&w, "ReplicaSet", "c", "");
        cache_relink(&w, start);
        assert_null(set->owner);
        workloads_free_gone(&w);
        assert_int_equal(gone(&w), 0);
        struct workload *b = put(&w, "Deployment", "b", "");
        put(&w, "ReplicaSet", "c", "b");
        cache_relink(&w, start);
        assert_ptr_equal(set->owner, b);
        cache_release(&w);
}

static void test_gone_chains_are_freed(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put(&w, "Deployment", "a", "");
        put(&w, "ReplicaSet", "b", "a");
        put(&w, "ReplicaSet", "c", "b");
        put(&w, "ReplicaSet", "d", "a");
        cache_relink(&w, start);
        drop(&w, "ReplicaSet", "c");
        drop(&w, "Deployment", "a");
        drop(&w, "ReplicaSet", "b");
        workloads_free_gone(&w);
        assert_int_equal(gone(&w), 1); /* a: d still points to it */
        cache_relink(&w, start);
        workloads_free_gone(&w);
        assert_int_equal(gone(&w), 0);
        struct workload *d = workload_find(&w, "apps", "ReplicaSet", "web", "d");
        assert_null(d->owner);
        struct workload *a = put(&w, "Deployment", "a", ""); /* the same is seen again */
        cache_relink(&w, start);
        assert_ptr_equal(d->owner, a);
        cache_release(&w);
}

/* Two objects of one UID, as a broken server may have them: the deletion of one leaves the other. */
static void test_a_uid_twice(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        (void)put(&w, "Deployment", "a", "");
        struct workload *other = put(&w, "StatefulSet", "a", ""), *owned = put(&w, "ReplicaSet", "b", "a");
        drop(&w, "Deployment", "a");
        cache_relink(&w, start);
        assert_ptr_equal(owned->owner, other);
        drop(&w, "StatefulSet", "a");
        cache_relink(&w, start);
        assert_null(owned->owner);
        cache_release(&w);
}

static void test_an_answer_makes_nothing(void **state)
{
        (void)state;
        static const char other[] = "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":\"another\","
                                    "\"generation\":1},\"spec\":{\"template\":{\"spec\":{\"containers\":[]}}}}";
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        struct watched_kind *k = kind_watched(&w, TEXT("apps"), TEXT("Deployment"));
        assert_int_equal(workload_answer(&w, k, text_of(other), 1, 0, &err), ERR_NOTFOUND);
        assert_string_equal(err.text, "Deployment 'a' was deleted meanwhile");
        assert_int_equal(w.workloads.count, 0);
        struct workload *a = put(&w, "Deployment", "a", "");
        assert_int_equal(workload_answer(&w, k, text_of(other), 1, 1, &err), ERR_NOTFOUND);
        assert_ptr_equal(workload_find(&w, "apps", "Deployment", "web", "a"), a);
        assert_false(a->gone);
        cache_release(&w);
}

/* A list taken afresh counts, also where its state is older: etcd was restored. In a watch an older state came late. */
static void test_an_older_state(void **state)
{
        (void)state;
        static const char older[] = "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",\"uid\":"
                                    "\"00000000-0000-0000-0000-00000000000a\",\"generation\":0},\"spec\":{\"template\":"
                                    "{\"spec\":{\"containers\":[{\"name\":\"older\"}]}}}}";
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        struct watched_kind *k = kind_watched(&w, TEXT("apps"), TEXT("Deployment"));
        struct workload *a = put(&w, "Deployment", "a", "");
        for (uint32_t epoch = 1; epoch <= 2; epoch++) {
                assert_int_equal(workload_upsert(&w, k, text_of(older), epoch, &err), 0);
                assert_string_equal(a->container[0].name, epoch == 1 ? "app" : "older");
                assert_int_equal(a->generation, epoch == 1 ? 1 : 0);
        }
        cache_release(&w);
}

static void test_its_uid_is_told_as_it_came(void **state)
{
        (void)state;
        static const char *const uid[] = {"7d44b3c2-0a1e-4f5b-9c8d-112233445566",
                                          "7D44B3C2-0A1E-4F5B-9C8D-112233445566", "7d44b3c20a1e4f5b9c8d112233445566",
                                          "00000000-0000-0000-0000-000000000000", "not-of-that-form"};
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof uid / sizeof *uid; i++) {
                char json[256];
                struct err err = {0};
                snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"n%zu\",\"uid\":\"%s\"}}",
                         i, uid[i]);
                if (workload_upsert(&w, kind_watched(&w, TEXT("apps"), TEXT("Deployment")), text_of(json), 1, &err) < 0)
                        fail_msg("%s: %s", uid[i], err.text);
                snprintf(json, sizeof json, "n%zu", i);
                const struct workload *wl = workload_find(&w, "apps", "Deployment", "web", json);
                AUTO(mem_free) char *told = workload_uid(wl);
                assert_string_equal(told, uid[i]);
                assert_int_equal(wl->uid_text == NULL, i == 0); /* no memory for the usual form */
        }
        cache_release(&w);
}

/* --- Rollouts that run another's template --- */

static struct workload *put_rollout(struct cache *w, const char *name, const char *refers, int replicas,
                                    const char *phase)
{
        char json[1024];
        struct err err = {0};
        struct watched_kind *k = kind_watched(w, TEXT("argoproj.io"), TEXT("Rollout"));
        snprintf(json, sizeof json,
                 "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-0000-0000-00000000001%"
                 "s\","
                 "\"generation\":1},\"spec\":{\"replicas\":%d,\"strategy\":{\"canary\":{}},\"workloadRef\":{"
                 "\"apiVersion\":"
                 "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"%s\"}},\"status\":{\"phase\":\"%s\","
                 "\"observedGeneration\":\"1\",\"workloadObservedGeneration\":\"1\"}}",
                 name, name, replicas, refers, phase);
        if (workload_upsert(w, k, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", json, err.text);
        return workload_find(w, "argoproj.io", "Rollout", "web", name);
}

static void drop_rollout(struct cache *w, const char *name)
{
        char json[256];
        snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"x\"}}", name);
        workload_remove(w, kind_watched(w, TEXT("argoproj.io"), TEXT("Rollout")), text_of(json));
}

/* By name, whoever has it at the time; what they say of pods and rollouts is what holds now. */
static void test_runs_the_template_of_another(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        struct workload *early = put_rollout(&w, "r", "a", 3, "Healthy");
        cache_relink(&w, start);
        assert_true(workload_is_link(early));
        assert_null(early->owner); /* nobody is there */
        struct workload *a = put(&w, "Deployment", "a", "");
        cache_relink(&w, start);
        assert_ptr_equal(early->owner, a);
        assert_int_equal(workload_replicas(a), 1 + 3);
        assert_null(rollout_blocked(a, false));
        put_rollout(&w, "s", "a", 2, "Paused");
        cache_relink(&w, start);
        cache_relink(&w, start);
        assert_int_equal(workload_replicas(a), 1 + 3 + 2);
        assert_string_equal(rollout_blocked(a, false), "the rollout is paused");
        struct workload *b = put(&w, "Deployment", "b", "");
        put_rollout(&w, "s", "b", 2, "Healthy"); /* it changes its mind */
        cache_relink(&w, start);
        assert_int_equal(workload_replicas(a), 1 + 3);
        assert_int_equal(workload_replicas(b), 1 + 2);
        assert_null(rollout_blocked(a, false));
        cache_release(&w);
}

static void test_what_runs_or_is_run_goes(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        struct workload *a = put(&w, "Deployment", "a", ""), *r = put_rollout(&w, "r", "a", 3, "Progressing");
        cache_relink(&w, start);
        assert_false(rollout_done(a));
        drop(&w, "Deployment", "a");
        workloads_free_gone(&w);
        assert_int_equal(gone(&w), 1); /* the Rollout still points to it */
        cache_relink(&w, start);
        workloads_free_gone(&w);
        assert_int_equal(gone(&w), 0);
        assert_null(r->owner);
        a = put(&w, "Deployment", "a", ""); /* another of that name */
        cache_relink(&w, start);
        assert_ptr_equal(r->owner, a);
        drop_rollout(&w, "r");
        cache_relink(&w, start);
        workloads_free_gone(&w);
        assert_int_equal(workload_replicas(a), 1);
        assert_true(rollout_done(a));
        assert_int_equal(a->children, 0);
        cache_release(&w);
}

/* Nothing of a workload is applied whose lists are cut: a selector could choose a wrong profile by its labels, a pod's
 * sum be too small, or an owner of requests be missing. */
static void test_more_than_is_kept_holds(void **state)
{
        (void)state;
        static const struct {
                const char *head, *before, *after, *tail; /* before, after: of the number in each element */
                int most;
                enum never never;
        } row[] = {
                {"\"labels\":{", "\"l", "\":\"\"", "}}", VIEW_LABELS, NEVER_BY_LABELS},
                {"\"uid\":\"u\"},\"spec\":{\"template\":{\"spec\":{\"containers\":[", "{\"name\":\"c", "\"}", "]}}}",
                 VIEW_CONTAINERS, NEVER_BY_CONTAINERS},
                {"\"managedFields\":[", "{\"manager\":\"m",
                 "\",\"operation\":\"Apply\",\"fieldsV1\":{\"f:spec\":{\"f:template\":{\"f:spec\":{\"f:containers\":{"
                 "\"k:{"
                 "\\\"name\\\":\\\"app\\\"}\":{\"f:resources\":{\"f:requests\":{\"f:cpu\":{}}}}}}}}}}",
                 "]}", VIEW_OWNERS, NEVER_BY_OWNERS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (int more = 1; more >= 0; more--) {
                        struct cache w;
                        struct err err = {0};
                        struct buf in;
                        buf_init(&in, 1 << 17);
                        cache_init(&w, "halflife", "halflife");
                        struct watched_kind *k = kind_watched(&w, TEXT("apps"), TEXT("Deployment"));
                        buf_printf(&in, "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\",%s", row[i].head);
                        for (int n = 0; n < row[i].most + more; n++)
                                buf_printf(&in, "%s%s%d%s", n ? "," : "", row[i].before, n, row[i].after);
                        buf_printf(&in, "%s}", row[i].tail);
                        if (workload_upsert(&w, k, buf_text(&in), 1, &err) < 0)
                                fail_msg("%s", err.text);
                        assert_int_equal(workload_find(&w, "apps", "Deployment", "web", "a")->apply_never,
                                         more ? row[i].never : NEVER_UNSET);
                        cache_release(&w);
                        buf_release(&in);
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_owner_cycles),
                cmocka_unit_test(test_owner_of_another_namespace),
                cmocka_unit_test(test_adopted_by_another),
                cmocka_unit_test(test_gone_chains_are_freed),
                cmocka_unit_test(test_an_older_state),
                cmocka_unit_test(test_an_answer_makes_nothing),
                cmocka_unit_test(test_a_uid_twice),
                cmocka_unit_test(test_its_uid_is_told_as_it_came),
                cmocka_unit_test(test_runs_the_template_of_another),
                cmocka_unit_test(test_what_runs_or_is_run_goes),
                cmocka_unit_test(test_more_than_is_kept_holds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
