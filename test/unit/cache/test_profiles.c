/* Which profile a workload gets, and which namespaces no profile selects unless it names them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "cache/profile.h"

static void test_system_namespaces(void **state)
{
        (void)state;
        static const struct {
                const char *ns;
                bool want;
        } row[] = {
                {"kube-system", true},    {"kube-public", true}, {"kube-node-lease", true}, {"own", true},
                {"kube-systems", false},  {"kube", false},       {"default", false},        {"owner", false},
                {"kube-publicly", false}, {"", false},
        };
        struct cache w;
        cache_init(&w, "halflife", "own");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (profile_system_namespace(&w, row[i].ns) != row[i].want)
                        fail_msg("'%s'", row[i].ns);
        cache_release(&w);
        cache_init(&w, "halflife", NULL); /* of a halflife outside the cluster no namespace is its own */
        assert_false(profile_system_namespace(&w, "own"));
        assert_true(profile_system_namespace(&w, "kube-public"));
        cache_release(&w);
}

static void put_profile(struct cache *w, const char *ns, const char *name, int generation, int priority)
{
        struct err err = {0};
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",\"generation\":%d,"
                                "\"creationTimestamp\":\"2025-01-01T00:00:00Z\"},\"spec\":{\"priority\":%d}}",
                                name, ns, name, generation, priority);
        if (profile_upsert(w, !*ns, text_of(json), (uint32_t)generation, &err) < 0)
                fail_msg("%s", err.text);
}

static struct profile *choose(struct cache *w, const char *ns)
{
        const struct profile_subject s = {
                .ns = text_of(ns), .group = TEXT("apps"), .kind = TEXT("Deployment"), .by_default = true};
        return profile_choose(w, &s, NULL);
}

/* A Profile of the namespace, then the priority, whatever it was before; those of other namespaces do not count. */
static void test_choice(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "", "all", 1, 9);
        put_profile(&w, "", "more", 1, 8);
        put_profile(&w, "shop", "a", 1, 1);
        put_profile(&w, "shop", "b", 1, 2);
        put_profile(&w, "mallory", "m", 1, 9);
        assert_string_equal(choose(&w, "shop")->key, "shop/b");
        assert_string_equal(choose(&w, "bank")->key, "/all");
        const struct profile *lost = map_get(&w.profiles, TEXT("/more"));
        assert_int_equal(lost->overridden, 2);
        assert_string_equal(lost->by->key, "/all");
        put_profile(&w, "shop", "a", 2, 3);
        assert_string_equal(choose(&w, "shop")->key, "shop/a");
        profile_swept(&w, false, 2);
        assert_int_equal(w.profiles.count, 3);
        assert_string_equal(choose(&w, "shop")->key, "shop/a");
        profile_remove(&w, false, TEXT("{\"metadata\":{\"name\":\"a\",\"namespace\":\"shop\"}}"));
        assert_string_equal(choose(&w, "shop")->key, "/all");
        cache_release(&w);
}

/* Equal specs are one, whatever the order of their keys, until the last profile with it is gone. */
static void test_equal_specs_are_shared(void **state)
{
        struct cache w;
        struct err err = {0};
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "a", "p", 1, 1);
        put_profile(&w, "b", "p", 1, 1);
        put_profile(&w, "c", "p", 1, 2);
        const struct profile *a = map_get(&w.profiles, TEXT("a/p")), *b = map_get(&w.profiles, TEXT("b/p"));
        assert_ptr_equal(a->spec, b->spec);
        assert_int_equal(w.specs.count, 2);
        put_profile(&w, "b", "p", 2, 2);
        assert_ptr_not_equal(a->spec, b->spec);
        assert_int_equal(a->spec->priority, 1);
        assert_int_equal(w.specs.count, 2);
        put_profile(&w, "a", "p", 2, 2);
        assert_int_equal(w.specs.count, 1);
        static const char wrong[] = "{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"generation\":3},\"spec\":{"
                                    "\"priority\":\"x\"}}";
        assert_int_equal(profile_upsert(&w, false, text_of(wrong), 3, &err), 0);
        assert_non_null(a->error);
        assert_int_equal(a->spec->priority, 2);
        profile_swept(&w, false, 9);
        assert_int_equal(w.specs.count, 0);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_system_namespaces), cmocka_unit_test(test_choice),
                                           cmocka_unit_test(test_equal_specs_are_shared)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
