#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/control/publish.h"
#include "base/yaml.h"

#define CONTAINER(name, cpu) "{name: " name ", state: Ready, cpu: {original: '1', current: " cpu ", target: 400m}}"
#define CONDITION(type, is)  "{type: " type ", status: '" is "', reason: Why, message: because}"

static uint64_t digest(const char *text)
{
        struct err err = {0};
        json_t *status = yaml_read(text, strlen(text), &err);
        if (!status)
                fail_msg("%s: %s", text, err.text);
        uint64_t of = publish_status_digest(status);
        json_decref(status);
        return of;
}

static void test_what_is_urgent(void **state)
{
        (void)state;
        static const char base[] = "{state: Ready, containers: [" CONTAINER("app", "'1'") "," CONTAINER(
                "log", "'2'") "],"
                              " conditions: [" CONDITION("Ready", "True") "," CONDITION("Applied", "False") "]}";
        static const struct {
                const char *what, *status;
                bool same;
        } row[] = {
                {"another order",
                 "{state: Ready, containers: [" CONTAINER("log", "'2'") "," CONTAINER(
                         "app", "'1'") "],"
                                       " conditions: [" CONDITION("Applied", "False") "," CONDITION("Ready",
                                                                                                    "True") "]}",
                 true},
                {"currents swapped",
                 "{state: Ready, containers: [" CONTAINER("app", "'2'") "," CONTAINER(
                         "log", "'1'") "],"
                                       " conditions: [" CONDITION("Ready", "True") "," CONDITION("Applied",
                                                                                                 "False") "]}",
                 false},
                {"a condition turned",
                 "{state: Ready, containers: [" CONTAINER("app", "'1'") "," CONTAINER(
                         "log", "'2'") "],"
                                       " conditions: [" CONDITION("Ready", "True") "," CONDITION("Applied",
                                                                                                 "True") "]}",
                 false},
                {"a condition less",
                 "{state: Ready, containers: [" CONTAINER("app", "'1'") "," CONTAINER(
                         "log", "'2'") "],"
                                       " conditions: [" CONDITION("Ready", "True") "]}",
                 false},
                {"another state",
                 "{state: Stale, containers: [" CONTAINER("app", "'1'") "," CONTAINER(
                         "log", "'2'") "],"
                                       " conditions: [" CONDITION("Ready", "True") "," CONDITION("Applied",
                                                                                                 "False") "]}",
                 false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if ((digest(row[i].status) == digest(base)) != row[i].same)
                        fail_msg("%s", row[i].what);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_urgent)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
