/*
 * halflife import: histories from elsewhere are joined with what was learned here, whole and once, in the database as
 * well, whenever the controller ends; and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/history.h"
#include "../support/tmp.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "core/vpa_checkpoint.h"
#include "store/transfer.h"

#define DATABASE  "import.db"
#define RECS      "/apis/halflife.dev/v1alpha1/namespaces/shop/recommendations"
#define REC(name) RECS "/deployment-" name

static struct stage {
        struct fake *fake;
        struct halflife *halflife;
        char *kubeconfig, *database;
        int64_t now_ms;
} stage;

static void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *fmt, ...)
{
        char text[4096];
        va_list ap;
        va_start(ap, fmt);
        int len = vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        assert_true(len > 0 && (size_t)len < sizeof text);
        for (char *p = text; *p; p++)
                *p = *p == '\'' ? '"' : *p;
        fake_put(stage.fake, "kubectl", text);
}

static void put_vpa(const char *of)
{
        put("{'apiVersion':'autoscaling.k8s.io/v1','kind':'VerticalPodAutoscaler','metadata':{'name':'sizes-%s',"
            "'namespace':'shop'},'spec':{'targetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'%s'},"
            "'updatePolicy':{'updateMode':'Off'}}}",
            of, of);
}

/* 900 samples in bucket 20, 100 in bucket 60; memory in bucket 30. */
static void put_checkpoint(const char *of, const char *container, const char *version, int64_t last_ms)
{
        char first[WALL_TEXT_MAX], last[WALL_TEXT_MAX], reference[WALL_TEXT_MAX];
        wall_print((struct wall){last_ms - 2 * DAY_MS}, first);
        wall_print((struct wall){last_ms}, last);
        wall_print((struct wall){last_ms / DAY_MS * DAY_MS}, reference);
        put("{'apiVersion':'autoscaling.k8s.io/v1','kind':'VerticalPodAutoscalerCheckpoint','metadata':{'name':"
            "'sizes-%s-%s','namespace':'shop'},'spec':{'vpaObjectName':'sizes-%s','containerName':'%s'},'status':{"
            "'version':'%s','totalSamplesCount':1000,'firstSampleStart':'%s','lastSampleStart':'%s',"
            "'lastUpdateTime':'%s','cpuHistogram':{'referenceTimestamp':'%s','totalWeight':2000.0,'bucketWeights':"
            "{'20':9000,'60':1000}},'memoryHistogram':{'referenceTimestamp':'%s','totalWeight':1.75,'bucketWeights':"
            "{'30':10000}}}}",
            of, container, of, container, version, first, last, last, reference, reference);
}

static void expect_said(int want, const char *part, const char *const *args)
{
        AUTO(mem_free) char *said = halflife_run(want, args);
        if (!strstr(said, part))
                fail_msg("%s does not say '%s':\n%s", args[0], part, said);
}
#define EXPECT(want, part, ...) expect_said(want, part, (const char *const[]){"import", __VA_ARGS__, NULL})

static void start(void)
{
        stage.halflife =
                halflife_start(stage.fake, DATABASE, (const char *const[]){"--serve-listen", "127.0.0.1:0", NULL});
}

static void again(void)
{
        halflife_free(stage.halflife);
        start();
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
}

static int set_up(void **state)
{
        (void)state;
        stage.now_ms = now_read().wall.ms;
        stage.fake = fake_new(&(struct fake_options){.seed = 5});
        if (!stage.fake || !fake_load(stage.fake, "crds") || !fake_load(stage.fake, "test/cluster/stage/crds/vpa.yaml"))
                return -1;
        stage.kubeconfig = tmp_path("import-kubeconfig");
        stage.database = tmp_path(DATABASE);
        fake_set_metrics(stage.fake, &(struct fake_metrics){.step_ms = 1000});
        fake_person(stage.fake, "taker", "taker", NULL);
        fake_grant(stage.fake, &(struct fake_grant){"taker", NULL, NULL, NULL});
        history_profile(stage.fake, "day", "24h");
        history_profile(stage.fake, "week", "168h");
        setenv("HALFLIFE_KUBECONFIG", stage.kubeconfig, 1);
        if (!fake_write_kubeconfig(stage.fake, stage.kubeconfig))
                return -1;
        history_deployment(stage.fake, "web", "day");
        history_deployment(stage.fake, "api", "day");
        history_deployment(stage.fake, "slow", "week");
        start();
        history_await(stage.fake, stage.halflife, REC("web"), true);
        history_await(stage.fake, stage.halflife, REC("api"), true);
        history_await(stage.fake, stage.halflife, REC("slow"), true);
        return halflife_await_cycles(stage.halflife, stage.fake, 3, 30000) ? 0 : -1;
}

