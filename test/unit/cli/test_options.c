#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/options.h"

enum { NAMESPACE, ALL, PROFILE, LABELS, OPTS };
static const struct option_spec spec[OPTS] = {
        {.name = "namespace", .letter = 'n', .value = "NAME", .help = "where", .shape = OPTION_NAMESPACE},
        {.name = "all", .letter = 'A', .help = "everywhere"},
        {.name = "profile", .value = "FILE", .help = "more than one", .many = true},
        {.name = "labels", .value = "LABELS", .help = "whose", .shape = OPTION_LABELS},
};

static int parse(const char *line, struct option_given *given, struct option_words *words, struct err *err,
                 char **ret_line)
{
        char *argv[16] = {NULL};
        int argc = 0;
        *ret_line = mem_string(line);
        for (char *w = strtok(*ret_line, " "); w; w = strtok(NULL, " "))
                argv[argc++] = w;
        return options_parse(spec, OPTS, argc, argv, given, words, err);
}

static void test_accepted(void **state)
{
        (void)state;
        static const struct {
                const char *line, *ns;
                bool all;
                int profiles, words;
        } row[] = {
                {"get", NULL, false, 0, 0},
                {"get -n web", "web", false, 0, 0},
                {"get -nweb x", "web", false, 0, 1},
                {"get --namespace web -A", "web", true, 0, 0},
                {"get --namespace=web --all=false a b", "web", false, 0, 2},
                {"get --profile a --profile=b c", NULL, false, 2, 1},
                {"get -- -n web", NULL, false, 0, 2},
                {"get -", NULL, false, 0, 1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct option_given given[OPTS];
                struct option_words words;
                struct err err = {0};
                bool all = false;
                char *line;
                int rc = parse(row[i].line, given, &words, &err, &line);
                const char *ns = rc == 0 ? option_value(&given[NAMESPACE]) : NULL;
                if (rc < 0 || option_switch(&given[ALL], &all, &err) < 0 || all != row[i].all || !ns != !row[i].ns ||
                    (ns && strcmp(ns, row[i].ns) != 0) || given[PROFILE].count != row[i].profiles ||
                    words.count != row[i].words)
                        fail_msg("'%s': %s", row[i].line, err.text);
                mem_free(line);
        }
}

static void test_refused(void **state)
{
        (void)state;
        static const struct {
                const char *line, *want;
        } row[] = {
                {"get --nope", "unknown option '--nope'"},
                {"get -x", "unknown option '-x'"},
                {"get -n", "option '--namespace' needs a value"},
                {"get --namespace", "needs a value: --namespace NAME"},
                {"get -n a -n b", "was given twice"},
                {"get -Ab", "takes no value"},
                {"get --namespace=", "option '--namespace' is empty"},
                {"get --labels=", "option '--labels' is empty"},
                {"get -n ..", "is no name of a namespace"},
                {"get -n a/b", "is no name of a namespace"},
                {"get -n Web", "is no name of a namespace"},
                {"get -n aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 "is no name of a namespace"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct option_given given[OPTS];
                struct option_words words;
                struct err err = {0};
                char *line;
                if (parse(row[i].line, given, &words, &err, &line) != ERR_INVALID || !strstr(err.text, row[i].want))
                        fail_msg("'%s': got '%s', want '%s'", row[i].line, err.text, row[i].want);
                mem_free(line);
        }
        struct option_given odd = {.value = {"perhaps"}, .count = 1};
        bool on = false;
        assert_int_equal(option_switch(&odd, &on, NULL), ERR_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
