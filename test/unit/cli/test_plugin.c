/*
 * deploy/krew/kubectl-halflife, the plug-in as krew installs it: which program it runs, by which command line. A folder
 * with programs that print how they are called is all that it finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "base/mem.h"

#define EXEC     "kubectl|exec|-n|halflife|deployment/halflife|--|/usr/bin/halflife|"
#define DATABASE "--database|/var/lib/halflife/halflife.db|"

enum here { PROGRAM, CLUSTER, NOTHING };

/* says: what comes of it, or of a failure the words that are in it. */
static const struct {
        enum here here;
        const char *environment, *arguments;
        int code;
        const char *says;
} rows[] = {
        {PROGRAM, "", "get -n shop", 5, "halflife|get|-n|shop|\n"},
        {PROGRAM, "", "render -f 'a b.yaml'", 5, "halflife|render|-f|a b.yaml|\n"},
        {PROGRAM, "", "", 5, "halflife|\n"},
        {CLUSTER, "", "", 3, EXEC "\n"},
        {CLUSTER, "", "version", 3, EXEC "version|\n"},
        {CLUSTER, "", "check --namespace halflife", 3, EXEC "check|--namespace|halflife|\n"},
        {CLUSTER, "", "get", 3, EXEC "get|--namespace|shop|\n"},
        {CLUSTER, "NAMESPACE=", "get", 3, EXEC "get|--namespace|default|\n"},
        {CLUSTER, "", "get -A -l 'a in (b, c)'", 3, EXEC "get|-A|-l|a in (b, c)|\n"},
        {CLUSTER, "", "get --namespace=bank", 3, EXEC "get|--namespace=bank|\n"},
        {CLUSTER, "", "get -nbank", 3, EXEC "get|-nbank|\n"},
        {CLUSTER, "", "scan --all-namespaces", 3, EXEC "scan|--all-namespaces|\n"},
        {CLUSTER, "", "get --help", 3, EXEC "get|--help|\n"},
        {CLUSTER, "", "explain deploy/web", 3, EXEC "explain|deploy/web|--namespace|shop|" DATABASE "\n"},
        {CLUSTER, "", "explain deploy/web --server https://h -n bank", 3,
         EXEC "explain|deploy/web|--server|https://h|-n|bank|\n"},
        {CLUSTER, "", "export -A", 3, EXEC "export|-A|" DATABASE "\n"},
        {CLUSTER, "", "get -A --context east --kubeconfig=k", 3,
         "kubectl|--kubeconfig|k|--context|east|exec|-n|halflife|deployment/halflife|--|/usr/bin/halflife|get|-A|\n"},
        {CLUSTER, "", "get --context=east --kubeconfig k -A", 3,
         "kubectl|--kubeconfig|k|--context|east|exec|-n|halflife|deployment/halflife|--|/usr/bin/halflife|get|-A|\n"},
        {CLUSTER, "HALFLIFE_NAMESPACE=own", "get -A", 3,
         "kubectl|exec|-n|own|deployment/halflife|--|/usr/bin/halflife|get|-A|\n"},
        {CLUSTER, "", "restore --all", 3, EXEC "restore|--all|\n"},
        {CLUSTER, "", "resume -n shop deploy/web", 3, EXEC "resume|-n|shop|deploy/web|\n"},
        {CLUSTER, "", "resume --fuse", 3, EXEC "resume|--fuse|\n"},
        {CLUSTER, "", "restore deploy/web", 2, "name the namespace with --namespace, or all with --all"},
        {CLUSTER, "", "restore", 2, "name the namespace with --namespace, or all with --all"},
        {CLUSTER, "", "get --context", 2, "--context needs a value"},
        {CLUSTER, "", "render -f web.yaml", 2,
         "render reads files of this machine, so it needs the program halflife here"},
        {CLUSTER, "", "run", 2, "run needs the program halflife on this machine"},
        {NOTHING, "", "get -A", 1, "neither on this machine nor, as it seems, in namespace 'halflife' of the cluster"},
};

static void program_write(const char *folder, const char *name, const char *text)
{
        AUTO(mem_free) char *path = mem_printf("%s/%s", folder, name);
        FILE *to = fopen(path, "we");
        assert_non_null(to);
        fprintf(to, "#!/bin/sh\n%s", text);
        assert_int_equal(fclose(to), 0);
        assert_int_equal(chmod(path, 0755), 0);
}

/* A folder for each place that the program may be at. */
static char *folders[NOTHING + 1];

static int set_up(void **state)
{
        (void)state;
        static const char *const kubectl[] = {
                [PROGRAM] = "echo it asks the cluster; exit 9\n",
                [CLUSTER] = "case \"$*\" in\n"
                            "*'config view'*) printf %s \"${NAMESPACE-shop}\"; exit ;;\n"
                            "*'get deployment'*) echo deployment.apps/halflife; exit ;;\n"
                            "esac\n"
                            "printf '%s|' kubectl \"$@\"; echo; exit 3\n",
                [NOTHING] = "exit 1\n",
        };
        for (int i = PROGRAM; i <= NOTHING; i++) {
                AUTO(mem_free) char *name = mem_printf("path-%d", i);
                folders[i] = tmp_path(name);
                if (mkdir(folders[i], 0755) < 0)
                        return -1;
                program_write(folders[i], "kubectl", kubectl[i]);
        }
        program_write(folders[PROGRAM], "halflife", "printf '%s|' halflife \"$@\"; echo; exit 5\n");
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        for (int i = PROGRAM; i <= NOTHING; i++)
                mem_free(folders[i]);
        return 0;
}

/* Its exit code, and all that it says. */
static int plugin_run(const char *environment, const char *path, const char *arguments, char *ret_said, size_t room)
{
        AUTO(mem_free)
        char *line = mem_printf("PATH=%s %s deploy/krew/kubectl-halflife %s 2>&1", path, environment, arguments);
        FILE *from = popen(line, "re");
        assert_non_null(from);
        ret_said[fread(ret_said, 1, room - 1, from)] = '\0';
        int status = pclose(from);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void plugin_runs_the_program_that_is_there(void **state)
{
        (void)state;
        int failed = 0;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                char said[4096];
                int code = plugin_run(rows[i].environment, folders[rows[i].here], rows[i].arguments, said, sizeof said);
                bool fits = rows[i].code >= 3 ? strcmp(said, rows[i].says) == 0 : !!strstr(said, rows[i].says);
                if (code == rows[i].code && fits)
                        continue;
                print_error("'%s' gives %d and says '%s'\n", rows[i].arguments, code, said);
                failed++;
        }
        assert_int_equal(failed, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plugin_runs_the_program_that_is_there),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
