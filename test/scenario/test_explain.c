/*
 * The commands for people against halflife and the API server: explain by every way that leads to a number, get in all
 * its formats, completions with names from the cluster.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/fetch.h"
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/mem.h"

static const char profile[] =
        "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Profile\",\"metadata\":{\"name\":\"team\",\"namespace\":"
        "\"shop\"},\"spec\":{\"apply\":{\"mode\":\"Recommend\",\"minHistory\":\"0s\"}}}";

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *address, *kubeconfig, *database;
} stage;

static void put_deployment(const char *ns, const char *name)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"apiVersion\":\"apps/"
                "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
                "\"labels\":{\"app\":\"%s\"}},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}},"
                "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"},\"annotations\":{\"kwok.x-k8s.io/usage-cpu\":"
                "\"120m\",\"kwok.x-k8s.io/usage-memory\":\"200Mi\"}},\"spec\":{\"containers\":[{\"name\":\"app\","
                "\"image\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"4Gi\"}}}]}}}}",
                name, ns, name, name, name);
        fake_put(stage.fake, "kubectl", object);
}

static int set_up(void **state)
{
        (void)state;
        struct fake *f = stage.fake = fake_new(&(struct fake_options){.seed = 5});
        if (!f || !fake_load(f, "crds"))
                return -1;
        fake_set_metrics(f, &(struct fake_metrics){.step_ms = 1000});
        fake_put(f, "kubectl", "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"shop\"}}");
        fake_put(f, "kubectl", profile);
        put_deployment("shop", "web");
        put_deployment("shop", "api");
        fake_person(f, "auditor", "auditor", NULL);
        fake_grant(f, &(struct fake_grant){"auditor", NULL, NULL, NULL});
        stage.halflife = halflife_start(f, "explain.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife);
        stage.address = mem_printf("http://%s", address);
        stage.kubeconfig = tmp_path("explain-kubeconfig");
        stage.database = tmp_path("explain.db");
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
        unsetenv("COLUMNS");
        unsetenv("HALFLIFE_TOKEN");
        return fake_write_kubeconfig(f, stage.kubeconfig) &&
                               halflife_await_metric(stage.halflife, f, "halflife_recommendations{state=\"Ready\"}", 2,
                                                     30000) &&
                               halflife_await_cycles(stage.halflife, f, 3, 30000)
                       ? 0
                       : -1;
}

static int tear_down(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.address);
        mem_free(stage.kubeconfig);
        mem_free(stage.database);
        return 0;
}

enum { SAYS = 6, ARGS = 12 };
struct row {
        const char *args[ARGS];
        int code;
        const char *says[SAYS]; /* "!x": must not */
};

static void expect(const struct row *row, size_t rows)
{
        for (size_t i = 0; i < rows; i++) {
                AUTO(mem_free) char *said = halflife_run(row[i].code, row[i].args);
                for (int k = 0; k < SAYS && row[i].says[k]; k++) {
                        const char *says = row[i].says[k];
                        bool not = *says == '!';
                        if ((strstr(said, says + not ) != NULL) == not )
                                fail_msg("row %zu (%s %s): %s'%s' in\n%s", i, row[i].args[0], row[i].args[1],
                                         not ? "" : "no ", says + not, said);
                }
        }
}
#define EXPECT(row) expect(row, sizeof row / sizeof row[0])

