/*
 * halflife render as pipelines run it: by the cluster alone, by a halflife's server, and everything that is wrong with
 * what it is given. Standard output holds manifests and nothing else.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../support/shell.h"
#include "../support/slowed.h"
#include "../support/tmp.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/yaml.h"

static struct shell stage;
#define RUN(...) shell_run(&stage, "render", __VA_ARGS__)

#define OURS(kind) "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"" kind "\","

#define LIMITS                                                                                                         \
        "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\",\"namespace\":\"billing\"},"      \
        "\"spec\":{\"limits\":[{\"type\":\"Container\",\"min\":{\"cpu\":\"1500m\"}}]}}"

static const char *const objects[] = {
        OURS("ClusterProfile") "\"metadata\":{\"name\":\"pool\"},\"spec\":{\"overcommit\":\"StaticThenDynamic\","
                               "\"static\":{\"cpu\":\"0.5\"},\"apply\":{\"mode\":\"OnDeploy\"}}}",
        OURS("ClusterProfile") "\"metadata\":{\"name\":\"told\"},\"spec\":{\"priority\":7,\"selector\":{"
                               "\"matchLabels\":"
                               "{\"only\":\"told\"}}}}",
        OURS("Recommendation") "\"metadata\":{\"name\":\"deployment-known\",\"namespace\":\"shop\"},\"spec\":{"
                               "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"known\"},"
                               "\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":\"pool\"},\"dimension\":"
                               "\"Workload\"},\"status\":{\"state\":\"Ready\",\"containers\":[{\"name\":\"app\","
                               "\"state\":\"Ready\",\"cpu\":{"
                               "\"original\":\"2\",\"current\":\"2\",\"model\":\"400m\",\"target\":\"440m\",\"lower\":"
                               "\"300m\","
                               "\"upper\":\"600m\",\"reason\":\"Lowered\"}}]}}",
        OURS("ClusterProfile") "\"metadata\":{\"name\":\"early\"},\"spec\":{\"priority\":8,\"selector\":{"
                               "\"matchLabels\":{\"only\":\"early\"}},\"apply\":{\"mode\":\"OnDeploy\",\"early\":{"
                               "\"enabled\":true}}}}",
        OURS("Recommendation") "\"metadata\":{\"name\":\"deployment-young\",\"namespace\":\"shop\"},\"spec\":{"
                               "\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"young\"},"
                               "\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":\"early\"},\"dimension\":"
                               "\"Workload\"},\"status\":{\"state\":\"Learning\",\"containers\":[{\"name\":\"app\","
                               "\"state\":\"Learning\",\"cpu\":{"
                               "\"original\":\"2\",\"current\":\"2\",\"model\":\"400m\",\"target\":\"660m\",\"lower\":"
                               "\"300m\",\"upper\":\"600m\",\"reason\":\"Early\"}}]}}",
        OURS("Recommendation") "\"metadata\":{\"name\":\"deployment-kept\",\"namespace\":\"shop\",\"annotations\":{"
                               "\"halflife.dev/hold\":\"a sale\"}},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\","
                               "\"kind\":\"Deployment\",\"name\":\"kept\"},\"profileRef\":{\"kind\":\"ClusterProfile\","
                               "\"name\":\"pool\"},\"dimension\":\"Workload\"}}",
        "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":\"h\","
        "\"namespace\":\"shop\"},\"spec\":{\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\","
        "\"name\":\"scaled\"},\"maxReplicas\":9,\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\","
        "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":70}}}]}}",
        SHELL_CRD("autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscaler"),
        SHELL_CRD("keda.sh", "v1alpha1", "ScaledObject", "scaledobject"),
        "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"v\","
        "\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
        "\"sized\"}}}",
        "{\"apiVersion\":\"keda.sh/v1alpha1\",\"kind\":\"ScaledObject\",\"metadata\":{\"name\":\"s\",\"namespace\":"
        "\"shop\"},\"spec\":{\"scaleTargetRef\":{\"name\":\"triggered\"},\"triggers\":[{\"type\":\"cpu\","
        "\"metricType\":"
        "\"Utilization\",\"metadata\":{\"value\":\"70\"}}]}}",
        LIMITS,
};

static int begin(void **state)
{
        (void)state;
        shell_begin(&stage, &(struct fake_options){.seed = 3});
        assert_true(fake_load(stage.fake, "crds"));
        fake_world_demo(stage.fake, 60 * SECOND_MS);
        shell_put(&stage, objects, sizeof objects / sizeof *objects);
        return 0;
}

static int end(void **state)
{
        (void)state;
        shell_end(&stage);
        return 0;
}

/* --- one run --- */

