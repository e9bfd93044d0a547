/*
 * SHA-256 (FIPS 180-4), for names and keys. halflife has its own, because core may call no library.
 */
#ifndef HALFLIFE_CORE_SHA256_H
#define HALFLIFE_CORE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

struct sha256 {
        uint32_t state[8];
        uint64_t len; /* bytes added so far */
        uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *p, size_t len);
/* The digest of all bytes added. s needs sha256_init before it is used again. */
void sha256_finish(struct sha256 *s, uint8_t out[static SHA256_BYTES]);

#endif
