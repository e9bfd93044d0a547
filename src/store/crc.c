#include "crc.h"

#include <pthread.h>

enum { SLICES = 8 };
static uint32_t table[SLICES][256]; /* [n]: of a byte with n bytes after it */
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_make(void)
{
        enum { CASTAGNOLI = 0x82f63b78 };
        for (uint32_t byte = 0; byte < 256; byte++) {
                uint32_t crc = byte;
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? (uint32_t)CASTAGNOLI : 0);
                table[0][byte] = crc;
        }
        for (int n = 1; n < SLICES; n++)
                for (int byte = 0; byte < 256; byte++)
                        table[n][byte] = table[n - 1][byte] >> 8 ^ table[0][table[n - 1][byte] & 255];
}

/* Eight bytes at once: as many look-ups, but none waits for the one before. */
static uint32_t slice(uint32_t crc, const uint8_t *at)
{
        uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
        return table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
               table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
}

uint32_t crc_add(uint32_t crc, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;
        pthread_once(&table_once, table_make);
        crc = ~crc;
        for (; len >= SLICES; len -= SLICES, at += SLICES)
                crc = slice(crc, at);
        for (; len > 0; len--, at++)
                crc = crc >> 8 ^ table[0][(crc ^ *at) & 255];
        return ~crc;
}

uint32_t crc_add_number(uint32_t crc, int64_t n)
{
        uint8_t bytes[8];
        for (int i = 0; i < 8; i++)
                bytes[i] = (uint8_t)((uint64_t)n >> 8 * i);
        return crc_add(crc, bytes, sizeof bytes);
}

uint32_t crc_add_text(uint32_t crc, const void *bytes, size_t len)
{
        return crc_add(crc_add_number(crc, (int64_t)len), bytes, len);
}