/* Is there nothing on standard error but a last line about what is left? */
static bool only_left(const char *err)
{
        const char *end = strchr(err, '\n');
        return !*err || (end && !end[1] && (strstr(err, "nothing is changed") || strstr(err, "left as they were")));
}

static void expect(const struct shell_run *r, int result, const char *out, const char *err)
{
        bool same = out ? strcmp(r->out, out) == 0 : true;
        if (r->result != result || !same || (err ? !strstr(r->err, err) : !only_left(r->err)))
                fail_msg("exit %d, not %d\nwanted\n%s\ngot\n%s\nand said\n%s", r->result, result, out ? out : "(any)",
                         r->out, r->err);
}

/* --- manifests --- */

#define HEAD(name, more) "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " name "\n  namespace: shop\n" more
#define NOTES(indent, applied)                                                                                         \
        indent "annotations:\n" indent                                                                                 \
               "  halflife.dev/original-resources: '{\"app\":{\"requests\":{\"cpu\":\"2\"}}}'\n" indent                \
               "  halflife.dev/applied-resources: '{\"app\":{\"requests\":{\"cpu\":\"" applied "\"}}}'\n" indent       \
               "  halflife.dev/utilization-basis: \"request\"\n"
#define SPEC(cpu)                                                                                                      \
        "    spec:\n      containers:\n      - name: app\n        resources:\n          requests:\n            "       \
        "cpu: " cpu "   # as ever\n"
#define TEMPLATE(notes, cpu) "spec:\n  template:\n    metadata:\n      labels: {a: b}\n" notes SPEC(cpu)
#define IN(name)             HEAD(name, "") TEMPLATE("", "2")
#define YOUNG                "  labels: {only: early}\n"
#define OUT(name, cpu)       HEAD(name, NOTES("  ", cpu)) TEMPLATE(NOTES("      ", cpu), cpu)
/* Empty values as Helm renders them with toYaml and nindent. */
#define EMPTY(indent, key, value) indent key ":\n" indent "  " value "\n"
#define EMPTY_IN(value)                                                                                                \
        HEAD("fresh", EMPTY("  ", "annotations", value))                                                               \
        "spec:\n  template:\n    metadata:\n" EMPTY("      ", "annotations", value) SPEC("2")
#define EMPTY_OUT HEAD("fresh", NOTES("  ", "1")) "spec:\n  template:\n    metadata:\n" NOTES("      ", "1") SPEC("1")
#define SERVICE   "apiVersion: v1\nkind: Service\nmetadata: {name: x}\n"

static const struct {
        const char *name, *in, *out; /* out NULL: as it was */
} row[] = {
        {"first deploy", IN("fresh"), OUT("fresh", "1")},
        {"{} as Helm renders it", EMPTY_IN("{}"), EMPTY_OUT},
        {"[] as Helm renders it", EMPTY_IN("[]"), EMPTY_OUT},
        {"null as Helm renders it", EMPTY_IN("null"), EMPTY_OUT},
        {"what was recommended", IN("known"), OUT("known", "440m")},
        {"rendered before", OUT("known", "440m"), NULL},
        {"too young, but early", HEAD("young", YOUNG) TEMPLATE("", "2"),
         HEAD("young", YOUNG NOTES("  ", "660m")) TEMPLATE(NOTES("      ", "660m"), "660m")},
        {"held by a person", IN("kept"), NULL},
        {"an HPA of the cluster", IN("scaled"), NULL},
        {"a workload whose pods an HPA of the cluster counts",
         HEAD("scaled", "") "spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata:\n"
                            "      labels: {a: b}\n" SPEC("2") "---\n" IN("fresh"),
         NULL},
        {"a VerticalPodAutoscaler of the cluster", IN("sized"), NULL},
        {"a ScaledObject of the cluster", IN("triggered"), NULL},
        {"only told", HEAD("fresh", "  labels: {only: told}\n") "spec:\n  template:\n" SPEC("2"), NULL},
        {"nothing of ours", SERVICE, NULL},
        {"nothing at all", "", NULL},
        {"a LimitRange of another namespace",
         "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, namespace: billing}, spec: {template: {spec: "
         "{containers: [{name: app, resources: {requests: {cpu: 1}}}]}}}}\n",
         NULL},
};

