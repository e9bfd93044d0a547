/*
 * The recipes for pipelines, manifests/samples/pipelines: their shell is taken out of them as it stands and run against
 * a halflife, with stubs for kubectl, docker and helm. What each hands to kubectl or helm is deployed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/buf.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"

#define FOLDER "manifests/samples/pipelines/"

static struct {
        struct fake *fake;
        struct halflife *halflife;
        char *work, *applied;
} stage;

static const char profile[] = "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":"
                              "\"team\",\"namespace\":\"shop\"},\"spec\":{\"overcommit\":\"StaticThenDynamic\","
                              "\"static\":{\"cpu\":\"0.5\"},\"apply\":{\"mode\":\"OnDeploy\"}}}";

static const char manifest[] = "apiVersion: apps/v1\n"
                               "kind: Deployment\n"
                               "metadata:\n"
                               "  name: web   # no namespace: the pipeline says it\n"
                               "spec:\n"
                               "  template:\n"
                               "    spec:\n"
                               "      containers:\n"
                               "      - name: app\n"
                               "        resources: {requests: {cpu: \"2\", memory: 1Gi}}\n";

/* What would talk to the world: each leaves what it was to deploy in $APPLIED. */
static const struct {
        const char *name, *text;
} stubs[] = {
        {"kubectl", "case $1 in\n"
                    "kustomize) cat \"$2\"/*.yaml; exit ;;\n"
                    "apply) ;;\n"
                    "*) exit 1 ;;\n"
                    "esac\n"
                    "while [ \"$1\" != -f ]; do shift; done\n"
                    "[ -d \"$2\" ] && cat \"$2\"/*.yaml >\"$APPLIED\" || cat \"$2\" >\"$APPLIED\"\n"},
        {"docker", "while [ \"$1\" != \"$HALFLIFE\" ]; do shift; done\nshift\nexec halflife \"$@\"\n"},
        {"helm", "chart=$4 with= args=\n"
                 "while [ $# -gt 0 ]; do\n"
                 "  case $1 in\n"
                 "  --post-renderer) with=$2; shift ;;\n"
                 "  --post-renderer-args) args=\"$args $2\"; shift ;;\n"
                 "  esac\n"
                 "  shift\n"
                 "done\n"
                 "cat \"$chart\"/*.yaml | $with $args >\"$APPLIED\"\n"},
};

static void put_file(const char *path, const char *text, mode_t mode)
{
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
        chmod(path, mode);
}

static void make_bin(void)
{
        char real[4096];
        AUTO(mem_free) char *bin = tmp_path("bin"), *program = halflife_program();
        AUTO(mem_free) char *link = mem_printf("%s/halflife", bin), *path = mem_printf("%s:%s", bin, getenv("PATH"));
        mkdir(bin, 0755);
        assert_non_null(realpath(program, real));
        assert_int_equal(symlink(real, link), 0);
        for (size_t i = 0; i < sizeof stubs / sizeof stubs[0]; i++) {
                AUTO(mem_free) char *at = mem_printf("%s/%s", bin, stubs[i].name);
                AUTO(mem_free) char *text = mem_printf("#!/bin/sh\n%s", stubs[i].text);
                put_file(at, text, 0755);
        }
        setenv("PATH", path, 1);
}

static void make_work(void)
{
        stage.work = tmp_path("work");
        AUTO(mem_free) char *deploy = mem_printf("%s/deploy", stage.work), *web = mem_printf("%s/web.yaml", deploy);
        mkdir(stage.work, 0755);
        mkdir(deploy, 0755);
        put_file(web, manifest, 0644);
}

