/*
 * UTF-8 as defined by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef HALFLIFE_BASE_UTF8_H
#define HALFLIFE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length in bytes (1 to 4) of the character that begins at p; 0: no valid character begins there. len >= 1. */
size_t utf8_length(const char *p, size_t len);

/* The code point of the valid character at p, whose length utf8_length gave. */
uint32_t utf8_code(const char *p, size_t len);

/* Whether a character is not to be seen, or changes how its neighbours are seen: control characters, zero-width
 * characters, and those that turn the direction of writing (Unicode's Bidi_Control). Shown as they are, they let a text
 * control a terminal or pass for another text. */
bool utf8_is_invisible(uint32_t code);

/* Write a valid code point as UTF-8. Returns the number of bytes written, 1 to 4. */
size_t utf8_put(uint32_t code, char out[static 4]);

/* The length of the longest prefix of at most max bytes that does not cut a character. */
size_t utf8_cut(const char *p, size_t len, size_t max);

/* Make a foreign or cut text valid UTF-8, in place: drop a character that the end cuts, and replace every other invalid
 * byte by '?'. */
void utf8_repair(char *s);

#endif