static void test_by_the_cluster(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                AUTO(mem_free) char *path = tmp_file("in.yaml", row[i].in);
                AUTO(shell_run_release) struct shell_run r = RUN("-f '%s' --exit-code", path);
                expect(&r, row[i].out ? 3 : 0, row[i].out ? row[i].out : row[i].in, NULL);
                if (!row[i].out != (strstr(r.err, "render: nothing is changed: ") != NULL))
                        fail_msg("%s: %s", row[i].name, r.err);
                AUTO(shell_run_release) struct shell_run d = RUN("-f - --diff < '%s'", path);
                expect(&d, 0, row[i].out ? NULL : "", NULL);
                if (row[i].out && !strstr(d.out, "\n-            cpu: 2   # as ever\n+            cpu: "))
                        fail_msg("%s: %s", row[i].name, d.out);
        }
}

static void test_dry_run(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_file("in.yaml", IN("fresh") "---\n" IN("kept") "---\n" SERVICE);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s' --dry-run --exit-code", path);
        expect(&r, 3, NULL, "halflife render: 1 changed, 1 left as they were\n");
        if (!strstr(r.out, "Deployment/fresh") || !strstr(r.out, "Paused: a sale") || strstr(r.out, "Service"))
                fail_msg("%s", r.out);
        AUTO(mem_free) char *none = tmp_file("none.yaml", SERVICE);
        AUTO(shell_run_release) struct shell_run s = RUN("-f '%s' --dry-run --exit-code", none);
        expect(&s, 0, "", "halflife render: nothing is changed: the manifests contain no workload\n");
        AUTO(shell_run_release) struct shell_run t = RUN("-f '%s' -f '%s' --diff", none, path);
        expect(&t, 0, NULL, "halflife render: 1 changed, 1 left as they were; --dry-run says why\n");
}

/* What a generator of a service mesh writes: containers beside each other, an autoscaler of one resource, and kinds
 * that halflife does not know. */
static void test_each_request_has_a_reason(void **state)
{
        (void)state;
        static const char in[] =
                HEAD("mesh", "") "spec:\n  template:\n    spec:\n      containers:\n"
                                 "      - {name: proxy, resources: {requests: {cpu: 100m, memory: 128Mi}}}\n"
                                 "      - {name: discovery, resources: {requests: {cpu: \"500m\"}, limits: {memory: "
                                 "1Gi}}}\n"
                                 "      initContainers:\n"
                                 "      - {name: setup, resources: {requests: {cpu: 10m}}}\n"
                                 "---\nkind: List\nitems:\n- apiVersion: mesh.example.com/v1\n  kind: Gateway\n"
                                 "  metadata: {name: own}\n  spec: {resources: {requests: {cpu: 200m}}}\n";
        static const char *const says[] = {
                "discovery   cpu        500m    250m    Static",
                "proxy       memory     128Mi   128Mi   MemoryOff: the profile does not manage memory\n",
                "discovery   memory     none    none    MemoryOff: ",
                "setup       cpu        10m     10m     Init: an init container runs to completion",
                "Gateway/own ",
                " UnknownKind: ",
        };
        AUTO(mem_free) char *path = tmp_file("mesh.yaml", in);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s' --dry-run", path);
        expect(&r, 0, NULL, "render: 1 changed, 1 left as they were\n");
        for (size_t i = 0; i < sizeof says / sizeof *says; i++)
                if (!strstr(r.out, says[i]))
                        fail_msg("%s: not in\n%s", says[i], r.out);
}

