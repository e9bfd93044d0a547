/*
 * Searching many bytes of text at a time: 16 where the processor can (SSE2), and eight everywhere (SWAR).
 *
 * word_has and word_has_below set the high bit of each matching byte.
 * After the first match they may set the bit of other bytes as well. So trust only whether there is a match, and the
 * first one (word_first). Results may be or-ed.
 */
#ifndef HALFLIFE_BASE_SWAR_H
#define HALFLIFE_BASE_SWAR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WORD_ONES UINT64_C(0x0101010101010101)
#define WORD_HIGH (WORD_ONES << 7)

/* Load eight bytes as a word; the first byte in memory becomes the word's lowest, on every machine. */
static inline uint64_t word_at(const char *p)
{
        uint64_t word;
        memcpy(&word, p, sizeof word);
        return le64toh(word);
}

/* Mark the bytes of word below limit; limit is at most 0x80. */
static inline uint64_t word_has_below(uint64_t word, unsigned char limit)
{
        return (word - WORD_ONES * limit) & ~word & WORD_HIGH;
}

static inline uint64_t word_has(uint64_t word, char c)
{
        return word_has_below(word ^ WORD_ONES * (unsigned char)c, 1);
}

/* Mark exactly the bytes of word that are 0x80 and above. */
static inline uint64_t word_has_high(uint64_t word)
{
        return word & WORD_HIGH;
}

/* The index (0 to 7) of the first marked byte; found must not be 0. */
static inline size_t word_first(uint64_t found)
{
        return (size_t)__builtin_ctzll(found) / 8;
}

/*
 * Move *p to the first quote or backslash, or, where `others` is true, to the first control character or non-ASCII byte
 * if that is earlier. Returns false if less than 16 bytes are left, or SSE2 is absent: the caller then searches from *p
 * on.
 */
static inline bool block_find(const char **p, const char *end, bool others)
{
#ifdef __SSE2__
        const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), space = _mm_set1_epi8(' ');
        for (; end - *p >= (ptrdiff_t)sizeof quote; *p += sizeof quote) {
                __m128i block = _mm_loadu_si128((const void *)*p);
                __m128i found = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash));
                if (others) /* the comparison is signed, so it finds bytes of 0x80 and above, too */
                        found = _mm_or_si128(found, _mm_cmplt_epi8(block, space));
                int mask = _mm_movemask_epi8(found);
                if (mask) {
                        *p += __builtin_ctz((unsigned)mask);
                        return true;
                }
        }
#else
        (void)p, (void)end, (void)others;
#endif
        return false;
}

#endif
