/* What the README and the recipes name is there: options of the program, its commands, files of the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/commands.h"

static char *readme(void)
{
        struct err err = {0};
        size_t len;
        char *text = file_read("README.md", 1 << 20, &len, &err);
        if (!text)
                fail_msg("%s", err.text);
        return text;
}

static bool is_of(const char *set, char c)
{
        return c && strchr(set, c);
}

#define SMALL "abcdefghijklmnopqrstuvwxyz"

static bool is_option(const char *name)
{
        for (size_t i = 0; i < commands_count; i++) {
                int count = 0;
                const struct option_spec *spec = commands[i].options ? commands[i].options(&count) : NULL;
                for (int k = 0; k < count; k++)
                        if (strcmp(spec[k].name, name) == 0)
                                return true;
        }
        return strcmp(name, "help") == 0;
}

/* Of kubectl and curl. */
static bool is_of_others(const char *name)
{
        static const char *const others[] = {"cacert",           "clusterrole", "data-binary",   "group",
                                             "ignore-not-found", "role",        "serviceaccount"};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                if (strcmp(others[i], name) == 0)
                        return true;
        return false;
}

static void test_options(void **state)
{
        (void)state;
        AUTO(mem_free) char *text = readme();
        int seen = 0;
        for (char *p = text; (p = strstr(p, "--"));) {
                bool begins = p > text && is_of(" `(\n", p[-1]);
                p += 2;
                size_t len = strspn(p, SMALL "-");
                if (!begins || len == 0 || p[0] == '-')
                        continue;
                AUTO(mem_free) char *name = mem_string_n(p, len);
                if (!is_option(name) && !is_of_others(name))
                        fail_msg("README.md: no command has --%s", name);
                seen++;
        }
        assert_true(seen > 20);
}

/* "    halflife COMMAND …", each of them and no others. */
static void test_commands(void **state)
{
        (void)state;
        AUTO(mem_free) char *text = readme();
        for (size_t i = 0; i < commands_count; i++) {
                AUTO(mem_free) char *line = mem_printf("\n    halflife %s ", commands[i].name);
                if (!strstr(text, line))
                        fail_msg("README.md does not list %s", commands[i].name);
        }
        static const char lead[] = "\n    halflife ";
        for (const char *p = text; (p = strstr(p, lead));) {
                p += sizeof lead - 1;
                AUTO(mem_free) char *name = mem_string_n(p, strspn(p, SMALL));
                if (!command_find(name))
                        fail_msg("README.md: halflife has no command '%s'", name);
        }
}

static void test_paths(void **state)
{
        static const char *const folders[] = {"manifests/", "test/", "crds/", "bench/", "include/", "src/", ".ci/"};
        (void)state;
        AUTO(mem_free) char *text = readme();
        int seen = 0;
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
                for (char *p = text; (p = strstr(p, folders[i])); p += strlen(folders[i])) {
                        if (p > text && !is_of(" `(\n", p[-1]))
                                continue;
                        AUTO(mem_free) char *path = mem_string_n(p, strspn(p, SMALL "0123456789-_./"));
                        path[strlen(path) - (path[strlen(path) - 1] == '.')] = '\0';
                        if (access(path, F_OK) != 0)
                                fail_msg("README.md: there is no %s", path);
                        seen++;
                }
        assert_true(seen > 10);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_options),
                cmocka_unit_test(test_commands),
                cmocka_unit_test(test_paths),
        };
        return cmocka_run_group_tests_name("readme", tests, NULL, NULL);
}
