#include "cache/record_set.h"

#include <string.h>

#include "cache/cache.h"

void record_set_release(struct cache *w, struct record_set *s)
{
        for (int i = 0; i < s->rows; i++)
                intern_drop(w->names, s->row[i].container);
        mem_free(s->row);
        *s = (struct record_set){0};
}

struct recording {
        struct cache *cache;
        struct record_set set;
};

static int record_each(void *arg, const struct recorded *r)
{
        struct recording *to = arg;
        if (to->set.rows >= VIEW_CONTAINERS)
                return ERR_TOOBIG;
        to->set.row = mem_resize(to->set.row, (size_t)to->set.rows + 1, sizeof *to->set.row);
        struct record_row *row = &to->set.row[to->set.rows++];
        row->container = intern_text(to->cache->names, r->container);
        memcpy(row->request, r->request, sizeof row->request);
        memcpy(row->limit, r->limit, sizeof row->limit);
        return 0;
}

struct record_set record_set_read(struct cache *w, struct text annotation)
{
        struct recording to = {.cache = w};
        if (annotation.len == 0)
                return to.set;
        to.set.present = record_read(annotation, &w->scratch, record_each, &to, NULL) == 0;
        if (!to.set.present) {
                record_set_release(w, &to.set);
                to.set.broken = true;
        }
        return to.set;
}

json_t *record_set_rows(const struct record_set *s)
{
        json_t *list = json_array();
        for (int i = 0; i < s->rows; i++) {
                json_t *row = json_pack("{s:s}", "name", s->row[i].container);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        amount_put(row, resource_name(r), r, s->row[i].request[r]);
                json_array_append_new(list, row);
        }
        return list;
}
