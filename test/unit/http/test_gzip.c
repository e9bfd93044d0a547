#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http/gzip.h"

static void test_what_is_accepted(void **state)
{
        (void)state;
        static const struct {
                const char *header;
                bool want;
        } row[] = {
                {NULL, false},
                {"", false},
                {"gzip", true},
                {"GZIP", true},
                {"x-gzip", true},
                {"identity", false},
                {"gzip, deflate, br", true},
                {"br,gzip", true},
                {" deflate ,\tgzip ;q=0.5", true},
                {"gzip;q=0", false},
                {"gzip; q=0.000", false},
                {"gzip; q=0.001", true},
                {"*", true},
                {"*;q=0", false},
                {"gzip;q=0, *", false},
                {"*;q=0, gzip", true},
                {"gzipped", false},
                {",,;q=,", false},
                {"identity;q=1, *;q=0", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                if (accepts_gzip(row[i].header) != row[i].want)
                        fail_msg("'%s' is %d", row[i].header ? row[i].header : "NULL", !row[i].want);
}

static void unzip(const struct buf *from, char *to, size_t size, size_t *ret_len)
{
        z_stream z = {.next_in = (Bytef *)from->data, .avail_in = (uInt)from->len, .next_out = (Bytef *)to};
        z.avail_out = (uInt)size;
        assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        *ret_len = z.total_out;
        inflateEnd(&z);
}

static void test_bodies_come_back(void **state)
{
        (void)state;
        static const size_t sizes[] = {0, 1, GZIP_LEAST, GZIP_LEAST + 1, 5000, 1 << 20};
        struct gzip g = {0};
        for (int noise = 0; noise < 2; noise++)
                for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                        struct buf b;
                        size_t len = sizes[i], back;
                        char *was = mem_new(len + 1), *is = mem_new(len + 1);
                        srand(7);
                        for (size_t at = 0; at < len; at++)
                                was[at] = noise ? (char)rand() : "abcdefg\n"[at * at % 8];
                        buf_init(&b, 2 << 20);
                        buf_add(&b, was, len);
                        bool smaller = gzip_body(&g, &b);
                        assert_int_equal(smaller, !noise && len > GZIP_LEAST);
                        if (smaller) {
                                assert_true(b.len < len);
                                unzip(&b, is, len, &back);
                                assert_int_equal(back, len);
                                assert_memory_equal(is, was, len);
                        } else {
                                assert_int_equal(b.len, len);
                                if (len)
                                        assert_memory_equal(b.data, was, len);
                        }
                        buf_release(&b);
                        mem_free(was);
                        mem_free(is);
                }
        gzip_release(&g);
        gzip_release(&g);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_accepted),
                cmocka_unit_test(test_bodies_come_back),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
