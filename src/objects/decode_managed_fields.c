/*
 * Reads from metadata.managedFields which field managers own a container's requests by server-side apply.
 */
#include "decoder.h"

/* The manager of one entry of managedFields, and the view that receives the requests that the manager owns. */
struct claim {
        struct workload_view *view;
        struct text manager;
};

/* Reads the container from a key "k:{\"name\":\"app\"}". json_key leaves the quotes escaped. */
static bool container_of_key(struct text key, struct text *ret)
{
        static const char head[] = "k:{\\\"name\\\":\\\"", tail[] = "\\\"}";
        size_t h = sizeof head - 1, t = sizeof tail - 1;
        if (key.len <= h + t || memcmp(key.p, head, h) != 0 || memcmp(key.p + key.len - t, tail, t) != 0)
                return false;
        *ret = (struct text){key.p + h, key.len - h - t};
        return true;
}

static void claim_add(const struct claim *c, struct text container, const bool of[RESOURCES])
{
        struct workload_view *w = c->view;
        if (!of[CPU] && !of[MEMORY])
                return;
        for (int i = 0; i < w->owners; i++) /* a manager may have several entries, such as one per API version */
                if (text_equal(w->owner[i].container, container) && text_equal(w->owner[i].manager, c->manager)) {
                        w->owner[i].of[CPU] |= of[CPU];
                        w->owner[i].of[MEMORY] |= of[MEMORY];
                        return;
                }
        if (w->owners == VIEW_OWNERS) {
                w->owners_cut = true;
                return;
        }
        w->owner[w->owners++] = (struct field_owner){container, c->manager, {of[CPU], of[MEMORY]}};
}

static void owner_read_requests(struct decoder *d, void *to)
{
        bool *of = to;
        struct text key;
        DECODER_EACH (d, key) {
                of[CPU] |= text_is(key, "f:cpu");
                of[MEMORY] |= text_is(key, "f:memory");
                json_skip(&d->j);
        }
}

static void owner_read_container(struct decoder *d, const struct claim *c, struct text container)
{
        static const struct decoder_field table[] = {{"f:resources.f:requests", owner_read_requests, 0}, {0}};
        bool of[RESOURCES] = {false, false};
        decoder_fields(d, table, of);
        claim_add(c, container, of);
}

/* A kind whose schema gives its containers no key has an atomic list: the manager with "f:containers":{} then owns the
 * requests of all containers. */
static void owner_read_containers(struct decoder *d, const struct claim *c)
{
        static const bool both[RESOURCES] = {true, true};
        bool empty = true;
        struct text key, container;
        DECODER_EACH (d, key) {
                empty = false;
                if (container_of_key(key, &container))
                        owner_read_container(d, c, container);
                else
                        json_skip(&d->j);
        }
        for (int i = 0; empty && i < c->view->containers; i++)
                claim_add(c, c->view->container[i].name, both);
}

/* Reads the requests that one manager owns from its set of fields. */
static void read_claims(struct decoder *outer, const struct claim *c, struct text fields, const char *template_path)
{
        struct text spec = decoder_find(decoder_find(fields, template_path, "f:"), "/spec", "f:"), key;
        if (spec.len == 0)
                return;
        struct decoder d;
        decoder_init(&d, spec, outer->arena);
        DECODER_EACH (&d, key)
                if (text_is(key, "f:containers") || text_is(key, "f:initContainers"))
                        owner_read_containers(&d, c);
                else
                        json_skip(&d.j);
        if (d.why.code)
                decoder_refuse(outer, d.why.code, "%s", d.why.text);
}

struct owners_wanted {
        struct workload_view *view;
        const char *template_path, *field_manager;
};

static void owner_read_entry(struct decoder *d, const struct managed_entry *e, void *arg)
{
        const struct owners_wanted *w = arg;
        struct claim c = {w->view, e->manager};
        if (text_is(e->operation, "Apply") && !text_is(e->manager, w->field_manager))
                read_claims(d, &c, e->fields, w->template_path);
}

int decode_owners(struct text managed, const char *template_path, const char *field_manager, struct arena *a,
                  struct workload_view *w, struct err *err)
{
        struct owners_wanted wanted = {w, template_path, field_manager};
        return decoder_managed(managed, a, owner_read_entry, &wanted, "workload", &w->meta, err);
}
