/* Operation: settings read again, permissions, leadership, credentials that change, and the errors of a failed
 * start. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../support/beside.h"
#include "../support/play.h"
#include "../support/tmp.h"
#include "base/buf.h"
#include "base/mem.h"

#define LIMITED     "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define CPU_REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define LOWERED     EXPECT("deployments/web", CPU_REQUEST, "285m"), EXPECT(REC, "status.applied.mode", "Rollout")
#define LOOK        TEAM("{apply: {minHistory: 2s}}")

enum { LONG_MS = 40000 };

static void end(struct fake *f, struct halflife *h)
{
        int result = halflife_stop(h);
        if (result != 0) {
                play_say_log(h);
                fail_msg("halflife ended with %d", result);
        }
        halflife_free(h);
        fake_free(f);
}

/* --- settings --- */

static void test_settings_are_read_again(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        AUTO(mem_free) char *config = tmp_file("settings.yaml", "apply: never\nlog-level: info\n");
        struct halflife *h = halflife_start(f, "settings.db", (const char *const[]){"--config", config, NULL});
        PLAY(f, h,
             STORY("settings", AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.reason", "OptedOut"),
                   CYCLES(2), CHECK("deployments/web", "metadata.generation", "1")));
        mem_free(tmp_file("settings.yaml", "apply: perhaps\n"));
        halflife_signal(h, SIGHUP);
        assert_true(halflife_await_log(h, "not one of allow|never", 1, LONG_MS));
        PLAY(f, h, STORY("settings", CYCLES(2), CHECK("deployments/web", "metadata.generation", "1")));
        mem_free(tmp_file("settings.yaml", "apply: allow\n"));
        halflife_signal(h, SIGHUP);
        PLAY(f, h, STORY("settings", LOWERED));
        end(f, h);
}

/* Without a signal: the file's own time tells. What cannot be read changes nothing. */
static void test_settings_change_on_disk(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        AUTO(mem_free) char *config = tmp_file("disk.yaml", "apply: never\n");
        struct halflife *h = halflife_start(f, "disk.db", (const char *const[]){"--config", config, NULL});
        PLAY(f, h,
             STORY("disk", AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.reason", "OptedOut")));
        mem_free(tmp_file("disk.yaml", "apply: [allow\n"));
        assert_true(halflife_await_log(h, "disk.yaml", 1, LONG_MS));
        PLAY(f, h, STORY("disk", CYCLES(2), CHECK("deployments/web", "metadata.generation", "1")));
        mem_free(tmp_file("disk.yaml", "apply: allow\n"));
        assert_true(halflife_await_log(h, "settings read again", 1, LONG_MS));
        PLAY(f, h, STORY("disk", LOWERED));
        end(f, h);
}

static void test_retention(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, "retention.db", (const char *const[]){"--retention", "3s", NULL});
        PLAY(f, h,
             STORY("retention", LOOK, WORK("Deployment", "stays", "{replicas: 1}", "{containers: " LIMITED "}"),
                   WEB(LIMITED), EXPECT(REC, "status.state", "Ready"), DELETE("deployments/web"), CYCLES(1),
                   CHECK(REC, "spec.targetRef.name", "web"), EXPECT(REC, "", "-"), CYCLES(2),
                   MERGE("profiles/team", "{spec: {apply: {minHistory: 10m}}}"), WEB(LIMITED),
                   EXPECT(REC, "status.state", "Learning"), CHECK(REC, "status.containers[app].cpu.target", "1")));
        end(f, h);
}

/* A workload that no sample was ever seen of leaves nothing behind, however long the retention time. */
static void test_nothing_learned_nothing_kept(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        stories_metrics(f, FAKE_METRICS_ON);
        struct halflife *h = halflife_start(f, "unlearned.db", NULL);
        PLAY(f, h,
             STORY("unlearned", LOOK, WORK("Deployment", "stays", "{replicas: 1}", "{containers: " LIMITED "}"),
                   WEB(LIMITED),
                   PUT("{apiVersion: apps/v1, kind: Deployment, metadata: {name: idle}, spec: {replicas: 1, selector: "
                       "{matchLabels: {app: idle}}, template: {metadata: {labels: {app: idle}, annotations: "
                       "{fake/usage-ahead-ms: '600000'}}, spec: {containers: " LIMITED "}}}}"),
                   EXPECT(REC, "status.state", "Ready"),
                   EXPECT("recommendations/deployment-idle", "status.state", "NoData"), DELETE("deployments/idle"),
                   DELETE("deployments/web"), EXPECT("recommendations/deployment-idle", "", "-"), CYCLES(2),
                   CHECK(REC, "spec.targetRef.name", "web")));
        end(f, h);
}

/* One at a time: pods come and go only as the test lets them, and a patch may be longer under way than a cycle. */
static void test_budget_of_workloads(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){.controllers = FAKE_CONTROLLERS_STEP});
        assert_true(fake_load(f, "crds"));
        stories_metrics(f, FAKE_METRICS_ON);
        struct halflife *h = halflife_start(f, "budget.db", NULL);
        struct story s =
                STORY("budget",
                      TEAM("{paused: true, apply: {mode: Rollout, minHistory: 2s, maxDecreasePercent: 90, budget: "
                           "{workloads: 1}}}"),
                      WEB(LIMITED), WORK("Deployment", "api", "{replicas: 2}", "{containers: " LIMITED "}"));
        play(f, h, &s, LONG_MS);
        fake_settle(f);
        fake_fault(f, &(struct fake_fault){.verb = "patch",
                                           .path = "/apis/apps/v1/namespaces/budget/deployments/",
                                           .delay_ms = 4000});
        PLAY(f, h,
             STORY("budget", EXPECT(REC, "status.state", "Ready"),
                   EXPECT("recommendations/deployment-api", "status.state", "Ready"),
                   MERGE("profiles/team", "{spec: {paused: false}}"),
                   EXPECT("profiles/team", "status.targets.applied", "1"), CYCLES(3),
                   CHECK("profiles/team", "status.targets.applied", "1")));
        fake_settle(f);
        PLAY(f, h, STORY("budget", EXPECT("profiles/team", "status.targets.applied", "2")));
        end(f, h);
}

