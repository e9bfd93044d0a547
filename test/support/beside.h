/*
 * Tests that mostly wait, run side by side: each in a process of its own, so that a dozen of them take the time of the
 * longest. What each printed comes out whole and in order.
 */
#ifndef HALFLIFE_TEST_SUPPORT_BESIDE_H
#define HALFLIFE_TEST_SUPPORT_BESIDE_H

#include <stddef.h>

struct beside {
        const char *name;
        void (*test)(void **state); /* *state is what set_up made */
};
#define BESIDE(fn)                                                                                                     \
        {                                                                                                              \
#fn, fn                                                                                                \
        }

/* As cmocka_run_group_tests, but set_up and tear_down (or NULL) are called in and for each test. Returns how many
 * failed. With ONLY=NAME in the environment the test of that name runs alone. */
int beside_run(const char *group, const struct beside *tests, size_t count, int (*set_up)(void **state),
               int (*tear_down)(void **state));

#endif
