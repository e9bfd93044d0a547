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

static int read_words(const char *const *words, int count, struct settings *ret, struct err *err)
{
        char *argv[16] = {mem_string("run")};
        struct option_given given[SETTINGS_MOST];
        struct option_words left;
        int specs;
        const struct option_spec *spec = settings_options(FOR_BOTH, &specs);
        for (int i = 0; i < count; i++)
                argv[i + 1] = mem_string(words[i]);
        int rc = options_parse(spec, specs, count + 1, argv, given, &left, err);
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

static int row_of(const char *name)
{
        for (int i = 0; i < settings_count; i++)
                if (strcmp(setting_table[i].name, name) == 0)
                        return i;
        fail_msg("there is no setting %s", name);
        return -1;
}

static bool is_formerly(const struct settings *s, const char *name)
{
        return s->formerly[row_of(name)];
}

static void test_defaults(void **state)
{
        (void)state;
        struct settings s = {0};
        struct err err = {0};
        assert_int_equal(settings_read(NULL, &s, &err), 0);
        assert_int_equal(s.controller.live.interval_ms, 60000);
        assert_int_equal(s.controller.live.retention_ms, 336 * 3600000LL);
        assert_int_equal(s.leader_elect, LEADER_ELECT_AUTO);
        assert_string_equal(s.controller.listen, ":8080");
        assert_null(s.config);
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
        assert_int_equal(s.controller.live.interval_ms, 30000);
        assert_int_equal(s.controller.live.checkpoint_ms, 50000);
        assert_int_equal(s.controller.live.retention_ms, 3600000);
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
        assert_string_equal(s.controller.upstream_url, "https://flag");
        assert_true(is_formerly(&s, "upstream-url"));
        settings_release(&s);
        assert_int_equal(read_words(config, 2, &s, &err), 0);
        assert_string_equal(s.controller.upstream_url, "https://file");
        assert_true(is_formerly(&s, "upstream-url"));
        settings_release(&s);
        setenv("HALFLIFE_LEARNER_CA", "former.pem", 1);
        assert_int_equal(read_words(both, 3, &s, &err), 0);
        assert_string_equal(s.controller.upstream_url, "https://now");
        assert_string_equal(s.upstream_ca, "former.pem");
        assert_true(is_formerly(&s, "upstream-ca"));
        settings_release(&s);
        unsetenv("HALFLIFE_LEARNER_CA");
        setenv("HALFLIFE_UPSTREAM_CA", "now.pem", 1);
        assert_int_equal(read_words(both, 1, &s, &err), 0);
        assert_string_equal(s.upstream_ca, "now.pem");
        assert_false(is_formerly(&s, "upstream-ca") || is_formerly(&s, "upstream-url"));
        settings_release(&s);
        unsetenv("HALFLIFE_UPSTREAM_CA");
        unlink(path);
        mem_free(path);
}

/* In one place both names are refused, in whichever order, also where a flag would win over that place. */
static void test_both_names(void **state)
{
        (void)state;
        static const struct {
                const char *file, *variable[2], *word[2], *want;
        } row[] = {
                {.file = "upstream-url: https://a\nlearner-url: https://a\n",
                 .want = "'learner-url' and 'upstream-url' are the former and the new name of one setting; keep "
                         "'upstream-url'"},
                {.file = "learner-ca: a\nupstream-ca: b\n", .want = "keep 'upstream-ca'"},
                {.file = "learner-ca: a\nupstream-ca:\n", .want = "keep 'upstream-ca'"},
                {.variable = {"HALFLIFE_LEARNER_URL", "HALFLIFE_UPSTREAM_URL"},
                 .want = "environment: 'HALFLIFE_LEARNER_URL' and 'HALFLIFE_UPSTREAM_URL' are the former and the new "
                         "name"},
                {.variable = {"HALFLIFE_LEARNER_URL", "HALFLIFE_UPSTREAM_URL"},
                 .word = {"--upstream-url=c"},
                 .want = "keep 'HALFLIFE_UPSTREAM_URL'"},
                {.word = {"--learner-url=a", "--upstream-url=b"}, .want = "keep '--upstream-url'"},
                {.word = {"--upstream-url=b", "--learner-url=a"}, .want = "keep '--upstream-url'"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *path = write_file(row[i].file ? row[i].file : "");
                const char *words[4] = {"--config", path};
                int count = 2;
                struct settings s = {0};
                struct err err = {0};
                for (int v = 0; v < 2 && row[i].variable[v]; v++)
                        setenv(row[i].variable[v], "x", 1);
                for (int w = 0; w < 2 && row[i].word[w]; w++)
                        words[count++] = row[i].word[w];
                if (read_words(words, count, &s, &err) != ERR_INVALID || !strstr(err.text, row[i].want))
                        fail_msg("row %zu: got '%s', want '%s'", i, err.text, row[i].want);
                if (row[i].file && !strstr(err.text, path))
                        fail_msg("row %zu: '%s' does not say which file", i, err.text);
                for (int v = 0; v < 2 && row[i].variable[v]; v++)
                        unsetenv(row[i].variable[v]);
                unlink(path);
                mem_free(path);
        }
}

/* Two places may differ: a flag by the new name wins over a file by the former, which is told all the same. */
static void test_names_in_two_places(void **state)
{
        (void)state;
        char *path = write_file("learner-url: https://file\n");
        const char *words[] = {"--config", path, "--upstream-url=https://flag"};
        struct settings s = {0};
        struct err err = {0};
        assert_int_equal(read_words(words, 3, &s, &err), 0);
        assert_string_equal(s.controller.upstream_url, "https://flag");
        assert_true(is_formerly(&s, "upstream-url"));
        settings_release(&s);
        unlink(path);
        mem_free(path);
}

/* Every row has a member of its own, which holds what was given; none lies in another's. */
static void test_members(void **state)
{
        (void)state;
        static char owner[sizeof(struct settings)]; /* row + 1 of each byte */
        for (int i = 0; i < settings_count; i++) {
                const struct setting *row = &setting_table[i];
                assert_true(row->size > 0 && row->at + row->size <= offsetof(struct settings, text));
                for (size_t k = row->at; k < row->at + row->size; k++) {
                        if (owner[k])
                                fail_msg("%s lies in %s", row->name, setting_table[owner[k] - 1].name);
                        owner[k] = (char)(i + 1);
                }
        }
        struct settings s = {0};
        struct err err = {0};
        const char *words[] = {"--webhook-certificate=secret", "--apply=never",    "--api-rate=7", "--log-level=warn",
                               "--prometheus-url=http://p",    "--log-format=json"};
        assert_int_equal(read_words(words, 6, &s, &err), 0);
        assert_int_equal(s.controller.certificate, CERTIFICATE_SECRET);
        assert_true(s.controller.live.apply_never && s.log_json);
        assert_int_equal(s.controller.live.api_rate, 7);
        assert_int_equal(s.log_level, LOG_WARN);
        assert_string_equal(s.controller.prometheus.url, "http://p");
        settings_release(&s);
}

/* What the controller takes while it runs, and the log's settings, are live; nothing else is. */
static void test_live(void **state)
{
        (void)state;
        const size_t from = offsetof(struct settings, controller.live), to = from + sizeof(struct live_settings);
        for (int i = 0; i < settings_count; i++) {
                const struct setting *row = &setting_table[i];
                bool live = (row->at >= from && row->at < to) || row->at == offsetof(struct settings, log_json) ||
                            row->at == offsetof(struct settings, log_level);
                if (row->live != live || (row->live && row->kind == SETTING_TEXT))
                        fail_msg("'%s': .live, a kind other than text and a member of struct live_settings belong "
                                 "together",
                                 row->name);
        }
        struct settings s = {0}, fresh = {0};
        struct err err = {0};
        const char *words[] = {"--interval=30s", "--apply=never", "--listen=:1"};
        assert_int_equal(read_words(NULL, 0, &s, &err), 0);
        assert_int_equal(read_words(words, 3, &fresh, &err), 0);
        settings_take_live(&s, &fresh);
        settings_release(&fresh);
        assert_int_equal(s.controller.live.interval_ms, 30000);
        assert_true(s.controller.live.apply_never);
        assert_string_equal(s.text[row_of("interval")], "30s");
        assert_string_equal(s.controller.listen, ":8080");
        settings_release(&s);
}

static void test_bad_files(void **state)
{
        (void)state;
        static const struct {
                const char *text, *want;
        } row[] = {
                {"intervall: 10s\n", "there is no setting 'intervall'"},
                {"interval: [10s]\n", "'interval' must have a single value"},
                {"interval: 10\n", "not a duration such as"},
                {"interval: 1ms\n", "not within 1s and 1h"},
                {"api-rate: 0\n", "not within 1 and 10000"},
                {"api-rate: many\n", "not a whole number"},
                {"apply: sometimes\n", "not one of allow|never"},
                {"prices: EUR\n", "it has no price: add *="},
                {"prices: EUR, *=1\n", "setting 'prices' (/"},
                {"report-label: team=a\n", "'team=a' is no key of a label: give one, such as team"},
                {"report-label: a, b\n", "is no key of a label"},
                {"- interval\n", "expected 'name: value' lines"},
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
                assert_null(s.controller.listen); /* untouched */
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_former_names),
                cmocka_unit_test(test_bad_files),
                cmocka_unit_test(test_missing_file),
                cmocka_unit_test(test_both_names),
                cmocka_unit_test(test_names_in_two_places),
                cmocka_unit_test(test_members),
                cmocka_unit_test(test_live),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
