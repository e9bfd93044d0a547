/* The rules of a platform that explain what came back: amounts in millicores, or mebibytes where memory is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/admission_change.h"

enum { MI = 1 << 20, NONE = -1, MOST = 3 };

struct told {
        int64_t sent, got, limit; /* NONE: absent */
};

static struct amount amount_of(enum resource r, int64_t v)
{
        return (struct amount){v >= 0, v < 0 ? 0 : r == MEMORY ? v * MI : v};
}

static void test_rules(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                enum resource resource;
                struct told q[MOST];
                size_t n;
                int64_t step, minimum, ratio;
        } row[] = {
                {"nothing was sent", CPU, {{0}}, 0, 0, 0, 0},
                {"as sent", CPU, {{23, 23, 1000}}, 1, 0, 0, 0},
                {"rounded, or a minimum", CPU, {{23, 50, NONE}}, 1, 50, 50, 0},
                {"a second one tells rounding", CPU, {{23, 50, NONE}, {68, 100, NONE}}, 2, 50, 0, 0},
                {"a second one tells a minimum", CPU, {{23, 50, NONE}, {68, 68, NONE}}, 2, 0, 50, 0},
                {"what is no step is a minimum", CPU, {{23, 77, NONE}}, 1, 0, 77, 0},
                {"far up is a minimum", CPU, {{23, 250, NONE}}, 1, 250, 250, 0},
                {"beyond each step", CPU, {{23, 2000, NONE}}, 1, 0, 2000, 0},
                {"a bound to the limit", CPU, {{23, 308, 2000}}, 1, 0, 308, 6500},
                {"one without a limit was let be", CPU, {{23, 308, 2000}, {23, 23, NONE}}, 2, 0, 0, 6500},
                {"two limits, one bound", CPU, {{23, 308, 2000}, {40, 154, 1000}}, 2, 0, 0, 6500},
                {"bound, then rounded", CPU, {{23, 350, 2000}, {40, 200, 1000}}, 2, 0, 0, 5800},
                {"the bound would have raised another", CPU, {{23, 308, 2000}, {23, 23, 1000}}, 2, 0, 0, 0},
                {"the other is just within the bound", CPU, {{23, 308, 2000}, {200, 200, 1300}}, 2, 0, 0, 6500},
                {"a hundred times", CPU, {{1, 10, 1000}}, 1, 10, 10, 100000},
                {"above that is no proportion", CPU, {{1, 10, 1010}}, 1, 10, 10, 0},
                {"a whole step is another's", CPU, {{5, 10, NONE}}, 1, 10, 10, 0},
                {"raised to one", CPU, {{0, 1, 100}}, 1, 0, 1, 100000},
                {"a little above eight tenths", CPU, {{23, 2857, 2000}}, 1, 0, 2857, 800},
                {"the first would have been raised", CPU, {{23, 23, 1000}, {23, 308, 2000}}, 2, 0, 0, 0},
                {"raised, and had not broken it", CPU, {{23, 308, 2000}, {200, 250, 1300}}, 2, 0, 0, 0},
                {"equal to the limit", CPU, {{23, 1000, 1000}}, 1, 1000, 1000, 1000},
                {"above the limit", CPU, {{23, 77, 70}}, 1, 0, 77, 1000},
                {"to no proportion", CPU, {{0, 0, 1000}, {1, 3, 1000}}, 2, 0, 0, 0},
                {"lowered", CPU, {{500, 250, NONE}}, 1, 0, 0, 0},
                {"removed", CPU, {{500, NONE, NONE}}, 1, 0, 0, 0},
                {"put back, where it was to go", CPU, {{NONE, 500, NONE}}, 1, 0, 0, 0},
                {"no rule does both", CPU, {{23, 50, NONE}, {500, 250, NONE}}, 2, 0, 0, 0},
                {"memory, rounded", MEMORY, {{70, 128, NONE}, {130, 192, NONE}}, 2, 64, 0, 0},
                {"memory, a minimum", MEMORY, {{70, 128, NONE}, {130, 130, NONE}}, 2, 0, 128, 0},
                {"memory, finely rounded", MEMORY, {{70, 72, NONE}, {130, 132, NONE}}, 2, 4, 0, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct admission_request *q = calloc(row[i].n + !row[i].n, sizeof *q); /* what is beyond is noticed */
                for (size_t k = 0; k < row[i].n; k++)
                        q[k] = (struct admission_request){amount_of(row[i].resource, row[i].q[k].sent),
                                                          amount_of(row[i].resource, row[i].q[k].got),
                                                          amount_of(row[i].resource, row[i].q[k].limit)};
                int64_t unit = row[i].resource == MEMORY ? MI : 1;
                struct admission_rules got = admission_explain(row[i].resource, q, row[i].n);
                free(q);
                if (got.step != row[i].step * unit || got.minimum != row[i].minimum * unit || got.ratio != row[i].ratio)
                        fail_msg("%s: step %lld, minimum %lld, ratio %lld", row[i].name, (long long)got.step,
                                 (long long)got.minimum, (long long)got.ratio);
        }
}

/* Each step that platforms round to is told from the finer ones. */
static void test_each_step(void **state)
{
        (void)state;
        static const struct {
                enum resource resource;
                int64_t step; /* millicores, mebibytes */
        } row[] = {{CPU, 5},     {CPU, 10},    {CPU, 20},     {CPU, 25},     {CPU, 50},     {CPU, 100},    {CPU, 125},
                   {CPU, 200},   {CPU, 250},   {CPU, 500},    {CPU, 1000},   {MEMORY, 4},   {MEMORY, 8},   {MEMORY, 16},
                   {MEMORY, 32}, {MEMORY, 64}, {MEMORY, 128}, {MEMORY, 256}, {MEMORY, 512}, {MEMORY, 1024}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int64_t unit = row[i].resource == MEMORY ? MI : 1, step = row[i].step * unit;
                const struct admission_request q[] = {{.sent = {true, unit}, .got = {true, step}},
                                                      {.sent = {true, step + unit}, .got = {true, 2 * step}}};
                struct admission_rules got = admission_explain(row[i].resource, q, 2);
                if (got.step != step)
                        fail_msg("%lld: %lld", (long long)step, (long long)got.step);
        }
}

/* Whatever a platform does by one of the rules, that rule is among those that explain it. */
static void test_each_rule_explains_itself(void **state)
{
        (void)state;
        static const int64_t limit = 2000;
        for (int64_t sent = 1; sent <= 400; sent++) {
                int64_t rounded = (sent + 49) / 50 * 50, bound = (limit * 10 + 64) / 65;
                const struct {
                        int64_t got;
                        size_t rule;
                } row[] = {{rounded, offsetof(struct admission_rules, step)},
                           {sent > 90 ? sent : 90, offsetof(struct admission_rules, minimum)},
                           {sent > bound ? sent : bound, offsetof(struct admission_rules, ratio)}};
                for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                        struct admission_request q = {{true, sent}, {true, row[i].got}, {true, limit}};
                        struct admission_rules rules = admission_explain(CPU, &q, 1);
                        int64_t found = *(const int64_t *)(const void *)((const char *)&rules + row[i].rule);
                        if (admission_changed(&q) != (found > 0))
                                fail_msg("%lld came back as %lld, rule %zu: %lld", (long long)sent,
                                         (long long)row[i].got, i, (long long)found);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rules),
                cmocka_unit_test(test_each_step),
                cmocka_unit_test(test_each_rule_explains_itself),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
