/* When a rollout is at its end, and what is in the way of the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/rollout.h"

static const struct {
        const char *what;
        struct rollout r;
        bool done;
} row[] = {
        {"all there", {2, 2, 3, 3, 3, 3, .told = true}, true},
        {"scaled to nothing", {1, 1, 0, 0, 0, 0, .told = true}, true},
        {"not seen yet", {3, 2, 3, 3, 3, 3, .told = true}, false},
        {"a surge pod too many", {2, 2, 3, 4, 4, 4, .told = true}, false},
        {"one old pod", {2, 2, 3, 3, 2, 3, .told = true}, false},
        {"one not available", {2, 2, 3, 3, 3, 2, .told = true}, false},
        {"too few", {2, 2, 3, 2, 2, 2, .told = true}, false},
        {"it must tell, and has not", {1, 0, 3, 0, 0, 0, .told = true}, false},
        {"it need not tell", {1, 0, 3, 0, 0, 0, .told = false}, true},
        {"its phase alone tells", {2, 2, 3, 1, 0, 0, .told = true, .phase = ROLLOUT_PHASE_HEALTHY}, true},
        {"its phase is another", {2, 2, 3, 3, 3, 3, .told = true, .phase = ROLLOUT_PHASE_OTHER}, false},
        {"its phase is of the time before", {3, 2, 3, 3, 3, 3, .told = true, .phase = ROLLOUT_PHASE_HEALTHY}, false},
        {"it need not tell, and tells of a pod", {1, 0, 3, 1, 0, 0, .told = false}, false},
        {"it need not tell, and does", {1, 1, 3, 0, 0, 0, .told = false}, false},
        {"it has none", {3, 2, 3, 1, 0, 0, .told = true, .none = true}, true},
};

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (rollout_is_done(&row[i].r) != row[i].done)
                        fail_msg("%s", row[i].what);
}

/* The first block of the enum that applies is returned. */
static void test_blocks(void **state)
{
        (void)state;
        static const struct {
                struct rollout r;
                enum rollout_block want;
        } block[] = {
                {{2, 2, 3, 3, 3, 3, .told = true}, ROLLOUT_FREE},
                {{2, 1, 3, 3, 3, 3, .told = true}, ROLLOUT_UNDER_WAY},
                {{2, 2, 3, 3, 2, 3, .told = true}, ROLLOUT_UNDER_WAY},
                {{2, 2, 3, 3, 3, 3, .phase = ROLLOUT_PHASE_OTHER}, ROLLOUT_UNDER_WAY},
                {{2, 2, 3, 1, 0, 0, .phase = ROLLOUT_PHASE_HEALTHY}, ROLLOUT_FREE},
                {{2, 2, 3, 3, 3, 3, .phase = ROLLOUT_PHASE_DEGRADED}, ROLLOUT_DEGRADED},
                {{2, 2, 3, 3, 3, 3, .late = true, .phase = ROLLOUT_PHASE_DEGRADED}, ROLLOUT_LATE},
                {{2, 2, 3, 3, 3, 3, .partition = 1, .late = true}, ROLLOUT_PARTITION},
                {{2, 2, 3, 3, 3, 3, .recreate = true, .partition = 1}, ROLLOUT_RECREATE},
                {{2, 2, 3, 3, 3, 3, .on_delete = true, .recreate = true}, ROLLOUT_ON_DELETE},
                {{2, 2, 3, 3, 3, 3, .paused = true, .on_delete = true}, ROLLOUT_PAUSED},
                {{2, 2, 3, 3, 3, 3, .on_delete = true, .phase = ROLLOUT_PHASE_PAUSED}, ROLLOUT_PAUSED},
                {{2, 1, 3, 3, 3, 3, .none = true, .paused = true, .on_delete = true}, ROLLOUT_FREE},
        };
        for (size_t i = 0; i < sizeof block / sizeof block[0]; i++)
                if (rollout_block(&block[i].r) != block[i].want)
                        fail_msg("row %zu: %d, not %d", i, (int)rollout_block(&block[i].r), (int)block[i].want);
}

static void test_phases(void **state)
{
        (void)state;
        assert_int_equal(rollout_phase_read(TEXT("")), ROLLOUT_PHASE_NONE);
        assert_int_equal(rollout_phase_read(TEXT("Healthy")), ROLLOUT_PHASE_HEALTHY);
        assert_int_equal(rollout_phase_read(TEXT("Paused")), ROLLOUT_PHASE_PAUSED);
        assert_int_equal(rollout_phase_read(TEXT("Degraded")), ROLLOUT_PHASE_DEGRADED);
        assert_int_equal(rollout_phase_read(TEXT("Progressing")), ROLLOUT_PHASE_OTHER);
        assert_int_equal(rollout_phase_read(TEXT("healthy")), ROLLOUT_PHASE_OTHER);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_blocks),
                cmocka_unit_test(test_phases),
        };
        return cmocka_run_group_tests_name("rollout", tests, NULL, NULL);
}
