/* What may follow on a command line, line by line; and that the table of commands holds together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/commands.h"
#include "cli/completion_words.h"

static char asked[128];

static void note(const char *what, const struct complete_where *w)
{
        snprintf(asked, sizeof asked, "%s %s %s %s", what, w->ns ? w->ns : "-",
                 w->session.context ? w->session.context : "-", w->session.kubeconfig ? w->session.kubeconfig : "-");
}

static void workloads(const struct complete_where *w, complete_told *told, void *to)
{
        note("workloads", w);
        told(to, "Deployment", "web");
        told(to, "Deployment", "api");
        told(to, "StatefulSet", "web\033[0m");
        told(to, "CloneSet.apps.kruise.io", "cart");
        told(to, "Widget.example.com", "gizmo");
}

static void namespaces(const struct complete_where *w, complete_told *told, void *to)
{
        note("namespaces", w);
        told(to, "", "shop");
        told(to, "", "bank");
}

static const struct complete_names names = {workloads, namespaces};

enum { WORDS = 10 };
static const struct {
        const char *word[WORDS]; /* "": the one begun */
        const char *want;        /* words alone */
        const char *asked;
} rows[] = {
        {{"repl"}, "replay :4", ""},
        {{"x"}, ":4", ""},
        {{"no-such", ""}, ":4", ""},
        {{"version", ""}, ":4", ""},
        {{"completion", ""}, "bash zsh fish :4", ""},
        {{"completion", "f"}, "fish :4", ""},
        {{"replay", ""}, ":0", ""},
        {{"import", ""}, "vpa :0", ""},
        {{"import", "x"}, ":0", ""},
        {{"import", "vpa", "-n", "shop", "dep"}, "deployment/web deployment/api :4", "workloads shop - -"},
        {{"replay", "--pro"}, "--profile :4", ""},
        {{"replay", "--profile", "x", "--pro"}, "--profile :4", ""},
        {{"replay", "--entities", "--ent"}, ":4", ""},
        {{"replay", "--profile", ""}, ":0", ""},
        {{"get", ""},
         "deployment/web deployment/api statefulset/web?[0m cloneset.apps.kruise.io/cart widget.example.com/gizmo :4",
         "workloads - - -"},
        {{"get", "dep"}, "deployment/web deployment/api :4", "workloads - - -"},
        {{"get", "deploy/"}, "deploy/web deploy/api :4", "workloads - - -"},
        {{"get", "deployments.apps/a"}, "deployments.apps/api :4", "workloads - - -"},
        {{"get", "Deployment/w"}, "Deployment/web :4", "workloads - - -"},
        {{"get", "widget.example.com/"}, "widget.example.com/gizmo :4", "workloads - - -"},
        {{"get", "x/"}, ":4", "workloads - - -"},
        {{"explain", "-n", "shop", "sts/"}, "sts/web?[0m :4", "workloads shop - -"},
        {{"explain", "-nshop", "--context=dev", "sts/"}, "sts/web?[0m :4", "workloads shop dev -"},
        {{"explain", "--kubeconfig", "f", "--namespace=a", "-n", "b", "sts/"}, "sts/web?[0m :4", "workloads b - f"},
        {{"explain", "-n", ""}, "shop bank :4", "namespaces - - -"},
        {{"explain", "--namespace", "b"}, "bank :4", "namespaces - - -"},
        {{"explain", "--namespace=b"}, "--namespace=bank :4", "namespaces - - -"},
        {{"explain", "--namespace", "=", "b"}, "bank :4", "namespaces - - -"},
        {{"explain", "--namespace", "="}, "shop bank :4", "namespaces - - -"},
        {{"explain", "--halflife-namespace", "s"}, "shop :4", "namespaces - - -"},
        {{"explain", "--resource", ""}, "cpu memory :4", ""},
        {{"explain", "--output=j"}, "--output=json :4", ""},
        {{"explain", "-o", "t"}, "text :4", ""},
        {{"get", "-o", ""}, "table wide json yaml name :4", ""},
        {{"explain", "--server", ""}, ":4", ""},
        {{"explain", "--database", ""}, ":0", ""},
        {{"explain", "--se"}, "--server --server-ca :4", ""},
        {{"explain", "--server", "x", "--se"}, "--server-ca :4", ""},
        {{"explain", "--h"}, "--half-life --halflife-namespace --help :4", ""},
        {{"run", "--log-l"}, "--log-level :4", ""},
        {{"run", "--log-level", ""}, "debug info warn error :4", ""},
        {{"check", "--leader-elect", "t"}, "true :4", ""},
        {{"run", "--config", ""}, ":0", ""},
        {{"run", ""}, ":4", ""},
};

