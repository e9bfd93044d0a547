#include "cache/runtime_heaps.h"

#include "cache/cache.h"

void runtime_heaps_release(struct cache *w, struct runtime_heaps *h)
{
        for (int i = 0; i < h->rows; i++)
                intern_drop(w->names, h->row[i].container);
        mem_free(h->row);
        *h = (struct runtime_heaps){0};
}

struct runtime_heaps runtime_heaps_read(struct cache *w, const struct container_view *c, int count)
{
        struct runtime_heaps to = {0};
        for (int i = 0; i < count; i++) {
                struct runtime_heap heap;
                decode_runtime_heap(&c[i], &w->scratch, &heap);
                if (!runtime_heap_given(&heap))
                        continue;
                to.row = mem_resize(to.row, (size_t)to.rows + 1, sizeof *to.row);
                to.row[to.rows++] = (struct runtime_heap_row){intern_text(w->names, c[i].name), heap};
        }
        return to;
}

struct runtime_heap runtime_heaps_find(const struct runtime_heaps *h, const char *container)
{
        for (int i = 0; i < h->rows; i++)
                if (h->row[i].container == container)
                        return h->row[i].heap;
        return (struct runtime_heap){0};
}
