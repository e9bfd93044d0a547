/*
 * What running pods are set to, under InPlace: the rows of status.applied.containers, kept readable beside their text.
 */
#include <string.h>

#include "base/yaml.h"
#include "world.h"

static struct record_row row_read(struct world *w, const json_t *of)
{
        const char *name = json_string_value(json_object_get(of, "name"));
        struct record_row row = {.container = intern_text(w->names, text_of(name ? name : ""))};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const char *text = json_string_value(json_object_get(of, resource_name(r)));
                (void)amount_parse(text_of(text), r, &row.request[r]);
        }
        return row;
}

void target_set_applied(struct world *w, struct target *t, char *containers, bool in_place)
{
        struct deed *d = &t->deed;
        record_set_release(w, &d->set);
        mem_free(d->containers);
        d->containers = containers;
        d->in_place = in_place && containers;
        if (!d->in_place)
                return;
        AUTO(json_decref) json_t *list = json_loads(containers, 0, NULL);
        size_t rows = json_array_size(list);
        if (rows > VIEW_CONTAINERS)
                rows = VIEW_CONTAINERS;
        d->set = (struct record_set){.row = mem_new_array(rows + 1, sizeof *d->set.row), .present = true};
        while ((size_t)d->set.rows < rows) {
                d->set.row[d->set.rows] = row_read(w, json_array_get(list, (size_t)d->set.rows));
                d->set.rows++;
        }
}

const struct record_row *target_setting(const struct target *t, const char *container)
{
        for (int i = 0; i < t->deed.set.rows; i++)
                if (t->deed.set.row[i].container == container)
                        return &t->deed.set.row[i];
        return NULL;
}
