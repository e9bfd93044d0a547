/*
 * The utilization of pods for autoscalers: which pods have one, its basis, and the format of the series.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/file_read.h"
#include "base/yaml.h"
#include "custom_metrics/custom_metrics.h"
#include "serving/pod_utilization.h"

#define UID(n) "\"uid\":\"00000000-0000-4000-8000-00000000000" n "\""
#define CORE   INT64_C(1000000000)

enum { SEC = 1000, FRESH_MS = 120 * SEC };
static const int64_t now_ms = 1763700000000;

static struct watched_kind *deployments(struct cache *w)
{
        for (struct watched_kind *k = w->kinds; k; k = k->next)
                if (strcmp(k->kind, "Deployment") == 0 && strcmp(k->group, "apps") == 0)
                        return k;
        return NULL;
}

static void make_world(struct cache *w, const char *hpa)
{
        char json[600];
        struct err err = {0};
        cache_init(w, "halflife", "halflife-system");
        w->pod_labels = true;
        assert_int_equal(
                workload_upsert(w, deployments(w),
                                TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"web\"," UID(
                                        "1") "},\"spec\":{\"replicas\":2,\"template\":{\"spec\":{\"containers\":[{"
                                             "\"name\":\"app\"}]}}}}"),
                                1, &err),
                0);
        snprintf(
                json, sizeof json,
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"team\",\"generation\":1},\"spec\":{\"apply\":{\"hpa\":"
                "\"%s\"}}}",
                hpa);
        assert_int_equal(profile_upsert(w, false, text_of(json), 1, &err), 0);
}

/* "annotations": {…}; resources of app and, where there is one, of side. */
static void make_pod(struct cache *w, const char *name, const char *annotations, const char *app, const char *side)
{
        char json[3000];
        struct err err = {0};
        static int made;
        snprintf(
                json, sizeof json,
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-9000-%012d\","
                "\"labels\":{\"app\":\"web\",\"pod\":\"%s\"},\"annotations\":{%s},\"ownerReferences\":[{\"apiVersion\":"
                "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"," UID(
                        "1") ",\"controller\":true}]},\"spec\":{\"initContainers\":[{\"name\":\"prepare\"}],"
                             "\"containers\":[{\"name\":\"app\",\"resources\":%s}%s%s%s]},"
                             "\"status\":{\"phase\":\"Running\"}}",
                name, ++made, name, annotations, app, side ? ",{\"name\":\"side\",\"resources\":" : "",
                side ? side : "", side ? "}" : "");
        if (pod_upsert(w, text_of(json), 1, &err) < 0)
                fail_msg("%s: %s", name, err.text);
}

static void sample(struct cache *w, const char *pod, const char *container, int64_t cpu, int64_t memory, int64_t at_ms)
{
        char key[300];
        snprintf(key, sizeof key, "web/%s", pod);
        struct pod *p = map_get(&w->pods, text_of(key));
        assert_non_null(p);
        for (int i = 0; i < p->containers; i++)
                if (strcmp(p->container[i].name, container) == 0) {
                        pod_tell(p)->cpu[i] = cpu;
                        p->container[i].last_memory = memory;
                        p->container[i].watermark.last_ms = at_ms;
                }
}

static struct snapshot *show(struct cache *w)
{
        const struct now now = {.wall = {now_ms}, .mono = {1}};
        struct snapshot *v = snapshot_new();
        cache_relink(w, now);
        snapshot_add_utilization(w, now.wall, FRESH_MS, v);
        return v;
}

#define LIMITS(cpu, memory) "\"limits\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}"
#define ASKS(cpu, memory)   "\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory "\"}"
#define BASIS(b)            "\"halflife.dev/utilization-basis\":\"" b "\""
#define ORIGINAL(text)      "\"halflife.dev/original-resources\":\"" text "\""
#define RECORD(cpu)         "{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}}"

