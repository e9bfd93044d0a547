/* When a rollout is at its end. */
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
        {"its phase alone tells", {2, 2, 3, 1, 0, 0, true, true, true}, true},
        {"its phase is another", {2, 2, 3, 3, 3, 3, true, true, false}, false},
        {"its phase is of the time before", {3, 2, 3, 3, 3, 3, true, true, true}, false},
        {"it need not tell, and tells of a pod", {1, 0, 3, 1, 0, 0, .told = false}, false},
        {"it need not tell, and does", {1, 1, 3, 0, 0, 0, .told = false}, false},
};

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (rollout_is_done(&row[i].r) != row[i].done)
                        fail_msg("%s", row[i].what);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
        return cmocka_run_group_tests_name("rollout", tests, NULL, NULL);
}
