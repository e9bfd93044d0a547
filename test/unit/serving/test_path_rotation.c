/* The rotation of admission's path: which paths the Secret has, and which one the webhooks have, at every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "serving/path_rotation.h"

#define FIRST  "00112233445566778899aabbccddeeff"
#define SECOND "ffeeddccbbaa99887766554433221100"
#define DAY_MS (24 * (int64_t)HOUR_MS)

static const struct wall begun = {INT64_C(1764000000) * SECOND_MS};

static struct wall after(int64_t ms)
{
        return (struct wall){begun.ms + ms};
}

static int step(struct path_rotation *p, const char *in_force, struct wall now)
{
        struct err err = {0};
        int rc = path_rotation_step(p, in_force, now, &err);
        assert_in_range(rc, 0, 1);
        return rc;
}

static void test_text(void **state)
{
        (void)state;
        static const char *const bad[] = {"x",
                                          "1",
                                          "1 ",
                                          "1 x",
                                          "-1 admission",
                                          "1  admission",
                                          "1 " FIRST "0",
                                          "1 admission\n2 " FIRST "\n3 " SECOND,
                                          "1 admission\nx",
                                          "1 00112233445566778899AABBCCDDEEFF",
                                          "99999999999999999999 admission",
                                          "1 ADMISSION"};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                if (path_rotation_read(bad[i]).paths.count != 0)
                        fail_msg("'%s' is read", bad[i]);
        assert_int_equal(path_rotation_read(NULL).paths.count, 0);
        static const char text[] = "1764000000 admission\n1764000001 " FIRST "\n";
        struct path_rotation p = path_rotation_read(text);
        assert_int_equal(p.paths.count, 2);
        assert_string_equal(p.paths.name[0], ADMISSION_WELL_KNOWN);
        assert_string_equal(p.paths.name[1], FIRST);
        assert_int_equal(p.since[1].ms, begun.ms + SECOND_MS);
        AUTO(mem_free) char *printed = path_rotation_print(&p);
        assert_string_equal(printed, text);
}

static void test_the_first_path(void **state)
{
        (void)state;
        static const struct {
                const char *in_force, *old;
        } row[] = {
                {"", "admission"},       {"/admission", "admission"}, {"/", "admission"},
                {"/other", "admission"}, {"/" FIRST, FIRST},          {FIRST, "admission"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct path_rotation p = {0};
                assert_null(path_rotation_current(&p, begun));
                assert_int_equal(step(&p, row[i].in_force, begun), 1);
                assert_int_equal(p.paths.count, 2);
                assert_string_equal(p.paths.name[0], row[i].old);
                assert_int_equal(strspn(p.paths.name[1], "0123456789abcdef"), ADMISSION_PATH_LEN);
                assert_string_equal(path_rotation_current(&p, begun), row[i].old);
        }
}

/* Two paths of two runs differ, and so do two of one run. */
static void test_paths_are_random(void **state)
{
        (void)state;
        struct path_rotation a = {0}, b = {0};
        step(&a, "", begun);
        step(&b, "", begun);
        assert_string_not_equal(a.paths.name[1], b.paths.name[1]);
}

/* Minute by minute over ninety days: the path in force was in the Secret for an hour before, and stays an hour after.
 */
static void test_ninety_days(void **state)
{
        (void)state;
        struct path_rotation p = {0};
        char in_force[64] = "", before[64] = "";
        struct wall changed = begun;
        int changes = 0;
        for (int64_t at = 0; at < 90 * DAY_MS; at += MINUTE_MS) {
                struct wall now = after(at);
                char had[64];
                memcpy(had, in_force, sizeof had);
                const char *current = path_rotation_current(&p, now);
                if (current && strcmp(in_force + (*in_force == '/'), current) != 0) {
                        memcpy(before, in_force, sizeof before);
                        snprintf(in_force, sizeof in_force, "/%s", current);
                        changed = now;
                        changes++;
                        if (strlen(current) == ADMISSION_PATH_LEN)
                                assert_true(now.ms - p.since[p.paths.count - 1].ms >= PATH_SPREAD_MS);
                }
                step(&p, had, now);
                bool old_served = *before == '\0';
                for (int i = 0; i < p.paths.count; i++)
                        old_served |= strcmp(before + 1, p.paths.name[i]) == 0;
                if (changes > 1 && now.ms - changed.ms < PATH_SPREAD_MS && !old_served)
                        fail_msg("%s is not served %lld ms after %s", before, (long long)(now.ms - changed.ms),
                                 in_force);
                assert_true(p.paths.count <= 2);
        }
        assert_in_range(changes, 4, 5); /* the well-known one, and one each thirty days */
}

/* The webhooks were written late: the old path stays an hour from then on. */
static void test_a_late_configuration(void **state)
{
        (void)state;
        struct path_rotation p = path_rotation_read("1764000000 " FIRST "\n1764000000 " SECOND "\n");
        struct wall late = after(DAY_MS);
        assert_string_equal(path_rotation_current(&p, late), SECOND);
        assert_int_equal(step(&p, "/" FIRST, late), 1);
        assert_int_equal(p.paths.count, 2);
        assert_int_equal(step(&p, "/" SECOND, after(DAY_MS + HOUR_MS - MINUTE_MS)), 0);
        assert_int_equal(step(&p, "/" SECOND, after(DAY_MS + HOUR_MS)), 1);
        assert_int_equal(p.paths.count, 1);
        assert_string_equal(p.paths.name[0], SECOND);
}

/* The manifests of the version before set the well-known path, and its replicas know no other. */
static void test_the_well_known_path_again(void **state)
{
        (void)state;
        struct path_rotation p = path_rotation_read("1764000000 " FIRST "\n");
        struct wall later = after(DAY_MS);
        assert_int_equal(step(&p, "", later), 0); /* an omitted path only comes back */
        assert_int_equal(step(&p, "/admission", later), 1);
        assert_int_equal(p.paths.count, 2);
        assert_string_equal(path_rotation_current(&p, later), ADMISSION_WELL_KNOWN);
        assert_int_equal(step(&p, "/admission", later), 0);
        assert_string_equal(path_rotation_current(&p, after(DAY_MS + HOUR_MS)), FIRST);
}

/* A clock that was ahead does not stop the rotation. */
static void test_a_clock_set_back(void **state)
{
        (void)state;
        struct path_rotation p = path_rotation_read("1864000000 " FIRST "\n1864000000 " SECOND "\n");
        assert_int_equal(step(&p, "/" FIRST, begun), 1);
        assert_int_equal(p.since[1].ms, begun.ms);
        assert_int_equal(step(&p, "/" FIRST, begun), 0);
        assert_string_equal(path_rotation_current(&p, after(PATH_SPREAD_MS)), SECOND);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_text),
                cmocka_unit_test(test_the_first_path),
                cmocka_unit_test(test_paths_are_random),
                cmocka_unit_test(test_ninety_days),
                cmocka_unit_test(test_a_late_configuration),
                cmocka_unit_test(test_the_well_known_path_again),
                cmocka_unit_test(test_a_clock_set_back),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
