/*
 * Who may ask the page server of `halflife ui`: hostile hosts, origins and paths are refused before anything is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cli/page_guard.h"

#define OWN  "/000102030405060708090a0b0c0d0e0f"
#define HOST "127.0.0.1:4711"

static void test_judgements(void **state)
{
        (void)state;
        static const struct {
                const char *method, *path, *host, *origin, *site, *mode;
                unsigned want;
                const char *behind;
        } row[] = {
                {"GET", OWN "/ui", HOST, NULL, NULL, NULL, 0, "/ui"},
                {"HEAD", OWN "/ui/main.js", HOST, NULL, "same-origin", "cors", 0, "/ui/main.js"},
                {"GET", OWN "/api/v1/workloads", "localhost:4711", "http://localhost:4711", "same-origin", "cors", 0,
                 "/api/v1/workloads"},
                {"GET", OWN "/ui", HOST, NULL, "none", "navigate", 0, "/ui"},
                {"GET", OWN "/ui", HOST, NULL, "cross-site", "navigate", 0, "/ui"}, /* from the file that leads here */
                /* a name that was bound to 127.0.0.1 after its page was read */
                {"GET", OWN "/api/v1/workloads", "evil.example:4711", NULL, "same-origin", NULL, 403, ""},
                {"GET", OWN "/ui", "127.0.0.1", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", "127.0.0.1:80", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", "127.0.0.1:47111", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", HOST ".evil.example", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", "127.0.0.2:4711", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", "[::1]:4711", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", "", NULL, NULL, NULL, 403, ""},
                {"GET", OWN "/ui", NULL, NULL, NULL, NULL, 403, ""}, /* none, or two */
                /* another page in the same browser */
                {"GET", OWN "/api/v1/workloads", HOST, "http://evil.example", NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, "null", NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, "", NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, "https://" HOST, NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, "http://127.0.0.1:8080", NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, "http://" HOST "/", NULL, NULL, 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, NULL, "cross-site", "no-cors", 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, NULL, "cross-site", "navigate", 403, ""},
                {"GET", OWN "/api/v1/workloads", HOST, NULL, "same-site", "cors", 403, ""}, /* another port */
                {"GET", OWN "/ui/main.js", HOST, NULL, "cross-site", "no-cors", 403, ""},
                {"GET", OWN "/ui", HOST, NULL, "cross-site", "no-cors", 403, ""},
                /* who does not know the path */
                {"GET", "/", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", "/ui", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN, HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", "/000102030405060708090a0b0c0d0e0e/ui", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", "/000102030405060708090a0b0c0d0e0F/ui", HOST, NULL, NULL, NULL, 404, ""},
                {"GET",
                 "/%30"
                 "00102030405060708090a0b0c0d0e0f/ui",
                 HOST, NULL, NULL, NULL, 404, ""},
                {"GET", "/" OWN "/ui", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", "http://" HOST OWN "/ui", HOST, NULL, NULL, NULL, 404, ""},
                {"POST", "/x", HOST, NULL, NULL, NULL, 404, ""},
                /* what is not forwarded */
                {"GET", OWN "/uix", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/api/v2/workloads", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/api", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/openapi.yaml", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/admission", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/../ui", HOST, NULL, NULL, NULL, 404, ""},
                {"GET", OWN "/%75i", HOST, NULL, NULL, NULL, 404, ""},
                {"POST", OWN "/api/v1/namespaces/shop/render", HOST, "http://" HOST, "same-origin", "cors", 405, ""},
                {"DELETE", OWN "/api/v1/workloads", HOST, NULL, NULL, NULL, 405, ""},
                {"OPTIONS", OWN "/api/v1/workloads", HOST, NULL, NULL, NULL, 405, ""},
                {"get", OWN "/ui", HOST, NULL, NULL, NULL, 405, ""},
                {"CONNECT", OWN "/ui", HOST, NULL, NULL, NULL, 405, ""},
        };
        unsigned char random[16];
        struct page_guard g;
        for (unsigned char i = 0; i < 16; i++)
                random[i] = i;
        page_guard_init(&g, "4711", random);
        assert_string_equal(g.prefix, OWN);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct text behind = {"", 0};
                const char *why = NULL;
                const struct page_question q = {.method = text_of(row[i].method),
                                                .path = text_of(row[i].path),
                                                .host = row[i].host,
                                                .origin = row[i].origin,
                                                .site = row[i].site,
                                                .mode = row[i].mode};
                unsigned got = page_guard_judge(&g, &q, &behind, &why);
                if (got != row[i].want || (got == 0 && !text_is(behind, row[i].behind)) || (got && !*why))
                        fail_msg("row %zu: %s %s of %s: %u, not %u", i, row[i].method, row[i].path,
                                 row[i].host ? row[i].host : "none", got, row[i].want);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {cmocka_unit_test(test_judgements)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