static int tear_down(void **state)
{
        (void)state;
        halflife_free(stage.halflife);
        fake_free(stage.fake);
        mem_free(stage.kubeconfig);
        mem_free(stage.database);
        return 0;
}

/* --- of a VPA --- */

static void test_vpa(void **state)
{
        (void)state;
        EXPECT(1, "the chosen VPAs have no VerticalPodAutoscalerCheckpoint", "vpa", "-n", "shop");
        put_vpa("web");
        put_checkpoint("web", "app", "v3", stage.now_ms - HOUR_MS);
        EXPECT(0, "shop Deployment/web app: would be joined", "vpa", "-n", "shop", "--dry-run");
        assert_true(history_stored(stage.database, "web") < 1000);
        EXPECT(0, "shop Deployment/web app: joined", "vpa", "-n", "shop");
        halflife_kill(stage.halflife); /* at once: what was answered is on disk */
        long long after = history_stored(stage.database, "web");
        if (after < 1000 || after > 1900)
                fail_msg("web has %lld samples", after);
        again();
        EXPECT(0, "shop Deployment/web app: known", "vpa", "--all");
        put_checkpoint("web", "app", "v3", stage.now_ms); /* what it learned since was learned here as well */
        EXPECT(0, "0 joined, 1 known already, 0 refused, 0 left", "vpa", "deploy/web", "-n", "shop");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
        assert_true(history_stored(stage.database, "web") < 1900);
}

static void test_vpa_refused(void **state)
{
        (void)state;
        put_vpa("api");
        put_vpa("slow");
        put_vpa("nobody");
        put_checkpoint("api", "app", "v2", stage.now_ms);
        EXPECT(1, "refused: its version is 'v2', but halflife reads only v3", "vpa", "deploy/api", "-n", "shop");
        put_checkpoint("api", "app", "v3", stage.now_ms + DAY_MS);
        EXPECT(1, "app: refused: the history reaches into the future", "vpa", "deploy/api", "-n", "shop");
        put_checkpoint("api", "side", "v3", stage.now_ms);
        EXPECT(1, "side: refused: the workload has no container of that name", "vpa", "deploy/api", "-n", "shop");
        put_checkpoint("slow", "app", "v3", stage.now_ms);
        EXPECT(1, "its half-life of cpu is 24h, and here 168h: set resources.cpu.halfLife to 24h", "vpa", "deploy/slow",
               "-n", "shop");
        put_checkpoint("nobody", "app", "v3", stage.now_ms);
        EXPECT(1, "app: left: there is no Deployment 'nobody' in namespace 'shop'", "vpa", "deploy/nobody", "-n",
               "shop");
        put_checkpoint("gone", "app", "v3", stage.now_ms);
        EXPECT(1, "its VerticalPodAutoscaler is gone", "vpa", "-n", "shop");
        EXPECT(2, "choose the VPAs", "vpa");
        EXPECT(2, "give a source", "--dry-run");
        EXPECT(2, "is not a duration", "vpa", "-A", "--cpu-half-life", "1s");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
        assert_true(history_stored(stage.database, "api") > 0 &&
                    history_stored(stage.database, "api") < 900); /* whatever was refused, it is as it was */
        EXPECT(0, "joined", "vpa", "deploy/slow", "-n", "shop", "--cpu-half-life", "168h");
}

/* --- of a file --- */

static char *write_file(const char *ns, const char *name, int64_t last_ms, bool torn)
{
        static const int64_t half_lives[RESOURCES] = {DAY_MS, DAY_MS};
        struct vpa_checkpoint v = {.first = {last_ms - 5 * DAY_MS},
                                   .last = {last_ms},
                                   .samples = 5000,
                                   .of[CPU] = {.reference = {last_ms}, .total = 100, .weight = {[7] = 10000}}};
        char *path = tmp_path("histories");
        FILE *to = fopen(path, "we");
        struct transfer_writer w;
        struct transfer_row row = {.key = {text_of(ns), TEXT("apps"), TEXT("Deployment"), text_of(name), TEXT("app")},
                                   .source = {(uint64_t)last_ms},
                                   .sources = 1};
        double room[2 * HISTOGRAM_BUCKETS];
        const char *why;
        struct err err;
        assert_int_equal(vpa_usage(&v, half_lives, 2, &row.usage, room, &why), 0);
        assert_int_equal(transfer_begin(&w, to, (struct wall){last_ms}, &err), 0);
        assert_int_equal(transfer_put(&w, &row, &err), 0);
        assert_true(torn || transfer_end(&w, &err) == 0);
        fclose(to);
        return path;
}