static void test_by_server(void **state)
{
        (void)state;
        const char *address = stage.address;
        setenv("HALFLIFE_TOKEN", "auditor", 1);
        const struct row row[] = {
                {{"explain", "deploy/web", "-n", "shop", "--server", address},
                 0,
                 {"Deployment web in namespace shop, by Profile team: Ready", "app  cpu  2 → ", "┤", "▲ original 2",
                  "holds: ", "app  memory"}},
                {{"explain", "Deployment/web", "-n", "shop", "--server", address, "--ascii", "--resource", "cpu"},
                 0,
                 {"app  cpu  2 -> ", "^ original 2", "!┤", "!app  memory"}},
                {{"explain", "deploy/web", "-n", "shop", "--server", address, "--multiplier", "2", "--percentile=50"},
                 0,
                 {"what if      model ", " x 2 = ", "gates are not recomputed"}},
                {{"explain", "deploy/web", "-n", "shop", "--server", address, "-o", "json"},
                 0,
                 {"\"histograms\": {", "\"app/memory\": {", "\"buckets\": [", "!\"note\""}},
                {{"explain", "deploy/web", "-n", "shop", "--server", address, "--percentile", "7"},
                 2,
                 {"halflife explain: --percentile '7' is not a whole number of per cent from 50 to 100", "!HTTP"}},
                {{"explain", "deploy/none", "-n", "shop", "--server", address}, 1, {"HTTP 404: nothing is known of"}},
                {{"explain", "deploy/web", "-n", "shop", "--server", "http://127.0.0.1:1"}, 1, {"halflife explain: "}},
                {{"explain", "deploy/web", "--server", "http://127.0.0.1:1", "--kubeconfig", "/nowhere"},
                 1,
                 {"'/nowhere'"}},
                {{"explain", "deploy/web", "--server", "http://127.0.0.1:1", "--context", "nobody"}, 1, {"'nobody'"}},
                {{"explain", "deploy/web", "-n", "shop", "--server", "http://example.com"},
                 2,
                 {"would get a token without TLS"}},
                {{"explain", "deploy/web", "--server", "example.com"}, 2, {"is not an address such as https://"}},
        };
        EXPECT(row);
        unsetenv("HALFLIFE_TOKEN");
        const struct row unknown[] = {
                {{"explain", "deploy/web", "-n", "shop", "--server", address}, 1, {"HTTP 401: send a bearer token"}}};
        EXPECT(unknown);
}

/* The API server's proxy to services, as far as it is one: it hands back what halflife said. */
static void test_by_proxy(void **state)
{
        (void)state;
        static const char prefix[] = "/api/v1/namespaces/halflife/services/https:halflife:https/proxy";
        static const char path[] = "/api/v1/namespaces/shop/workloads/deploy/web";
        const char *const part[] = {"/explain", "/histogram?resource=cpu"};
        char *body[2];
        for (int i = 0; i < 2; i++) {
                AUTO(mem_free) char *url = mem_printf("%s%s%s", stage.address, path, part[i]);
                AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .token = "auditor"});
                assert_int_equal(g.status, 200);
                AUTO(mem_free) char *at = mem_printf("%s%s%.*s", prefix, path, (int)strcspn(part[i], "?"), part[i]);
                body[i] = mem_string(g.body);
                fake_fault(stage.fake,
                           &(struct fake_fault){.path = at, .times = FAKE_ALWAYS, .status = 200, .body = body[i]});
        }
        const struct row row[] = {
                {{"explain", "deploy/web", "-n", "shop"},
                 0,
                 {"by Profile team: Ready", "┤", "▲ original 2", "percentile   95 %", "!No histogram"}},
                {{"explain", "deploy/web", "-n", "shop", "--halflife-namespace", "elsewhere"},
                 0,
                 {"by Profile team: Ready", "!┤", "No histogram: Service 'halflife' in namespace 'elsewhere'",
                  "conditions   Applied is False"}},
                {{"explain", "deploy/none", "-n", "shop"},
                 1,
                 {"halflife does not know 'deploy/none' in namespace 'shop': does a profile match it?"}},
        };
        EXPECT(row);
        fake_faults_clear(stage.fake);
        AUTO(mem_free) char *shut = mem_printf("%s%s%s", prefix, path, part[0]);
        AUTO(mem_free) char *list = mem_printf("%s/api/v1/namespaces/shop/workloads", prefix);
        static const char forbidden[] = "{\"kind\":\"Status\",\"message\":\"User cannot get services/proxy\"}";
        fake_fault(stage.fake,
                   &(struct fake_fault){.path = list, .times = FAKE_ALWAYS, .status = 403, .body = forbidden});
        fake_fault(stage.fake,
                   &(struct fake_fault){.path = shut, .times = FAKE_ALWAYS, .status = 403, .body = forbidden});
        const struct row not_let_in[] = {
                {{"explain", "deploy/web", "-n", "shop"},
                 0,
                 {"by Profile team: Ready", "!┤", "No histogram: HTTP 403",
                  "kubectl create rolebinding halflife-rest-proxy -n halflife", "!HALFLIFE_TOKEN"}},
                {{"export", "-n", "shop"},
                 1,
                 {"HTTP 403", "kubectl create rolebinding halflife-rest-proxy -n halflife", "!HALFLIFE_TOKEN"}}};
        EXPECT(not_let_in);
        fake_faults_clear(stage.fake);
        mem_free(body[0]);
        mem_free(body[1]);
}

