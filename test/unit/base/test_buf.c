#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

static void grows_to_its_bound(void **state)
{
        (void)state;
        for (size_t max = 0; max < 300; max++) {
                struct buf b;
                buf_init(&b, max);
                for (size_t i = 0; i < max; i++) {
                        char c = (char)('a' + i % 26);
                        assert_int_equal(buf_add(&b, &c, 1), 0);
                        assert_int_equal(b.data[b.len], '\0');
                        assert_true(b.cap <= max + 1 || b.cap <= 64);
                }
                assert_int_equal(buf_add(&b, "x", 1), ERR_TOOBIG);
                assert_int_equal(buf_add(&b, "", 0), 0);
                assert_int_equal(buf_printf(&b, "%d", 1), ERR_TOOBIG);
                assert_int_equal(b.len, max);
                for (size_t i = 0; i < max; i++)
                        assert_int_equal(b.data[i], 'a' + (int)(i % 26));
                buf_release(&b);
                assert_int_equal(b.max, max);
        }
}

static void a_refused_piece_leaves_it_as_it_was(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 10);
        assert_int_equal(buf_add_text(&b, "12345"), 0);
        assert_int_equal(buf_add_text(&b, "123456"), ERR_TOOBIG);
        assert_int_equal(buf_printf(&b, "%s", "123456"), ERR_TOOBIG);
        assert_int_equal(buf_add(&b, b.data, SIZE_MAX), ERR_TOOBIG);
        assert_string_equal(b.data, "12345");
        assert_int_equal(buf_printf(&b, "%s", "67890"), 0);
        assert_string_equal(b.data, "1234567890");
}

static void is_extended_to_its_bound(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 10);
        for (size_t len = 0; len <= 4; len++) { /* 0 + 1 + 2 + 3 + 4 is the bound */
                char *at = buf_extend(&b, len);
                assert_non_null(at);
                assert_ptr_equal(at + len, b.data + b.len);
                assert_int_equal(at[len], '\0');
                memset(at, '0' + (int)len, len);
        }
        assert_null(buf_extend(&b, 1));
        assert_null(buf_extend(&b, SIZE_MAX));
        assert_string_equal(b.data, "1223334444");
}

static void drops_from_the_front(void **state)
{
        (void)state;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, 100);
        buf_drop(&b, 1);
        assert_true(text_is(buf_text(&b), ""));
        buf_add_text(&b, "hello world");
        buf_drop(&b, 6);
        assert_string_equal(b.data, "world");
        assert_true(text_is(buf_text(&b), "world"));
        buf_drop(&b, 5);
        assert_int_equal(b.len, 0);
        buf_add_text(&b, "x");
        buf_drop(&b, 100);
        assert_string_equal(b.data, "");
        buf_add_text(&b, "again");
        buf_reset(&b);
        assert_string_equal(b.data, "");
}

static void is_stolen_whole(void **state)
{
        (void)state;
        struct buf b;
        buf_init(&b, 5);
        char *empty AUTO(mem_free) = buf_steal(&b);
        assert_string_equal(empty, "");
        buf_add_text(&b, "abc");
        char *abc AUTO(mem_free) = buf_steal(&b);
        assert_string_equal(abc, "abc");
        assert_int_equal(b.len, 0);
        assert_int_equal(buf_add_text(&b, "12345"), 0);
        buf_release(&b);
        struct buf none = {0};
        buf_release(&none);
        assert_int_equal(buf_add_text(&none, "x"), ERR_TOOBIG);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(grows_to_its_bound),       cmocka_unit_test(a_refused_piece_leaves_it_as_it_was),
                cmocka_unit_test(is_extended_to_its_bound), cmocka_unit_test(drops_from_the_front),
                cmocka_unit_test(is_stolen_whole),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
