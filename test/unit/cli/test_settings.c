#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/settings.h"
#include "control/controller.h"

static int read_words(const char *const *words, int count, struct settings *ret, struct err *err)
{
        char *argv[16] = {mem_string("run")};
        struct option_given given[SETTINGS];
        struct option_words left;
        for (int i = 0; i < count; i++)
                argv[i + 1] = mem_string(words[i]);
        int rc = options_parse(settings_options(), SETTINGS, count + 1, argv, given, &left, err);
        if (rc == 0)
                rc = settings_read(given, ret, err);
        for (int i = 0; i <= count; i++)
                mem_free(argv[i]);
        return rc;
}

static char *write_file(const char *text)
{
        char *path = mem_string("/tmp/halflife-settings-XXXXXX");
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
        return path;
}

static void test_defaults(void **state)
{
        (void)state;
        struct settings s = {0};
        struct err err = {0};
        assert_int_equal(settings_read(NULL, &s, &err), 0);
        assert_int_equal(s.number[SET_INTERVAL], 60000);
        assert_int_equal(s.number[SET_RETENTION], 336 * 3600000LL);
        assert_int_equal(s.number[SET_LEADER_ELECT], 0);
        assert_string_equal(s.text[SET_LISTEN], ":8080");
        assert_null(s.text[SET_CONFIG]);
        settings_release(&s);
}

/* A flag beats the environment, which beats the file, which beats the default. */
static void test_precedence(void **state)
{
        (void)state;
        char *path = write_file("interval: 10s\ncheckpoint-interval: 20s\nretention: 1h\n");
        const char *words[] = {"--config", path, "--interval=30s"};
        struct settings s = {0};
        struct err err = {0};
        setenv("HALFLIFE_INTERVAL", "40s", 1);
        setenv("HALFLIFE_CHECKPOINT_INTERVAL", "50s", 1);
        assert_int_equal(read_words(words, 3, &s, &err), 0);
        unsetenv("HALFLIFE_INTERVAL");
        unsetenv("HALFLIFE_CHECKPOINT_INTERVAL");
        assert_int_equal(s.number[SET_INTERVAL], 30000);
        assert_int_equal(s.number[SET_CHECKPOINT_INTERVAL], 50000);
        assert_int_equal(s.number[SET_RETENTION], 3600000);
        settings_release(&s);
        unlink(path);
        mem_free(path);
}

/* What a setting was called in the version before is read wherever the setting is, and said once. */
static void test_former_names(void **state)
{
        (void)state;
        char *path = write_file("learner-url: https://file\n");
        const char *given[] = {"--learner-url=https://flag"}, *config[] = {"--config", path};
        const char *both[] = {"--upstream-url=https://now", "--config", path};
        struct settings s = {0};
        struct err err = {0};
        assert_int_equal(read_words(given, 1, &s, &err), 0);
        assert_string_equal(s.text[SET_UPSTREAM_URL], "https://flag");
        assert_true(s.formerly[SET_UPSTREAM_URL]);
        settings_release(&s);
        assert_int_equal(read_words(config, 2, &s, &err), 0);
        assert_string_equal(s.text[SET_UPSTREAM_URL], "https://file");
        assert_true(s.formerly[SET_UPSTREAM_URL]);
        settings_release(&s);
        setenv("HALFLIFE_LEARNER_CA", "former.pem", 1);
        assert_int_equal(read_words(both, 3, &s, &err), 0);
        assert_string_equal(s.text[SET_UPSTREAM_URL], "https://now");
        assert_string_equal(s.text[SET_UPSTREAM_CA], "former.pem");
        assert_true(s.formerly[SET_UPSTREAM_CA]);
        settings_release(&s);
        setenv("HALFLIFE_UPSTREAM_CA", "now.pem", 1);
        assert_int_equal(read_words(both, 1, &s, &err), 0);
        assert_string_equal(s.text[SET_UPSTREAM_CA], "now.pem");
        assert_false(s.formerly[SET_UPSTREAM_CA] || s.formerly[SET_UPSTREAM_URL]);
        settings_release(&s);
        unsetenv("HALFLIFE_LEARNER_CA");
        unsetenv("HALFLIFE_UPSTREAM_CA");
        unlink(path);
        mem_free(path);
}

static void test_bad_files(void **state)
{
        (void)state;
        static const struct {
                const char *text, *want;
        } row[] = {
                {"intervall: 10s\n", "there is no setting 'intervall'"},
                {"interval: [10s]\n", "'interval' wants a single value"},
                {"interval: 10\n", "not a duration such as"},
                {"interval: 1ms\n", "not within 1s and 1h"},
                {"api-rate: 0\n", "not within 1 and 10000"},
                {"api-rate: many\n", "not a whole number"},
                {"apply: sometimes\n", "not one of allow|never"},
                {"- interval\n", "wants 'name: value' lines"},
                {"interval: 10s\ninterval: 20s\n", "interval"},
                {"a: [\n", "line"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *path = write_file(row[i].text);
                const char *words[] = {"--config", path};
                struct settings s = {0};
                struct err err = {0};
                if (read_words(words, 2, &s, &err) != ERR_INVALID || !strstr(err.text, row[i].want))
                        fail_msg("%s: got '%s', want '%s'", row[i].text, err.text, row[i].want);
                assert_null(s.text[SET_LISTEN]); /* untouched */
                unlink(path);
                mem_free(path);
        }
}

static void test_missing_file(void **state)
{
        (void)state;
        const char *words[] = {"--config", "/nonexistent/halflife.yaml"};
        struct settings s = {0};
        struct err err = {0};
        assert_true(read_words(words, 2, &s, &err) < 0);
        assert_non_null(strstr(err.text, "/nonexistent/halflife.yaml"));
}

/* A bar in a cell would shift those behind it. */
static void assert_table(const char *text)
{
        int columns = 0, bars = 0, line = 1;
        for (const char *p = text; *p; p++) {
                bars += *p == '|';
                if (*p != '\n')
                        continue;
                if (line == 1)
                        columns = bars;
                if (bars != columns)
                        fail_msg("line %d has %d bars, not %d:\n%s", line, bars, columns, text);
                bars = 0;
                line++;
        }
}

/* The README's tables are those that the program knows. */
static void assert_in_readme(void (*print)(FILE *to))
{
        char *text = NULL;
        size_t len = 0;
        struct err err = {0};
        FILE *to = open_memstream(&text, &len);
        print(to);
        fclose(to);
        assert_table(text);
        char *readme = file_read("README.md", 1 << 20, &len, &err);
        assert_non_null(readme);
        if (!strstr(readme, text))
                fail_msg("README.md wants this table:\n%s", text);
        mem_free(readme);
        free(text);
}

static void test_readme(void **state)
{
        (void)state;
        assert_in_readme(settings_print_markdown);
        assert_in_readme(telemetry_print_markdown);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),     cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_former_names), cmocka_unit_test(test_bad_files),
                cmocka_unit_test(test_missing_file), cmocka_unit_test(test_readme),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
