/* CRC-32C against its definition, bit by bit; its vectors are RFC 3720's, appendix B.4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/crc.h"

enum { MOST = 40 };

static uint32_t defined(const uint8_t *in, size_t len)
{
        uint32_t crc = UINT32_MAX;
        for (size_t i = 0; i < len; i++) {
                crc ^= in[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        }
        return ~crc;
}

static void test_vectors(void **state)
{
        (void)state;
        uint8_t in[32];
        assert_int_equal(crc_add(0, "123456789", 9), 0xe3069283);
        assert_int_equal(crc_add(0, memset(in, 0, sizeof in), sizeof in), 0x8a9136aa);
        assert_int_equal(crc_add(0, memset(in, 0xff, sizeof in), sizeof in), 0x62a8ab43);
        for (int i = 0; i < 32; i++)
                in[i] = (uint8_t)i;
        assert_int_equal(crc_add(0, in, sizeof in), 0x46dd794e);
        assert_int_equal(crc_add(0, NULL, 0), 0);
}

/* Each byte at each place of a word, so that all of the table is used. */
static void test_every_byte_everywhere(void **state)
{
        (void)state;
        for (int at = 0; at < 16; at++)
                for (int byte = 0; byte < 256; byte++) {
                        uint8_t in[16] = {0};
                        in[at] = (uint8_t)byte;
                        assert_int_equal(crc_add(0, in, sizeof in), defined(in, sizeof in));
                }
}

static void test_in_parts(void **state)
{
        (void)state;
        uint8_t in[MOST];
        for (int i = 0; i < MOST; i++)
                in[i] = (uint8_t)(i * 151 + 7);
        for (size_t len = 0; len <= MOST; len++)
                for (size_t cut = 0; cut <= len; cut++)
                        assert_int_equal(crc_add(crc_add(0, in, cut), in + cut, len - cut), defined(in, len));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_every_byte_everywhere),
                cmocka_unit_test(test_in_parts),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