/* Each line without what it means, joined by blanks. */
static char *completed(const char *const *word)
{
        char *text = NULL, *line;
        size_t len = 0;
        int n = 0;
        FILE *to = open_memstream(&text, &len);
        while (n < WORDS && word[n])
                n++;
        complete(to, word, n, &names);
        fclose(to);
        char *ret = mem_string(""), *rest = text;
        while ((line = strsep(&rest, "\n")) && *line) {
                char *more = mem_printf("%s%s%.*s", ret, *ret ? " " : "", (int)strcspn(line, "\t"), line);
                mem_free(ret);
                ret = more;
        }
        free(text);
        return ret;
}

static void test_table(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                asked[0] = '\0';
                char *got = completed(rows[i].word);
                if (strcmp(got, rows[i].want) != 0 || strcmp(asked, rows[i].asked) != 0)
                        fail_msg("row %zu (%s %s): '%s', not '%s'; asked '%s', not '%s'", i, rows[i].word[0],
                                 rows[i].word[1], got, rows[i].want, asked, rows[i].asked);
                mem_free(got);
        }
}

/* Every option of every command is offered, and says what it means. */
static void test_all_options(void **state)
{
        (void)state;
        const char *nothing[WORDS] = {""};
        AUTO(mem_free) char *all = completed(nothing);
        for (size_t i = 0; i < commands_count; i++) {
                int options = 0;
                assert_non_null(strstr(all, commands[i]->name));
                const struct option_spec *o = command_options(commands[i], &options);
                for (int k = 0; k < options; k++) {
                        AUTO(mem_free) char *begun = mem_printf("--%s", o[k].name);
                        const char *word[WORDS] = {commands[i]->name, begun};
                        AUTO(mem_free) char *got = completed(word);
                        if (strncmp(got, begun, strlen(begun)) != 0)
                                fail_msg("%s %s: '%s'", commands[i]->name, begun, got);
                        assert_true(strlen(o[k].help) > 3);
                        assert_true(strcmp(o[k].name, "help") != 0);
                }
        }
}

static void test_scripts(void **state)
{
        (void)state;
        static const char *const shells[] = {"bash", "zsh", "fish"};
        for (size_t i = 0; i < 3; i++)
                assert_non_null(strstr(complete_script(shells[i]), "halflife __complete"));
        assert_null(complete_script("sh"));
        assert_null(complete_script(""));
}

static void test_called_as(void **state)
{
        (void)state;
        static const struct {
                const char *argv0, *name;
                bool completes;
        } row[] = {
                {"halflife", "halflife", false},
                {"/usr/bin/halflife", "halflife", false},
                {"kubectl-halflife", "kubectl halflife", false},
                {"/opt/kubectl-halflife", "kubectl halflife", false},
                {"/usr/bin/kubectl_complete-halflife", "halflife", true},
                {"/kubectl-/halflife", "halflife", false},
                {"", "halflife", false},
                {NULL, "halflife", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                program_called(row[i].argv0);
                assert_string_equal(program_name(), row[i].name);
                assert_int_equal(program_completes(), row[i].completes);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),
                cmocka_unit_test(test_all_options),
                cmocka_unit_test(test_scripts),
                cmocka_unit_test(test_called_as),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
