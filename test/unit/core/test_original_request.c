#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/original_request.h"

#define YES(v)                                                                                                         \
        {                                                                                                              \
                true, (v)                                                                                              \
        }
#define NO                                                                                                             \
        {                                                                                                              \
                false, 0                                                                                               \
        }

static bool same(struct amount a, struct amount b)
{
        return a.set == b.set && (!a.set || a.value == b.value);
}

static void test_origin(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                struct original_request_facts f;
                struct original_request want;
        } row[] = {
                {"never touched", {.request = YES(2)}, {.raw = YES(2), .effective = YES(2), .current = YES(2)}},
                {"by its limit", {.limit = YES(4)}, {.raw = NO, .effective = YES(4), .current = YES(4)}},
                {"by the namespace", {.range_default = YES(5)}, {.raw = NO, .effective = YES(5), .current = YES(5)}},
                {"the limit before the namespace",
                 {.limit = YES(4), .range_default = YES(5)},
                 {.raw = NO, .effective = YES(4), .current = YES(4)}},
                {"nothing", {.limit = NO}, {.raw = NO, .effective = NO, .current = NO}},
                {"a request of zero is one",
                 {.request = YES(0), .limit = YES(4)},
                 {.raw = YES(0), .effective = YES(0), .current = YES(0)}},
                {"ours",
                 {.request = YES(1), .applied = YES(1), .recorded = true, .original = YES(2)},
                 {.ours = true, .raw = YES(2), .effective = YES(2), .current = YES(1)}},
                {"ours, where there was none: the limit is the original",
                 {.request = YES(1), .limit = YES(4), .applied = YES(1), .recorded = true},
                 {.ours = true, .raw = NO, .effective = YES(4), .current = YES(1)}},
                {"ours, where there was neither: both are the namespace's",
                 {.request = YES(1),
                  .limit = YES(4),
                  .range_default = YES(3),
                  .range_limit = YES(4),
                  .applied = YES(1),
                  .recorded = true},
                 {.ours = true, .raw = NO, .effective = YES(3), .current = YES(1)}},
                {"a limit that is not the namespace's is the owner's",
                 {.request = YES(1),
                  .limit = YES(4),
                  .range_default = YES(3),
                  .range_limit = YES(5),
                  .applied = YES(1),
                  .recorded = true},
                 {.ours = true, .raw = NO, .effective = YES(4), .current = YES(1)}},
                {"nor is one that he had before",
                 {.request = YES(1),
                  .limit = YES(4),
                  .range_default = YES(3),
                  .range_limit = YES(4),
                  .applied = YES(1),
                  .recorded = true,
                  .original_limit = YES(4)},
                 {.ours = true, .raw = NO, .effective = YES(4), .current = YES(1)}},
                {"ours, but nobody recorded what was before",
                 {.request = YES(1), .applied = YES(1)},
                 {.ours = true, .raw = YES(1), .effective = YES(1), .current = YES(1)}},
                {"the owner has spoken",
                 {.request = YES(3), .applied = YES(1), .recorded = true, .original = YES(2)},
                 {.raw = YES(3), .effective = YES(3), .current = YES(3)}},
                {"put back",
                 {.request = YES(2), .applied = YES(1), .recorded = true, .original = YES(2)},
                 {.reset = true, .raw = YES(2), .effective = YES(2), .current = YES(2)}},
                {"put back to none",
                 {.limit = YES(4), .applied = YES(1), .recorded = true},
                 {.reset = true, .raw = NO, .effective = YES(4), .current = YES(4)}},
                {"removed by the owner",
                 {.limit = YES(4), .applied = YES(1), .recorded = true, .original = YES(2)},
                 {.raw = NO, .effective = YES(4), .current = YES(4)}},
                {"changed by admission",
                 {.request = YES(9),
                  .applied = YES(1),
                  .recorded = true,
                  .original = YES(2),
                  .changed = true,
                  .admitted = YES(9)},
                 {.ours = true, .raw = YES(2), .effective = YES(2), .current = YES(9)}},
                {"removed by admission",
                 {.limit = YES(4), .applied = YES(1), .recorded = true, .original = YES(2), .changed = true},
                 {.ours = true, .raw = YES(2), .effective = YES(2), .current = YES(4)}},
                {"what admission makes of others is theirs",
                 {.request = YES(9), .recorded = true, .original = YES(2), .changed = true, .admitted = YES(9)},
                 {.raw = YES(9), .effective = YES(9), .current = YES(9)}},
                {"recorded, but of another resource",
                 {.request = YES(2), .recorded = true, .original = YES(2)},
                 {.raw = YES(2), .effective = YES(2), .current = YES(2)}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct original_request o = original_request_read(&row[i].f), want = row[i].want;
                bool by_namespace = strstr(row[i].name, "both are the namespace's");
                assert_true(same(o.limit, by_namespace ? (struct amount)NO : row[i].f.limit));
                if (o.ours != want.ours || o.reset != want.reset || !same(o.raw, want.raw) ||
                    !same(o.effective, want.effective) || !same(o.current, want.current))
                        fail_msg("%s: ours %d, reset %d, raw %lld, effective %lld, current %lld", row[i].name, o.ours,
                                 o.reset, (long long)o.raw.value, (long long)o.effective.value,
                                 (long long)o.current.value);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {cmocka_unit_test(test_origin)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
