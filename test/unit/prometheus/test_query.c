/* What is asked of a Prometheus, as text; and one series of its answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "prometheus/decode_series.h"
#include "prometheus/query.h"

static void promql_names_what_is_asked(void **state)
{
        (void)state;
        static const struct {
                enum prometheus_names names;
                enum resource r;
                const char *matchers, *ns;
                int64_t step_ms;
                const char *want;
        } row[] = {
                {PROMETHEUS_CADVISOR, CPU, NULL, NULL, 60000,
                 "max by (namespace, pod, container, id) (sum without (cpu) "
                 "(rate(container_cpu_usage_seconds_total{container!=\"\","
                 "container!=\"POD\",metrics_path=~\"(.*/cadvisor)?\"}[120s])))"},
                {PROMETHEUS_KUBELET, CPU, "cluster=\"a\"", "shop", 300000,
                 "max by (namespace, pod, container, id) (sum without (cpu) "
                 "(rate(container_cpu_usage_seconds_total{container!=\"\","
                 "metrics_path=~\"(.*/resource)?\",namespace=\"shop\",cluster=\"a\"}[300s])))"},
                {PROMETHEUS_CADVISOR, MEMORY, "", "shop", 60000,
                 "max by (namespace, pod, container, id) "
                 "(max_over_time(container_memory_working_set_bytes{container!=\"\","
                 "container!=\"POD\",metrics_path=~\"(.*/cadvisor)?\",namespace=\"shop\"}[60s]))"},
                {PROMETHEUS_KUBELET, MEMORY, NULL, "a\"b\\", 1000,
                 "max by (namespace, pod, container, id) "
                 "(max_over_time(container_memory_working_set_bytes{container!=\"\","
                 "metrics_path=~\"(.*/resource)?\",namespace=\"a\\\"b\\\\\"}[1s]))"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct prometheus_options o = {
                        .names = row[i].names, .matchers = row[i].matchers, .rate_window_ms = 120000};
                struct prometheus_slice s = {.ns = row[i].ns, .step_ms = row[i].step_ms};
                struct buf out = {0};
                buf_init(&out, 1 << 16);
                query_promql(&out, &o, row[i].r, &s);
                if (!text_is(buf_text(&out), row[i].want))
                        print_error("row %zu: %s\n", i, out.data);
                assert_string_equal(out.data, row[i].want);
                buf_release(&out);
        }
}

/* Only cAdvisor knows of throttling, and the server leaves out whom it hardly concerns. */
static void throttling_is_asked_of_cadvisor(void **state)
{
        (void)state;
        for (int names = PROMETHEUS_CADVISOR; names <= PROMETHEUS_KUBELET; names++) {
                struct prometheus_options o = {.names = (enum prometheus_names)names, .matchers = "cluster=\"a\""};
                struct prometheus_slice s = {.of = PROMETHEUS_THROTTLING, .step_ms = 60000};
                struct buf out = {0};
                buf_init(&out, 1 << 16);
                query_promql_throttling(&out, &o, &s);
                assert_string_equal(
                        out.data,
                        "sum by (namespace, pod, container) (increase(container_cpu_cfs_throttled_periods_total{"
                        "container!=\"\",container!=\"POD\",metrics_path=~\"(.*/cadvisor)?\",cluster=\"a\"}[1h])) / "
                        "sum by (namespace, pod, container) (increase(container_cpu_cfs_periods_total{"
                        "container!=\"\",container!=\"POD\",metrics_path=~\"(.*/cadvisor)?\",cluster=\"a\"}[1h])) >= "
                        "0.125");
                buf_release(&out);
        }
}

static void a_form_is_escaped(void **state)
{
        (void)state;
        struct prometheus_slice s = {.from = {1700000000007}, .to = {1700000060000}, .step_ms = 60000};
        struct buf out = {0};
        buf_init(&out, 1 << 10);
        query_form(&out, "a{b=\"c&d\"}[1s] \xc3\xa9", &s);
        assert_string_equal(out.data, "query=a%7Bb%3D%22c%26d%22%7D%5B1s%5D%20%C3%A9&start=1700000000.007"
                                      "&end=1700000060.000&step=60");
        buf_release(&out);
}

static void matchers_cannot_end_the_selector(void **state)
{
        (void)state;
        static const struct {
                const char *matchers;
                int code;
        } row[] = {
                {NULL, 0},
                {"", 0},
                {"cluster=\"a\"", 0},
                {"cluster=\"a}\",job=~'k.*', x!=`\\`", 0},
                {"a=\"\\\"}\"", 0},
                {"a=\"b\"} or up{", ERR_INVALID},
                {"a=\"b", ERR_INVALID},
                {"a=\"b\\\"", ERR_INVALID},
                {"a=\"b\",", ERR_INVALID},
                {",a=\"b\"", ERR_INVALID},
                {"a=\"b\",,c=\"d\"", ERR_INVALID},
                {"a=\"b\"#", ERR_INVALID},
                {"a=\"b\"[5m]", ERR_INVALID},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                int rc = query_check_matchers(row[i].matchers, &err);
                if (rc != row[i].code)
                        print_error("row %zu (%s): %d %s\n", i, row[i].matchers ? row[i].matchers : "NULL", rc,
                                    err.text);
                assert_int_equal(rc, row[i].code);
        }
}

