/* CRC-32C of what a row says, so that a row with one wrong bit is refused alone. Start with 0, go on with the result.
 */
#ifndef HALFLIFE_STORE_CRC_H
#define HALFLIFE_STORE_CRC_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc_add(uint32_t crc, const void *bytes, size_t len);
/* A number as eight little-endian bytes; a text with its length before it. */
uint32_t crc_add_number(uint32_t crc, int64_t n);
uint32_t crc_add_text(uint32_t crc, const void *bytes, size_t len);

#endif
