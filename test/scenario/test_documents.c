/*
 * The command lines of README.md and docs/ do what they say: each that begins with halflife is run, in the order of the
 * pages, in a folder and a cluster that have what they name (test/data/documents).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/page.h"
#include "../support/tmp.h"
#include "base/mem.h"

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *door, *folder;
} stage;

/* A workload that is gone, and what it became. */
static void rename_old(void)
{
        static const char path[] = "/apis/apps/v1/namespaces/shop/deployments/old";
        AUTO(mem_free) char *object = fake_get(stage.fake, path);
        for (char *p = object; (p = strstr(p, "\"old\""));)
                memcpy(p, "\"new\"", 5);
        fake_delete(stage.fake, path);
        fake_put(stage.fake, "kubectl", object);
}

static int set_up(void **state)
{
        (void)state;
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 5});
        if (!f || !fake_load(f, "crds") || !fake_load(f, "test/cluster/stage/crds/vpa.yaml") ||
            !fake_load(f, "test/data/documents/cluster.yaml"))
                return -1;
        fake_set_metrics(f, &(struct fake_metrics){.step_ms = 1000});
        fake_person(f, "auditor", "auditor", NULL);
        fake_grant(f, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        fake_grant_resource(f, "auditor", "nodes");
        stage.halflife =
                halflife_start(f, "documents.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *door = halflife_rest_address(stage.halflife), *kubeconfig = tmp_path("kubeconfig");
        stage.door = mem_printf("http://%s", door);
        stage.folder = tmp_path("folder");
        AUTO(mem_free) char *program = halflife_program(), *where = realpath(program, NULL);
        *strrchr(where, '/') = '\0';
        AUTO(mem_free) char *path = mem_printf("%s:%s", where, getenv("PATH"));
        AUTO(mem_free)
        char *fill =
                mem_printf("mkdir -p %s/deploy && cp test/data/documents/web.yaml %s/deploy && cp -r manifests %s && "
                           "cp test/data/trace/plain %s/day.csv && gzip -c test/data/trace/plain >%s/trace.csv.gz && "
                           "echo a,1,1 >%s/capacity.csv",
                           stage.folder, stage.folder, stage.folder, stage.folder, stage.folder, stage.folder);
        setenv("PATH", path, 1);
        setenv("HALFLIFE_TOKEN", "auditor", 1);
        setenv("HALFLIFE_KUBECONFIG", kubeconfig, 1);
        if (system(fill) != 0 || !fake_write_kubeconfig(f, kubeconfig) ||
            !halflife_await_metric(stage.halflife, f, "halflife_recommendations{state=\"Ready\"}", 5, 30000))
                return -1;
        rename_old();
        return halflife_await_cycles(stage.halflife, f, 3, 30000) ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.door);
        mem_free(stage.folder);
        return 0;
}

/* What only the halflife that learns knows is asked by its address: the test API server is no proxy to services. There
 * is one cluster, so a line that names another context is left out. */
static void run_command(void *ran, const char *path, char *line)
{
        bool asks = strncmp(line, "halflife explain ", 17) == 0 || strncmp(line, "halflife export ", 16) == 0 ||
                    strncmp(line, "halflife nodes", 14) == 0 || strncmp(line, "halflife report", 15) == 0;
        if (strncmp(line, "halflife ", 9) != 0 || strstr(line, "--context"))
                return;
        AUTO(mem_free)
        char *command = mem_printf("cd %s && %.*s%s%s 2>&1", stage.folder, (int)strcspn(line, "|"), line,
                                   asks ? " --server " : "", asks ? stage.door : "");
        AUTO(mem_free) char *said = mem_new(1 << 20);
        FILE *from = popen(command, "r");
        assert_non_null(from);
        said[fread(said, 1, (1 << 20) - 1, from)] = '\0';
        int rc = pclose(from);
        if (rc != 0)
                fail_msg("%s: '%s' ends with %d:\n%s", path, line, WEXITSTATUS(rc), said);
        ++*(int *)ran;
}

static void test_commands(void **state)
{
        (void)state;
        glob_t pages;
        int ran = 0;
        page_paths(&pages);
        for (size_t i = 0; i < pages.gl_pathc; i++)
                page_each_command(pages.gl_pathv[i], run_command, &ran);
        globfree(&pages);
        assert_true(ran > 15);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands)};
        return cmocka_run_group_tests_name("documents", tests, set_up, tear_down);
}
