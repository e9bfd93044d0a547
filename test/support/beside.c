#include "beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "base/mem.h"

enum { AT_ONCE_MOST = 8 };

struct child {
        pid_t pid;
        FILE *out;
};

static void start(struct child *c, const char *group, const struct beside *t, int (*set_up)(void **),
                  int (*tear_down)(void **))
{
        c->out = tmpfile();
        fflush(NULL);
        c->pid = c->out ? fork() : -1;
        if (c->pid < 0) {
                perror(t->name);
                abort();
        }
        if (c->pid > 0)
                return;
        dup2(fileno(c->out), STDOUT_FILENO);
        dup2(fileno(c->out), STDERR_FILENO);
        const struct CMUnitTest one[] = {
                {.name = t->name, .test_func = t->test, .setup_func = set_up, .teardown_func = tear_down}};
        exit(cmocka_run_group_tests_name(group, one, NULL, NULL));
}

static int finish(struct child *c, const char *name)
{
        char piece[4096];
        size_t n;
        int status = 0;
        waitpid(c->pid, &status, 0);
        rewind(c->out);
        while ((n = fread(piece, 1, sizeof piece, c->out)) > 0)
                fwrite(piece, 1, n, stdout);
        fclose(c->out);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return 0;
        if (WIFSIGNALED(status))
                printf("not ok - %s: signal %d\n", name, WTERMSIG(status));
        return 1;
}

/* The tests to run: all, or the one that ONLY names. Returns how many. */
static size_t beside_pick(const struct beside *all, size_t count, struct beside *ret)
{
        const char *only = getenv("ONLY");
        size_t picked = 0;
        for (size_t i = 0; i < count; i++)
                if (!only || strcmp(all[i].name, only) == 0)
                        ret[picked++] = all[i];
        if (only && picked == 0)
                printf("no test is called '%s'\n", only);
        return picked;
}

int beside_run(const char *group, const struct beside *all, size_t all_count, int (*set_up)(void **state),
               int (*tear_down)(void **state))
{
        struct beside *tests = mem_new_array(all_count + 1, sizeof *tests);
        size_t begun = 0, count = beside_pick(all, all_count, tests);
        int failed = all_count > 0 && count == 0;
        struct child *child = mem_new_array(count + 1, sizeof *child);
        for (size_t i = 0; i < count; i++) {
                for (; begun < count && begun < i + AT_ONCE_MOST; begun++)
                        start(&child[begun], group, &tests[begun], set_up, tear_down);
                failed += finish(&child[i], tests[i].name);
        }
        mem_free(child);
        mem_free(tests);
        return failed;
}
