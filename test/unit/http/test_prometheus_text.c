#include "http/prometheus_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const struct metric requests = {"requests_total", "Requests.", METRIC_COUNTER};

static void assert_text(struct buf *out, const char *want)
{
        assert_string_equal(buf_text(out).p, want);
        buf_reset(out);
}

static void test_family(void **state)
{
        (void)state;
        static const struct {
                enum metric_type type;
                const char *want;
        } row[] = {{METRIC_COUNTER, "# HELP a_b What it is.\n# TYPE a_b counter\n"},
                   {METRIC_GAUGE, "# HELP a_b What it is.\n# TYPE a_b gauge\n"},
                   {METRIC_HISTOGRAM, "# HELP a_b What it is.\n# TYPE a_b histogram\n"}};
        struct buf out __attribute__((cleanup(buf_release_auto)));
        buf_init(&out, 1000);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                assert_int_equal(metric_family(&out, &(struct metric){"a_b", "What it is.", row[i].type}), 0);
                assert_text(&out, row[i].want);
        }
}

/* As short as it can be, and still the same number. */
static void test_sample(void **state)
{
        (void)state;
        static const struct {
                const char *labels;
                double value;
                const char *want;
        } row[] = {{NULL, 0, "requests_total 0\n"},
                   {"", 1, "requests_total 1\n"},
                   {"verb=\"get\",code=\"200\"", 12, "requests_total{verb=\"get\",code=\"200\"} 12\n"},
                   {NULL, 0.1, "requests_total 0.1\n"},
                   {NULL, 0.1 + 0.2, "requests_total 0.30000000000000004\n"},
                   {NULL, 0x1p53, "requests_total 9007199254740992\n"},
                   {NULL, 1e15, "requests_total 1e+15\n"},
                   {NULL, -2.5, "requests_total -2.5\n"}};
        struct buf out __attribute__((cleanup(buf_release_auto)));
        buf_init(&out, 1000);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                assert_int_equal(metric_sample(&out, &requests, row[i].labels, row[i].value), 0);
                assert_text(&out, row[i].want);
        }
}

/* A bound belongs to its bucket; buckets add up; the last is all there were. */
static void test_seconds(void **state)
{
        (void)state;
        static const struct metric m = {"cycle_seconds", "A cycle.", METRIC_HISTOGRAM};
        struct metric_seconds s = {0};
        struct buf out __attribute__((cleanup(buf_release_auto)));
        buf_init(&out, 4000);
        metric_observe(&s, 0.005);
        metric_observe(&s, 0.25);
        metric_observe(&s, 0.251);
        metric_observe(&s, 30);
        metric_observe(&s, 30.5);
        assert_int_equal(metric_seconds_sample(&out, &m, NULL, &s), 0);
        assert_text(&out, "cycle_seconds_bucket{le=\"0.005\"} 1\ncycle_seconds_bucket{le=\"0.01\"} 1\n"
                          "cycle_seconds_bucket{le=\"0.025\"} 1\ncycle_seconds_bucket{le=\"0.05\"} 1\n"
                          "cycle_seconds_bucket{le=\"0.1\"} 1\ncycle_seconds_bucket{le=\"0.25\"} 2\n"
                          "cycle_seconds_bucket{le=\"0.5\"} 3\ncycle_seconds_bucket{le=\"1\"} 3\n"
                          "cycle_seconds_bucket{le=\"2.5\"} 3\ncycle_seconds_bucket{le=\"5\"} 3\n"
                          "cycle_seconds_bucket{le=\"10\"} 3\ncycle_seconds_bucket{le=\"30\"} 4\n"
                          "cycle_seconds_bucket{le=\"+Inf\"} 5\ncycle_seconds_sum 61.006\ncycle_seconds_count 5\n");
        s = (struct metric_seconds){0};
        assert_int_equal(metric_seconds_sample(&out, &m, "kind=\"x\"", &s), 0);
        assert_non_null(strstr(buf_text(&out).p, "cycle_seconds_bucket{kind=\"x\",le=\"0.005\"} 0\n"));
        assert_non_null(
                strstr(buf_text(&out).p, "cycle_seconds_sum{kind=\"x\"} 0\ncycle_seconds_count{kind=\"x\"} 0\n"));
}

static void test_label(void **state)
{
        (void)state;
        static const struct {
                const char *value;
                size_t size;
                const char *want;
        } row[] = {{"get", 40, "key=\"get\""},
                   {"", 40, "key=\"\""},
                   {"a\"b\\c\nd", 40, "key=\"a\\\"b\\\\c\\nd\""},
                   {"abcdefgh", 12, "key=\"abcde\""},
                   {"abc\"", 12, "key=\"abc\\\"\""}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char out[40];
                assert_string_equal(metric_label("key", row[i].value, out, row[i].size), row[i].want);
        }
        char longer[200] = "", out[400];
        memset(longer, 'x', sizeof longer - 1);
        assert_int_equal(strlen(metric_label("k", longer, out, sizeof out)), 4 + 128);
        /* whole characters only: what is not UTF-8 ends a scrape */
        memcpy(longer + 127, "\xc3\xbc", 2);
        assert_int_equal(strlen(metric_label("k", longer, out, sizeof out)), 4 + 127);
        assert_string_equal(metric_label("k",
                                         "a\xff"
                                         "b",
                                         out, sizeof out),
                            "k=\"a?b\"");
}

static void test_full(void **state)
{
        (void)state;
        struct buf out __attribute__((cleanup(buf_release_auto)));
        buf_init(&out, 20);
        assert_int_equal(metric_family(&out, &requests), ERR_TOOBIG);
        assert_int_equal(metric_sample(&out, &requests, NULL, 1), 0);
        assert_int_equal(metric_sample(&out, &requests, NULL, 1), ERR_TOOBIG);
        assert_text(&out, "requests_total 1\n");
        assert_int_equal(metric_seconds_sample(&out, &requests, NULL, &(struct metric_seconds){0}), ERR_TOOBIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_family), cmocka_unit_test(test_sample), cmocka_unit_test(test_seconds),
                cmocka_unit_test(test_label),  cmocka_unit_test(test_full),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
