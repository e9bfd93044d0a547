/*
 * Properties of the output terminal: width, character set, colours. Also removes control characters from text.
 */
#ifndef HALFLIFE_CLI_TERMINAL_H
#define HALFLIFE_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 80, TERMINAL_COLUMNS_LEAST = 40, TERMINAL_COLUMNS_MOST = 400 };
struct terminal {
        int columns;
        bool utf8;   /* whether the locale (LC_ALL, LC_CTYPE, LANG) uses UTF-8 */
        bool moves;  /* a line can be erased: the stream is a terminal, with TERM set and not "dumb" */
        bool colour; /* moves is true, and NO_COLOR unset or empty */
};
/* Read the properties of the stream `to`. COLUMNS overrides the terminal's own width. A file or pipe has
 * TERMINAL_COLUMNS columns. */
void terminal_read(FILE *to, struct terminal *ret);

/* Replace invisible characters (utf8_is_invisible) and invalid UTF-8 by '?', so that text from a cluster cannot control
 * the terminal. Works in place and returns s; NULL is fine. */
char *terminal_tame(char *s);
/* Width of s in columns: its number of characters. */
int terminal_width(const char *s);
/* Print text wrapped at columns. The cursor must be in column `at`, to which further lines are indented. Ends the
 * line. */
void terminal_wrap(FILE *to, const char *text, int at, int columns);

#endif