/* --- series --- */

struct seen {
        char text[512];
        int stop_at, points;
};

static bool see_series(void *arg, const struct prometheus_series *s, struct text cgroup)
{
        struct seen *seen = arg;
        size_t at = strlen(seen->text);
        snprintf(seen->text + at, sizeof seen->text - at, "%.*s/%.*s/%.*s%.*s", TEXT_ARG(s->ns), TEXT_ARG(s->pod),
                 TEXT_ARG(s->container), TEXT_ARG(cgroup));
        return !text_is(s->pod, "unwanted");
}

static int see_point(void *arg, struct wall at, double value)
{
        struct seen *seen = arg;
        size_t end = strlen(seen->text);
        snprintf(seen->text + end, sizeof seen->text - end, " %lld=%g", (long long)at.ms, value);
        return ++seen->points == seen->stop_at ? ERR_TOOBIG : 0;
}

#define LABELS "{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\"}"

static void series_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *json, *want;
                int stop_at, code;
                uint64_t refused;
        } row[] = {
                {"{\"metric\":" LABELS ",\"values\":[[1700000000,\"0.5\"],[1700000060.25,\"1e-3\"]]}",
                 "n/p/c 1700000000000=0.5 1700000060250=0.001", 0, 0, 0},
                {"{\"metric\":{\"id\":\"/a/b\",\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\"},"
                 "\"values\":[[1,\"2\"]]}",
                 "n/p/c/a/b 1000=2", 0, 0, 0},
                {"{\"values\":[[1,\"2\"]],\"metric\":" LABELS "}", "n/p/c 1000=2", 0, 0, 0},
                {"{\"metric\":" LABELS ",\"values\":[[1,\"NaN\"],[2,\"+Inf\"],[3,\"-Inf\"],[4,\"4\"]]}", "n/p/c 4000=4",
                 0, 0, 3},
                {"{\"metric\":" LABELS ",\"values\":[[1,\"-1e30\"],[2,\"-0.1\"],[3,\"0\"]]}", "n/p/c 3000=0", 0, 0, 2},
                {"{\"metric\":" LABELS ",\"values\":[[-1,\"1\"],[1e300,\"1\"],[1,\"x\"],[1],[],[5,\"5\",\"6\"]]}",
                 "n/p/c 5000=5", 0, 0, 5},
                {"{\"metric\":{\"namespace\":\"n\",\"pod\":\"p\"},\"values\":[[1,\"2\"]]}", "", 0, 0, 1},
                {"{\"metric\":{},\"values\":[]}", "", 0, 0, 1},
                {"{\"metric\":{\"namespace\":\"n\\u0000\",\"pod\":\"p\",\"container\":\"c\"},\"values\":[[1,\"2\"]]}",
                 "", 0, 0, 1},
                {"{\"metric\":{\"namespace\":\"n\",\"pod\":\"p/p\",\"container\":\"c\"},\"values\":[[1,\"2\"]]}", "", 0,
                 0, 1},
                {"{\"metric\":{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\\u0000c\"},\"values\":[[1,\"2\"]]}",
                 "", 0, 0, 1},
                {"{\"metric\":{\"id\":\"/a\\u0000\",\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\"},"
                 "\"values\":[[1,\"2\"]]}",
                 "", 0, 0, 1},
                {"{\"metric\":{\"namespace\":\"n\",\"pod\":\"unwanted\",\"container\":\"c\"},\"values\":[[1,\"2\"]]}",
                 "n/unwanted/c", 0, 0, 0},
                {"{\"metric\":" LABELS ",\"histograms\":[[1,{}]]}", "", 0, 0, 0},
                {"{\"metric\":" LABELS ",\"values\":[[1,\"1\"],[2,\"2\"]]}", "n/p/c 1000=1", 1, ERR_TOOBIG, 0},
                {"{\"metric\":" LABELS ",\"values\":[1,2]}", "n/p/c", 0, ERR_INVALID, 0},
                {"{\"metric\":[],\"values\":[]}", "", 0, ERR_INVALID, 0},
                {"[]", "", 0, ERR_INVALID, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct arena a = {0};
                struct seen seen = {.stop_at = row[i].stop_at};
                struct series_reader r = {see_series, see_point, &seen, false};
                struct err err = {0};
                uint64_t refused = 0;
                int rc = series_decode(text_of(row[i].json), &a, &r, &refused, &err);
                if (rc != row[i].code || strcmp(seen.text, row[i].want) != 0 || refused != row[i].refused)
                        print_error("row %zu: %d '%s' refused %llu (%s)\n", i, rc, seen.text,
                                    (unsigned long long)refused, err.text);
                assert_int_equal(rc, row[i].code);
                assert_int_equal(err.code, row[i].code);
                assert_string_equal(seen.text, row[i].want);
                assert_int_equal(refused, row[i].refused);
                arena_release(&a);
        }
}

