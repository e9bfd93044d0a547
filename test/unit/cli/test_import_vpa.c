/*
 * VPA's checkpoints as the API server gives them: what is read of one, and what is refused, by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "cli/import.h"
#include "core/vpa_checkpoint.h"

static void test_read(void **state)
{
        static const char text[] =
                "{\"lastUpdateTime\":\"2026-11-21T10:00:00Z\",\"version\":\"v3\",\"totalSamplesCount\":1440,"
                "\"firstSampleStart\":\"2026-11-20T10:00:00Z\",\"lastSampleStart\":\"2026-11-21T09:59:00Z\","
                "\"cpuHistogram\":{\"referenceTimestamp\":\"2026-11-21T00:00:00Z\",\"totalWeight\":12.5,"
                "\"bucketWeights\":{\"0\":10000,\"17\":3,\"175\":1}},"
                "\"memoryHistogram\":{\"referenceTimestamp\":\"0001-01-01T00:00:00Z\"}}";
        struct vpa_checkpoint v;
        struct err err = {0};
        AUTO(json_decref) json_t *status = json_loads(text, 0, NULL);
        (void)state;
        if (import_vpa_read(status, &v, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(v.samples, 1440);
        assert_int_equal(v.last.ms - v.first.ms, DAY_MS - MINUTE_MS);
        assert_int_equal(v.of[CPU].reference.ms, v.first.ms + 14 * HOUR_MS);
        assert_true(v.of[CPU].total > 12.4 && v.of[CPU].total < 12.6);
        assert_int_equal(v.of[CPU].weight[0], 10000);
        assert_int_equal(v.of[CPU].weight[17], 3);
        assert_int_equal(v.of[CPU].weight[175], 1);
        assert_int_equal(v.of[MEMORY].reference.ms, 0);
}

static void test_refused(void **state)
{
        static const struct {
                const char *text, *why;
        } row[] = {
                {"null", "version is ''"},
                {"[]", "version is ''"},
                {"{\"version\":3}", "version is ''"},
                {"{\"version\":\"v2\"}", "version is 'v2', but halflife reads only v3"},
                {"{\"version\":\"v3\",\"totalSamplesCount\":\"many\"}", "totalSamplesCount"},
                {"{\"version\":\"v3\",\"firstSampleStart\":\"yesterday\"}", "firstSampleStart 'yesterday'"},
                {"{\"version\":\"v3\",\"lastSampleStart\":\"1960-01-01T00:00:00Z\"}", "lastSampleStart"},
                {"{\"version\":\"v3\",\"cpuHistogram\":{\"totalWeight\":\"x\"}}", "cpuHistogram: totalWeight"},
                {"{\"version\":\"v3\",\"cpuHistogram\":{\"referenceTimestamp\":\"x\"}}", "cpuHistogram: reference"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"176\":1}}}",
                 "memoryHistogram: bucket '176' is not one of 0 to 175"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"-1\":1}}}", "bucket '-1'"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"1x\":1}}}", "bucket '1x'"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"\":1}}}", "bucket ''"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"5\":10001}}}", "weight of bucket 5"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"5\":-1}}}", "weight of bucket 5"},
                {"{\"version\":\"v3\",\"memoryHistogram\":{\"bucketWeights\":{\"5\":0.5}}}", "weight of bucket 5"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct vpa_checkpoint v;
                struct err err = {0};
                AUTO(json_decref) json_t *status = json_loads(row[i].text, JSON_DECODE_ANY, NULL);
                int rc = import_vpa_read(status, &v, &err);
                if (rc != ERR_INVALID || !strstr(err.text, row[i].why))
                        fail_msg("%s: %d '%s'", row[i].text, rc, err.text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