/* Nobody but the API server answers: what was published, and one sentence on what to do. */
static void test_by_object(void **state)
{
        (void)state;
        const struct row row[] = {
                {{"explain", "deploy/web", "-n", "shop"},
                 0,
                 {"Deployment web in namespace shop, by Profile team: Ready", "app  cpu  2 → ", "model        ",
                  "No histogram: ", "--server URL", "!┤"}},
                {{"explain", "deploy/web", "-n", "shop", "--percentile", "50"},
                 0,
                 {"No histogram, and nothing recomputed: "}},
                {{"explain", "deploy/web", "-n", "shop", "--percentile", "40"},
                 2,
                 {"halflife explain: --percentile '40' is not a whole number of per cent from 50 to 100"}},
                {{"explain", "deploy/web", "-n", "shop", "--percentile", "100.1"},
                 2,
                 {"explain: --percentile '100.1' is not"}},
                {{"explain", "deploy/web", "-n", "shop", "--multiplier", "0.09"},
                 2,
                 {"explain: --multiplier '0.09' is not a factor from 0.1 to 100 with at most three decimals"}},
                {{"explain", "deploy/web", "-n", "shop", "--half-life", "59s"},
                 2,
                 {"explain: --half-life '59s' is not a duration from 1m to 720h"}},
                {{"explain", "deploy/web", "-n", "shop", "-o", "json"},
                 0,
                 {"\"recommendation\": {", "\"note\": \"No histogram"}},
                {{"explain", "deploy/web", "-n", "shop", "-c", "nope"}, 1, {"has no container 'nope'"}},
                {{"explain", "deploy"}, 2, {"'deploy' is not KIND/NAME such as deploy/web"}},
                {{"explain", "deploy/web", "api"}, 2, {"give one workload"}},
                {{"explain", "deploy/web", "-o", "xml"}, 2, {"explain: --output 'xml' is not one of text, json"}},
                {{"explain", "deploy/web", "--resource", "disk"},
                 2,
                 {"explain: --resource 'disk' is not one of cpu, memory"}},
                {{"explain", "deploy/web", "--kubeconfig", "/nonexistent"}, 1, {"/nonexistent"}},
        };
        EXPECT(row);
        fake_stop(stage.fake);
        const struct row away[] = {
                {{"explain", "deploy/web", "-n", "shop"}, 1, {"--server URL asks halflife directly"}},
        };
        EXPECT(away);
        assert_true(fake_start(stage.fake));
}

/* A database is read also while halflife holds it. */
static void test_by_database(void **state)
{
        (void)state;
        const char *db = stage.database;
        setenv("HALFLIFE_KUBECONFIG", "/nonexistent", 1);
        const struct row row[] = {
                {{"explain", "deploy/web", "--database", db},
                 0,
                 {"Deployment web in namespace shop\n", "app  cpu", "┤", "percentile   95 %", "without rules and gates",
                  "!rules  "}},
                {{"explain", "deployments.apps/web", "--database", db, "-n", "shop", "--percentile", "50", "-c", "app"},
                 0,
                 {"what if      model ", "!target none", "!MemoryOff"}},
                {{"explain", "deploy/web", "--database", db, "--resource", "memory", "-o", "json"},
                 0,
                 {"\"note\": ", "\"app/memory\": {", "!\"app/cpu\": {", "!\"rule\"", "!Gate", "!MemoryOff"}},
                {{"explain", "deploy/web", "--database", db, "-n", "bank"},
                 1,
                 {"has no history of 'deploy/web' in namespace bank"}},
                {{"explain", "deploy/web", "--database", db, "--multiplier", "1e9"},
                 2,
                 {"multiplier '1e9' is not a factor"}},
                {{"explain", "deploy/web", "--database", "/nonexistent.db"}, 1, {"does not exist"}},
                {{"explain", "deploy/web", "--database", "README.md"}, 1, {"README.md"}},
        };
        EXPECT(row);
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
}

