/* The digest of a template: blind for requests, our annotations and the order of members, for nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

static const char plain[] = "{\"spec\":{\"replicas\":2,\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},"
                            "\"spec\":{\"containers\":[{"
                            "\"name\":\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":"
                            "{\"cpu\":\"2\"}}}]}}}}";

static uint64_t digest(const char *json)
{
        return template_fingerprint(text_of(json), "/spec/template");
}

static void test_rows(void **state)
{
        static const struct {
                const char *what, *json;
                bool same;
        } row[] = {
                {"requests",
                 "{\"spec\":{\"replicas\":2,\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
                 "\"containers\":"
                 "[{\"name\":\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"285m\"},\"limits\":{"
                 "\"cpu\":\"2\"}}"
                 "}]}}}}",
                 true},
                {"what is outside of the template, spaces",
                 "{\"metadata\":{\"generation\":7}, \"spec\": "
                 "{\"replicas\":9,\"template\":{\"metadata\":{\"labels\":{\"app\":"
                 "\"web\"}},\"spec\":{\"containers\":[{\"name\":\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{"
                 "\"cpu\":"
                 "\"1\"},\"limits\":{\"cpu\":\"2\"}}}]}}}}",
                 true},
                {"the order of members",
                 "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"image\":\"a:1\",\"name\":\"app\",\"resources\":"
                 "{"
                 "\"limits\":{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"1\"}}}]},\"metadata\":{\"labels\":{\"app\":"
                 "\"web\"}}}}}",
                 true},
                {"our annotations",
                 "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"halflife.dev/original-resources\":\"{}\","
                 "\"halflife.dev/"
                 "applied-resources\":\"{}\"},\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{\"name\":"
                 "\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}}]}}"
                 "}}",
                 true},
                {"image",
                 "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
                 "\"name\":"
                 "\"app\",\"image\":\"a:2\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}}}]}}"
                 "}}",
                 false},
                {"limits",
                 "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{\"containers\":[{"
                 "\"name\":"
                 "\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"3\"}}}]}}"
                 "}}",
                 false},
                {"somebody's annotation",
                 "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"a\":\"b\"},\"labels\":{\"app\":\"web\"}},"
                 "\"spec\":{"
                 "\"containers\":[{\"name\":\"app\",\"image\":\"a:1\",\"resources\":{\"requests\":{\"cpu\":\"1\"},"
                 "\"limits\":{"
                 "\"cpu\":\"2\"}}}]}}}}",
                 false},
                {"no template", "{\"spec\":{}}", false},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if ((digest(row[i].json) == digest(plain)) != row[i].same)
                        fail_msg("%s", row[i].what);
        assert_int_equal(digest("{\"spec\":{}}"), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
        return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
