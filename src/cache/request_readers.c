#include "cache/request_readers.h"

#include "cache/cache.h"

void request_readers_release(struct cache *w, struct request_readers *r)
{
        for (int i = 0; i < r->rows; i++) {
                intern_drop(w->names, r->row[i].container);
                intern_drop(w->names, r->row[i].text);
        }
        mem_free(r->row);
        *r = (struct request_readers){0};
}

static void readers_add(struct cache *w, struct request_readers *to, const struct container_view *c, enum resource r)
{
        char text[REQUEST_READING_TEXT_MAX];
        to->row = mem_resize(to->row, (size_t)to->rows + 1, sizeof *to->row);
        to->row[to->rows++] = (struct request_reader){
                .container = intern_text(w->names, c->name),
                .resource = r,
                .divisor = c->read[r].divisor,
                .text = intern_text(w->names, text_of(request_reading_print(&c->read[r], text))),
        };
}

struct request_readers request_readers_read(struct cache *w, const struct container_view *c, int count)
{
        struct request_readers to = {0};
        for (int i = 0; i < count; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (c[i].read[r].divisor)
                                readers_add(w, &to, &c[i], r);
        return to;
}

const struct request_reader *request_readers_find(const struct request_readers *r, const char *container,
                                                  enum resource resource)
{
        for (int i = 0; i < r->rows; i++)
                if (r->row[i].container == container && r->row[i].resource == resource)
                        return &r->row[i];
        return NULL;
}
