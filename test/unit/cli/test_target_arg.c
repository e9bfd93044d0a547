/* KIND/NAME as it is written on a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/target_arg.h"

static void test_table(void **state)
{
        (void)state;
        static const struct {
                const char *word, *group, *kind, *name, *recommendation; /* group NULL: refused */
        } row[] = {
                {"deploy/web", "apps", "Deployment", "web", "deployment-web"},
                {"deployments.apps/web", "apps", "Deployment", "web", "deployment-web"},
                {"Deployment/web", "apps", "Deployment", "web", "deployment-web"},
                {"sts/db", "apps", "StatefulSet", "db", "statefulset-db"},
                {"cj/night", "batch", "CronJob", "night", "cronjob-night"},
                {"clonesets.apps.kruise.io/x", "apps.kruise.io", "CloneSet", "x", "cloneset.apps.kruise.io-x"},
                {"widget.example.com/gizmo", "example.com", "widget", "gizmo", "widget.example.com-gizmo"},
                {"Widget.example.com/gizmo", "example.com", "Widget", "gizmo", "widget.example.com-gizmo"},
                {"gadget/x", "", "gadget", "x", "gadget-x"},
                {"web", NULL, NULL, NULL, NULL},
                {"", NULL, NULL, NULL, NULL},
                {"/", NULL, NULL, NULL, NULL},
                {"/web", NULL, NULL, NULL, NULL},
                {"deploy/", NULL, NULL, NULL, NULL},
                {"deploy/a b", NULL, NULL, NULL, NULL},
                {"deploy/\xff", NULL, NULL, NULL, NULL},
                {"deploy/.", NULL, NULL, NULL, NULL},
                {"deploy/..", NULL, NULL, NULL, NULL},
                {"deploy/web/x", NULL, NULL, NULL, NULL},
                {"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk/x", NULL, NULL, NULL, NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct workload w;
                struct err err;
                int rc = workload_parse(row[i].word, &w, &err);
                if ((rc == 0) != (row[i].group != NULL))
                        fail_msg("'%s': %d", row[i].word, rc);
                if (rc < 0)
                        continue;
                assert_string_equal(w.group, row[i].group);
                assert_string_equal(w.kind, row[i].kind);
                assert_string_equal(w.name, row[i].name);
                assert_string_equal(w.recommendation, row[i].recommendation);
                assert_true(workload_is(&w, text_of(row[i].group), text_of(row[i].kind), text_of(row[i].name)));
                assert_false(workload_is(&w, TEXT("none"), text_of(row[i].kind), text_of(row[i].name)));
                assert_false(workload_is(&w, text_of(row[i].group), text_of(row[i].kind), TEXT("other")));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
