/* Which kinds profiles and Recommendations name: each namespace has a share, and a kind that nobody names is forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cache/cache.h"

static void put_profile(struct cache *w, const char *ns, const char *name, int age, const char *stem, int first,
                        int count)
{
        struct err err = {0};
        AUTO(mem_free) char *targets = mem_string("{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\"}");
        for (int i = first; i < first + count; i++) {
                char *longer = mem_printf("%s,{\"apiVersion\":\"ex.io/v1\",\"kind\":\"%s%d\"}", targets, stem, i);
                mem_free(targets);
                targets = longer;
        }
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\",\"generation\":%d,"
                                "\"creationTimestamp\":\"2025-01-01T00:00:%02dZ\"},\"spec\":{\"targets\":[%s]}}",
                                name, ns, name, first * 100 + count + 1, 59 - age, targets);
        if (profile_upsert(w, !*ns, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static const struct profile *profile_of(const struct cache *w, const char *key)
{
        return map_get(&w->profiles, text_of(key));
}

static void assert_beyond(const struct cache *w, const char *key, const char *want)
{
        AUTO(mem_free) char *beyond = profile_kinds_beyond(profile_of(w, key));
        assert_string_equal(beyond ? beyond : "", want);
}

static struct watched_kind *find(const struct cache *w, const char *kind)
{
        return watched_kind_find(w, TEXT("ex.io"), text_of(kind));
}

static size_t kept(const struct cache *w)
{
        size_t count = 0;
        for (const struct watched_kind *k = w->kinds; k; k = k->next)
                count += !k->built_in;
        assert_int_equal(count + kinds_count, w->kinds_by_key.count);
        return count;
}

static void test_each_namespace_has_a_share(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "mallory", "young", 1, "Young", 0, 31);
        put_profile(&w, "mallory", "old", 9, "Old", 0, 10);
        put_profile(&w, "shop", "team", 0, "Own", 0, 2);
        put_profile(&w, "", "platform", 0, "Ours", 0, 20);
        watched_kinds_settle(&w);
        assert_int_equal(kept(&w), KINDS_OF_PROFILES + 2 + KINDS_OF_PROFILES);
        assert_beyond(&w, "mallory/old", "");
        assert_beyond(&w, "mallory/young",
                      "Young6.ex.io, Young7.ex.io, Young8.ex.io, Young9.ex.io, Young10.ex.io, Young11.ex.io, "
                      "Young12.ex.io, Young13.ex.io, Young14.ex.io, Young15.ex.io, Young16.ex.io and 14 more");
        assert_beyond(&w, "/platform", "Ours16.ex.io, Ours17.ex.io, Ours18.ex.io, Ours19.ex.io");
        assert_false(profile_is_blind(profile_of(&w, "shop/team")));
        assert_int_equal(find(&w, "Ours15")->rank, 0);
        assert_int_equal(find(&w, "Old0")->rank, 1);
        assert_int_equal(find(&w, "Young5")->rank, 16);
        assert_null(find(&w, "Young6"));

        put_profile(&w, "shop", "more", 0, "Young", 5,
                    2); /* another namespace names it as well: the lower rank counts */
        watched_kinds_settle(&w);
        assert_int_equal(find(&w, "Young5")->rank, 1); /* of two of one age, the name decides */
        assert_int_equal(find(&w, "Own0")->rank, 3);
        cache_release(&w);
}

static void remove_profile(struct cache *w, const char *ns, const char *name)
{
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"%s\"}}", name, ns, name);
        profile_remove(w, !*ns, text_of(json));
}

/* A namespace that is not touched keeps its kinds, and a kind that two namespaces name stays while one of them does. */
static void test_a_share_is_counted_alone(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "shop", "team", 0, "Own", 0, 2);
        put_profile(&w, "mallory", "p", 0, "Own", 1, 2);
        watched_kinds_settle(&w);
        const struct watched_kind *own = find(&w, "Own0"), *both = find(&w, "Own1");
        for (int i = 0; i < 3; i++) {
                put_profile(&w, "mallory", "p", 0, "Else", i, 20);
                watched_kinds_settle(&w);
                assert_ptr_equal(find(&w, "Own0"), own);
                assert_ptr_equal(find(&w, "Own1"), both);
                assert_null(find(&w, "Own2"));
                assert_ptr_equal(profile_of(&w, "shop/team")->named[1].kind, both);
                assert_int_equal(kept(&w), 2 + KINDS_OF_PROFILES);
        }
        cache_release(&w);
}

