/*
 * Who owns a container's requests by server-side apply: metadata.managedFields, as far as it concerns us.
 */
#include "decoder.h"

/* Where one entry's claims go. */
struct claim {
        struct workload_view *view;
        struct text manager;
};

/* "k:{\"name\":\"app\"}", its quotes still escaped as they stand in the document */
static bool container_of_key(struct text key, struct text *ret)
{
        static const char head[] = "k:{\\\"name\\\":\\\"", tail[] = "\\\"}";
        size_t h = sizeof head - 1, t = sizeof tail - 1;
        if (key.len <= h + t || memcmp(key.p, head, h) != 0 || memcmp(key.p + key.len - t, tail, t) != 0)
                return false;
        *ret = (struct text){key.p + h, key.len - h - t};
        return true;
}

static void claim_add(struct decoder *d, const struct claim *c, struct text container, const bool of[RESOURCES])
{
        struct workload_view *w = c->view;
        if (!of[CPU] && !of[MEMORY])
                return;
        if (w->owners == VIEW_OWNERS) {
                decoder_refuse(d, ERR_TOOBIG, "more than %d requests owned by server-side apply", VIEW_OWNERS);
                return;
        }
        w->owner[w->owners++] = (struct field_owner){container, c->manager, {of[CPU], of[MEMORY]}};
}

static void read_requests(struct decoder *d, bool of[RESOURCES])
{
        struct text key;
        DECODER_EACH (d, key) {
                of[CPU] |= text_is(key, "f:cpu");
                of[MEMORY] |= text_is(key, "f:memory");
                json_skip(&d->j);
        }
}

/* {"f:requests":{"f:cpu":{},"f:memory":{}}} */
static void owner_read_resources(struct decoder *d, bool of[RESOURCES])
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "f:requests"))
                        read_requests(d, of);
                else
                        json_skip(&d->j);
}

static void owner_read_container(struct decoder *d, const struct claim *c, struct text container)
{
        bool of[RESOURCES] = {false, false};
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "f:resources"))
                        owner_read_resources(d, of);
                else
                        json_skip(&d->j);
        claim_add(d, c, container, of);
}

/* A kind whose schema does not tell its containers apart has an atomic list: "f:containers":{} owns all of it. */
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
                claim_add(d, c, c->view->container[i].name, both);
}

/* The requests that one manager's set of fields claims. */
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

static void owner_read_entry(struct decoder *d, struct workload_view *w, const char *template_path,
                             const char *field_manager)
{
        struct claim c = {w, {"", 0}};
        struct text key, operation = {"", 0}, fields = {"", 0};
        DECODER_EACH (d, key)
                if (text_is(key, "manager"))
                        c.manager = json_text(&d->j, d->arena);
                else if (text_is(key, "operation"))
                        operation = json_text(&d->j, d->arena);
                else if (text_is(key, "fieldsV1"))
                        fields = json_raw(&d->j);
                else
                        json_skip(&d->j);
        if (text_is(operation, "Apply") && !text_is(c.manager, field_manager))
                read_claims(d, &c, fields, template_path);
}

int decode_owners(struct text managed, const char *template_path, const char *field_manager, struct arena *a,
                  struct workload_view *w, struct err *err)
{
        struct decoder d;
        if (managed.len == 0)
                return 0;
        decoder_init(&d, managed, a);
        if (json_enter(&d.j, '['))
                while (json_item(&d.j))
                        owner_read_entry(&d, w, template_path, field_manager);
        return decoder_end(&d, "workload", &w->meta, err);
}
