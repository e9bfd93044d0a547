/*
 * CRC-32C (Castagnoli; RFC 3720, appendix B.4). It detects torn or changed bytes in packed histories, database rows and
 * exports.
 */
#ifndef HALFLIFE_CORE_CRC_H
#define HALFLIFE_CORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Add bytes to a CRC, and return the new CRC. Start with crc 0, and pass each result on to the next call. The CRC of
 * "123456789" is 0xe3069283. */
uint32_t crc_add(uint32_t crc, const void *bytes, size_t len);

#endif
