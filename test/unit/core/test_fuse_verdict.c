/* When the fuse blows, and what is made of what the Lease says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/fuse_verdict.h"

static void test_within_an_hour(void **state)
{
        (void)state;
        static const int64_t now = INT64_C(1763700000000);
        static const struct {
                int64_t ago;
                bool want;
        } row[] = {{0, true}, {HOUR_MS - 1, true}, {HOUR_MS, false}, {HOUR_MS * 9, false}, {-HOUR_MS, true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (fuse_is_recent(&(struct fuse_guard){.at_ms = now - row[i].ago}, now) != row[i].want)
                        fail_msg("row %zu", i);
}

/* --- which fuse a series of guards blows: one row a series --- */

enum { SERIES = 14 };

/* "ns/profile": a guard of a workload of that namespace under that profile; "ns/": under none. The profiles of a and of
 * b are Profiles, shared is a ClusterProfile. */
static const struct {
        const char *what;
        int guards;
        const char *series[SERIES];
        enum fuse_scope blows[SERIES]; /* by each guard */
} series[] = {
        {"seven of one namespace blow its profile there, once",
         5,
         {"a/shared", "a/shared", "a/shared", "a/shared", "a/shared", "a/shared", "a/shared"},
         {[5] = FUSE_SHARE}},
        {"another namespace goes on then, and counts for itself",
         5,
         {"a/shared", "a/shared", "a/shared", "a/shared", "a/shared", "a/shared", "b/shared", "b/shared", "b/shared"},
         {[5] = FUSE_SHARE}},
        {"three namespaces blow the profile",
         5,
         {"a/shared", "a/shared", "b/shared", "b/shared", "c/shared", "c/shared"},
         {[5] = FUSE_PROFILE}},
        {"three profiles blow the cluster's", 5, {"a/a", "a/a", "b/b", "b/b", "c/c", "c/c"}, {[5] = FUSE_CLUSTER}},
        {"a namespace counts twice, however many profiles it has",
         5,
         {"a/p", "a/q", "a/r", "a/s", "a/t", "a/u", "a/v", "b/b", "b/b", "b/b"},
         {0}},
        {"workloads without a profile count for the cluster", 2, {"a/", "a/", "a/", "b/"}, {[3] = FUSE_CLUSTER}},
        {"one namespace never blows the cluster's, also where two are too many",
         1,
         {"a/p", "a/q", "b/b"},
         {[2] = FUSE_CLUSTER}},
        {"names that begin alike are two namespaces", 2, {"a/", "a/", "ab/"}, {[2] = FUSE_CLUSTER}},
};

static void test_which_fuse_blows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
                struct fuse_guard seen[SERIES];
                char name[SERIES][16];
                int count = 0;
                for (int k = 0; k < SERIES && series[i].series[k]; k++) {
                        const char *slash = strchr(series[i].series[k], '/');
                        struct fuse_guard g = {.name = name[k], .profile = (char *)(uintptr_t)(slash + 1)};
                        snprintf(name[k], sizeof name[k], "%.*s/Pod/x", (int)(slash - series[i].series[k]),
                                 series[i].series[k]);
                        bool held = false;
                        for (int e = 0; e < k; e++) {
                                enum fuse_scope was = series[i].blows[e];
                                struct fuse_guard of = seen[e];
                                of.reach = FUSE_CLUSTER;
                                held |= was != FUSE_NOWHERE && fuse_counts(was, &g, &of);
                        }
                        enum fuse_scope got = held ? FUSE_NOWHERE : fuse_count_guard(&g, seen, count, series[i].guards);
                        if (got != series[i].blows[k])
                                fail_msg("%s: guard %d blows %d", series[i].what, k, (int)got);
                        seen[count++] = g; /* one that no fuse counts has no reach */
                }
        }
}