static int begin(void **state)
{
        (void)state;
        AUTO(mem_free) char *config = tmp_path("kubeconfig"), *token = tmp_file("token", "ci\n");
        stage.fake = fake_new(&(struct fake_options){.seed = 3});
        stage.applied = tmp_path("applied");
        if (!fake_load(stage.fake, "crds") || !fake_write_kubeconfig(stage.fake, config))
                return -1;
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(stage.fake, "kubectl", profile);
        fake_person(stage.fake, "ci", "ci", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"ci", "get", "shop", NULL});
        make_bin();
        make_work();
        stage.halflife =
                halflife_start(stage.fake, "recipes.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife), *url = mem_printf("http://%s", address);
        setenv("KUBECONFIG", config, 1);
        setenv("APPLIED", stage.applied, 1);
        setenv("RUNNER_TEMP", tmp_dir(), 1);
        setenv("DOOR", url, 1);
        setenv("TOKEN_HERE", token, 1);
        return halflife_await_cycles(stage.halflife, stage.fake, 1, 30000) ? 0 : -1;
}

static int end(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.work);
        mem_free(stage.applied);
        return 0;
}

/* --- reading --- */

static json_t *documents(const char *name)
{
        struct err err = {0};
        size_t len;
        AUTO(mem_free) char *path = mem_printf(FOLDER "%s", name);
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        json_t *all = text ? yaml_read_all(text, len, &err) : NULL;
        if (!all)
                fail_msg("%s: %s", name, err.text);
        return all;
}

static const json_t *at(const json_t *value, const char *key)
{
        const json_t *found = json_object_get(value, key);
        if (!found)
                fail_msg("no '%s' in it", key);
        return found;
}

/* --- running --- */

/* The whole manifest came out, with its half of the CPU. */
static void expect_deployed(const char *recipe)
{
        size_t len = 0;
        struct err err = {0};
        AUTO(mem_free) char *out = file_read(stage.applied, 1 << 20, &len, &err);
        if (!out)
                fail_msg("%s deployed nothing: %s", recipe, err.text);
        if (!strstr(out, "{requests: {cpu: \"1\", memory: 1Gi}}\n") ||
            !strstr(out, "# no namespace: the pipeline says it"))
                fail_msg("%s deployed\n%s", recipe, out);
        unlink(stage.applied);
}

/* In the folder of work, as a pipeline's shell has it; what it says is shown where it fails. */
static int run_shell(const char *text)
{
        AUTO(mem_free) char *script = tmp_file("script", text);
        AUTO(mem_free)
        char *line = mem_printf("cd '%s' && bash -e -o pipefail '%s' >'%s/said' 2>&1", stage.work, script, tmp_dir());
        return system(line);
}

static void expect_done(const char *recipe, const char *text)
{
        AUTO(mem_free) char *said = tmp_path("said");
        size_t len;
        if (run_shell(text) != 0) {
                AUTO(mem_free) char *why = file_read(said, 1 << 20, &len, NULL);
                fail_msg("%s failed: %s\n%s", recipe, why ? why : "", text);
        }
        expect_deployed(recipe);
}

/* --- recipes --- */

static void add_variables(struct buf *script, const json_t *variables)
{
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)variables, key, value)
                buf_printf(script, "export %s='%s'\n", key, json_string_value(value));
}

/* Each step is a shell of its own; what one writes to $GITHUB_ENV the next has in its environment. */
static void test_github_actions(void **state)
{
        size_t i;
        json_t *step;
        struct buf script;
        (void)state;
        AUTO(json_decref) json_t *all = documents("github-actions.yaml");
        const json_t *workflow = json_array_get(all, 0);
        const json_t *steps = at(at(at(workflow, "jobs"), "deploy"), "steps");
        buf_init(&script, 1 << 16);
        add_variables(&script, at(workflow, "env"));
        buf_add_text(&script,
                     "export GITHUB_ENV=$RUNNER_TEMP/env CONFIG=\"$(cat \"$KUBECONFIG\")\"\nunset KUBECONFIG\n");
        json_array_foreach((json_t *)(uintptr_t)steps, i, step)
        {
                const char *run = json_string_value(json_object_get(step, "run"));
                if (run)
                        buf_printf(&script, "(\n%s\n)\nset -a; . \"$GITHUB_ENV\"; set +a\n", run);
        }
        expect_done("github-actions.yaml", script.data);
        buf_release(&script);
}

