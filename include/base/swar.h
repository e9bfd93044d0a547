/*
 * Searching eight bytes of text at a time (SWAR). word_has and word_has_below set the high bit of each matching byte.
 * After the first match they may set the bit of other bytes as well. So trust only whether there is a match, and the
 * first one (word_first). Results may be or-ed.
 */
#ifndef HALFLIFE_BASE_SWAR_H
#define HALFLIFE_BASE_SWAR_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORD_ONES UINT64_C(0x0101010101010101)
#define WORD_HIGH (WORD_ONES << 7)

/* Load eight bytes; the first byte in memory becomes the lowest, on every machine. */
static inline uint64_t word_at(const char *p)
{
        uint64_t word;
        memcpy(&word, p, sizeof word);
        return le64toh(word);
}

/* Mark bytes below limit; limit is at most 0x80. */
static inline uint64_t word_has_below(uint64_t word, unsigned char limit)
{
        return (word - WORD_ONES * limit) & ~word & WORD_HIGH;
}

static inline uint64_t word_has(uint64_t word, char c)
{
        return word_has_below(word ^ WORD_ONES * (unsigned char)c, 1);
}

/* Mark exactly the bytes of 0x80 and above. */
static inline uint64_t word_has_high(uint64_t word)
{
        return word & WORD_HIGH;
}

/* The index (0 to 7) of the first marked byte; found must not be 0. */
static inline size_t word_first(uint64_t found)
{
        return (size_t)__builtin_ctzll(found) / 8;
}

#endif
