/*
 * halflife scan as people type it, in a cluster that has nothing of halflife: what each row says, what may not be read,
 * and each kind of Prometheus.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../support/shell.h"
#include "../support/tmp.h"
#include "../unit/net/peer.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/yaml.h"

static struct shell stage;
#define RUN(...) shell_run(&stage, "scan", __VA_ARGS__)

/* --- the cluster --- */

#define WORKLOAD(ns, name, meta, more, cpu)                                                                            \
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns  \
        "\",\"labels\":{\"app\":\"" name "\"}" meta "},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{"       \
        "\"app\":\"" name "\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"" name "\"}},\"spec\":{"             \
        "\"containers\":[{\"name\":\"app\",\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"" cpu                \
        "\",\"memory\":\"1Gi\"}" more "}}]}}}}"
#define ON(name) "\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"" name "\"}"

static const char *const objects[] = {
        SHELL_CRD("autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscaler"),
        WORKLOAD("shop", "web", "", "", "2"),
        WORKLOAD("shop", "scaled", "", "", "2"),
        WORKLOAD("shop", "sized", "", "", "2"),
        WORKLOAD("shop", "left", ",\"annotations\":{\"halflife.dev/apply\":\"Never\"}", "", "2"),
        WORKLOAD("shop", "small", "", "", "100m"),
        WORKLOAD("floor", "held", "", ",\"limits\":{\"cpu\":\"2\"}", "2"),
        WORKLOAD("kube-system", "dns", "", "", "2"),
        "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\",\"namespace\":\"floor\"},"
        "\"spec\":{\"limits\":[{\"type\":\"Container\",\"min\":{\"cpu\":\"1500m\"}}]}}",
        "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":\"h\","
        "\"namespace\":\"shop\"},\"spec\":{" ON(
                "scaled") ",\"maxReplicas\":9,\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\","
                          "\"target\":{\"type\":\"Utilization\",\"averageUtilization\":70}}}]}}",
        "{\"apiVersion\":\"autoscaling.k8s.io/v1\",\"kind\":\"VerticalPodAutoscaler\",\"metadata\":{\"name\":\"v\","
        "\"namespace\":\"shop\"},\"spec\":{\"targetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
        "\"sized\"}}}",
};

/* 400m and 200Mi, which are in the buckets that end at 415m and 207Mi. */
static bool usage(void *arg, const char *ns, const char *pod, const char *container, int64_t at_ms,
                  int64_t *ret_nanocores, int64_t *ret_bytes)
{
        (void)arg, (void)ns, (void)pod, (void)container, (void)at_ms;
        *ret_nanocores = 400000000;
        *ret_bytes = 200 << 20;
        return true;
}

static void measure(enum fake_metrics_mode mode)
{
        fake_set_metrics(stage.fake, &(struct fake_metrics){.mode = mode, .usage = usage, .step_ms = 10});
}

static int begin(void **state)
{
        (void)state;
        shell_begin(&stage, &(struct fake_options){.seed = 7});
        shell_put(&stage, objects, sizeof objects / sizeof *objects);
        return 0;
}

static int end(void **state)
{
        (void)state;
        shell_end(&stage);
        return 0;
}

/* Each test begins with all rights and all usage, and ends without a write. */
static int calm(void **state)
{
        (void)state;
        fake_allow_all(stage.fake);
        fake_faults_clear(stage.fake);
        measure(FAKE_METRICS_ON);
        fake_count_reset(stage.fake);
        return 0;
}

static int unwritten(void **state)
{
        (void)state;
        return fake_count(stage.fake, "write", "/") == 0 ? 0 : -1;
}

/* --- one run --- */

/* Whether some line has all these words, with blanks between them. */
static bool has_row(const char *out, const char *words)
{
        char flat[1024];
        for (const char *line = out; *line; line += strcspn(line, "\n") + 1) {
                size_t len = 0;
                for (const char *p = line; *p && *p != '\n' && len + 1 < sizeof flat; p++)
                        if (*p != ' ' || (len && flat[len - 1] != ' '))
                                flat[len++] = *p;
                flat[len] = '\0';
                if (strstr(flat, words))
                        return true;
                if (!line[strcspn(line, "\n")])
                        break;
        }
        return false;
}