/* A node is told by its label, else by the address that was scraped. */
static void series_of_nodes_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *labels, *want;
        } row[] = {
                {"\"node\":\"n-1\",\"instance\":\"10.0.0.1:10250\"", "/n-1/10.0.0.1:10250 1000=2"},
                {"\"instance\":\"n-2:10250\"", "/n-2/n-2:10250 1000=2"},
                {"\"instance\":\"n-3\"", "/n-3/n-3 1000=2"},
                {"\"instance\":\"[fd00::1]:10250\"", "/[fd00::1]/[fd00::1]:10250 1000=2"},
                {"\"node\":\"n-1\"", "/n-1/ 1000=2"},
                {"\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\",\"node\":\"n-1\"", "/n-1/ 1000=2"},
                {"\"instance\":\":10250\"", ""},
                {"\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"c\"", ""},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct arena a = {0};
                struct seen seen = {.stop_at = 0};
                struct series_reader r = {see_series, see_point, &seen, true};
                struct err err = {0};
                uint64_t refused = 0;
                char json[512];
                snprintf(json, sizeof json, "{\"metric\":{%s},\"values\":[[1,\"2\"]]}", row[i].labels);
                assert_int_equal(series_decode(text_of(json), &a, &r, &refused, &err), 0);
                if (strcmp(seen.text, row[i].want) != 0 || refused != !*row[i].want)
                        fail_msg("%s: '%s' refused %llu", row[i].labels, seen.text, (unsigned long long)refused);
                arena_release(&a);
        }
}

static void nodes_are_asked_for_by_the_names_that_are_scraped(void **state)
{
        (void)state;
        static const struct {
                enum prometheus_names names;
                enum resource r;
                const char *matchers, *want;
        } row[] = {
                {PROMETHEUS_CADVISOR, CPU, NULL,
                 "max by (node, instance) (sum without (cpu) (rate(container_cpu_usage_seconds_total{id=\"/\","
                 "metrics_path=~\"(.*/cadvisor)?\"}[120s])))"},
                {PROMETHEUS_CADVISOR, MEMORY, "",
                 "max by (node, instance) (max_over_time(container_memory_working_set_bytes{id=\"/\","
                 "metrics_path=~\"(.*/cadvisor)?\"}[60s]))"},
                {PROMETHEUS_KUBELET, CPU, "cluster=\"a\"",
                 "max by (node, instance) (sum without (cpu) (rate(node_cpu_usage_seconds_total{"
                 "metrics_path=~\"(.*/resource)?\",cluster=\"a\"}[120s])))"},
                {PROMETHEUS_KUBELET, MEMORY, "cluster=\"a\"",
                 "max by (node, instance) (max_over_time(node_memory_working_set_bytes{"
                 "metrics_path=~\"(.*/resource)?\",cluster=\"a\"}[60s]))"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                const struct prometheus_options o = {
                        .names = row[i].names, .matchers = row[i].matchers, .rate_window_ms = 2 * MINUTE_MS};
                const struct prometheus_slice s = {.of = PROMETHEUS_NODES, .step_ms = MINUTE_MS};
                struct buf out = {0};
                buf_init(&out, 1 << 16);
                query_promql_nodes(&out, &o, row[i].r, &s);
                assert_string_equal(out.data, row[i].want);
                buf_release(&out);
        }
}

static void prices_are_those_of_opencost(void **state)
{
        static const struct {
                enum resource r;
                const char *matchers, *want;
        } row[] = {
                {CPU, NULL, "max by (node) (node_cpu_hourly_cost{})"},
                {CPU, "", "max by (node) (node_cpu_hourly_cost{})"},
                {MEMORY, "cluster=\"a\"", "max by (node) (node_ram_hourly_cost{cluster=\"a\"})"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct buf out = {0};
                buf_init(&out, 1 << 16);
                query_promql_prices(&out, &(struct prometheus_options){.matchers = row[i].matchers}, row[i].r);
                assert_string_equal(out.data, row[i].want);
                buf_release(&out);
        }
}

static void refusals_are_told_in_one_line(void **state)
{
        (void)state;
        char out[64];
        assert_string_equal(query_error(TEXT("{\"status\":\"error\",\"error\":\"too\\nmany\"}"), out, sizeof out),
                            "too many");
        assert_string_equal(query_error(TEXT("<html>\r\n"), out, sizeof out), "<html>  ");
        assert_string_equal(query_error(TEXT(""), out, sizeof out), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(promql_names_what_is_asked),
                cmocka_unit_test(throttling_is_asked_of_cadvisor),
                cmocka_unit_test(a_form_is_escaped),
                cmocka_unit_test(matchers_cannot_end_the_selector),
                cmocka_unit_test(series_are_read),
                cmocka_unit_test(series_of_nodes_are_read),
                cmocka_unit_test(nodes_are_asked_for_by_the_names_that_are_scraped),
                cmocka_unit_test(prices_are_those_of_opencost),
                cmocka_unit_test(refusals_are_told_in_one_line),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