static const struct {
        const char *what, *annotations, *app, *side;
        int64_t side_cpu;    /* used; app uses half a core and 256Mi */
        int64_t cpu, memory; /* in thousandths; both negative: the pod has none */
} rows[] = {
        {"of the limit", "", "{" LIMITS("1", "1Gi") "," ASKS("100m", "64Mi") "}", NULL, 0, 500, 250},
        {"the same word", BASIS("limit"), "{" LIMITS("1", "1Gi") "," ASKS("100m", "64Mi") "}", NULL, 0, 500, 250},
        {"of the request", BASIS("request"), "{" LIMITS("4", "4Gi") "," ASKS("1", "512Mi") "}", NULL, 0, 500, 500},
        {"of the original request", BASIS("request") "," ORIGINAL(RECORD("2")),
         "{" LIMITS("4", "4Gi") "," ASKS("300m", "512Mi") "}", NULL, 0, 250,
         -1}, /* the record says that no memory was asked for */
        {"of the original limit, where no request was asked for",
         BASIS("request") "," ORIGINAL(
                 "{\\\"app\\\":{\\\"limits\\\":{\\\"cpu\\\":\\\"1\\\",\\\"memory\\\":\\\"512Mi\\\"}}}"),
         "{" LIMITS("1", "512Mi") "," ASKS("300m", "512Mi") "}", NULL, 0, 500, 500},
        {"a record that somebody broke", BASIS("request") "," ORIGINAL("nonsense"), "{" ASKS("1", "1Gi") "}", NULL, 0,
         -1, -1},
        {"a broken record does not matter to the limit", ORIGINAL("nonsense"), "{" LIMITS("1", "1Gi") "}", NULL, 0, 500,
         250},
        {"without limits nothing", "", "{" ASKS("1", "1Gi") "}", NULL, 0, -1, -1},
        {"a limit on one resource", "", "{\"limits\":{\"memory\":\"1Gi\"}}", NULL, 0, -1, 250},
        {"two containers", "", "{" LIMITS("1", "1Gi") "}", "{" LIMITS("500m", "1Gi") "}", CORE / 4, 500, 250},
        {"one of two without a limit on CPU", "", "{" LIMITS("1", "1Gi") "}", "{\"limits\":{\"memory\":\"1Gi\"}}", CORE,
         -1, 250},
        {"one of two not sampled yet", "", "{" LIMITS("1", "1Gi") "}", "{" LIMITS("1", "1Gi") "}", -1, -1, -1},
};

static void test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct cache w;
                make_world(&w, "LimitBasis");
                make_pod(&w, "web-1", rows[i].annotations, rows[i].app, rows[i].side);
                sample(&w, "web-1", "app", CORE / 2, 256 << 20, now_ms - SEC);
                if (rows[i].side && rows[i].side_cpu >= 0)
                        sample(&w, "web-1", "side", rows[i].side_cpu, 256 << 20, now_ms - SEC);
                struct snapshot *v = show(&w);
                bool told = rows[i].cpu >= 0 || rows[i].memory >= 0;
                if (v->pods != told)
                        fail_msg("%s: %zu pods", rows[i].what, v->pods);
                if (told &&
                    (v->pod[0].utilization[CPU] != rows[i].cpu || v->pod[0].utilization[MEMORY] != rows[i].memory))
                        fail_msg("%s: %lld and %lld", rows[i].what, (long long)v->pod[0].utilization[CPU],
                                 (long long)v->pod[0].utilization[MEMORY]);
                snapshot_drop(v);
                cache_release(&w);
        }
}

