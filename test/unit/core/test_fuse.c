/* When the fuse blows, and what is made of what the Lease says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/fuse.h"

static void test_within_an_hour(void **state)
{
        (void)state;
        static const int64_t now = INT64_C(1763700000000);
        static const struct {
                int64_t ago[4];
                int count, want;
        } row[] = {
                {{0}, 0, 0},           {{0, 1000, HOUR_MS - 1}, 3, 3},
                {{HOUR_MS, 0}, 2, 1},  {{HOUR_MS * 9, HOUR_MS + 1, HOUR_MS - 1}, 3, 1},
                {{-HOUR_MS, 0}, 2, 2}, /* a clock that was ahead */
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int64_t at[4]; /* those beyond count would count */
                for (int k = 0; k < 4; k++)
                        at[k] = k < row[i].count ? now - row[i].ago[k] : now;
                int got = fuse_count_within(at, row[i].count, now);
                if (got != row[i].want)
                        fail_msg("row %zu: %d, not %d", i, got, row[i].want);
        }
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
                enum fuse_deed want;
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
                enum fuse_deed got = fuse_judge(&f, row[i].word, row[i].at);
                if (got != row[i].want)
                        fail_msg("%s: %d, not %d", row[i].what, (int)got, (int)row[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_within_an_hour),
                cmocka_unit_test(test_blows_above_so_many),
                cmocka_unit_test(test_what_the_lease_says),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