static void test_get(void **state)
{
        (void)state;
        const struct row row[] = {
                {{"get", "deploy/web", "-n", "shop"}, 0, {"NAME", "deployment-web", "!deployment-api", "!SAMPLES"}},
                {{"get", "-n", "shop", "-o", "wide"}, 0, {"deployment-web", "deployment-api", "SAMPLES"}},
                {{"get", "-A", "-o", "name"},
                 0,
                 {"recommendation.halflife.dev/deployment-api\nrecommendation.halflife.dev/deployment-web\n"}},
                {{"get", "recommendation.halflife.dev/deployment-web", "-n", "shop", "-o", "name"},
                 0,
                 {"recommendation.halflife.dev/deployment-web\n"}},
                {{"get", "Deployment/web", "-n", "shop", "-o", "yaml"},
                 0,
                 {"apiVersion: halflife.dev/v1alpha1\n", "\n  targetRef:\n    apiVersion: apps/v1\n",
                  "original: \"2\"\n"}},
                {{"get", "-n", "shop", "-o", "yaml", "-l", "app=api"},
                 0,
                 {"kind: List\n", "name: deployment-api\n", "!deployment-web"}},
                {{"get", "deploy/none", "-n", "shop"},
                 1,
                 {"halflife does not know 'deploy/none' in namespace 'shop': does a profile match it?",
                  "halflife get -A lists"}},
                {{"get", "gizmo/none", "-n", "shop"}, 1, {"does KIND include its group"}},
                {{"get", "none", "-n", "shop"},
                 1,
                 {"Recommendation 'none' does not exist in namespace 'shop'", "such as deploy/web"}},
                {{"get", "deploy/web/x"}, 2, {"is not KIND/NAME"}},
                {{"get", "deploy", "web"}, 2, {"as KIND/NAME, such as deploy/web"}},
                {{"get", "deploy/web", "-A"}, 2, {"use -n instead of -A"}},
                {{"get", "-o", "xml"}, 2, {"not one of table, wide, json, yaml, name"}},
        };
        EXPECT(row);
}

/* The columns of advised limits have the first container for which one is advised. */
static void test_get_limits(void **state)
{
        (void)state;
        fake_put(stage.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"other\"}}");
        fake_put(stage.fake, "halflife", /* with a learned value, so that halflife keeps it without its workload */
                 "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Recommendation\",\"metadata\":{\"name\":"
                 "\"deployment-killed\",\"namespace\":\"other\"},\"spec\":{\"dimension\":\"Workload\",\"targetRef\":{"
                 "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"killed\"},\"profileRef\":{\"kind\":"
                 "\"Profile\",\"name\":\"team\"}},\"status\":{\"state\":\"Ready\",\"containers\":[{\"name\":\"log\"},{"
                 "\"name\":\"app\",\"state\":\"Ready\",\"cpu\":{\"original\":\"2\",\"target\":\"1\"},\"limits\":{"
                 "\"memory\":{\"current\":\"256Mi\",\"advised\":\"392Mi\",\"reason\":\"KilledAtLimit\",\"needed\":"
                 "\"356Mi\",\"time\":\"2026-11-21T00:00:00Z\"}}}]}}");
        const struct row row[] = {
                {{"get", "-n", "other", "-o", "wide"},
                 0,
                 {"CPU-LIMIT", "MEM-LIMIT", "392Mi", "!<unknown>"}}, /* no sample */
                {{"get", "-n", "other"}, 0, {"deployment-killed", "!MEM-LIMIT", "!392Mi"}},
        };
        EXPECT(row);
        fake_delete(stage.fake, "/apis/halflife.dev/v1alpha1/namespaces/other/recommendations/deployment-killed");
}

/* An API server that cannot be asked: what to do about it, in one line. */
#define OF_SHOP "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations"
static const char no_server[] =
        "{\"clusters\":[{\"name\":\"x\",\"cluster\":{\"server\":\"http://127.0.0.1:1\"}}],\"users\":[{\"name\":"
        "\"x\",\"user\":{}}],\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"x\",\"user\":\"x\"}}],"
        "\"current-context\":\"x\"}";