/* Pods without a utilization: another apply.hpa, an old sample, or containers sampled at different times. */
static void test_of_whom(void **state)
{
        (void)state;
        static const struct {
                const char *hpa;
                int64_t app_ms, side_ms;
                size_t want;
        } row[] = {
                {"LimitBasis", 0, 0, 1},
                {"Hold", 0, 0, 0},
                {"Ignore", 0, 0, 0},
                {"LimitBasis", FRESH_MS, FRESH_MS, 1},
                {"LimitBasis", FRESH_MS + 1, FRESH_MS + 1, 0},
                {"LimitBasis", SEC, 2 * SEC, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                make_world(&w, row[i].hpa);
                make_pod(&w, "web-1", "", "{" LIMITS("1", "1Gi") "}", "{" LIMITS("1", "1Gi") "}");
                sample(&w, "web-1", "app", CORE, 1 << 20, now_ms - row[i].app_ms);
                sample(&w, "web-1", "side", CORE, 1 << 20, now_ms - row[i].side_ms);
                struct snapshot *v = show(&w);
                if (v->pods != row[i].want)
                        fail_msg("row %zu: %zu pods", i, v->pods);
                snapshot_drop(v);
                cache_release(&w);
        }
}

/* A selector may err by labels that were cut, and a sum lacks containers that were. */
static void test_of_no_pod_that_is_cut(void **state)
{
        (void)state;
        for (int cut = 0; cut < 3; cut++) {
                struct cache w;
                make_world(&w, "LimitBasis");
                make_pod(&w, "web-1", "", "{" LIMITS("1", "1Gi") "}", NULL);
                struct pod *p = map_get(&w.pods, TEXT("web/web-1"));
                p->labels_cut = cut == 1;
                p->containers_cut = cut == 2;
                sample(&w, "web-1", "app", CORE, 1 << 20, now_ms - SEC);
                struct snapshot *v = show(&w);
                assert_int_equal(v->pods, cut == 0);
                snapshot_drop(v);
                cache_release(&w);
        }
}

/* What the store gave back is when a container was sampled last, not what it used. */
static void test_after_a_restart(void **state)
{
        (void)state;
        struct cache w;
        make_world(&w, "LimitBasis");
        make_pod(&w, "web-1", "", "{" LIMITS("1", "1Gi") "}", NULL);
        struct pod *p = map_get(&w.pods, TEXT("web/web-1"));
        for (int i = 0; i < p->containers; i++)
                p->container[i].watermark.last_ms = now_ms - SEC;
        struct snapshot *v = show(&w);
        assert_int_equal(v->pods, 0);
        snapshot_drop(v);
        cache_release(&w);
}

/* Where nobody selects by labels, only pods that are asked for have room for a sample: from the first look on. */
static void test_without_labels(void **state)
{
        (void)state;
        static const char *const word[] = {"LimitBasis", "Hold"};
        for (int i = 0; i < 2; i++) {
                struct cache w;
                make_world(&w, word[i]);
                w.pod_labels = false;
                make_pod(&w, "web-1", "", "{" LIMITS("1", "1Gi") "}", NULL);
                const struct pod *p = map_get(&w.pods, TEXT("web/web-1"));
                snapshot_drop(show(&w));
                assert_int_equal(p->told != NULL, i == 0);
                if (p->told)
                        sample(&w, "web-1", "app", CORE, 1 << 20, now_ms - SEC);
                struct snapshot *v = show(&w);
                assert_int_equal(v->pods, i == 0);
                snapshot_drop(v);
                cache_release(&w);
        }
}

static void test_series(void **state)
{
        (void)state;
        static const struct metric m = {"halflife_pod_cpu_utilization", "Help.", METRIC_GAUGE};
        struct cache w;
        struct buf out;
        make_world(&w, "LimitBasis");
        for (int i = 2; i > 0; i--) {
                char name[16];
                snprintf(name, sizeof name, "web-%d", i);
                make_pod(&w, name, "", "{" LIMITS("3", "1Gi") "}", NULL);
                sample(&w, name, "app", i * CORE, 1 << 20, now_ms - SEC);
        }
        struct snapshot *v = show(&w);
        buf_init(&out, 1 << 16);
        utilization_write(&out, &m, v, CPU);
        assert_string_equal(buf_text(&out).p,
                            "# HELP halflife_pod_cpu_utilization Help.\n# TYPE halflife_pod_cpu_utilization gauge\n"
                            "halflife_pod_cpu_utilization{pod_namespace=\"web\",pod_name=\"web-1\"} 0.334\n"
                            "halflife_pod_cpu_utilization{pod_namespace=\"web\",pod_name=\"web-2\"} 0.667\n");
        assert_int_equal(utilization_left_out(v), 0);
        struct label_pair label[4];
        assert_int_equal(snapshot_unpack_labels(v->pod[0].labels, v->pod[0].labels_size, label, 4), 2);
        assert_true(text_is(label[1].key, "pod") && text_is(label[1].value, "web-1"));
        buf_release(&out);
        snapshot_drop(v);
        cache_release(&w);
}

/* <<.X>> as prometheus-adapter fills it in. The caller's. */
static char *expand(const char *query, const char *series)
{
        static const char *const hole[] = {"<<.Series>>", "<<.LabelMatchers>>", "<<.GroupBy>>"};
        const char *const with[] = {series, "pod_namespace=\"web\",pod_name=~\"web-1|web-2\"", "pod_name"};
        char *text = mem_string(query);
        for (size_t i = 0; i < 3; i++) {
                char *at = strstr(text, hole[i]);
                assert_non_null(at);
                char *next = mem_printf("%.*s%s%s", (int)(at - text), text, with[i], at + strlen(hole[i]));
                mem_free(text);
                text = next;
        }
        return text;
}

static void check_rule(const json_t *rule, enum resource r, const char *printed)
{
        const char *query, *metrics, *ns, *pod, *name = custom_metric_name(r);
        assert_int_equal(json_unpack((json_t *)(uintptr_t)rule, "{s:s, s:s, s:{s:{s:{s:s}, s:{s:s}!}!}!}",
                                     "seriesQuery", &query, "metricsQuery", &metrics, "resources", "overrides",
                                     "pod_namespace", "resource", &ns, "pod_name", "resource", &pod),
                         0);
        AUTO(mem_free) char *want = mem_printf("%s{pod_namespace!=\"\",pod_name!=\"\"}", name);
        AUTO(mem_free) char *asked = expand(metrics, name);
        AUTO(mem_free)
        char *meant = mem_printf("max(%s{pod_namespace=\"web\",pod_name=~\"web-1|web-2\"}) by (pod_name)", name);
        AUTO(mem_free) char *series = mem_printf("%s{pod_namespace=\"web\",pod_name=\"web-1\"} ", name);
        assert_string_equal(query, want);
        assert_string_equal(asked, meant);
        assert_string_equal(ns, "namespace");
        assert_string_equal(pod, "pod");
        assert_non_null(strstr(printed, series));
}

/* The rules for prometheus-adapter ask for the series as they are printed, by the labels that they have. */
static void test_rules_of_the_adapter(void **state)
{
        (void)state;
        struct cache w;
        struct buf out;
        struct err err = {0};
        size_t len;
        make_world(&w, "LimitBasis");
        make_pod(&w, "web-1", "", "{" LIMITS("3", "1Gi") "}", NULL);
        sample(&w, "web-1", "app", CORE, 1 << 20, now_ms - SEC);
        struct snapshot *v = show(&w);
        buf_init(&out, 1 << 16);
        for (enum resource r = CPU; r < RESOURCES; r++)
                utilization_write(&out, &(struct metric){custom_metric_name(r), "Help.", METRIC_GAUGE}, v, r);
        AUTO(mem_free) char *text = file_read("manifests/prometheus-adapter/rules.yaml", 1 << 16, &len, &err);
        AUTO(json_decref) json_t *all = text ? yaml_read_all(text, len, &err) : NULL;
        const json_t *rules = json_object_get(json_array_get(all, 0), "rules");
        assert_int_equal(json_array_size(rules), RESOURCES);
        for (enum resource r = CPU; r < RESOURCES; r++)
                check_rule(json_array_get(rules, r), r, buf_text(&out).p);
        buf_release(&out);
        snapshot_drop(v);
        cache_release(&w);
}

static size_t lines_of(const struct snapshot *v, enum resource r, const char *with)
{
        static const struct metric m = {"m", "Help.", METRIC_GAUGE};
        struct buf out;
        size_t lines = 0;
        buf_init(&out, 8 << 20);
        utilization_write(&out, &m, v, r);
        for (const char *at = buf_text(&out).p; (at = strstr(at, with)); at++)
                lines++;
        buf_release(&out);
        return lines;
}

static const struct series_row {
        const char *what;
        size_t pods[4];   /* of namespaces a to d */
        size_t series[4]; /* wanted */
} series_rows[] = {
        {"all fit", {4990, 5, 0, 5}, {4990, 5, 0, 5}},
        {"one namespace alone", {5007}, {5000}},
        {"a namespace that comes first", {6000, 10, 20, 30}, {4940, 10, 20, 30}},
        {"a namespace that comes last", {10, 20, 30, 6000}, {10, 20, 30, 4940}},
        {"two that have too many", {4000, 1000, 4000, 1}, {1999, 1000, 1999, 1}},
        {"all have too many", {5000, 5000, 5000, 5000}, {1250, 1250, 1250, 1250}},
};

static void test_series_are_bounded(void **state)
{
        (void)state;
        enum { MOST = 20000 };
        static struct snapshot_pod pod[MOST];
        static const char *const name[] = {"a", "b", "c", "d"};
        for (size_t i = 0; i < sizeof series_rows / sizeof series_rows[0]; i++) {
                const struct series_row *row = &series_rows[i];
                struct snapshot *v = snapshot_new();
                size_t none = 0;
                v->pod = pod;
                for (size_t n = 0; n < 4; n++)
                        for (size_t k = 0; k < row->pods[n]; k++)
                                pod[v->pods++] =
                                        (struct snapshot_pod){.ns = name[n], .name = "p", .utilization = {1, -1}};
                for (size_t n = 0; n < 4; n++) {
                        AUTO(mem_free) char *of = mem_printf("pod_namespace=\"%s\"", name[n]);
                        size_t lines = lines_of(v, CPU, of);
                        if (lines != row->series[n])
                                fail_msg("%s: namespace %s has %zu series, not %zu", row->what, name[n], lines,
                                         row->series[n]);
                        none += row->pods[n] - row->series[n];
                }
                assert_int_equal(utilization_left_out(v), none);
                assert_int_equal(lines_of(v, MEMORY, "pod_namespace"), 0); /* nothing is known of it */
                snapshot_drop(v);
        }
}

static void test_series_of_many_namespaces(void **state)
{
        (void)state;
        enum { MANY = UTILIZATION_SERIES_PODS + 5 };
        static struct snapshot_pod pod[MANY];
        static char name[MANY][8];
        struct snapshot *v = snapshot_new();
        for (size_t i = 0; i < MANY; i++) {
                snprintf(name[i], sizeof name[i], "n%zu", i);
                pod[i] = (struct snapshot_pod){.ns = name[i], .name = "p", .utilization = {1, -1}};
        }
        v->pod = pod;
        v->pods = MANY;
        assert_int_equal(lines_of(v, CPU, "pod_namespace"), UTILIZATION_SERIES_PODS);
        assert_int_equal(utilization_left_out(v), 5);
        snapshot_drop(v);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_of_whom),
                cmocka_unit_test(test_of_no_pod_that_is_cut),
                cmocka_unit_test(test_after_a_restart),
                cmocka_unit_test(test_without_labels),
                cmocka_unit_test(test_series),
                cmocka_unit_test(test_rules_of_the_adapter),
                cmocka_unit_test(test_series_are_bounded),
                cmocka_unit_test(test_series_of_many_namespaces),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