static void expect(const struct shell_run *r, int result, const char *row, const char *said)
{
        if (r->result != result || (row && !has_row(r->out, row)) || (said && !strstr(r->err, said)))
                fail_msg("exit %d, not %d; wanted row '%s', words '%s'; said\n%s\nand\n%s", r->result, result,
                         row ? row : "", said ? said : "", r->err, r->out);
}

/* --- what rows say --- */

static void test_rows(void **state)
{
        (void)state;
        static const struct {
                const char *args, *row;
        } row[] = {
                {"-A", "shop deployment/web app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now Lowered"},
                {"-A", "shop deployment/scaled app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now HPAHold"},
                {"-A", "shop deployment/sized app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now OtherAutoscaler"},
                {"-A", "shop deployment/left app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now OptedOut"},
                {"-A", "shop deployment/small app 100m → 100m 1Gi 415m / 206Mi - / - now AtOriginal"},
                {"-A", "floor deployment/held app 2 → 1500m 1Gi 415m / 206Mi 1 / - now LimitRange"},
                /* what a gate holds back is no saving of the namespace */
                {"-A", "shop 5 16.2 → 13.1 10Gi 3.1 / - 9.3 / -"},
                {"-A", "all 6 20.2 → 16.1 12Gi 4.1 / - 9.3 / -"},
                {"-A", "first look"},
                {"-A", "next: halflife scan -A --prometheus auto"},
                {"-n shop", "deployment/web app 2 → 457m"},
                {"-n shop", "next: halflife scan -n shop --prometheus auto"},
                {"-n kube-system", "deployment/dns app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now OptedOut"}, /* asked for */
                {"-A -o wide", "shop deployment/web app 2 2 → 457m 1Gi 415m / 206Mi 208m..830m 3.1 / - now 2 default"},
                {"-A -o md",
                 "| shop | deployment/web | app | 2 → 457m | 1Gi | 415m / 206Mi | 3.1 / - | now | Lowered |"},
                {"-A -o csv",
                 "shop,deployment/web,app,2,2000,457,415,3086,Lowered,1073741824,,216006656,,,now,Ready,2"},
                {"-A -o json", "\"confidence\": \"now\""},
                {"-A -o json", "\"notes\": []"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(shell_run_release) struct shell_run r = RUN("%s", row[i].args);
                expect(&r, 0, row[i].row, NULL);
                assert_string_equal(r.err, "");
        }
}

static void test_selection(void **state)
{
        (void)state;
        AUTO(shell_run_release) struct shell_run all = RUN("-A");
        assert_null(strstr(all.out, "dns"));
        AUTO(shell_run_release) struct shell_run labelled = RUN("-A -l 'app in (web,small)'");
        expect(&labelled, 0, "shop 2 4.2 → 1.1", NULL);
        AUTO(shell_run_release) struct shell_run none = RUN("-n shop -l app=nobody");
        expect(&none, 0, NULL, "no workload is selected in namespace shop");
        assert_string_equal(none.out, "");
}

static void test_profile(void **state)
{
        (void)state;
        static const struct {
                const char *profile, *args, *row, *said;
                int result;
        } row[] = {
                {"kind: ClusterProfile\nmetadata: {name: own}\nspec: {resources: {cpu: {multiplier: '2'}}}", "-A",
                 "shop deployment/web app 2 → 830m", NULL, 0},
                /* one reading judges no memory, whatever the profile says */
                {"kind: ClusterProfile\nmetadata: {name: own}\nspec: {containers: [{name: app, resources: {memory: "
                 "{enabled: true}}}]}",
                 "-A", "shop deployment/web app 2 → 457m 1Gi", NULL, 0},
                {"kind: Profile\nmetadata: {name: own}\nspec: {}", "-n shop", "deployment/web app 2 → 457m", NULL, 0},
                {"kind: Profile\nmetadata: {name: own, namespace: floor}\nspec: {paused: true}", "-A",
                 "floor deployment/held app 2 → 1500m 1Gi 415m / 206Mi 1 / - now Paused", NULL, 0},
                {"kind: Pod\nmetadata: {name: own}", "-A", NULL, "kind 'Pod' is not ClusterProfile or Profile", 1},
                {"words, and no profile", "-A", NULL,
                 "profile.yaml': profile 1: is not an object with kind, metadata and spec", 1},
                {"kind: Profile\nmetadata: {name: own}\nspec: {apply: {cooldown: 1d}}", "-A", NULL,
                 "profile 1: Profile 'own': ", 1},
                {"kind: Profile\nmetadata: {name: own}", "-A", NULL, "spec is missing", 1},
                {"kind: Profile\nspec: {}", "-A", NULL, "metadata.name is missing", 1},
                {"", "-A", NULL, "the file contains no profile", 1},
        };
        AUTO(mem_free) char *path = tmp_path("profile.yaml");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                FILE *f = fopen(path, "w");
                assert_non_null(f);
                fputs(row[i].profile, f);
                fclose(f);
                AUTO(shell_run_release) struct shell_run r = RUN("%s --profile '%s'", row[i].args, path);
                expect(&r, row[i].result, row[i].row, row[i].said);
                if (row[i].result)
                        assert_string_equal(r.out, "");
        }
}