static char *write_empty(void)
{
        char *path = tmp_path("none");
        FILE *to = fopen(path, "we");
        struct transfer_writer w;
        struct err err;
        assert_int_equal(transfer_begin(&w, to, (struct wall){stage.now_ms}, &err), 0);
        assert_int_equal(transfer_end(&w, &err), 0);
        fclose(to);
        return path;
}

static void test_file(void **state)
{
        (void)state;
        AUTO(mem_free) char *torn = write_file("old", "api", stage.now_ms, true);
        EXPECT(1, "nothing was imported: '", torn, "-n", "old=shop");
        AUTO(mem_free) char *file = write_file("old", "api", stage.now_ms, false);
        EXPECT(1, "old Deployment/api app: left: there is no Deployment 'api' in namespace 'old'", file);
        EXPECT(1, "has no histories of namespace 'other'", file, "-n", "other=shop");
        assert_true(history_stored(stage.database, "api") < 5000);
        EXPECT(0, "shop Deployment/api app: joined", file, "-n", "old=shop");
        halflife_kill(stage.halflife);
        assert_true(history_stored(stage.database, "api") >= 5000);
        again();
        EXPECT(0, "shop Deployment/api app: known", file, "--namespace", "old=shop");
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 2, 30000));
        assert_true(history_stored(stage.database, "api") < 9000);
        EXPECT(2, "is neither a namespace nor OLD=NEW", file, "-n", "=shop");
        EXPECT(2, "is neither a namespace nor OLD=NEW", file, "-n", "old=..");
        EXPECT(2, "is not a valid namespace name", "vpa", "-n", "");
        EXPECT(2, "--all is only for import vpa", file, "--all");
        EXPECT(1, "No such file", "/nowhere/histories");
        EXPECT(1, "import reads its input twice", "/dev/null");
}

/* What never had pods has no Recommendation until somebody asks: the import makes it. */
static void test_before_the_first_pod(void **state)
{
        (void)state;
        history_deployment_without_pods(stage.fake, "parked", "day");
        history_deployment_without_pods(stage.fake, "sized", "day");
        history_deployment_without_pods(stage.fake, "nobodys", "none");
        put_vpa("sized");
        put_checkpoint("sized", "app", "v3", stage.now_ms - HOUR_MS);
        AUTO(mem_free) char *file = write_file("old", "parked", stage.now_ms, false);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        EXPECT(0, "shop Deployment/parked app: would be joined", file, "-n", "old=shop", "--dry-run");
        EXPECT(0, "shop Deployment/sized app: would be joined", "vpa", "deploy/sized", "-n", "shop", "--dry-run");
        history_await(stage.fake, stage.halflife, REC("parked"), false);
        history_await(stage.fake, stage.halflife, REC("sized"), false);
        EXPECT(0, "shop Deployment/parked app: joined", file, "-n", "old=shop");
        EXPECT(0, "shop Deployment/sized app: joined", "vpa", "deploy/sized", "-n", "shop");
        assert_true(history_stored(stage.database, "parked") >= 5000);
        assert_true(history_stored(stage.database, "sized") >= 1000);
        mem_free(write_file("old", "nobodys", stage.now_ms, false)); /* in its place */
        EXPECT(1, "profile select", file, "-n", "old=shop");         /* told by the answer, or by its lack */
        history_await(stage.fake, stage.halflife, REC("nobodys"), false);
        history_await(stage.fake, stage.halflife, REC("parked"), true);
        const struct fake_fault denied = {.verb = "create", .path = RECS, .times = FAKE_ALWAYS, .status = 403};
        history_deployment_without_pods(stage.fake, "another", "day");
        mem_free(write_file("old", "another", stage.now_ms, false));
        fake_fault(stage.fake, &denied);
        EXPECT(1, "make the Recommendation of Deployment 'another': POST ", file, "-n", "old=shop");
        fake_faults_clear(stage.fake);
}

