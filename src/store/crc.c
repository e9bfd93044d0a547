#include "crc.h"

#include <pthread.h>

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_make(void)
{
        enum { CASTAGNOLI = 0x82f63b78 };
        for (uint32_t byte = 0; byte < 256; byte++) {
                uint32_t crc = byte;
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? (uint32_t)CASTAGNOLI : 0);
                table[byte] = crc;
        }
}

uint32_t crc_add(uint32_t crc, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;
        pthread_once(&table_once, table_make);
        crc = ~crc;
        for (size_t i = 0; i < len; i++)
                crc = crc >> 8 ^ table[(crc ^ at[i]) & 255];
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
