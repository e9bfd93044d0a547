/*
 * CRC-32C (Castagnoli; RFC 3720, appendix B.4), which tells a torn or changed stretch of bytes from a whole one: of
 * packed histories, of the database's rows, of exports.
 */
#ifndef HALFLIFE_CORE_CRC_H
#define HALFLIFE_CORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Start with 0, go on with the result. Of "123456789": 0xe3069283. */
uint32_t crc_add(uint32_t crc, const void *bytes, size_t len);

#endif