static void test_no_answer(void **state)
{
        (void)state;
        static const struct {
                struct fake_fault fault;
                const char *says;
        } wrong[] = {
                {{.path = OF_SHOP, .times = FAKE_ALWAYS, .status = 401}, "--kubeconfig and --context choose"},
                {{.path = OF_SHOP, .times = FAKE_ALWAYS, .status = 404, .body = "404 page not found\n"},
                 "are halflife's CRDs installed? kubectl apply -k manifests"},
        };
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
                fake_fault(stage.fake, &wrong[i].fault);
                const struct row row[] = {{{"get", "-n", "shop"}, 1, {wrong[i].says}},
                                          {{"get", "deploy/web", "-n", "shop"}, 1, {wrong[i].says}},
                                          {{"explain", "deploy/web", "-n", "shop"}, 1, {wrong[i].says}}};
                EXPECT(row);
                fake_faults_clear(stage.fake);
        }
        struct fake *other = fake_new(&(struct fake_options){.tls = true});
        const struct row untrusted[] = {
                {{"explain", "deploy/web", "--server", fake_url(other)}, 1, {"give the CA with --server-ca FILE"}},
                {{"render", "-f", "test/data/render/plain.in.yaml", "--server", fake_url(other)},
                 1,
                 {"give the CA with --server-ca FILE", "a name of the certificate"}},
                {{"export", "-n", "shop", "--server", fake_url(other)},
                 1,
                 {"give the CA with --server-ca FILE", "!HALFLIFE_TOKEN"}},
        };
        EXPECT(untrusted);
        fake_free(other);
        AUTO(mem_free) char *dead = tmp_file("dead", no_server);
        const struct row row[] = {
                {{"get", "--kubeconfig", dead}, 1, {"does the API server run? --kubeconfig and --context choose"}},
                {{"explain", "deploy/web", "--kubeconfig", dead}, 1, {"--server URL asks halflife directly"}},
                {{"render", "-f", "test/data/render/plain.in.yaml", "--kubeconfig", dead},
                 1,
                 {"does the API server run? --kubeconfig and --context choose"}},
        };
        EXPECT(row);
}

/* A server's answer cannot control the terminal. */
static void test_get_tames(void **state)
{
        (void)state;
        static const char *const formats[] = {"name", "table", "yaml", "json"};
        fake_fault(stage.fake,
                   &(struct fake_fault){.verb = "list",
                                        .path = "/apis/halflife.dev/v1alpha1/namespaces/evil/",
                                        .times = FAKE_ALWAYS,
                                        .status = 200,
                                        .body = "{\"items\":[{\"metadata\":{\"name\":\"a\\u001b[31mb\\u009bc"
                                                "\\n\"}}]}"});
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
                AUTO(mem_free)
                char *said = HALFLIFE_RUN(0, "get", "-n", "evil", "-o", formats[i]);
                for (const char *p = said; *p; p++)
                        if (((unsigned char)*p < ' ' && *p != '\n') || (*p == '\xc2' && (unsigned char)p[1] < 0xa0))
                                fail_msg("%s: byte %02x in\n%s", formats[i], (unsigned char)*p, said);
                assert_non_null(strstr(said, "31mb"));
        }
        fake_faults_clear(stage.fake);
}

/* A continue token that expires on the way: nothing twice, nothing missing. */
static void test_get_begins_anew(void **state)
{
        (void)state;
        for (int times = 1; times <= 2; times++) {
                for (int i = 0; i < 600; i++) {
                        AUTO(mem_free)
                        char *o = mem_printf(
                                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"Recommendation\","
                                "\"metadata\":{\"name\":\"other-n%03d\",\"namespace\":\"many\"},\"spec\":"
                                "{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                                "\"n%03d\"},\"profileRef\":{\"kind\":\"Profile\",\"name\":\"x\"},"
                                "\"dimension\":\"Workload\"}}",
                                i, i);
                        fake_put(stage.fake, "kubectl", o);
                }
                /* The first page passes, the second is gone; and so on. */
                for (int i = 0; i < times; i++)
                        fake_fault(stage.fake,
                                   &(struct fake_fault){.verb = "list",
                                                        .path = "/apis/halflife.dev/v1alpha1/namespaces/many/",
                                                        .nth = (unsigned)(1 + 2 * i),
                                                        .status = 410});
                AUTO(mem_free) char *said = HALFLIFE_RUN(0, "get", "-n", "many", "-o", "name");
                int lines = 0;
                for (const char *p = said; (p = strchr(p, '\n')); p++)
                        lines++;
                assert_int_equal(lines, 600);
                fake_faults_clear(stage.fake);
        }
}

/* Of the settings that run and serve share each tells those that it heeds. */
static void test_help(void **state)
{
        (void)state;
        const struct row row[] = {
                {{"serve", "--help"}, 0, {"--serve-listen", "--upstream-url", "!--database", "!--checkpoint-interval"}},
                {{"run", "--help"}, 0, {"--serve-listen", "--database", "!--upstream-url"}},
                {{"frob"}, 2, {"unknown command 'frob'; halflife --help lists all"}},
                {{"help"}, 0, {"usage: ", "  get "}},
                {{"help", "get"}, 0, {" get ", "--namespace", "!  serve "}},
                {{"help", "frob"}, 2, {"unknown command 'frob'; halflife --help lists all"}},
        };
        EXPECT(row);
}

