/* JSON as YAML: to the letter, and the same value when read again, by us and by others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "cli/yaml_print.h"

static char *printed(const json_t *value)
{
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        assert_int_equal(yaml_print(to, value), 0);
        fclose(to);
        return text;
}

static void test_table(void **state)
{
        (void)state;
        static const struct {
                const char *json, *want;
        } row[] = {
                {"{}", "{}\n"},
                {"{\"a\":[]}", "a: []\n"},
                {"{\"kind\":\"List\",\"items\":[{\"a\":1},{\"b\":[true,null,2.5]}]}",
                 "kind: List\nitems:\n- a: 1\n- b:\n  - true\n  - null\n  - 2.5\n"},
                {"{\"cpu\":\"454m\",\"is\":\"no\",\"on\":\"x\",\"t\":\"true\"}",
                 "cpu: \"454m\"\nis: \"no\"\n\"on\": x\nt: \"true\"\n"},
                {"{\"v\":\"apps/v1\",\"e\":\"\",\"c\":\"a: b\",\"h\":\"a #b\",\"n\":\"1e3\",\"d\":\"2026-11-21\"}",
                 "v: apps/v1\ne: \"\"\nc: 'a: b'\nh: 'a #b'\n\"n\": \"1e3\"\nd: \"2026-11-21\"\n"},
                {"{\"ctl\":\"a\\u001b[31m\",\"umlaut\":\"Füße\"}", "ctl: \"a\\e[31m\"\numlaut: Füße\n"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                json_t *value = json_loads(row[i].json, 0, NULL);
                char *got = printed(value);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("%s: got\n%s\nwant\n%s", row[i].json, got, row[i].want);
                free(got);
                json_decref(value);
        }
}

static void test_round_trip(void **state)
{
        (void)state;
        static const char *const row[] = {
                "{\"a\":\"line\\nline\\n\",\"b\":\" lead\",\"c\":\"trail \",\"d\":\"\\n\",\"e\":\"tab\\tx\"}",
                "{\"null\":\"null\",\"~\":\"~\",\"yes\":\"yes\",\"0x1f\":\"0x1f\",\"1_000\":\"12:30\",\".5\":\"+1\"}",
                "{\"deep\":[[[{\"x\":[{}]}]]],\"neg\":-5,\"big\":9007199254740993,\"f\":1.5}",
                "{\"q\":\"it's \\\"quoted\\\" \\\\ \",\"star\":\"*a\",\"amp\":\"&b\",\"tag\":\"!t\",\"pipe\":\"|\"}",
                "{\"sep\":\"a\\u2028b\",\"nel\":\"a\\u0085b\",\"bom\":\"\\ufeffx\",\"emoji\":\"\\ud83d\\ude00\"}",
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                json_t *value = json_loads(row[i], 0, NULL);
                char *text = printed(value);
                json_t *again = yaml_read(text, strlen(text), &err);
                if (!json_equal(value, again))
                        fail_msg("%s became (%s)\n%s", row[i], err.text, text);
                json_decref(again);
                json_decref(value);
                free(text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_round_trip),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