/* --- may and may not --- */

static void test_one_rule_missing(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        fake_deny(f, &(struct fake_rule){.group = "autoscaling", .resource = "horizontalpodautoscalers"});
        struct halflife *h = halflife_start(f, "denied.db", NULL);
        PLAY(f, h,
             STORY("denied", AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.containers[app].cpu.target", "285m"),
                   EXPECT("profiles/team", "status.conditions[Degraded].status", "True"),
                   CHECK("profiles/team", "status.conditions[Degraded].reason", "CannotSee"),
                   CHECK("profiles/team", "status.conditions[Degraded].message", "~horizontalpodautoscalers"),
                   CYCLES(3), CHECK("deployments/web", "metadata.generation", "1")));
        assert_int_equal(halflife_said(h, "watch fails"), 1);
        assert_int_equal(halflife_get(h, "/readyz"), 200);
        fake_allow_all(f);
        PLAY(f, h, STORY("denied", LOWERED, EXPECT("profiles/team", "status.conditions[Degraded].status", "False")));
        end(f, h);
}

static void test_may_not_patch(void **state)
{
        static const char refused[] = "halflife_conditions{type=\"Degraded\",reason=\"Forbidden\"}";
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        fake_deny(f, &(struct fake_rule){.verb = "patch", .group = "apps", .resource = "deployments"});
        struct halflife *h = halflife_start(f, "unpatchable.db", NULL);
        PLAY(f, h,
             STORY("unpatchable", AT_ONCE(""), WEB(LIMITED), EXPECT(REC, "status.state", "Ready"), CYCLES(3),
                   CHECK("deployments/web", "metadata.generation", "1")));
        assert_true(halflife_await_log(h, "write refused", 1, LONG_MS));
        assert_int_equal(halflife_said(h, "write refused"), 1);
        assert_true(halflife_await_metric(h, f, refused, 1, LONG_MS));
        fake_allow_all(f);
        PLAY(f, h, STORY("unpatchable", LOWERED, CYCLES(2)));
        assert_true(isnan(halflife_metric(h, refused)));
        end(f, h);
}

