/* Texts for messages of a count and its noun: "1 history", "2 histories". */
#ifndef HALFLIFE_BASE_NOUN_H
#define HALFLIFE_BASE_NOUN_H

#include <stdint.h>

enum { NOUN_COUNT_MAX = 64 };
/* Write the count and the noun, in the plural for every count but 1; returns out. noun: the singular, of which the last
 * word takes the plural; what does not fit is cut. */
const char *noun_count(int64_t count, const char *noun, char out[static NOUN_COUNT_MAX]);
/* As noun_count, with a buffer that is valid until the end of the enclosing block. */
#define NOUN_COUNT(count, noun) noun_count((int64_t)(count), noun, (char[NOUN_COUNT_MAX]){""})

#endif
