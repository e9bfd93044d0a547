#include "core/crc.h"

/*
 * The CRC is computed of eight bytes at once (M. E. Kounavis and F. L. Berry, A Systematic Approach to Building High
 * Performance Software-Based CRC Generators, 2005). Eight bytes need eight table look-ups, and none waits for another's
 * result.
 */
enum { WORD = 8 };

/* A CRC is linear: the effect of a byte is the sum (xor) of the effects of its bits, listed here lowest bit first. */
#define BIT(byte, of, does) ((byte) / (of) % 2 ? (does) : 0)
#define BYTE_1(i, a, b, c, d, e, f, g, h)                                                                              \
        BIT(i, 1, a) ^ BIT(i, 2, b) ^ BIT(i, 4, c) ^ BIT(i, 8, d) ^ BIT(i, 16, e) ^ BIT(i, 32, f) ^ BIT(i, 64, g) ^    \
                BIT(i, 128, h)
#define BYTE_4(i, ...)                                                                                                 \
        BYTE_1(i, __VA_ARGS__), BYTE_1(i + 1, __VA_ARGS__), BYTE_1(i + 2, __VA_ARGS__), BYTE_1(i + 3, __VA_ARGS__)
#define BYTE_16(i, ...)                                                                                                \
        BYTE_4(i, __VA_ARGS__), BYTE_4(i + 4, __VA_ARGS__), BYTE_4(i + 8, __VA_ARGS__), BYTE_4(i + 12, __VA_ARGS__)
#define BYTE_64(i, ...)                                                                                                \
        BYTE_16(i, __VA_ARGS__), BYTE_16(i + 16, __VA_ARGS__), BYTE_16(i + 32, __VA_ARGS__),                           \
                BYTE_16(i + 48, __VA_ARGS__)
#define BYTES(...)                                                                                                     \
        BYTE_64(0, __VA_ARGS__), BYTE_64(64, __VA_ARGS__), BYTE_64(128, __VA_ARGS__), BYTE_64(192, __VA_ARGS__)

/* The effect of a byte on the CRC: [number of bytes after it in the word][the byte]. */
static const uint32_t crc_of[WORD][256] = {
        {BYTES(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78)},
        {BYTES(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9)},
        {BYTES(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743)},
        {BYTES(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f)},
        {BYTES(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c)},
        {BYTES(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6)},
        {BYTES(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4)},
        {BYTES(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664)},
};

static uint32_t crc_number(const uint8_t in[static 4])
{
        return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* Add eight bytes to a CRC. The upper half comes first in the sum, because only the lower half has to wait for the CRC
 * of the bytes before. */
static uint32_t add_word(uint32_t crc, const uint8_t in[static WORD])
{
        uint32_t low = crc_number(in) ^ crc, up = crc_number(in + 4);
        return crc_of[3][up & 255] ^ crc_of[2][up >> 8 & 255] ^ crc_of[1][up >> 16 & 255] ^ crc_of[0][up >> 24] ^
               crc_of[7][low & 255] ^ crc_of[6][low >> 8 & 255] ^ crc_of[5][low >> 16 & 255] ^ crc_of[4][low >> 24];
}

uint32_t crc_add(uint32_t crc, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;
        crc = ~crc;
        for (; len >= WORD; at += WORD, len -= WORD)
                crc = add_word(crc, at);
        for (; len > 0; at++, len--)
                crc = crc >> 8 ^ crc_of[0][(crc ^ *at) & 255];
        return ~crc;
}
