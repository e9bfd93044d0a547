/* The words persist: in the status of Recommendations, in what pipelines read of REST and render. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/reasons.h"

static void test_reason_names(void **state)
{
        (void)state;
        static const char *const want[] = {
                "",
                "Lowered",
                "Raised",
                "Static",
                "AtOriginal",
                "MemoryOff",
                "CPUOff",
                "ContainerIgnored",
                "Init",
                "NotInTemplate",
                "NoOriginal",
                "Learning",
                "Stale",
                "RecommendOnly",
                "OptedOut",
                "Paused",
                "HPAHold",
                "LimitRange",
                "LimitBound",
                "QoS",
                "BelowMinChange",
                "Cooldown",
                "OutsideWindow",
                "Budget",
                "RolloutBlocked",
                "Guard",
                "Contested",
                "Managed",
                "Immutable",
                "Orphaned",
                "Fuse",
                "StepLimited",
                "Quota",
                "OtherAutoscaler",
                "Canary",
                "ReadByContainer",
                "HeapStart",
                "ProfileFuse",
                "HPAShared",
                "Early",
        };
        assert_int_equal(sizeof want / sizeof want[0], REASONS);
        for (int r = 0; r < REASONS; r++)
                assert_string_equal(reason_name((enum reason)r), want[r]);
}

static void test_reasons_are_found(void **state)
{
        (void)state;
        for (enum reason r = REASON_NONE; r < REASONS; r++)
                assert_int_equal(reason_find(reason_name(r)), r);
        assert_int_equal(reason_find("lowered"), REASON_NONE);
}

static void test_texts(void **state)
{
        (void)state;
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++) {
                const char *meaning = reason_meaning(r);
                assert_true(meaning[0] != '\0' && meaning[strlen(meaning) - 1] != '.');
        }
        assert_string_equal(reason_condition(REASON_BUDGET), "the budget for changes is used up");
        assert_null(reason_condition(REASON_LOWERED));
        assert_string_equal(reason_render(REASON_ORPHANED), "no profile selects it any more");
        assert_null(reason_render(REASON_BUDGET));
        assert_true(reason_worth_event(REASON_CONTESTED));
        assert_false(reason_worth_event(REASON_COOLDOWN));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reason_names),
                cmocka_unit_test(test_reasons_are_found),
                cmocka_unit_test(test_texts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
