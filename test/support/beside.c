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

int beside_run(const char *group, const struct beside *tests, size_t count, int (*set_up)(void **state),
               int (*tear_down)(void **state))
{
        int failed = 0;
        size_t begun = 0;
        struct child *child = mem_new_array(count + 1, sizeof *child);
        for (size_t i = 0; i < count; i++) {
                for (; begun < count && begun < i + AT_ONCE_MOST; begun++)
                        start(&child[begun], group, &tests[begun], set_up, tear_down);
                failed += finish(&child[i], tests[i].name);
        }
        mem_free(child);
        return failed;
}