/* A thousand names, one after the other, leave nothing behind. */
static void test_a_kind_that_nobody_names_is_forgotten(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", NULL);
        for (int i = 0; i < 1000; i++) {
                put_profile(&w, "mallory", "p", 0, "Kind", i, 16);
                watched_kinds_settle(&w);
                assert_int_equal(kept(&w), 16);
        }
        remove_profile(&w, "mallory", "p");
        watched_kinds_settle(&w);
        assert_int_equal(kept(&w), 0);
        assert_non_null(watched_kind_find(&w, TEXT("apps"), TEXT("Deployment")));
        cache_release(&w);
}

/* While it is watched, looked up, or has workloads. */
static void test_a_kind_in_use_stays(void **state)
{
        static const char thing[] = "{\"metadata\":{\"name\":\"t\",\"namespace\":\"shop\",\"uid\":"
                                    "\"00000001-0000-4000-8000-000000000001\"},\"spec\":{\"template\":{}}}";
        struct cache w;
        struct err err = {0};
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "shop", "p", 0, "Thing", 0, 1);
        watched_kinds_settle(&w);
        struct watched_kind *k = find(&w, "Thing0");
        assert_int_equal(workload_upsert(&w, k, text_of(thing), 1, &err), 0);
        k->lookup.asking = true;
        remove_profile(&w, "shop", "p");
        watched_kinds_settle(&w);
        assert_ptr_equal(find(&w, "Thing0"), k);
        k->lookup.asking = false;
        watched_kinds_settle(&w);
        assert_ptr_equal(find(&w, "Thing0"), k);
        workload_forget(&w, k);
        workloads_free_gone(&w);
        watched_kinds_settle(&w);
        assert_null(find(&w, "Thing0"));
        cache_release(&w);
}

/* A Recommendation keeps its kind; a namespace cannot keep kinds without end by them. */
static void test_recommendations_name_kinds(void **state)
{
        enum { MANY = KINDS_OF_RECOMMENDATIONS + 8 };
        struct cache w;
        struct err err = {0};
        (void)state;
        cache_init(&w, "halflife", NULL);
        for (int i = 0; i < MANY; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"metadata\":{\"name\":\"kind%d.ex.io-a\",\"namespace\":\"shop\"},\"spec\":{"
                                        "\"targetRef\":{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Kind%d\",\"name\":\"a\"}"
                                        "}}",
                                        i, i);
                assert_int_equal(published_upsert(&w, text_of(json), 1, &err), 0);
        }
        watched_kinds_settle(&w);
        assert_int_equal(kept(&w), KINDS_OF_RECOMMENDATIONS);
        published_swept(&w, 2);
        watched_kinds_settle(&w);
        assert_int_equal(kept(&w), 0);
        cache_release(&w);
}

/* A profile that names a kind without a watch holds back its changes, and says which kind it is. */
static void test_a_kind_without_a_watch_blinds_its_profiles(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", NULL);
        put_profile(&w, "shop", "p", 0, "Thing", 0, 2);
        put_profile(&w, "other", "q", 0, "Else", 0, 1);
        watched_kinds_settle(&w);
        for (int round = 0; round < 2; round++) {
                watched_kind_set_unplaced(find(&w, "Thing1"), round == 0);
                watched_kinds_settle(&w);
                assert_int_equal(profile_is_blind(profile_of(&w, "shop/p")), round == 0);
                assert_false(profile_is_blind(profile_of(&w, "other/q")));
                AUTO(mem_free) char *unplaced = profile_kinds_unplaced(profile_of(&w, "shop/p"));
                assert_string_equal(unplaced ? unplaced : "", round == 0 ? "Thing1.ex.io" : "");
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_namespace_has_a_share),
                cmocka_unit_test(test_a_share_is_counted_alone),
                cmocka_unit_test(test_a_kind_that_nobody_names_is_forgotten),
                cmocka_unit_test(test_a_kind_in_use_stays),
                cmocka_unit_test(test_recommendations_name_kinds),
                cmocka_unit_test(test_a_kind_without_a_watch_blinds_its_profiles),
        };
        return cmocka_run_group_tests_name("watched kinds", tests, NULL, NULL);
}
