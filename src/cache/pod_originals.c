#include "cache/pod_originals.h"

#include "cache/cache.h"
#include "cache/pod_namespace_targets.h"
#include "core/pod_request_sum.h"
#include "objects/annotation_record.h"

struct pod_original {
        const char *text; /* the annotation's text: the key in pod_originals.read */
        int count;
        struct recorded row[];
};

struct pod_record {
        struct recorded row[VIEW_CONTAINERS];
        int rows;
};

static int pod_record_add(void *arg, const struct recorded *r)
{
        struct pod_record *to = arg;
        to->row[to->rows++] = *r;
        return 0;
}

static const struct pod_original *pod_original_read(struct pod_originals *all, const char *text)
{
        if (all->last && all->last->text == text) /* by address, as texts are interned */
                return all->last;
        struct pod_original *o = map_get(&all->read, text_of(text));
        struct pod_record record;
        struct err ignored;
        if (o)
                return all->last = o;
        record.rows = 0;
        if (record_read(text_of(text), &all->scratch, pod_record_add, &record, &ignored) < 0)
                record.rows = 0; /* somebody edited the annotation */
        o = arena_new(&all->scratch, sizeof *o + (size_t)record.rows * sizeof o->row[0]);
        o->text = text;
        o->count = record.rows;
        for (int i = 0; i < o->count; i++) /* container names point into the text, or into scratch */
                o->row[i] = record.row[i];
        map_put(&all->read, text_of(o->text), o);
        return all->last = o;
}

static const struct record_row *pod_original_row(const struct record_set *set, const char *container)
{
        for (int i = 0; i < set->rows; i++)
                if (set->row[i].container == container)
                        return &set->row[i];
        return NULL;
}

/* The original by the workload: as halflife recorded it if the template has halflife's request, else the template's
 * request; where that is unset, the limit. */
static struct amount pod_original_of_template(const struct workload *wl, const struct pod_container *c, enum resource r)
{
        const struct record_row *applied = pod_original_row(&wl->applied, c->name),
                                *original = pod_original_row(&wl->original, c->name);
        for (int i = 0; i < wl->containers; i++) {
                const struct container_spec *spec = &wl->container[i];
                bool set = original && applied && applied->request[r].set &&
                           amount_equal(applied->request[r], spec->request[r]);
                struct amount request = set ? original->request[r] : spec->request[r];
                if (spec->name == c->name)
                        return request.set ? request : spec->limit[r];
        }
        return pod_request(c, r);
}

static struct amount pod_original_of(const struct pod_original *o, const struct pod_container *c, enum resource r)
{
        for (int i = 0; i < o->count; i++)
                if (text_is(o->row[i].container, c->name))
                        return o->row[i].request[r].set ? o->row[i].request[r] : o->row[i].limit[r];
        return pod_request(c, r);
}

static int64_t pod_asks_total(const struct pod *p, enum resource r, const struct pod_sum *s)
{
        struct amount a = pod_takes(p, r, pod_sum_total(s));
        return a.set ? a.value : 0;
}

void pod_originals_ask(struct pod_originals *all, const struct pod *p, struct pod_asks *ret)
{
        bool ours = p->original && p->ours;
        const struct workload *wl = ours && p->target ? p->target->workload : NULL;
        const struct pod_original *o = ours && !wl ? pod_original_read(all, p->original) : NULL;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                struct pod_sum original = {0}, requested = {0};
                for (int i = 0; i < p->containers; i++) {
                        const struct pod_container *c = &p->container[i];
                        pod_sum_add(&requested, c->role, pod_request(c, r));
                        if (ours)
                                pod_sum_add(&original, c->role,
                                            wl ? pod_original_of_template(wl, c, r) : pod_original_of(o, c, r));
                }
                ret->requested[r] = pod_asks_total(p, r, &requested);
                ret->original[r] = ours ? pod_asks_total(p, r, &original) : ret->requested[r];
        }
}

void pod_originals_release(struct pod_originals *all)
{
        map_release(&all->read);
        arena_release(&all->scratch);
}
