#include "table.h"

#include <string.h>

#include "base/mem.h"
#include "terminal.h"

void table_init(struct table *t, int columns)
{
        *t = (struct table){.columns = columns};
}

void table_add(struct table *t, char *cell)
{
        enum { GROW = 256 };
        if (t->cells % GROW == 0)
                t->cell = mem_resize(t->cell, (size_t)t->cells + GROW, sizeof *t->cell);
        terminal_tame(cell);
        t->cell[t->cells++] = cell ? cell : mem_string("<none>");
}

void table_release(struct table *t)
{
        for (int i = 0; i < t->cells; i++)
                mem_free(t->cell[i]);
        mem_free(t->cell);
        *t = (struct table){0};
}

static int table_widest(const struct table *t, int column)
{
        int most = 0;
        for (int i = column; i < t->cells; i += t->columns)
                most = terminal_width(t->cell[i]) > most ? terminal_width(t->cell[i]) : most;
        return most;
}

void table_print_painted(FILE *to, const struct table *t, const char *(*paint)(const void *arg, int line),
                         const void *arg)
{
        enum { COLUMNS_MAX = 32, GAP = 3 };
        int width[COLUMNS_MAX] = {0};
        for (int c = 0; c < t->columns && c < COLUMNS_MAX; c++)
                width[c] = table_widest(t, c);
        for (int i = 0; i < t->cells; i++) {
                int column = i % t->columns;
                bool last = column == t->columns - 1;
                const char *colour = paint ? paint(arg, i / t->columns) : NULL;
                if (colour && column == 0)
                        fputs(colour, to);
                fprintf(to, "%s%*s", t->cell[i], last ? 0 : width[column] + GAP - terminal_width(t->cell[i]), "");
                if (last)
                        fputs(colour ? "\033[0m\n" : "\n", to);
        }
}

void table_print(FILE *to, const struct table *t)
{
        table_print_painted(to, t, NULL, NULL);
}