/* --- from one to another --- */

static char *exported(const char *name, const char *const *how)
{
        const char *args[16] = {"export", "-o"};
        char *path = tmp_path(name);
        int count = 2;
        args[count++] = path;
        while (*how)
                args[count++] = *how++;
        args[count] = NULL;
        expect_said(0, " workload", args);
        return path;
}
#define EXPORTED(name, ...) exported(name, (const char *const[]){__VA_ARGS__, NULL})

static size_t lines_of(const char *path, const char *part)
{
        size_t len, count = 0;
        struct err err;
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        assert_non_null(text);
        for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
                count++;
        return count;
}

/* Asked of the one that runs and read from its database it is the same, and goes into another namespace; there it is
 * known when it comes again, by whichever way, and it is not taken for another's by the one that it is of. */
static void test_export(void **state)
{
        (void)state;
        AUTO(mem_free) char *address = halflife_rest_address(stage.halflife);
        AUTO(mem_free) char *url = mem_printf("http://%s", address);
        setenv("HALFLIFE_TOKEN", "taker", 1);
        AUTO(mem_free) char *asked = EXPORTED("asked", "-n", "shop", "--server", url);
        assert_int_equal(lines_of(asked, "\tshop\tapps\tDeployment\t"), 3);
        AUTO(mem_free) char *some = EXPORTED("some", "--all", "-l", "by=week", "--server", url);
        assert_int_equal(lines_of(some, "\tslow\tapp\t"), 1);
        assert_int_equal(lines_of(some, "\tapps\t"), 1);
        AUTO(mem_free) char *read = EXPORTED("read", "--all", "--database", stage.database);
        assert_int_equal(lines_of(read, "\tshop\tapps\tDeployment\t"), 3);
        AUTO(mem_free) char *none = write_empty();
        EXPECT(0, "0 joined, 3 known already", asked);
        EXPECT(0, "0 joined, 3 known already", read);
        EXPECT(0, "holds no histories", none);
}

static void test_copy(void **state)
{
        (void)state;
        put("{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'copy'}}");
        put("{'apiVersion':'halflife.dev/v1alpha1','kind':'Profile','metadata':{'name':'day','namespace':'copy'},"
            "'spec':{'apply':{'mode':'Recommend','minHistory':'24h'}}}");
        put("{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'web','namespace':'copy'},'spec':{"
            "'replicas':1,'selector':{'matchLabels':{'app':'web'}},'template':{'metadata':{'labels':{'app':'web'},"
            "'annotations':{'kwok.x-k8s.io/usage-cpu':'120m','kwok.x-k8s.io/usage-memory':'200Mi'}},'spec':{"
            "'containers':[{'name':'app','image':'app','resources':{'requests':{'cpu':'2','memory':'4Gi'}}}]}}}}");
        history_await(stage.fake, stage.halflife,
                      "/apis/halflife.dev/v1alpha1/namespaces/copy/recommendations/deployment-web", true);
        AUTO(mem_free) char *file = EXPORTED("copied", "-n", "shop", "--database", stage.database);
        EXPECT(1, "copy Deployment/web app: joined", file, "-n", "shop=copy"); /* there is neither api nor slow */
        EXPECT(1, "copy Deployment/web app: known", file, "-n", "shop=copy");
        AUTO(mem_free) char *back = EXPORTED("back", "-n", "copy", "--database", stage.database);
        EXPECT(0, "shop Deployment/web app: known", back, "-n", "copy=shop"); /* its own samples are in there */
}

