/*
 * Finds changes that a template's annotations record but the apply state does not: admission or render made them in a
 * deploy, a rollback brought them back, or an earlier process of halflife was killed before it stored them. Such a
 * change counts as made when this process sees it, so that the cooldown holds.
 */
#include <string.h>

#include "applier_private.h"
#include "base/yaml.h"
#include "cache/apply_state.h"

static const struct container_spec *external_apply_spec_of(const struct workload *wl, const char *container)
{
        for (int i = 0; i < wl->containers; i++)
                if (wl->container[i].name == container)
                        return &wl->container[i];
        return NULL;
}

static bool external_apply_stands(const struct workload *wl, const struct record_row *row)
{
        const struct container_spec *spec = external_apply_spec_of(wl, row->container);
        for (int r = 0; spec && r < RESOURCES; r++)
                if (row->request[r].set && spec->request[r].set && row->request[r].value == spec->request[r].value)
                        return true;
        return false;
}

static bool external_apply_carries(const struct workload *wl)
{
        for (int i = 0; i < wl->applied.rows; i++)
                if (external_apply_stands(wl, &wl->applied.row[i]))
                        return true;
        return false;
}

static bool holds_row(const json_t *list, const json_t *row)
{
        size_t i;
        json_t *other;
        json_array_foreach(list, i, other) if (json_equal(row, other)) return true;
        return false;
}

/* Whether two lists have the same rows, in any order. */
static bool same_rows(const json_t *a, const json_t *b)
{
        size_t i;
        json_t *row;
        if (json_array_size(a) != json_array_size(b))
                return false;
        json_array_foreach(a, i, row) if (!holds_row(b, row)) return false;
        return true;
}

void external_apply_adopt(struct applier *applier, struct target *t)
{
        const struct apply_state *d = &t->apply_state;
        const struct workload *wl = t->workload;
        if (t->busy || t->apply_state_generation == wl->generation)
                return;
        target_template_compared(t);
        if (!external_apply_carries(wl) || in_place(t)) /* InPlace sets the pods' requests, whatever the template has */
                return;
        AUTO(json_decref) json_t *known = d->changed_ms && d->containers ? json_loads(d->containers, 0, NULL) : NULL;
        AUTO(json_decref) json_t *seen = record_set_rows(&wl->applied);
        if (known && same_rows(known, seen))
                return;
        guard_deployed(t, loop_now(applier->loop).wall);
        apply_state_changed(t, loop_now(applier->loop).wall, wl->digest);
        target_set_applied(applier->cache, t, json_dumps(seen, JSON_SORT_KEYS | JSON_COMPACT), false);
        target_set_admitted(applier->cache, t, NULL); /* forget what admission made of the change before */
        target_set_rolling(t, true);                  /* rolling until the status shows the rollout complete */
        log_info("found requests set by halflife that this process did not write", KV("namespace", t->ns),
                 KV("kind", t->kind), KV("name", t->name), KV("requests", d->containers));
        checkpointer_apply_state(applier->checkpointer, t);
        notice_deployed(applier->notices, applier->cache, t);
}