/* Folders by name, and what parts one text from the next. */
static void test_folders(void **state)
{
        (void)state;
        AUTO(mem_free) char *folder = tmp_path("many"), *below = tmp_path("many/b");
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(mkdir(below, 0700), 0);
        mem_free(tmp_file("many/c.yml", IN("fresh")));
        mem_free(tmp_file("many/a.yaml", "# none"));
        mem_free(tmp_file("many/b/x.json", "{\"kind\":\"Service\"}\n"));
        mem_free(tmp_file("many/notes.txt", "not: [a manifest\n"));
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", folder);
        expect(&r, 0, "# none\n---\n{\"kind\":\"Service\"}\n---\n" OUT("fresh", "1"), NULL);
        /* an autoscaler in one file, what it scales in another */
        mem_free(tmp_file("many/d.yaml", "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: "
                                         "{namespace: shop}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: "
                                         "Deployment, name: fresh}\n"));
        AUTO(shell_run_release) struct shell_run s = RUN("-f '%s' --diff", folder);
        expect(&s, 0, "", NULL);
        AUTO(shell_run_release) struct shell_run two = RUN("-f '%s/c.yml' -f '%s/b'", folder, folder);
        expect(&two, 0, OUT("fresh", "1") "---\n{\"kind\":\"Service\"}\n", NULL);
        AUTO(mem_free) char *plain = tmp_file("plain.yaml", "kind: A\n"), *directed = tmp_path("directed.yaml");
        static const char one[] = "# one\n\n%YAML 1.1\n---\nkind: B\n";
        mem_free(tmp_file("directed.yaml", one));
        AUTO(shell_run_release) struct shell_run both = RUN("-f '%s' -f '%s'", plain, directed);
        AUTO(mem_free) char *want = mem_printf("kind: A\n...\n%s", one);
        expect(&both, 0, want, NULL);
        AUTO(mem_free) char *whole = tmp_file("whole.yaml", both.out);
        AUTO(shell_run_release) struct shell_run again = RUN("-f '%s'", whole);
        expect(&again, 0, want, NULL);
        AUTO(shell_run_release) struct shell_run none = RUN("-f '%s/nowhere'", folder);
        expect(&none, 1, "", "nowhere': No such file");
}

/* Every file that is lying about: what is broken tells the place, everything else comes back. */
static void test_files(void **state)
{
        (void)state;
        static const char folder[] = "test/data/render";
        DIR *d = opendir(folder);
        assert_non_null(d);
        for (const struct dirent *e; (e = readdir(d));) {
                unsigned line, column;
                char rest[2];
                if (!strstr(e->d_name, ".in."))
                        continue;
                AUTO(mem_free) char *path = mem_printf("%s/%s", folder, e->d_name);
                bool broken = strncmp(e->d_name, "bad-", 4) == 0;
                AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", path);
                const char *place = strstr(r.err, path);
                if (r.result != broken ||
                    (broken &&
                     (r.len || !place || sscanf(place + strlen(path), ":%u:%u: %1s", &line, &column, rest) != 3)))
                        fail_msg("%s: %d %s", path, r.result, r.err);
                AUTO(mem_free) char *once = tmp_file("once", r.out);
                AUTO(shell_run_release) struct shell_run again = RUN("-f '%s'", once);
                if (!broken && strlen(r.out) == r.len && (again.result || strcmp(again.out, r.out) != 0))
                        fail_msg("%s: again: %s%s", path, again.out, again.err);
        }
        closedir(d);
}

static void test_many_documents(void **state)
{
        (void)state;
        enum { DOCUMENTS = UNLESS_SLOWED(10000, 1000) };
        struct buf in, want;
        buf_init(&in, 64 << 20);
        buf_init(&want, 64 << 20);
        for (int i = 0; i < DOCUMENTS; i++) {
                buf_add_text(&in, "---\n" IN("fresh"));
                buf_add_text(&want, "---\n" OUT("fresh", "1"));
        }
        AUTO(mem_free) char *path = tmp_file("large.yaml", in.data);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", path);
        assert_int_equal(r.result, 0);
        assert_true(strcmp(r.out, want.data) == 0);
        AUTO(shell_run_release) struct shell_run d = RUN("-f '%s' --diff", path);
        assert_int_equal(d.result, 0);
        buf_release(&in);
        buf_release(&want);
}

/* --- what goes wrong --- */

static void test_misuse(void **state)
{
        (void)state;
        static const struct {
                const char *args;
                int result;
                const char *says;
        } wrong[] = {
                {"", 2, "no manifests"},
                {"x.yaml", 2, "-f"},
                {"-f x --diff --dry-run", 2, "exclude each other"},
                {"-f x --bogus", 2, "unknown option '--bogus'"},
                {"-f x --token-file y", 2, "require --server"},
                {"-f - -f - </dev/null", 1, "can be given only once"},
                {"-f /nowhere", 1, "/nowhere"},
                {"-f README.md", 1, "README.md:"},
                {"-f test/data/render/plain.in.yaml --kubeconfig /nowhere", 1, "/nowhere"},
                {"-f test/data/render/plain.in.yaml --server http://example.com --token-file LICENSE", 1, "https://"},
                {"-f test/data/render/plain.in.yaml --server example.com --token-file LICENSE", 1, "is not an address"},
        };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                AUTO(shell_run_release) struct shell_run r = RUN("%s", wrong[i].args);
                expect(&r, wrong[i].result, "", wrong[i].says);
        }
        AUTO(shell_run_release) struct shell_run help = RUN("--help");
        expect(&help, 0, NULL, NULL);
}