static void test_completion(void **state)
{
        (void)state;
        const struct row row[] = {
                {{"__complete", "explain", "-n", "shop", ""}, 0, {"deployment/api\ndeployment/web\n:4\n"}},
                {{"__complete", "explain", "-n", "shop", "deploy/w"}, 0, {"deploy/web\n:4\n", "!api"}},
                {{"__complete", "get", "-n", "sh"}, 0, {"shop\n:4\n"}},
                {{"__complete", "get", "--kubeconfig", "/nonexistent", ""}, 0, {":4\n", "!deployment", "!nonexistent"}},
        };
        EXPECT(row);
}

/* The script in a bash of its own. */
static void test_bash(void **state)
{
        (void)state;
        AUTO(mem_free) char *program = halflife_program();
        AUTO(mem_free)
        char *command = mem_printf(
                "PATH=$(dirname '%s'):$PATH; source <(halflife completion bash); complete -p halflife; t() { "
                "COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _halflife; echo \"<${COMPREPLY[*]}>\"; }; t halflife "
                "expl; t "
                "halflife explain -n shop deploy/a; t halflife get --output = w; t halflife completion f; cd /; t "
                "halflife "
                "replay us 2>/dev/null",
                program);
        AUTO(mem_free) char *shell = mem_printf("bash --norc -c \"$SCRIPT\"");
        setenv("SCRIPT", command, 1);
        FILE *from = popen(shell, "r");
        char text[4096] = "";
        size_t len = fread(text, 1, sizeof text - 1, from);
        text[len] = '\0';
        pclose(from);
        assert_string_equal(text, "complete -F _halflife halflife\n<explain>\n<deploy/api>\n<wide>\n<fish>\n<usr>\n");
}

static char *output_of(const char *command)
{
        char text[4096] = "";
        FILE *from = popen(command, "r");
        assert_non_null(from);
        text[fread(text, 1, sizeof text - 1, from)] = '\0';
        pclose(from);
        return mem_string(text);
}

/* Where it is installed. */
static void test_fish(void **state)
{
        (void)state;
        if (system("command -v fish >/dev/null 2>&1") != 0)
                skip();
        AUTO(mem_free) char *program = halflife_program();
        AUTO(mem_free)
        char *said = mem_printf(
                "PATH=$(dirname '%s'):$PATH fish --no-config -c 'halflife completion fish | source; for l in "
                "\"expl\" \"explain -n shop deploy/a\" \"get --output=w\" \"completion f\" \"replay "
                "READ\"; complete -C\"halflife $l\" | cut -f 1; end'",
                program);
        AUTO(mem_free) char *got = output_of(said);
        assert_string_equal(got, "explain\ndeploy/api\n--output=wide\nfish\nREADME.md\n");
}

static void test_zsh(void **state)
{
        (void)state;
        if (system("command -v zsh >/dev/null 2>&1") != 0)
                skip();
        AUTO(mem_free) char *program = halflife_program();
        /* What the function hands to zsh, without zsh's own completion system around it. */
        AUTO(mem_free)
        char *command =
                mem_printf("PATH=$(dirname '%s'):$PATH zsh -f -c 'compdef() { :; }; _files() { echo files; }; "
                           "_describe() { print -l -- \"${(@P)2}\"; }; source <(halflife completion zsh); t() { "
                           "words=(halflife \"$@\"); CURRENT=$#words; _halflife; }; t explain -n shop deploy/a; t "
                           "completion f; t replay R; t get --all'",
                           program);
        AUTO(mem_free) char *got = output_of(command);
        assert_string_equal(got,
                            "deploy/api\nfish\nfiles\n--all-namespaces:list every namespace, as kubectl get -A does\n");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_server),
                cmocka_unit_test(test_by_proxy),
                cmocka_unit_test(test_by_object),
                cmocka_unit_test(test_by_database),
                cmocka_unit_test(test_get),
                cmocka_unit_test(test_get_limits),
                cmocka_unit_test(test_no_answer),
                cmocka_unit_test(test_get_tames),
                cmocka_unit_test(test_get_begins_anew),
                cmocka_unit_test(test_help),
                cmocka_unit_test(test_completion),
                cmocka_unit_test(test_bash),
                cmocka_unit_test(test_fish),
                cmocka_unit_test(test_zsh),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