static void test_what_holds_a_profile(void **state)
{
        (void)state;
        static const struct {
                int64_t blown, reset;
                bool same, want;
        } row[] = {
                {50, 0, true, true},   {50, 0, false, false}, {50, 40, true, true},   {50, 50, true, false},
                {50, 60, true, false}, {900, 0, true, true},  {900, 40, true, false}, {50, 1, true, true},
                {1, 1, true, false},   {100, 40, true, true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (fuse_of_profile_holds(row[i].blown, row[i].same, row[i].reset, 100) != row[i].want)
                        fail_msg("row %zu", i);
}

static void test_blows_above_so_many(void **state)
{
        (void)state;
        static const struct {
                int within, guards;
                bool want;
        } row[] = {{0, 0, false}, {1000, 0, false}, {5, 5, false}, {6, 5, true}, {1, 1, false}, {2, 1, true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (fuse_blows(row[i].within, row[i].guards) != row[i].want)
                        fail_msg("%d of %d", row[i].within, row[i].guards);
}

static void test_what_the_lease_says(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                struct {
                        bool blown;
                        int64_t blown_ms, reset_ms;
                        bool shown;
                } f;
                enum fuse_word word;
                int64_t at;
                enum fuse_action want;
        } row[] = {
                {"whole, and nothing said", {0}, FUSE_NOTHING, 0, FUSE_AGREES},
                {"whole, reset once", {0}, FUSE_RESET, 50, FUSE_AGREES},
                {"whole, blown by the one before", {0}, FUSE_BLOWN, 50, FUSE_TAKE},
                {"whole, at a time that cannot be read", {0}, FUSE_BLOWN, 0, FUSE_TAKE},
                {"reset here, not there yet", {false, 0, 60, true}, FUSE_BLOWN, 50, FUSE_REPEAT},
                {"blown again since", {false, 0, 60, true}, FUSE_BLOWN, 70, FUSE_TAKE},
                {"blown, not written yet", {true, 50, 0, false}, FUSE_NOTHING, 0, FUSE_WRITE},
                {"blown, and the Lease was made again", {true, 50, 0, false}, FUSE_NOTHING, 0, FUSE_WRITE},
                {"blown, and taken off by a person", {true, 50, 0, true}, FUSE_NOTHING, 0, FUSE_MEND},
                {"blown, and written", {true, 50, 0, true}, FUSE_BLOWN, 50, FUSE_AGREES},
                {"blown, another says so as well", {true, 50, 0, false}, FUSE_BLOWN, 40, FUSE_AGREES},
                {"blown, and reset", {true, 50, 0, true}, FUSE_RESET, 60, FUSE_MEND},
                {"blown, reset within the second", {true, 50, 0, true}, FUSE_RESET, 50, FUSE_MEND},
                {"blown since it was reset", {true, 50, 0, false}, FUSE_RESET, 40, FUSE_WRITE},
                {"reset while away", {true, 50, 0, false}, FUSE_RESET, 60, FUSE_MEND},
                {"reset, by a clock that is ahead", {true, 50, 0, true}, FUSE_RESET, 900, FUSE_MEND},
                {"whole, and a reset of a time that has not come", {0}, FUSE_RESET, 900, FUSE_DATE},
                {"blown again, and that reset was for the one before",
                 {true, 50, 50, false},
                 FUSE_RESET,
                 50,
                 FUSE_WRITE},
                {"the same, within the second", {true, 50, 90, true}, FUSE_RESET, 50, FUSE_WRITE},
                {"blown by a clock that was ahead, and reset", {true, 900, 0, true}, FUSE_RESET, 90, FUSE_MEND},
                {"the same, and the reset is of before", {true, 900, 40, true}, FUSE_RESET, 40, FUSE_WRITE},
                {"reset, and the Lease says still what that clock wrote",
                 {false, 0, 90, true},
                 FUSE_BLOWN,
                 900,
                 FUSE_REPEAT},
                {"reset just now", {0}, FUSE_RESET, 100, FUSE_AGREES},
                {"blown just now, and the reset is of before", {true, 100, 0, true}, FUSE_RESET, 60, FUSE_WRITE},
                {"blown at the moment of the reset", {false, 0, 60, true}, FUSE_BLOWN, 60, FUSE_REPEAT},
                {"blown just now, after it was reset", {false, 0, 60, true}, FUSE_BLOWN, 100, FUSE_TAKE},
                {"reset at the first moment there is", {false, 0, 1, false}, FUSE_BLOWN, 1, FUSE_REPEAT},
                {"blown again then", {true, 1, 1, false}, FUSE_RESET, 1, FUSE_WRITE},
                {"reset once, and another Lease says so", {false, 0, 90, false}, FUSE_BLOWN, 900, FUSE_TAKE},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct fuse_facts f = {row[i].f.blown, row[i].f.blown_ms, row[i].f.reset_ms, row[i].f.shown, 100};
                enum fuse_action got = fuse_judge(&f, row[i].word, row[i].at);
                if (got != row[i].want)
                        fail_msg("%s: %d, not %d", row[i].what, (int)got, (int)row[i].want);
        }
}

/* The fuses of profiles are reset by a reset that is news, also while the cluster's is whole. */
static void test_a_reset_that_is_news(void **state)
{
        (void)state;
        static const struct {
                int64_t reset_ms, at_ms;
                enum fuse_action want;
        } row[] = {
                {0, 5000, FUSE_HEED},      {4999, 5000, FUSE_HEED}, {5400, 5000, FUSE_AGREES},
                {6000, 5000, FUSE_AGREES}, {5000, 9001, FUSE_DATE}, {0, 0, FUSE_AGREES},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct fuse_facts f = {.reset_ms = row[i].reset_ms, .now_ms = 9000};
                if (fuse_judge(&f, FUSE_RESET, row[i].at_ms) != row[i].want)
                        fail_msg("row %zu", i);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_within_an_hour),      cmocka_unit_test(test_blows_above_so_many),
                cmocka_unit_test(test_which_fuse_blows),    cmocka_unit_test(test_what_holds_a_profile),
                cmocka_unit_test(test_what_the_lease_says), cmocka_unit_test(test_a_reset_that_is_news),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