/* Workloads left unchanged because of the text are reported, whatever the output. */
static void test_warnings(void **state)
{
        (void)state;
        static const char in[] =
                SERVICE "---\n{{ x }}: [\n---\n" HEAD("fresh", "") "spec: {template: {spec: {containers: [{name: "
                                                                   "app, resources: {requests: {cpu: two}}}]}}}\n";
        AUTO(mem_free) char *path = tmp_file("in.yaml", in);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", path);
        expect(&r, 0, in, "left as it is: 'two' is not a quantity");
        assert_non_null(strstr(r.err, "templated text"));
}

/* A pipeline that may only read its own namespace. */
static void test_what_is_asked(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_file("in.yaml", IN("fresh"));
        fake_count_reset(stage.fake);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", path);
        expect(&r, 0, OUT("fresh", "1"), NULL);
        assert_int_equal(fake_count(stage.fake, "list", "/apis/halflife.dev/v1alpha1/recommendations"), 0);
        assert_int_equal(fake_count(stage.fake, "list", "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations"),
                         1);
        fake_deny(stage.fake, &(struct fake_rule){"list", "", "limitranges", NULL});
        AUTO(shell_run_release) struct shell_run denied = RUN("-f '%s'", path);
        expect(&denied, 1, "", "list limitranges in shop: ");
}

/* Of many namespaces all is asked for at once, page by page. */
static void test_many_namespaces(void **state)
{
        (void)state;
        enum { NAMESPACES = 20, RECOMMENDATIONS = 700 };
        struct buf in;
        buf_init(&in, 1 << 20);
        for (int i = 0; i < RECOMMENDATIONS; i++) {
                AUTO(mem_free)
                char *body =
                        mem_printf(OURS("Recommendation") "\"metadata\":{\"name\":\"deployment-a%d\",\"namespace\":"
                                                          "\"billing\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
                                                          "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"a%d\"},"
                                                          "\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":"
                                                          "\"pool\"},\"dimension\":\"Workload\"}}",
                                   i, i);
                fake_put(stage.fake, "halflife", body);
        }
        for (int i = 0; i < NAMESPACES; i++)
                buf_printf(&in,
                           "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x, namespace: ns-%d}\nspec: {"
                           "template: {spec: {containers: []}}}\n---\n",
                           i);
        buf_add_text(&in, IN("known"));
        AUTO(mem_free) char *path = tmp_file("in.yaml", in.data);
        fake_count_reset(stage.fake);
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s'", path);
        expect(&r, 0, NULL, NULL);
        assert_non_null(strstr(r.out, "cpu: 440m"));
        assert_int_equal(fake_count(stage.fake, "list", "/apis/halflife.dev/v1alpha1/recommendations"), 2);
        buf_release(&in);
}

/* What is no name of a namespace is not asked for. */
static void test_odd_namespaces(void **state)
{
        (void)state;
        AUTO(mem_free)
        char *path = tmp_file("in.yaml", "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x, namespace: ..}\n"
                                         "spec: {template: {spec: {containers: []}}}\n");
        AUTO(shell_run_release) struct shell_run r = RUN("-f '%s' --diff", path);
        expect(&r, 0, "", NULL);
}

/* --- by a server --- */

#define BILLING(notes)                                                                                                 \
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: b\n  namespace: billing\n" notes                    \
        "spec:\n  template:\n    metadata:\n      labels: {a: b}\n"
#define IN_BILLING  BILLING("") SPEC("2")
#define OUT_BILLING BILLING(NOTES("  ", "1500m")) NOTES("      ", "1500m") SPEC("1500m")
#define NAMELESS                                                                                                       \
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: n\nspec:\n  template:\n    metadata:\n      "       \
        "labels: "                                                                                                     \
        "{a: b}\n" SPEC("2")

