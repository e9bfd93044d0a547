#include "snapshot/node_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct node_table *node_table_new(size_t most)
{
        struct node_table *t = MEM_NEW(struct node_table);
        t->refs = 1;
        t->row = mem_new_array(most + 1, sizeof *t->row);
        return t;
}

/* The order of nodes: by pressure, the greatest first. A node without samples comes last, after one of pressure 0. */
static int node_table_compare(const void *a, const void *b)
{
        const struct node_row *x = a, *y = b;
        int of_x = node_load_pressure(&x->load), of_y = node_load_pressure(&y->load);
        if ((x->load.samples == 0) != (y->load.samples == 0))
                return x->load.samples == 0 ? 1 : -1;
        return of_x != of_y ? of_y - of_x : strcmp(x->name, y->name);
}

void node_table_sort(struct node_table *t)
{
        qsort(t->row, t->rows, sizeof *t->row, node_table_compare);
}

struct node_table *node_table_hold(struct node_table *t)
{
        atomic_fetch_add(&t->refs, 1);
        return t;
}

void node_table_drop(struct node_table *t)
{
        if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
                return;
        arena_release(&t->arena);
        mem_free(t->row);
        mem_free(t);
}
