/* Which addresses a token may be shown to, and where a token comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/cli/remote.h"
#include "../../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"

static void test_addresses(void **state)
{
        (void)state;
        static const struct {
                const char *url, *says; /* NULL: taken */
        } row[] = {
                {"https://halflife.halflife:8443", NULL},
                {"https://halflife.halflife:8443/", NULL},
                {"https://[2001:db8::1]:8443", NULL},
                {"http://127.0.0.1:8443", NULL},
                {"http://127.0.0.1", NULL},
                {"http://localhost:1/", NULL},
                {"http://[::1]:8443", NULL},
                {"http://halflife.halflife:8443", "without TLS"},
                {"http://127.0.0.1.example.com", "without TLS"},
                {"http://localhost.example.com:80", "without TLS"},
                {"http://localhost@example.com", "is no address"},
                {"https://example.com/path", "is no address"},
                {"https://example.com?x", "is no address"},
                {"https://", "is no address"},
                {"https:///", "is no address"},
                {"halflife:8443", "is no address"},
                {"ftp://halflife", "is no address"},
                {"", "is no address"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                int rc = remote_check(row[i].url, &err);
                if ((rc == 0) != (row[i].says == NULL) || (row[i].says && !strstr(err.text, row[i].says)))
                        fail_msg("'%s': %d '%s'", row[i].url, rc, err.text);
        }
}

static void test_tokens(void **state)
{
        (void)state;
        AUTO(mem_free) char *file = tmp_file("token", "of-a-file\n"), *empty = tmp_file("empty", "");
        const struct {
                const char *file, *variable, *want;
                int rc;
        } row[] = {
                {NULL, NULL, NULL, 0},
                {NULL, "", NULL, 0},
                {NULL, "of-it", "of-it", 0},
                {file, NULL, "of-a-file", 0},
                {file, "of-it", "of-a-file", 0},
                {empty, NULL, "", 0},
                {"/nonexistent", "of-it", NULL, ERR_NOTFOUND},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *token = NULL;
                struct err err = {0};
                row[i].variable ? setenv("HALFLIFE_TOKEN", row[i].variable, 1) : unsetenv("HALFLIFE_TOKEN");
                assert_int_equal(remote_token(row[i].file, &token, &err), row[i].rc);
                if (row[i].want)
                        assert_string_equal(token, row[i].want);
                else
                        assert_null(token);
                mem_free(token);
        }
        unsetenv("HALFLIFE_TOKEN");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_tokens),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
