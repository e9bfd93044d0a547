/* The vectors of FIPS 180-4 (SHA-256 examples) and lengths around the padding's edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/sha256.h"

static void hex(struct sha256 *s, char out[static 65])
{
        uint8_t digest[32];
        sha256_finish(s, digest);
        for (int i = 0; i < 32; i++)
                snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void test_vectors(void **state)
{
        (void)state;
        static const struct {
                const char *in, *want;
        } row[] = {
                {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                 "mnopqrstnopqrstu",
                 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct sha256 s;
                char got[65];
                sha256_init(&s);
                sha256_add(&s, row[i].in, strlen(row[i].in));
                hex(&s, got);
                if (strcmp(got, row[i].want))
                        print_error("'%s': %s\n", row[i].in, got);
                assert_string_equal(got, row[i].want);
        }
}

static void test_a_million(void **state)
{
        (void)state;
        struct sha256 s;
        char block[1000], got[65];
        memset(block, 'a', sizeof block);
        sha256_init(&s);
        for (int i = 0; i < 1000; i++)
                sha256_add(&s, block, sizeof block);
        hex(&s, got);
        assert_string_equal(got, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths where the padding just fits and just does not; digests by coreutils' sha256sum of so many 'x'. */
static void test_padding_edges(void **state)
{
        (void)state;
        static const struct {
                size_t len;
                const char *want;
        } row[] = {
                {1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},
                {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
                {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
                {57, "ae14a2563ccf969d99aca69ce6bb74981f734bbf9f655f73b8f06db68cab5217"},
                {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
                {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
                {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
                {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
                {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
                {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
        };
        char block[128];
        memset(block, 'x', sizeof block);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct sha256 s;
                char got[65];
                sha256_init(&s);
                for (size_t k = 0; k < row[i].len; k++)
                        sha256_add(&s, block, 1);
                hex(&s, got);
                if (strcmp(got, row[i].want))
                        print_error("%zu: %s\n", row[i].len, got);
                assert_string_equal(got, row[i].want);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_a_million),
                cmocka_unit_test(test_padding_edges),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
