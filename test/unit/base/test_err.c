#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/utf8.h"

static void sets_and_wraps(void **state)
{
        (void)state;
        struct err err = {0};
        assert_int_equal(err_set(&err, ERR_RETRY, "HTTP %d, retry after %s", 503, "2s"), ERR_RETRY);
        assert_int_equal(err_wrap(&err, "list pods in '%s'", "web"), ERR_RETRY);
        assert_string_equal(err.text, "list pods in 'web': HTTP 503, retry after 2s");
        assert_int_equal(err.code, ERR_RETRY);
}

static void keeps_the_http_status(void **state)
{
        (void)state;
        struct err err = {0}, copy = {0};
        assert_int_equal(err_set_http(&err, ERR_DENIED, 403, "HTTP %d", 403), ERR_DENIED);
        err_wrap(&err, "list pods");
        assert_int_equal(err_copy(&copy, &err), ERR_DENIED);
        assert_int_equal(copy.http_status, 403);
        assert_string_equal(copy.text, "list pods: HTTP 403");
        err_set(&copy, ERR_DENIED, "of a file");
        assert_int_equal(copy.http_status, 0);
}

static void works_without_a_struct(void **state)
{
        (void)state;
        assert_int_equal(err_set(NULL, ERR_GONE, "x"), ERR_GONE);
        assert_int_equal(err_set_http(NULL, ERR_DENIED, 401, "x"), ERR_DENIED);
        assert_int_equal(err_copy(NULL, &(struct err){.code = ERR_RETRY}), ERR_RETRY);
        assert_int_equal(err_wrap(NULL, "x"), ERR_IO);
}

static void may_quote_itself(void **state)
{
        (void)state;
        struct err err = {0};
        err_set(&err, ERR_IO, "first");
        err_set(&err, ERR_DAMAGED, "second after %s", err.text);
        assert_string_equal(err.text, "second after first");
}

static void assert_clean(const struct err *err)
{
        size_t len = strlen(err->text), step;
        assert_true(len < ERR_TEXT_MAX);
        for (size_t i = 0; i < len; i += step) {
                step = utf8_length(err->text + i, len - i);
                assert_true(step > 0);
        }
}

/* Two-byte characters at every offset to the cut, in text and in what is put before it. */
static void cuts_between_characters(void **state)
{
        (void)state;
        char longer[3 * ERR_TEXT_MAX];
        for (size_t offset = 0; offset < 4; offset++) {
                memset(longer, 'x', offset);
                size_t at = offset;
                for (; at + 3 < sizeof longer; at += 3)
                        memcpy(longer + at, "\u20ac", 3);
                longer[at] = '\0';
                struct err err = {0};
                err_set(&err, ERR_INVALID, "%s", longer);
                assert_clean(&err);
                assert_true(strlen(err.text) > ERR_TEXT_MAX - 5);
                err_wrap(&err, "%s", longer);
                assert_clean(&err);
                err_set(&err, ERR_INVALID, "short");
                err_wrap(&err, "%s", longer);
                assert_clean(&err);
        }
}

static void replaces_what_is_not_utf8(void **state)
{
        (void)state;
        struct err err = {0};
        err_set(&err, ERR_INVALID, "name '%s'", "a\xff\xc3(\xed\xa0\x80");
        assert_string_equal(err.text, "name 'a\?\?(\?\?\?'");
        err_wrap(&err, "\xe2\x82");
        assert_string_equal(err.text, "\?\?: name 'a\?\?(\?\?\?'");
}

static void names_every_code(void **state)
{
        (void)state;
        assert_string_equal(err_name(ERR_RETRY), "retry");
        assert_string_equal(err_name(0), "none");
        assert_string_equal(err_name(-99), "unknown");
        for (int a = ERR_DAMAGED; a <= ERR_INVALID; a++)
                for (int b = ERR_DAMAGED; b < a; b++)
                        assert_string_not_equal(err_name(a), err_name(b));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sets_and_wraps),          cmocka_unit_test(keeps_the_http_status),
                cmocka_unit_test(works_without_a_struct),  cmocka_unit_test(may_quote_itself),
                cmocka_unit_test(cuts_between_characters), cmocka_unit_test(replaces_what_is_not_utf8),
                cmocka_unit_test(names_every_code),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