static void test_by_a_server(void **state)
{
        (void)state;
        fake_person(stage.fake, "ci", "ci", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"ci", "get", "shop", NULL});
        AUTO(mem_free) char *token = tmp_file("token", "ci\n"), *bad = tmp_file("bad-token", "nobody\n");
        AUTO(mem_free) char *path = tmp_file("in.yaml", IN("fresh") "---\n" SERVICE);
        AUTO(mem_free) char *broken = tmp_file("broken.yaml", "a: 1\n b: [\n");
        struct halflife *h =
                halflife_start(stage.fake, "render.db", (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
        AUTO(mem_free) char *address = halflife_rest_address(h);
        assert_true(halflife_await_cycles(h, stage.fake, 1, 30000));
        AUTO(shell_run_release)
        struct shell_run r =
                RUN("-f '%s' -n shop --exit-code --server 'http://%s/' --token-file '%s'", path, address, token);
        expect(&r, 3, OUT("fresh", "1") "---\n" SERVICE, NULL);
        AUTO(shell_run_release)
        struct shell_run table =
                RUN("-f '%s' -n shop --dry-run --server 'http://%s' --token-file '%s'", path, address, token);
        expect(&table, 0, NULL, NULL);
        assert_non_null(strstr(table.out, "Deployment/fresh"));
        AUTO(mem_free) char *billing = tmp_file("billing.yaml", IN_BILLING);
        AUTO(shell_run_release)
        struct shell_run again = RUN("-f '%s' -n shop --server 'http://%s' --token-file '%s'", billing, address, token);
        expect(&again, 1, "", "HTTP 403");
        fake_person(stage.fake, "wide", "wide", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"wide", "get", NULL, NULL});
        AUTO(mem_free) char *wide = tmp_file("wide-token", "wide\n");
        AUTO(mem_free) char *two = tmp_file("two.yaml", "{{ x }}: [\n---\n" IN("fresh") "---\n" IN_BILLING);
        AUTO(shell_run_release)
        struct shell_run both = RUN("-f '%s' -n elsewhere --server 'http://%s' --token-file '%s'", two, address, wide);
        expect(&both, 0, "{{ x }}: [\n---\n" OUT("fresh", "1") "---\n" OUT_BILLING, "two.yaml:");
        AUTO(mem_free) char *mixed = tmp_file("mixed.yaml", IN("fresh") "---\n" NAMELESS);
        AUTO(shell_run_release)
        struct shell_run mix = RUN("-f '%s' -n shop --server 'http://%s' --token-file '%s'", mixed, address, token);
        expect(&mix, 1, "", "mixed.yaml: with --server, each document");
        AUTO(mem_free) char *none = tmp_file("none.yaml", NAMELESS);
        AUTO(shell_run_release)
        struct shell_run of_none =
                RUN("-f '%s' -n shop --exit-code --server 'http://%s' --token-file '%s'", none, address, token);
        expect(&of_none, 3, NULL, NULL);
        AUTO(shell_run_release)
        struct shell_run no_config =
                RUN("-f '%s' --server 'http://%s' --token-file '%s' --kubeconfig /nowhere", path, address, token);
        expect(&no_config, 1, "", "'/nowhere'");
        AUTO(shell_run_release)
        struct shell_run nobody = RUN("-f '%s' -n shop --server 'http://%s' --token-file '%s'", path, address, bad);
        expect(&nobody, 1, "", "HTTP 401");
        AUTO(shell_run_release)
        struct shell_run place = RUN("-f '%s' -n shop --server 'http://%s' --token-file '%s'", broken, address, token);
        expect(&place, 1, "", "broken.yaml:2:");
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
        AUTO(shell_run_release)
        struct shell_run away = RUN("-f '%s' -n shop --server 'http://%s' --token-file '%s'", path, address, token);
        expect(&away, 1, "", address);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_by_the_cluster),
                cmocka_unit_test(test_dry_run),
                cmocka_unit_test(test_each_request_has_a_reason),
                cmocka_unit_test(test_folders),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_many_documents),
                cmocka_unit_test(test_misuse),
                cmocka_unit_test(test_warnings),
                cmocka_unit_test(test_by_a_server),
                cmocka_unit_test(test_many_namespaces),
                cmocka_unit_test(test_odd_namespaces),
                cmocka_unit_test(test_what_is_asked), /* denies something at its end */
        };
        return cmocka_run_group_tests(tests, begin, end);
}