static void test_export_refused(void **state)
{
        static const struct {
                int code;
                const char *part, *args[8];
        } row[] = {
                {2, "choose the namespaces", {"export"}},
                {2, "choose the namespaces", {"export", "-A", "-n", "shop"}},
                {2, "takes no names", {"export", "-A", "shop"}},
                {2, "--database and --selector exclude", {"export", "-A", "-l", "a=b", "--database", "x"}},
                {2, "write ./json", {"export", "-A", "-o", "json", "--database", "x"}},
                {2,
                 "--database and --server exclude",
                 {"export", "-A", "--server", "http://127.0.0.1:1", "--database", "x"}},
                {1, "/nowhere", {"export", "-A", "--database", "/nowhere/db"}},
                {1, "http://127.0.0.1:1", {"export", "-A", "--server", "http://127.0.0.1:1"}},
                {1, "No such file", {"export", "-A", "-o", "/nowhere/file", "--server", "http://127.0.0.1:1"}},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                expect_said(row[i].code, row[i].part, row[i].args);
        expect_said(1, "namespace 'bank' has no workload in '",
                    (const char *const[]){"export", "-n", "bank", "--database", stage.database, NULL});
        expect_said(1, ", which has namespaces shop, copy",
                    (const char *const[]){"export", "-n", "bank", "--database", stage.database, NULL});
        AUTO(mem_free) char *program = halflife_program();
        AUTO(mem_free)
        char *full =
                mem_printf("%s export -A --database %s >/dev/full 2>%s.said", program, stage.database, stage.database);
        assert_int_equal(WEXITSTATUS(system(full)), 1);
        AUTO(mem_free) char *said = mem_printf("%s.said", stage.database);
        assert_int_equal(lines_of(said, "No space left on device"), 1);
}

/* What was imported is known under the other name too, and after a restart. */
static void test_adopted(void **state)
{
        (void)state;
        fake_delete(stage.fake, "/apis/apps/v1/namespaces/shop/deployments/api");
        history_deployment(stage.fake, "api-2", "day");
        history_await(stage.fake, stage.halflife, REC("api-2"), true);
        assert_true(halflife_await_cycles(stage.halflife, stage.fake, 3, 30000));
        expect_said(0, "deployment-api-2 adopted deployment-api",
                    (const char *const[]){"adopt", "deploy/api", "deploy/api-2", "-n", "shop", NULL});
        assert_true(history_stored(stage.database, "api-2") >= 5000);
        AUTO(mem_free) char *file = write_file("shop", "api-2", stage.now_ms, false);
        EXPECT(0, "shop Deployment/api-2 app: known", file);
        halflife_kill(stage.halflife);
        again();
        EXPECT(0, "shop Deployment/api-2 app: known", file);
}

static bool is_answered(struct fake *f, void *arg)
{
        (void)arg;
        AUTO(mem_free) char *object = fake_get(f, REC("web"));
        return object && !strstr(object, "halflife.dev/import\"");
}

/* A person who writes the annotation by hand gets an answer too, for each line. */
static void test_by_hand(void **state)
{
        (void)state;
        AUTO(mem_free) char *object = fake_get(stage.fake, REC("web"));
        AUTO(json_decref) json_t *rec = json_loads(object, 0, NULL);
        json_t *meta = json_object_get(rec, "metadata"), *notes = json_object_get(meta, "annotations");
        if (!notes)
                json_object_set_new(meta, "annotations", notes = json_object());
        char asked[301]; /* far too many, and all but the first of nothing */
        memset(asked, '\n', sizeof asked - 1);
        asked[0] = '?';
        asked[sizeof asked - 1] = '\0';
        json_object_set_new(notes, "halflife.dev/import", json_string(asked));
        char *text = json_dumps(rec, 0);
        fake_put(stage.fake, "kubectl", text);
        free(text);
        assert_true(fake_wait(stage.fake, is_answered, NULL, 60000));
        AUTO(mem_free) char *answered = fake_get(stage.fake, REC("web"));
        if (!strstr(answered, "line 1") || !strstr(answered, "it is not a line of an export") ||
            !strstr(answered, "line 257\\\":\\\"refused: at most 256") || strstr(answered, "line 258"))
                fail_msg("%s", answered);
}

static void test_nobody_answers(void **state)
{
        (void)state;
        assert_int_equal(halflife_stop(stage.halflife), 0);
        AUTO(mem_free) char *file = write_file("shop", "web", stage.now_ms - 5, false);
        EXPECT(1, "run the same command again for its answer\n", file, "--timeout", "1s");
        again();
        EXPECT(0, "shop Deployment/web app: known", file); /* it was done when one did */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vpa),
                cmocka_unit_test(test_vpa_refused),
                cmocka_unit_test(test_file),
                cmocka_unit_test(test_export),
                cmocka_unit_test(test_copy),
                cmocka_unit_test(test_export_refused),
                cmocka_unit_test(test_before_the_first_pod),
                cmocka_unit_test(test_by_hand),
                cmocka_unit_test(test_adopted),
                cmocka_unit_test(test_nobody_answers),
        };
        return cmocka_run_group_tests_name("import", tests, set_up, tear_down);
}
