/* What a VerticalPodAutoscaler sets by its containerPolicies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "core/vpa_policy.h"

enum { BOTH = 1 << CPU | 1 << MEMORY, ONLY_CPU = 1 << CPU, ONLY_MEMORY = 1 << MEMORY, NOTHING = 0 };
enum { MOST = 4 };

#define LONGEST   "a23456789b23456789c23456789d23456789e23456789f23456789g23456789"
#define LONG_NAME LONGEST "0"

struct rule {
        const char *container;
        int sets;
};

static struct vpa_policy *policy_of(const struct rule rule[static MOST], void *room)
{
        struct vpa_policy *p = room;
        vpa_policy_begin(p);
        for (int i = 0; i < MOST && rule[i].container; i++) {
                const bool sets[RESOURCES] = {rule[i].sets & ONLY_CPU, rule[i].sets & ONLY_MEMORY};
                vpa_policy_add(p, text_of(rule[i].container), sets);
        }
        return p;
}

static int sets_of(const struct vpa_policy *p, const char *container)
{
        return vpa_policy_sets(p, text_of(container), CPU) << CPU | vpa_policy_sets(p, text_of(container), MEMORY)
                                                                            << MEMORY;
}

static const struct {
        struct rule rule[MOST];
        int app, side; /* what is set of these two */
        int rows;
        bool any, all;
} row[] = {
        {{{0}}, BOTH, BOTH, 0, true, true},
        {{{"*", NOTHING}}, NOTHING, NOTHING, 0, false, false},
        {{{"*", ONLY_MEMORY}}, ONLY_MEMORY, ONLY_MEMORY, 0, true, false},
        {{{"app", NOTHING}}, NOTHING, BOTH, 1, true, false},
        {{{"app", BOTH}}, BOTH, BOTH, 0, true, true},
        /* a container's own policy counts before that of "*", wherever it stands */
        {{{"*", NOTHING}, {"app", ONLY_CPU}}, ONLY_CPU, NOTHING, 1, true, false},
        {{{"app", ONLY_CPU}, {"*", NOTHING}}, ONLY_CPU, NOTHING, 1, true, false},
        {{{"app", NOTHING}, {"*", NOTHING}}, NOTHING, NOTHING, 0, false, false},
        {{{"app", ONLY_CPU}, {"*", ONLY_CPU}, {"side", BOTH}}, ONLY_CPU, BOTH, 1, true, false},
        /* of several of one container the first counts, of several of all the last */
        {{{"app", ONLY_CPU}, {"app", NOTHING}}, ONLY_CPU, BOTH, 1, true, false},
        {{{"*", NOTHING}, {"*", ONLY_CPU}}, ONLY_CPU, ONLY_CPU, 0, true, false},
        /* no container has such a name */
        {{{"", NOTHING}, {LONG_NAME, NOTHING}}, BOTH, BOTH, 0, true, true},
        {{{LONGEST, NOTHING}}, BOTH, BOTH, 1, true, false},
};

static void policies_set_as_the_table_says(void **state)
{
        (void)state;
        _Alignas(struct vpa_policy) char room[sizeof(struct vpa_policy) + MOST * sizeof(struct vpa_policy_row)];
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct vpa_policy *p = policy_of(row[i].rule, room);
                for (int settled = 0; settled < 2; settled++) {
                        if (sets_of(p, "app") != row[i].app || sets_of(p, "side") != row[i].side)
                                fail_msg("row %zu: app %d, side %d", i, sets_of(p, "app"), sets_of(p, "side"));
                        if (vpa_policy_settle(p) != row[i].any || p->rows != row[i].rows ||
                            vpa_policy_sets_all(p) != row[i].all)
                                fail_msg("row %zu: %d rows", i, p->rows);
                }
        }
        assert_true(vpa_policy_sets_all(NULL));
        assert_int_equal(sets_of(NULL, "app"), BOTH);
}

static void a_copy_stands_alone(void **state)
{
        (void)state;
        static const struct rule rules[MOST] = {{"app", ONLY_CPU}, {"*", NOTHING}, {"side", ONLY_MEMORY}};
        _Alignas(struct vpa_policy) char room[1024], copied[1024];
        struct vpa_policy *p = policy_of(rules, room);
        size_t size = vpa_policy_size(p);
        assert_int_equal(size, sizeof *p + 2 * sizeof p->row[0] + strlen("appside"));
        memset(copied, 'x', sizeof copied);
        struct vpa_policy *copy = vpa_policy_copy(p, copied);
        assert_int_equal(copied[size], 'x');
        assert_int_equal(copied[size - 1], 'e');
        assert_true(vpa_policy_equal(p, copy));
        memset(room, 0, sizeof room);
        assert_int_equal(sets_of(copy, "app"), ONLY_CPU);
        assert_int_equal(sets_of(copy, "side"), ONLY_MEMORY);
        assert_int_equal(sets_of(copy, "log"), NOTHING);
        static const struct rule others[][MOST] = {
                {{"app", ONLY_CPU}, {"*", NOTHING}},
                {{"app", ONLY_CPU}, {"*", NOTHING}, {"side", ONLY_CPU}},
                {{"app", ONLY_CPU}, {"*", NOTHING}, {"log", ONLY_MEMORY}},
                {{"app", ONLY_CPU}, {"*", ONLY_CPU}, {"side", ONLY_MEMORY}},
                {{"app", BOTH}, {"*", NOTHING}, {"side", ONLY_MEMORY}},
                {{"web", ONLY_CPU}, {"*", NOTHING}, {"side", ONLY_MEMORY}},
                {{0}},
        };
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                if (vpa_policy_equal(copy, policy_of(others[i], room)))
                        fail_msg("equal to %zu", i);
        assert_false(vpa_policy_equal(copy, NULL));
        assert_false(vpa_policy_equal(NULL, copy));
        assert_true(vpa_policy_equal(NULL, NULL));
        assert_true(vpa_policy_equal(NULL, policy_of(others[6], room)));
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(policies_set_as_the_table_says),
                                           cmocka_unit_test(a_copy_stands_alone)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
