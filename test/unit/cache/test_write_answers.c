#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/cache.h"

#define HPA(version, target, metric, status)                                                                           \
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"shop\",\"resourceVersion\":\"" version "\"},"                 \
        "\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" target "\"},"   \
        "\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"" metric            \
        "\",\"averageUtilization\":60}}}]},\"status\":{\"currentReplicas\":" status "}}"

/* Its status changes every few seconds: a pass over all targets for each would never end. */
static void test_what_of_an_hpa_is_a_change(void **state)
{
        (void)state;
        static const struct {
                const char *what, *json;
                bool changes;
        } row[] = {
                {"new", HPA("1", "shop", "Utilization", "1"), true},
                {"its status", HPA("2", "shop", "Utilization", "7"), false},
                {"another target", HPA("3", "cart", "Utilization", "7"), true},
                {"another metric", HPA("4", "cart", "AverageValue", "7"), true},
                {"its status again", HPA("5", "cart", "AverageValue", "1"), false},
        };
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                w.changed = false;
                if (hpa_upsert(&w, text_of(row[i].json), (uint32_t)i, &err) < 0)
                        fail_msg("%s: %s", row[i].what, err.text);
                if (w.changed != row[i].changes)
                        fail_msg("%s: %s", row[i].what, w.changed ? "a change" : "no change");
        }
        assert_int_equal(w.autoscalers.count, 1);
        hpa_swept(&w, 4); /* seen by the list */
        assert_int_equal(w.autoscalers.count, 1);
        hpa_swept(&w, 5);
        assert_int_equal(w.autoscalers.count, 0);
        cache_release(&w);
}

#define PROFILE(created, mode)                                                                                         \
        "{\"metadata\":{\"name\":\"all\",\"generation\":1,\"creationTimestamp\":\"" created "\"},"                     \
        "\"spec\":{\"apply\":{\"mode\":\"" mode "\"}}}"

static void test_a_profile_made_again_unseen(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(profile_upsert(&w, true, TEXT(PROFILE("2026-01-01T00:00:00Z", "Recommend")), 1, &err), 0);
        assert_int_equal(profile_upsert(&w, true, TEXT(PROFILE("2026-01-02T00:00:00Z", "Rollout")), 2, &err), 0);
        const struct profile *p = map_get(&w.profiles, TEXT("/all"));
        assert_int_equal(p->spec->apply.mode, APPLY_ROLLOUT);
        w.changed = false; /* the echo of our own status */
        assert_int_equal(profile_upsert(&w, true, TEXT(PROFILE("2026-01-02T00:00:00Z", "Rollout")), 2, &err), 0);
        assert_false(w.changed);
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_of_an_hpa_is_a_change),
                cmocka_unit_test(test_a_profile_made_again_unseen),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
