/*
 * A text table with aligned columns.
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
void table_add(struct table *t,
               char *cell); /* Add the next cell, row by row. cell: from mem_*, taken over; NULL shows as <none>. */
/* Print the columns three blanks apart, as kubectl does, without blanks at line ends. */
void table_print(FILE *to, const struct table *t);
/* Print the table, with each line in the colour that `paint` returns: an escape sequence, or NULL for none. paint NULL:
 * no line has a colour. */
void table_print_painted(FILE *to, const struct table *t, const char *(*paint)(const void *arg, int line),
                         const void *arg);

#endif