/* The token file is read again after a 401. */
static void test_token_rotates(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){.tls = true, .token = "first"});
        assert_true(fake_load(f, "crds"));
        stories_metrics(f, FAKE_METRICS_ON);
        AUTO(mem_free) char *token = tmp_file("token", "first\n");
        AUTO(mem_free) char *ca = tmp_file("ca.pem", fake_ca(f));
        AUTO(mem_free)
        char *text = mem_printf(
                "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, "
                "user: u}}]\nclusters: [{name: k, cluster: {server: '%s', certificate-authority: '%s'}}]\n"
                "users: [{name: u, user: {tokenFile: '%s'}}]\n",
                fake_url(f), ca, token);
        AUTO(mem_free) char *kubeconfig = tmp_file("rotating.yaml", text);
        struct halflife *h = halflife_start(f, "token.db", (const char *const[]){"--kubeconfig", kubeconfig, NULL});
        PLAY(f, h, STORY("token", LOOK, WEB(LIMITED), EXPECT(REC, "status.state", "Ready")));
        assert_int_equal(unlink(token), 0);
        fake_set_token(f, "second");
        fake_end_watches(f);
        assert_true(halflife_await_log(h, "credentials cannot be renewed, the old ones are used", 1, LONG_MS));
        assert_int_equal(halflife_said(h, "the API server warns"), 0);
        mem_free(tmp_file("token", "second\n"));
        PLAY(f, h,
             STORY("token", MERGE("deployments/web", "{metadata: {labels: {after: rotation}}}"),
                   EXPECT(REC, "metadata.labels.after", "rotation")));
        end(f, h);
}

/* --- who leads --- */

static void test_two_instances(void **state)
{
        static const char *const elect[] = {"--leader-elect", "true", NULL};
        static const char leads[] = "holds the Lease";
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife-system\"}}");
        struct halflife *first = halflife_start(f, "first.db", elect);
        assert_true(halflife_await_log(first, leads, 1, LONG_MS));
        struct halflife *second = halflife_start(f, "second.db", elect);
        PLAY(f, first, STORY("led", AT_ONCE(""), WEB(LIMITED), LOWERED, CYCLES(2)));
        assert_true(halflife_await_metric(second, f, "halflife_cycles_total", 4, LONG_MS));
        assert_int_equal(halflife_get(second, "/readyz"), 200);
        assert_true(halflife_metric(second, "halflife_leader") == 0);
        assert_int_equal(halflife_said(second, leads), 0);
        assert_int_equal(halflife_stop(first), 0); /* gives it up: no waiting for 15 s */
        assert_true(halflife_await_log(second, leads, 1, 12000));
        PLAY(f, second,
             STORY("led", WORK("Deployment", "api", "{replicas: 2}", "{containers: " LIMITED "}"),
                   EXPECT("deployments/api", CPU_REQUEST, "285m"),
                   CHECK("deployments/web", "metadata.generation", "2")));
        halflife_free(first);
        end(f, second);
}

static void test_second_owner_of_the_database(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, "owned.db", NULL);
        AUTO(mem_free) char *database = tmp_path("owned.db");
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig-second");
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        struct halflife *other =
                halflife_command((const char *const[]){"run", "--kubeconfig", kubeconfig, "--database", database,
                                                       "--listen", "127.0.0.1:0", "--leader-elect", "false", NULL});
        assert_int_equal(halflife_await(other, LONG_MS), 1);
        assert_int_equal(halflife_said(other, "owned.db"), 1);
        halflife_free(other);
        end(f, h);
}

/* --- a bad start --- */

