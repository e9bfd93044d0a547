/*
 * What an answer is shown on: how wide it is, which characters and colours it takes; and text of others made harmless.
 */
#ifndef HALFLIFE_CLI_TERMINAL_H
#define HALFLIFE_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum { TERMINAL_COLUMNS = 80, TERMINAL_COLUMNS_LEAST = 40, TERMINAL_COLUMNS_MOST = 400 };
struct terminal {
        int columns;
        bool utf8;   /* of the locale's variables: LC_ALL, LC_CTYPE, LANG */
        bool moves;  /* a line can be wiped: only on a terminal, and not where TERM is dumb or unknown */
        bool colour; /* that, and NO_COLOR is not set */
};
/* COLUMNS beats what the terminal says; what is no terminal has TERMINAL_COLUMNS. */
void terminal_read(FILE *to, struct terminal *ret);

/* Whoever writes a status does not write to the terminal: control characters, also those above 0x7f, and what is no
 * UTF-8 become '?'. In place; returns s. NULL is fine. */
char *terminal_tame(char *s);
/* Characters: what a terminal gives a column to each. */
int terminal_width(const char *s);
/* Words of text from column at on, each further line indented by as much; ends the line. */
void terminal_wrap(FILE *to, const char *text, int at, int columns);
/* What a command does, in --help: wrapped as its options are, a blank line behind it. */
void terminal_intro(const char *text);

#endif
