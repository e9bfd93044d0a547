#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/options.h"

struct given {
        const char *ns, *labels, *upstream;
        bool all, json;
        enum { UP, DOWN, LEFT } way;
        const struct option_given *profiles;
};

enum { OPTS = 7 };
static const struct option_spec spec[OPTS] = {
        {.name = "namespace",
         .letter = 'n',
         .value = "NAME",
         .help = "where",
         .shape = OPTION_NAMESPACE,
         OPTION_IN(struct given, ns)},
        {.name = "all", .letter = 'A', .help = "everywhere", OPTION_IN(struct given, all)},
        {.name = "profile", .value = "FILE", .help = "more than one", .many = true, OPTION_IN(struct given, profiles)},
        {.name = "labels", .value = "LABELS", .help = "whose", .shape = OPTION_LABELS, OPTION_IN(struct given, labels)},
        {.name = "output", .value = "FORMAT", .help = "how", .choices = "text|json", OPTION_IN(struct given, json)},
        {.name = "way", .value = "WAY", .help = "whither", .choices = "up|down|left", OPTION_IN(struct given, way)},
        {.name = "upstream", .former = "learner", .value = "URL", .help = "which", OPTION_IN(struct given, upstream)},
};

static int parse(const char *line, struct option_given *given, struct option_words *words, struct given *ret,
                 struct err *err, char **ret_line)
{
        char *argv[16] = {NULL};
        int argc = 0;
        *ret_line = mem_string(line);
        for (char *w = strtok(*ret_line, " "); w; w = strtok(NULL, " "))
                argv[argc++] = w;
        int rc = options_parse(spec, OPTS, argc, argv, given, words, err);
        return rc == 0 ? options_store(spec, OPTS, given, ret, err) : rc;
}

static void test_accepted(void **state)
{
        (void)state;
        static const struct {
                const char *line, *ns;
                bool all;
                int profiles, words;
                bool json;
                unsigned way;
        } row[] = {
                {"get", NULL, false, 0, 0, false, UP},
                {"get -n web", "web", false, 0, 0, false, UP},
                {"get -nweb x", "web", false, 0, 1, false, UP},
                {"get --namespace web -A", "web", true, 0, 0, false, UP},
                {"get --namespace=web --all=false a b", "web", false, 0, 2, false, UP},
                {"get --profile a --profile=b c", NULL, false, 2, 1, false, UP},
                {"get -- -n web", NULL, false, 0, 2, false, UP},
                {"get -", NULL, false, 0, 1, false, UP},
                {"get --learner=a", NULL, false, 0, 0, false, UP},
                {"get --output=text --way=down", NULL, false, 0, 0, false, DOWN},
                {"get --output json --way left", NULL, false, 0, 0, true, LEFT},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct option_given given[OPTS];
                struct option_words words;
                struct err err = {0};
                struct given g = {0};
                char *line;
                int rc = parse(row[i].line, given, &words, &g, &err, &line);
                if (rc < 0 || g.all != row[i].all || !g.ns != !row[i].ns || (g.ns && strcmp(g.ns, row[i].ns) != 0) ||
                    g.profiles->count != row[i].profiles || g.json != row[i].json || g.way != row[i].way ||
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
                {"get --learner=a --upstream=b",
                 "'--learner' and '--upstream' are the former and the new name of one option; keep '--upstream'"},
                {"get --upstream b --learner a", "keep '--upstream'"},
                {"get --learner a --learner a", "was given twice"},
                {"get -Ab", "takes no value"},
                {"get --namespace=", "option '--namespace' is empty"},
                {"get --labels=", "option '--labels' is empty"},
                {"get -n ..", "is not a valid namespace name"},
                {"get -n a/b", "is not a valid namespace name"},
                {"get -n Web", "is not a valid namespace name"},
                {"get -n aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 "is not a valid namespace name"},
                {"get --all=perhaps", "--all 'perhaps' is neither true nor false"},
                {"get --output=jso", "--output 'jso' is not one of text, json"},
                {"get --way=", "--way '' is not one of up, down, left"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct option_given given[OPTS];
                struct option_words words;
                struct err err = {0};
                struct given g = {0};
                char *line;
                if (parse(row[i].line, given, &words, &g, &err, &line) != ERR_INVALID || !strstr(err.text, row[i].want))
                        fail_msg("'%s': got '%s', want '%s'", row[i].line, err.text, row[i].want);
                mem_free(line);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