static void test_bad_starts(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){.tls = true, .token = "right"});
        AUTO(mem_free) char *half = tmp_file("half.yaml", "apiVersion: v1\nclusters: [{name: k, clus");
        AUTO(mem_free) char *good = tmp_path("good.yaml");
        assert_true(fake_write_kubeconfig(f, good));
        const struct {
                const char *args[10];
                int result;
                const char *says;
        } row[] = {
                {{"run", "--kubeconfig", "/nonexistent/kubeconfig"}, 1, "/nonexistent/kubeconfig"},
                {{"run", "--kubeconfig", half}, 1, "half.yaml"},
                {{"run", "--kubeconfig", good, "--context", "nowhere"}, 1, "nowhere"},
                {{"run", "--kubeconfig", good, "--interval", "soon"}, 2, "soon"},
                {{"run", "--kubeconfig", good, "--interval", "1ms"}, 2, "1ms"},
                {{"run", "--kubeconfig", good, "--intervall", "1s"}, 2, "intervall"},
                {{"run", "--kubeconfig", good, "--listen", "nonsense", "--database", "/dev/null/none"}, 1, "nonsense"},
                {{"run", "somewhere"}, 2, "somewhere"},
                {{"march"}, 2, "march"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct halflife *h = halflife_command(row[i].args);
                int result = halflife_await(h, LONG_MS);
                if (result != row[i].result || halflife_said(h, row[i].says) == 0) {
                        play_say_log(h);
                        fail_msg("row %zu (%s): ended with %d", i, row[i].says, result);
                }
                halflife_free(h);
        }
        fake_free(f);
}

/* Whatever answers at the API server's address, halflife get ends and says what it is. */
static void test_get_of_bad_answers(void **state)
{
        (void)state;
        static const struct {
                const char *name, *body, *says;
                int result;
        } row[] = {{NULL, "{}", "the server's answer is not a list", 1},
                   {NULL, "{\"kind\":\"Status\",\"status\":\"Failure\"}", "the server's answer is not a list", 1},
                   {NULL, "{\"items\":null}", "no recommendations", 0},
                   {NULL, "{\"items\":[5]}", "the server's answer is not a Recommendation", 1},
                   {NULL, "{\"items\":[{}]}", "the server's answer is not a Recommendation", 1},
                   {"web", "{\"kind\":\"Status\",\"metadata\":{}}", "the server's answer is not a Recommendation", 1},
                   {NULL, "{\"metadata\":{\"continue\":\"t\"},\"items\":[]}",
                    "a continue token came twice within 2 pages", 1},
                   {NULL, "{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"state\":\"\\u001b[31mx\"}}]}",
                    "?[31mx", 0}};
        struct fake *f = fake_new(&(struct fake_options){0});
        AUTO(mem_free) char *kubeconfig = tmp_path("get.yaml");
        assert_true(fake_write_kubeconfig(f, kubeconfig));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fake_faults_clear(f);
                fake_fault(f, &(struct fake_fault){.path = "/apis/halflife.dev",
                                                   .times = FAKE_ALWAYS,
                                                   .status = 200,
                                                   .body = row[i].body});
                struct halflife *h = halflife_command(
                        (const char *const[]){"get", "--kubeconfig", kubeconfig, "-n", "n", row[i].name, NULL});
                int result = halflife_await(h, LONG_MS);
                if (result != row[i].result || !halflife_await_log(h, row[i].says, 1, LONG_MS)) {
                        play_say_log(h);
                        fail_msg("%s: ended with %d", row[i].body, result);
                }
                halflife_free(h);
        }
        fake_free(f);
}

/* An answer that cannot be written is a failure. */
static void test_standard_streams(void **state)
{
        (void)state;
        static const struct {
                const char *rest;
                int result;
        } row[] = {{"version >/dev/null", 0},
                   {"version >/dev/full 2>/dev/null", 1},
                   {"--help >/dev/full 2>/dev/null", 1},
                   {"march >/dev/full 2>/dev/null", 2},
                   {"version >&- 2>/dev/null", 1},
                   {"version >/dev/null 2>&- <&-", 0}};
        AUTO(mem_free) char *program = halflife_program();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *line = mem_printf("'%s' %s", program, row[i].rest);
                int result = system(line);
                if (!WIFEXITED(result) || WEXITSTATUS(result) != row[i].result)
                        fail_msg("%s: %d", row[i].rest, result);
        }
}

