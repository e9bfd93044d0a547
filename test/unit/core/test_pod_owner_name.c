/* Whose a pod was, by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/pod_owner_name.h"

static void names_tell_owners(void **state)
{
        (void)state;
        static const struct {
                const char *pod, *owner[POD_NAMINGS]; /* by template, by run, by random, by ordinal */
        } row[] = {
                {"web-6f88459b46-9fbsz", {"web", NULL, "web-6f88459b46", NULL}},
                {"a-b-c-7d7f4c499d-gvh4r", {"a-b-c", NULL, "a-b-c-7d7f4c499d", NULL}},
                {"web-9fbsz", {NULL, NULL, "web", NULL}},
                {"d-0", {NULL, NULL, NULL, "d"}},
                {"web-afbsz", {NULL, NULL, NULL, NULL}},
                {"db-0", {NULL, NULL, NULL, "db"}},
                {"db-12345", {NULL, NULL, NULL, "db"}},
                {"db-24567", {NULL, NULL, "db", "db"}}, /* digits of the alphabet */
                {"job-28391820-x2xz9", {NULL, "job", "job-28391820", NULL}},
                {"job-22456789-x2xz9", {"job", "job", "job-22456789", NULL}},
                {"web-6f88459b46x-9fbsz", {NULL, NULL, "web-6f88459b46x", NULL}}, /* eleven */
                {"web-6a88459b46-9fbsz", {NULL, NULL, "web-6a88459b46", NULL}},   /* an a */
                {"web-6f88459b46-9fbs", {NULL, NULL, NULL, NULL}},
                {"web-6f88459b46-9fbsa", {NULL, NULL, NULL, NULL}},
                {"web-6f88459b46-9fbszz", {NULL, NULL, NULL, NULL}},
                {"web--9fbsz", {NULL, NULL, "web-", NULL}},
                {"-9fbsz", {NULL, NULL, NULL, NULL}},
                {"-0", {NULL, NULL, NULL, NULL}},
                {"x-", {NULL, NULL, NULL, NULL}},
                {"-", {NULL, NULL, NULL, NULL}},
                {"bare", {NULL, NULL, NULL, NULL}},
                {"", {NULL, NULL, NULL, NULL}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (enum pod_naming n = POD_BY_TEMPLATE; n < POD_NAMINGS; n++) {
                        struct text owner = pod_owner_name(text_of(row[i].pod), n);
                        const char *want = row[i].owner[n];
                        if (!owner.p != !want || (want && !text_is(owner, want)))
                                print_error("'%s', naming %d: '%.*s'\n", row[i].pod, n, TEXT_ARG(owner));
                        assert_int_equal(!owner.p, !want);
                        assert_true(want || owner.len == 0);
                        assert_true(!want || text_is(owner, want));
                }
}

static void no_byte_of_a_name_is_nothing(void **state)
{
        (void)state;
        assert_null(pod_owner_name((struct text){"web-9fbs\0", 9}, POD_BY_RANDOM).p);
}

static void kinds_have_their_way(void **state)
{
        (void)state;
        static const struct {
                const char *kind;
                int ways; /* a bit each */
        } row[] = {
                {"Deployment", 1 << POD_BY_TEMPLATE}, {"Rollout", 1 << POD_BY_TEMPLATE},
                {"CronJob", 1 << POD_BY_RUN},         {"StatefulSet", 1 << POD_BY_ORDINAL},
                {"DaemonSet", 1 << POD_BY_RANDOM},    {"ReplicaSet", 1 << POD_BY_RANDOM},
                {"Job", 1 << POD_BY_RANDOM},          {"CloneSet", 1 << POD_BY_RANDOM},
                {"Machine", (1 << POD_NAMINGS) - 1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int ways = 0;
                for (enum pod_naming n = POD_BY_TEMPLATE; n < POD_NAMINGS; n++)
                        ways |= pod_naming_of(text_of(row[i].kind), n) << n;
                if (ways != row[i].ways)
                        print_error("%s: %x\n", row[i].kind, (unsigned)ways);
                assert_int_equal(ways, row[i].ways);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_tell_owners),
                cmocka_unit_test(no_byte_of_a_name_is_nothing),
                cmocka_unit_test(kinds_have_their_way),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