static char *gitlab_script(void)
{
        size_t i;
        json_t *line;
        struct buf script;
        AUTO(json_decref) json_t *all = documents("gitlab-ci.yaml");
        const json_t *job = at(json_array_get(all, 0), "deploy");
        buf_init(&script, 1 << 16);
        add_variables(&script, at(job, "variables"));
        buf_add_text(&script, "export HALFLIFE=$DOOR HALFLIFE_CA=/dev/null TOKEN_FILE=${TOKEN:-$TOKEN_HERE}\n");
        json_array_foreach((json_t *)(uintptr_t)at(job, "script"), i, line)
                buf_printf(&script, "%s\n", json_string_value(line));
        return buf_steal(&script);
}

static void test_gitlab(void **state)
{
        (void)state;
        AUTO(mem_free) char *script = gitlab_script();
        expect_done("gitlab-ci.yaml", script);
}

/* A refusal ends the job, and the log says what it was. */
static void test_gitlab_refused(void **state)
{
        size_t len;
        (void)state;
        AUTO(mem_free) char *script = gitlab_script(), *said = tmp_path("said"), *other = tmp_file("other", "nobody\n");
        setenv("TOKEN", other, 1);
        int rc = run_shell(script);
        unsetenv("TOKEN");
        assert_int_not_equal(rc, 0);
        assert_int_not_equal(access(stage.applied, F_OK), 0);
        AUTO(mem_free) char *text = file_read(said, 1 << 20, &len, NULL);
        if (!text || !strstr(text, "the API server does not know this bearer token"))
                fail_msg("%s", text);
}

static void test_argo_cd(void **state)
{
        (void)state;
        struct err err = {0};
        AUTO(json_decref) json_t *all = documents("argo-cd.yaml");
        const char *text = json_string_value(at(at(json_array_get(all, 0), "data"), "plugin.yaml"));
        AUTO(json_decref) json_t *plugin = yaml_read(text, strlen(text), &err);
        const json_t *generate = at(at(plugin, "spec"), "generate");
        assert_string_equal(json_string_value(json_array_get(at(generate, "command"), 0)), "sh");
        AUTO(mem_free)
        char *script = mem_printf("cd deploy\nexport ARGOCD_APP_NAMESPACE=shop\nsh -c '%s' >\"$APPLIED\"\n",
                                  json_string_value(json_array_get(at(generate, "args"), 0)));
        expect_done("argo-cd.yaml", script);
}

static void test_helm_plugin(void **state)
{
        size_t i;
        json_t *arg;
        struct buf script;
        (void)state;
        AUTO(json_decref) json_t *all = documents("helm-plugin/plugin.yaml");
        const json_t *commands = at(at(json_array_get(all, 0), "runtimeConfig"), "platformCommand");
        const json_t *command = json_array_get(commands, 0);
        buf_init(&script, 1 << 16);
        buf_printf(&script, "cat deploy/web.yaml | %s", json_string_value(at(command, "command")));
        json_array_foreach((json_t *)(uintptr_t)at(command, "args"), i, arg)
                buf_printf(&script, " %s", json_string_value(arg));
        buf_add_text(&script, " -n shop >\"$APPLIED\"\n");
        expect_done("helm-plugin", script.data);
        buf_release(&script);
}

static void test_scripts(void **state)
{
        static const struct {
                const char *name, *args;
        } row[] = {{"kustomize.sh", "deploy shop"}, {"helm.sh", "web deploy shop --atomic"}};
        char here[4096];
        (void)state;
        assert_non_null(getcwd(here, sizeof here));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *script = mem_printf("'%s/" FOLDER "%s' %s\n", here, row[i].name, row[i].args);
                expect_done(row[i].name, script);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_github_actions), cmocka_unit_test(test_gitlab),
                cmocka_unit_test(test_gitlab_refused), cmocka_unit_test(test_argo_cd),
                cmocka_unit_test(test_helm_plugin),    cmocka_unit_test(test_scripts),
        };
        return cmocka_run_group_tests_name("recipes", tests, begin, end);
}
