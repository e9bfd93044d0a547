/*
 * status.applied, decoded: the requests that running pods were given (mode InPlace), and those that admission changed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cache/cache.h"
#include "cache/pod_canary.h"

static struct record_row row_read(struct cache *w, const json_t *of)
{
        const char *name = json_string_value(json_object_get(of, "name"));
        struct record_row row = {.container = intern_text(w->names, text_of(name ? name : ""))};
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const char *text = json_string_value(json_object_get(of, resource_name(r)));
                (void)amount_parse(text_of(text), r, &row.request[r]);
        }
        return row;
}

static struct record_set set_read(struct cache *w, const char *containers)
{
        AUTO(json_decref) json_t *list = json_loads(containers, 0, NULL);
        size_t rows = json_array_size(list);
        if (rows > VIEW_CONTAINERS)
                rows = VIEW_CONTAINERS;
        struct record_set set = {.row = mem_new_array(rows + 1, sizeof *set.row), .present = true};
        for (; (size_t)set.rows < rows; set.rows++)
                set.row[set.rows] = row_read(w, json_array_get(list, (size_t)set.rows));
        return set;
}

static const struct record_row *applied_row_of(const struct record_set *set, const char *container)
{
        for (int i = 0; i < set->rows; i++)
                if (set->row[i].container == container)
                        return &set->row[i];
        return NULL;
}

void pod_canary_begin(struct cache *w, struct target *t, char *rest)
{
        pod_canary_end(w, t);
        t->apply_state.pod_canary = MEM_NEW(struct pod_canary);
        *t->apply_state.pod_canary = (struct pod_canary){rest, set_read(w, rest)};
}

void pod_canary_end(struct cache *w, struct target *t)
{
        struct pod_canary *pod_canary = STEAL(&t->apply_state.pod_canary);
        if (!pod_canary)
                return;
        record_set_release(w, &pod_canary->rest);
        mem_free(pod_canary->containers);
        mem_free(pod_canary);
}

const struct record_row *pod_canary_baseline(const struct target *t, const char *container)
{
        return t->apply_state.pod_canary ? applied_row_of(&t->apply_state.pod_canary->rest, container) : NULL;
}

void target_set_applied(struct cache *w, struct target *t, char *containers, bool in_place)
{
        struct apply_state *d = &t->apply_state;
        pod_canary_end(w, t);
        record_set_release(w, &d->set);
        mem_free(d->containers);
        d->containers = containers;
        d->in_place = in_place && containers;
        if (d->in_place)
                d->set = set_read(w, containers);
}

void target_set_admitted(struct cache *w, struct target *t, const char *json)
{
        struct apply_state *d = &t->apply_state;
        char *kept = mem_string(json);
        mem_free(d->admitted);
        record_set_release(w, &d->made);
        d->admitted = kept;
        if (kept)
                d->made = record_set_read(w, text_of(kept));
        arena_reset(&w->scratch);
}

/* The requests in a row of status.applied.admitted, as an annotation record has them. Other members are no requests. */
static json_t *admitted_note(const json_t *row)
{
        json_t *requests = json_object();
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (json_is_string(json_object_get(row, resource_name(r))))
                        json_object_set(requests, resource_name(r), json_object_get(row, resource_name(r)));
        return json_pack("{s:o}", "requests", requests);
}

void target_set_admitted_rows(struct cache *w, struct target *t, const char *rows)
{
        AUTO(json_decref) json_t *list = rows ? json_loads(rows, 0, NULL) : NULL;
        AUTO(json_decref) json_t *notes = json_object();
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row)
        {
                const char *name = json_string_value(json_object_get(row, "name"));
                if (name && i < VIEW_CONTAINERS)
                        json_object_set_new(notes, name, admitted_note(row));
        }
        char *text = json_object_size(notes) > 0 ? json_dumps(notes, JSON_COMPACT) : NULL;
        target_set_admitted(w, t, text);
        free(text); /* allocated by jansson */
}

const struct record_row *target_setting(const struct target *t, const char *container)
{
        return applied_row_of(&t->apply_state.set, container);
}
