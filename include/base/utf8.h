/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef HALFLIFE_BASE_UTF8_H
#define HALFLIFE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character that begins at p, 1 to 4; 0 when what is there is not one. len is at least 1. */
size_t utf8_length(const char *p, size_t len);

/* Write a code point (a valid one); returns the bytes written, 1 to 4. */
size_t utf8_put(uint32_t code, char out[static 4]);

/* The longest prefix of at most max bytes that does not cut a character. */
size_t utf8_cut(const char *p, size_t len, size_t max);

/* For what came from outside, or was cut to somebody's room: leave out an end within a character, and put '?' in the
 * place of each other byte that is of none. */
void utf8_mend(char *s);

#endif