/* Wrong credentials and a wrong CA are no reason to end: somebody may put them right. */
static void test_bad_credentials(void **state)
{
        (void)state;
        struct fake *f = fake_new(&(struct fake_options){.tls = true, .token = "right"});
        struct fake *stranger = fake_new(&(struct fake_options){.tls = true});
        assert_true(fake_load(f, "crds"));
        AUTO(mem_free) char *ca = tmp_file("right-ca.pem", fake_ca(f));
        AUTO(mem_free) char *wrong_ca = tmp_file("wrong-ca.pem", fake_ca(stranger));
        const struct {
                const char *ca, *token, *says;
        } row[] = {{ca, "wrong", "renew the credentials"},
                   {wrong_ca, "right", "is the configured certificate authority the server's"}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *text =
                        mem_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: "
                                   "{cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: '%s', "
                                   "certificate-authority: '%s'}}]\nusers: [{name: u, user: {token: '%s'}}]\n",
                                   fake_url(f), row[i].ca, row[i].token);
                AUTO(mem_free) char *kubeconfig = tmp_file("credentials.yaml", text);
                struct halflife *h = halflife_start(f, NULL, (const char *const[]){"--kubeconfig", kubeconfig, NULL});
                if (!halflife_await_log(h, row[i].says, 1, LONG_MS) || halflife_get(h, "/healthz") != 200 ||
                    halflife_get(h, "/readyz") != 503) {
                        play_say_log(h);
                        fail_msg("row %zu: says nothing of '%s', or is %ld and %ld", i, row[i].says,
                                 halflife_get(h, "/healthz"), halflife_get(h, "/readyz"));
                }
                assert_int_equal(halflife_said(h, "watch fails"), 1); /* for all of them */
                assert_int_equal(halflife_stop(h), 0);
                halflife_free(h);
        }
        fake_free(stranger);
        fake_free(f);
}

/* Without a database it goes on in memory, and says so. */
static void test_no_database(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct halflife *h = halflife_start(f, NULL, NULL);
        PLAY(f, h, STORY("memory-only", AT_ONCE(""), WEB(LIMITED), LOWERED));
        assert_int_equal(halflife_said(h, "no checkpoints"), 1);
        assert_true(halflife_metric(h, "halflife_database_up") == 0);
        end(f, h);
}

/* What cannot be read is said once and counted; everybody else is served. */
static void test_unreadable_object(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        fake_put(f, "kubectl",
                 "{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"namespace\":\"crowd\","
                 "\"name\":\"crowded\"},\"spec\":{\"replicas\":0,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
                 "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
                 "\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"lots\"}}}]}}}}");
        struct halflife *h = halflife_start(f, "crowded.db", NULL);
        PLAY(f, h, STORY("beside", AT_ONCE(""), WEB(LIMITED), LOWERED, CYCLES(2)));
        assert_int_equal(halflife_said(h, "objects cannot be read: the last readable state of each is used"), 1);
        assert_int_equal(halflife_said(h, "'lots' is not a quantity"), 1);
        assert_true(halflife_metric(h, "halflife_objects_unreadable_total") >= 1);
        end(f, h);
}

/* A limit on file size acts like a full disk: it is reported, and halflife continues. */
static void test_file_size_limit(void **state)
{
        (void)state;
        struct fake *f = stories_server(NULL, 0);
        struct rlimit was, small;
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
        small = (struct rlimit){.rlim_cur = 16384, .rlim_max = was.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        struct halflife *h = halflife_start(f, "limited.db", NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        PLAY(f, h, STORY("limited", AT_ONCE(""), WEB(LIMITED), LOWERED));
        assert_int_equal(halflife_said(h, "no checkpoints"), 1);
        assert_true(halflife_metric(h, "halflife_database_up") == 0);
        end(f, h);
}

int main(void)
{
        static const struct beside tests[] = {
                BESIDE(test_settings_are_read_again),
                BESIDE(test_settings_change_on_disk),
                BESIDE(test_retention),
                BESIDE(test_nothing_learned_nothing_kept),
                BESIDE(test_budget_of_workloads),
                BESIDE(test_one_rule_missing),
                BESIDE(test_may_not_patch),
                BESIDE(test_token_rotates),
                BESIDE(test_two_instances),
                BESIDE(test_second_owner_of_the_database),
                BESIDE(test_bad_starts),
                BESIDE(test_get_of_bad_answers),
                BESIDE(test_standard_streams),
                BESIDE(test_bad_credentials),
                BESIDE(test_no_database),
                BESIDE(test_file_size_limit),
                BESIDE(test_unreadable_object),
        };
        return beside_run("operation", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