static void test_exit_codes(void **state)
{
        (void)state;
        static const struct {
                const char *args, *said;
                int result;
        } row[] = {
                {"-A --fail-over 20%", "more than 20% of the requested CPU could be saved", 3},
                {"-A --fail-over 21", "", 0}, /* 4.1 of 20.2 cores */
                {"-A --fail-over 101%", "--fail-over '101%' is not a share from 0% to 100%", 2},
                {"-A --fail-over much", "is not a share", 2},
                {"-A --fail-over 20.5%", "--fail-over '20.5%' is not a share from 0% to 100%, in whole per cent", 2},
                {"-A -n shop", "-A and -n exclude each other", 2},
                {"shop", "takes no arguments, not 'shop'", 2},
                {"-A --since 14d", "require --prometheus", 2},
                {"-A --prometheus http://x --since 1y", "--since '1y' is not a duration from 1h to 2160h", 2},
                {"-A --prometheus http://x --since 91d", "is not a duration", 2},
                {"-A --prometheus auto --prometheus-user me", "give the URL to use others", 2},
                {"-A --prometheus ftp://x", "begins with neither http:// nor https://", 1},
                {"-A --prometheus http://x --prometheus-matchers 'a=\"b'", "a quote is not closed", 1},
                {"-n nowhere", "namespace 'nowhere' does not exist", 1},
                {"-A -l 'app in ('", "--selector: ", 2},
                {"-A --profile /nowhere", "profile '/nowhere'", 1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(shell_run_release) struct shell_run r = RUN("%s", row[i].args);
                expect(&r, row[i].result, NULL, row[i].said);
        }
}

/* --- what may not be read --- */

static void deny(const char *resource, const char *ns)
{
        fake_deny(stage.fake, &(struct fake_rule){.resource = resource, .ns = ns});
}

static void test_forbidden(void **state)
{
        (void)state;
        static const struct {
                const char *resource, *ns, *args, *row, *said;
                int result;
        } row[] = {
                {"pods", "shop", "-A", "floor deployment/held app", "may not list pods in 1 of 6 namespaces (shop)", 0},
                {"pods", NULL, "-A", NULL, "no pods may be read", 1},
                {"namespaces", NULL, "-A", "shop deployment/web app 2 → 457m", "may not list namespaces", 0},
                {"namespaces", NULL, "-n shop", "deployment/web app 2 → 457m", NULL, 0},
                {"horizontalpodautoscalers", NULL, "-A", "shop deployment/scaled app 2 → 457m",
                 "may not list horizontalpodautoscalers.autoscaling in 6 of 6 namespaces", 0},
                {"resourcequotas", NULL, "-A", "shop deployment/web app 2 → 457m", "may not list resourcequotas in ",
                 0},
                /* whose pods are all there are */
                {"replicasets", NULL, "-A", NULL, "may not list replicasets.apps", 1},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fake_allow_all(stage.fake);
                /* the rights to list the whole cluster, and of one namespace */
                deny(row[i].resource, "");
                deny(row[i].resource, row[i].ns);
                AUTO(shell_run_release) struct shell_run r = RUN("%s", row[i].args);
                expect(&r, row[i].result, row[i].row, row[i].said);
        }
}

/* A person of one namespace, who may read nothing of the cluster. */
static void test_one_namespace(void **state)
{
        (void)state;
        static const char *const of_cluster[] = {"namespaces", "nodes"};
        for (size_t i = 0; i < sizeof of_cluster / sizeof of_cluster[0]; i++)
                deny(of_cluster[i], NULL);
        fake_deny(stage.fake, &(struct fake_rule){.ns = ""});
        fake_deny(stage.fake, &(struct fake_rule){.ns = "floor"});
        AUTO(shell_run_release) struct shell_run r = RUN("-n shop");
        expect(&r, 0, "deployment/web app 2 → 457m 1Gi 415m / 206Mi 3.1 / - now Lowered", "");
        assert_string_equal(r.err, "");
        AUTO(shell_run_release) struct shell_run other = RUN("-n floor");
        expect(&other, 1, NULL, "no pods may be read: ask for a RoleBinding to the ClusterRole of docs/scan.md: ");
        assert_string_equal(other.out, "");
}

static void test_usage_missing(void **state)
{
        (void)state;
        static const struct {
                enum fake_metrics_mode mode;
                const char *said;
        } row[] = {
                {FAKE_METRICS_MISSING, "the cluster has no metrics API: install metrics-server, or give --prometheus"},
                {FAKE_METRICS_UNAVAILABLE, "read usage from metrics.k8s.io"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                measure(row[i].mode);
                AUTO(shell_run_release) struct shell_run r = RUN("-A");
                expect(&r, 1, NULL, row[i].said);
                assert_string_equal(r.out, "");
        }
        /* too young to be measured */
        fake_set_metrics(stage.fake, &(struct fake_metrics){.usage = usage, .warmup_ms = DAY_MS});
        AUTO(shell_run_release) struct shell_run young = RUN("-A");
        expect(&young, 1, NULL, "no pod of a workload has usage yet");
        assert_string_equal(young.out, "");
}

/* Where usage is read by namespace and the server fails at one, those behind it are told as well. */
static void test_usage_of_some(void **state)
{
        (void)state;
        fake_fault(
                stage.fake,
                &(struct fake_fault){.path = "/apis/metrics.k8s.io/v1beta1/pods", .times = FAKE_ALWAYS, .status = 403});
        fake_fault(stage.fake, &(struct fake_fault){.path = "/apis/metrics.k8s.io/v1beta1/namespaces/kube-system/",
                                                    .times = FAKE_ALWAYS,
                                                    .status = 500});
        AUTO(shell_run_release) struct shell_run r = RUN("-A");
        expect(&r, 0, "floor deployment/held app 2 → 1500m", "no usage of 2 of 6 namespaces (kube-system, shop): ");
}

/* --- Prometheus --- */

enum told { TOLD_WHOLE, TOLD_NOTHING, TOLD_MIXED, TOLD_PART, TOLD_STALLS, TOLD_STALLS_LATER, TOLD_DENIED };
static _Atomic int told;

static double number_after(const char *text, const char *key)
{
        const char *at = strstr(text, key);
        return at ? strtod(at + strlen(key), NULL) : 0;
}

/* A pod that is gone, with the same usage all the time: by the name of its ReplicaSet it is of deployment web. */
static void add_series(struct buf *out, const char *ns, const char *pod, const char *id, const char *value, double from,
                       double to, double step)
{
        if (out->len && out->data[out->len - 1] == '}')
                (void)buf_add_text(out, ",");
        (void)buf_printf(out,
                         "{\"metric\":{\"namespace\":\"%s\",\"pod\":\"%s\",\"container\":\"app\"%s%s%s},\"values\":[",
                         ns, pod, id ? ",\"id\":\"" : "", id ? id : "", id ? "\"" : "");
        for (double at = from; at <= to; at += step)
                (void)buf_printf(out, "%s[%.3f,\"%s\"]", at > from ? "," : "", at, value);
        (void)buf_add_text(out, "]}");
}

static void range_write(struct buf *out, const char *ns, bool cpu, double from, double to, double step)
{
        static const char one[] = "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab/a",
                          two[] = "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac/a";
        const char *value = cpu ? "0.3" : "314572800", *pod = "web-7d7f4c499d-gvh4r";
        (void)buf_add_text(out, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
        if (told == TOLD_MIXED) {
                add_series(out, ns, pod, one, value, from, to, step);
                add_series(out, ns, pod, two, cpu ? "3" : "3145728000", from, to, step);
        } else if (told != TOLD_NOTHING) {
                add_series(out, ns, pod, NULL, value, from, to, step);
        }
        (void)buf_add_text(out, told == TOLD_PART ? "]},\"isPartial\":true}" : "]}}");
}

static bool answer(struct conn *c, void *arg)
{
        double from = number_after(c->request, "&start="), to = number_after(c->request, "&end="),
               step = number_after(c->request, "&step=");
        char ns[64] = "shop";
        const char *at = strstr(c->request, "namespace%3D%22");
        bool now = from >= to;
        (void)arg;
        if (at)
                sscanf(at + strlen("namespace%3D%22"), "%63[a-z]", ns);
        if (told == TOLD_STALLS || (told == TOLD_STALLS_LATER && !now))
                return conn_wait_gone(c, INT32_MAX) && false;
        if (told == TOLD_DENIED)
                return conn_answer(c, 403, NULL, "{\"error\":\"who are you?\"}");
        struct buf out = {0};
        buf_init(&out, 16 << 20);
        range_write(&out, ns, conn_asks(c, "container_cpu_usage_seconds_total"), from, to, step);
        bool go_on = conn_answer(c, 200, NULL, out.data);
        buf_release(&out);
        return go_on;
}

/* 300m and 300Mi are in the buckets that end at 307m and 306Mi. */
static void test_prometheus(void **state)
{
        (void)state;
        static const struct {
                enum told told;
                const char *row, *said;
                int result;
        } row[] = {
                {TOLD_WHOLE, "deployment/web app 2 → 337m 1Gi → 364Mi 306m / 316Mi 3.3 / 1.3Gi 28% Lowered", NULL, 0},
                {TOLD_WHOLE, "Usage of the last 48h, from Prometheus.", NULL, 0},
                {TOLD_WHOLE, "next: kubectl apply -k manifests", NULL, 0},
                {TOLD_NOTHING, "deployment/web app 2 → 2",
                 "Prometheus has no usage of any container in the last minutes", 0},
                {TOLD_MIXED, NULL, "they may be of containers of another cluster; --prometheus-matchers", 0},
                {TOLD_PART, NULL, "the store says 'isPartial: true'", 1},
                {TOLD_STALLS, NULL, "usage from Prometheus: ", 1},
                {TOLD_STALLS_LATER, NULL, "Prometheus gives no history: no answer within a minute", 1},
                {TOLD_DENIED, NULL, "HTTP 403: the credentials are refused: who are you?", 1},
        };
        struct peer *p = peer_start(answer, NULL, NULL);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                told = (int)row[i].told;
                AUTO(shell_run_release)
                struct shell_run r = RUN("-n shop --prometheus %s --since 2d --prometheus-step 5m", p->url);
                expect(&r, row[i].result, row[i].row, row[i].said);
        }
        /* nothing in Prometheus, and pods that metrics-server has not measured yet */
        told = TOLD_NOTHING;
        fake_set_metrics(stage.fake, &(struct fake_metrics){.usage = usage, .warmup_ms = DAY_MS});
        AUTO(shell_run_release) struct shell_run bare = RUN("-n shop --prometheus %s --since 2d", p->url);
        expect(&bare, 1, NULL, "Prometheus has no usage of a workload, neither now nor in the past");
        assert_string_equal(bare.out, "");
        /* of the past alone, where metrics-server is not needed */
        told = TOLD_WHOLE;
        AUTO(shell_run_release) struct shell_run past = RUN("-n shop --prometheus %s --since 2d", p->url);
        expect(&past, 0, "deployment/web app 2 → 337m", NULL);
        measure(FAKE_METRICS_ON);
        deny("nodes", NULL);
        deny("events", "");
        AUTO(shell_run_release)
        struct shell_run less = RUN("-n shop -o json --prometheus %s --since 2d --prometheus-step 5m", p->url);
        expect(&less, 0, "\"then\": \"337m\"", "may not list nodes: why a container was killed");
        expect(&less, 0, "\"may not list nodes: why a container was killed", NULL);
        char dead[64];
        int held = dead_url(dead);
        AUTO(shell_run_release) struct shell_run away = RUN("-n shop --prometheus %s", dead);
        expect(&away, 1, NULL, "usage from Prometheus: ");
        assert_null(strstr(away.err, "does the API server run"));
        close(held);
        peer_stop(p);
}

/* --- Prometheus among the services --- */

#define SERVICE(ns, name, ports)                                                                                       \
        "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"" ns          \
        "\"},\"spec\":{\"ports\":[" ports "]}}"
#define PORT(name, number) "{\"name\":\"" name "\",\"port\":" number "}"

static void test_auto(void **state)
{
        (void)state;
        static const struct {
                const char *service, *took, *asked;
        } row[] = {
                {SERVICE("shop", "prometheus", PORT("web", "9090")), "no service has the name of a Prometheus", NULL},
                {SERVICE("metrics", "vmselect-main", PORT("http", "8481")),
                 "took service metrics/vmselect-main (VictoriaMetrics select)",
                 "/api/v1/namespaces/metrics/services/vmselect-main:8481/proxy/select/0/prometheus/api/v1/"
                 "query_range"},
                {SERVICE("metrics", "vmsingle-main", PORT("http", "8428")),
                 "took service metrics/vmsingle-main (VictoriaMetrics single), of 2 that look like one",
                 "/api/v1/namespaces/metrics/services/vmsingle-main:8428/proxy/api/v1/query_range"},
                {SERVICE("metrics", "thanos-query", PORT("grpc", "10901") "," PORT("http", "10902")),
                 "took service metrics/thanos-query (Thanos query), of 3",
                 "/api/v1/namespaces/metrics/services/thanos-query:10902/proxy/api/v1/query_range"},
                {SERVICE("monitoring", "main-prometheus-server", PORT("https", "443")),
                 "took service monitoring/main-prometheus-server (Prometheus chart), of 4",
                 "/api/v1/namespaces/monitoring/services/https:main-prometheus-server:443/proxy/api/v1/"
                 "query_range"},
                {SERVICE("monitoring", "prometheus-operated",
                         PORT("reloader-web", "8080") "," PORT("http-web", "9090")),
                 "took service monitoring/prometheus-operated (Prometheus operator), of 5",
                 "/api/v1/namespaces/monitoring/services/prometheus-operated:9090/proxy/api/v1/query_range"},
        };
        struct buf body = {0};
        double now = (double)(now_read().wall.ms / SECOND_MS);
        buf_init(&body, 16 << 20);
        told = TOLD_WHOLE;
        range_write(&body, "shop", true, now - 2 * 86400, now, 300);
        fake_fault(stage.fake, &(struct fake_fault){.path = "/api/v1/namespaces/m",
                                                    .verb = "GET",
                                                    .times = FAKE_ALWAYS,
                                                    .status = 200,
                                                    .body = body.data});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fake_put(stage.fake, "kubectl", row[i].service);
                fake_count_reset(stage.fake);
                AUTO(shell_run_release)
                struct shell_run r = RUN("-n shop --prometheus auto --since 2d --prometheus-step 5m");
                expect(&r, 0, "deployment/web app 2 →", row[i].took);
                if (row[i].asked && fake_count(stage.fake, "get", row[i].asked) == 0)
                        fail_msg("row %zu: '%s' was not asked", i, row[i].asked);
        }
        /* services of the cluster may not be listed: the usual namespaces are looked at */
        deny("services", "");
        fake_faults_clear(stage.fake);
        AUTO(shell_run_release) struct shell_run usual = RUN("-n shop --prometheus auto");
        expect(&usual, 1, NULL, "took service monitoring/prometheus-operated (Prometheus operator)");
        fake_fault(stage.fake, &(struct fake_fault){.path = "/api/v1/namespaces/monitoring/services/p",
                                                    .times = FAKE_ALWAYS,
                                                    .status = 403,
                                                    .body = "{\"kind\":\"Status\",\"message\":\"cannot get resource "
                                                            "services/proxy\"}"});
        AUTO(shell_run_release) struct shell_run unproxied = RUN("-n shop --prometheus auto");
        expect(&unproxied, 1, NULL, "HTTP 403: the credentials are refused: cannot get resource services/proxy");
        deny("services", NULL);
        AUTO(shell_run_release) struct shell_run denied = RUN("-n shop --prometheus auto");
        expect(&denied, 0, "deployment/web app 2 → 457m", "usage comes from the metrics API");
        buf_release(&body);
}

int main(void)
{
#define CALM(test) cmocka_unit_test_setup_teardown(test, calm, unwritten)
        const struct CMUnitTest tests[] = {
                CALM(test_rows),          CALM(test_selection),
                CALM(test_profile),       CALM(test_exit_codes),
                CALM(test_forbidden),     CALM(test_one_namespace),
                CALM(test_usage_missing), CALM(test_usage_of_some),
                CALM(test_prometheus),    cmocka_unit_test_setup(test_auto, calm),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
