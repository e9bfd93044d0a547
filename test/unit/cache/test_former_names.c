/* Fields that the previous version named differently: they are read by either name, and written by the new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

static const struct published *published_of(struct cache *w, const char *status)
{
        AUTO(mem_free)
        char *object = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"deployment-web\"},\"spec\":{"
                                  "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                  "\"web\"}},\"status\":{\"state\":\"Ready\",%s}}",
                                  status);
        struct err err = {0};
        assert_int_equal(published_upsert(w, text_of(object), 1, &err), 0);
        return published_get(w, TEXT("web/deployment-web"));
}

static void assert_fields(const struct published *p)
{
        assert_int_equal(p->status.since_ms, 1699000000000);
        assert_int_equal(p->status.kills, 2);
        assert_int_equal(p->status.last_kill_ms, 1699086400000);
}

static void test_recommendation(void **state)
{
        (void)state;
        static const char now[] =
                "\"decision\":{},\"firstSample\":\"2023-11-03T08:26:40Z\",\"oomKills\":2,\"lastOOMKill\":"
                "\"2023-11-04T08:26:40Z\"";
        static const char before[] = "\"since\":\"2023-11-03T08:26:40Z\",\"kills\":2,\"lastKill\":"
                                     "\"2023-11-04T08:26:40Z\"";
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        const struct published *p = published_of(&w, now);
        uint64_t digest = p->digest;
        assert_fields(p);
        p = published_of(&w, before);
        assert_fields(p);
        assert_true(p->digest != digest); /* so it is written at once */
        p = published_of(&w, now);
        assert_true(p->digest == digest);
        cache_release(&w);
}

static void test_profile(void **state)
{
        (void)state;
        static const struct {
                const char *canary;
                bool closed;
        } row[] = {
                {"\"complete\":false", true},
                {"\"complete\":true", false},
                {"\"open\":false", true},
                {"\"open\":true", false},
                {"\"open\":false,\"complete\":true", false},
                {"\"workloads\":1", false},
        };
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *object = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"team\",\"generation\":1},"
                                          "\"spec\":{},\"status\":{\"canary\":{%s}}}",
                                          row[i].canary);
                struct err err = {0};
                assert_int_equal(profile_upsert(&w, false, text_of(object), 1, &err), 0);
                const struct profile *p = map_get(&w.profiles, TEXT("web/team"));
                if (p->canary_closed != row[i].closed)
                        fail_msg("%s: %s", row[i].canary, p->canary_closed ? "closed" : "open");
        }
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_recommendation),
                cmocka_unit_test(test_profile),
        };
        return cmocka_run_group_tests_name("former names", tests, NULL, NULL);
}
