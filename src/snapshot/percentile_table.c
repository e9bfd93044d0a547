#include "snapshot/percentile_table.h"

#include <stdatomic.h>

const int percentiles_tried[TRIED] = {500, 750, 900, 950, 980, 990, 1000};

struct percentile_table *percentile_table_new(void)
{
        struct percentile_table *t = MEM_NEW(struct percentile_table);
        t->refs = 1;
        pthread_mutex_init(&t->lock, NULL);
        return t;
}

struct percentile_row *percentile_table_add(struct percentile_table *t, const char *ns, const char *recommendation,
                                            const char *container)
{
        enum { ROOM = 256 };
        if (t->rows == PERCENTILE_ROWS_MOST) {
                t->left++;
                return NULL;
        }
        if (t->rows % ROOM == 0)
                t->row = mem_resize(t->row, t->rows + ROOM, sizeof *t->row);
        struct percentile_row *row = &t->row[t->rows++];
        *row = (struct percentile_row){.ns = arena_text(&t->arena, text_of(ns)),
                                       .recommendation = arena_text(&t->arena, text_of(recommendation)),
                                       .container = arena_text(&t->arena, text_of(container))};
        return row;
}

struct percentile_table *percentile_table_hold(struct percentile_table *t)
{
        atomic_fetch_add(&t->refs, 1);
        return t;
}

void percentile_table_drop(struct percentile_table *t)
{
        if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
                return;
        pthread_mutex_destroy(&t->lock);
        arena_release(&t->arena);
        mem_free(t->sum);
        mem_free(t->row);
        mem_free(t);
}
