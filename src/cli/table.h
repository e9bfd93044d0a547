/*
 * A table of text whose columns line up.
 */
#ifndef HALFLIFE_CLI_TABLE_H
#define HALFLIFE_CLI_TABLE_H

#include <stdio.h>

struct table {
        int columns, cells;
        char **cell;
};

void table_init(struct table *t, int columns);
void table_release(struct table *t);
void table_add(struct table *t, char *cell); /* row by row; takes over a string of mem_*; NULL shows as <none> */
/* Columns three blanks apart, as kubectl prints them; no blanks at line ends. */
void table_print(FILE *to, const struct table *t);

#endif
