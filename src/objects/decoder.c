#include "decoder.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/quantity.h"

enum { NAME_SHOWN = 120 };

void decoder_init(struct decoder *d, struct text json, struct arena *a)
{
        json_init(&d->j, json.p, json.len);
        d->arena = a;
        d->list = NULL;
        d->index = 0;
        d->managed = (struct text){"", 0};
        d->why.code = 0;
}

void decoder_refuse(struct decoder *d, int code, const char *fmt, ...)
{
        if (d->why.code || d->j.error)
                return;
        char text[ERR_TEXT_MAX];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        if (d->list)
                err_set(&d->why, code, "%s[%d]: %s", d->list, d->index, text);
        else
                err_set(&d->why, code, "%s", text);
        d->j.error = "refused"; /* errors of the reader stick: everything ends from here */
}

static int decoder_shown(struct text t)
{
        return t.len < NAME_SHOWN ? (int)t.len : NAME_SHOWN;
}

int decoder_end(struct decoder *d, const char *what, const struct object_view *meta, struct err *err)
{
        if (!d->why.code && json_done(&d->j, &d->why) == 0) {
                if (meta->name.len > 0 || meta->unnamed)
                        return 0;
                err_set(&d->why, ERR_INVALID, "metadata.name is missing");
        }
        return err_set(err, d->why.code, "%s '%.*s%s%.*s': %s", what, decoder_shown(meta->ns),
                       meta->ns.p ? meta->ns.p : "", meta->ns.len ? "/" : "", decoder_shown(meta->name),
                       meta->name.p ? meta->name.p : "", d->why.text);
}

bool decoder_item(struct decoder *d, const char *list, int count, int max)
{
        d->list = list;
        d->index = count;
        if (!json_item(&d->j)) {
                d->list = NULL;
                return false;
        }
        if (count < max)
                return true;
        decoder_refuse(d, ERR_TOOBIG, "more than %d", max);
        return false;
}

struct wall decoder_time(struct decoder *d, const char *field)
{
        struct text t = json_text(&d->j, d->arena);
        struct wall at = {0};
        if (t.len > 0 && wall_parse(t.p, t.len, &at) < 0)
                decoder_refuse(d, ERR_INVALID, "%s '%.*s' is not a time", field, decoder_shown(t), t.p);
        return at;
}

/* JSON readers of quantities in Go drop white space around them. */
static struct text decoder_trimmed(struct text t)
{
        while (t.len > 0 && t.p[0] == ' ')
                t.p++, t.len--;
        while (t.len > 0 && t.p[t.len - 1] == ' ')
                t.len--;
        return t;
}

bool decoder_quantity(struct decoder *d, const char *field, int digits, int64_t *ret)
{
        if (json_peek(&d->j) == 'n') {
                json_skip(&d->j);
                return false;
        }
        struct text t = decoder_trimmed(json_scalar(&d->j, d->arena));
        if (d->j.error)
                return false;
        size_t at;
        if (quantity_parse(t.p, t.len, digits, ret, &at) == 0)
                return true;
        if (at >= t.len && t.len > 0)
                decoder_refuse(d, ERR_INVALID, "%s '%.*s' is not a quantity, or too large for one", field,
                               decoder_shown(t), t.p);
        else
                decoder_refuse(d, ERR_INVALID, "%s '%.*s' is not a quantity (byte %zu)", field, decoder_shown(t), t.p,
                               at + 1);
        return false;
}

void decoder_amounts(struct decoder *d, const char *field, struct amount ret[RESOURCES])
{
        struct text key;
        DECODER_EACH (d, key) {
                enum resource r = text_is(key, "cpu") ? CPU : text_is(key, "memory") ? MEMORY : RESOURCES;
                if (r == RESOURCES) {
                        json_skip(&d->j);
                        continue;
                }
                ret[r].set = decoder_quantity(d, field, r == CPU ? QUANTITY_MILLI : QUANTITY_WHOLE, &ret[r].value);
                if (ret[r].set && ret[r].value < 0)
                        decoder_refuse(d, ERR_INVALID, "%s.%s is negative", field, resource_name(r));
        }
}

void decoder_resources(struct decoder *d, struct amount request[RESOURCES], struct amount limit[RESOURCES])
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "requests"))
                        decoder_amounts(d, "requests", request);
                else if (text_is(key, "limits"))
                        decoder_amounts(d, "limits", limit);
                else
                        json_skip(&d->j);
}

static bool decoder_is_part(struct text key, const char *prefix, const char *part, size_t len)
{
        size_t p = strlen(prefix);
        return key.len == p + len && memcmp(key.p, prefix, p) == 0 && memcmp(key.p + p, part, len) == 0;
}

struct text decoder_find(struct text from, const char *pointer, const char *prefix)
{
        while (from.len > 0 && *pointer == '/') {
                size_t len = strcspn(++pointer, "/");
                struct text key, found = {"", 0};
                struct json j;
                json_init(&j, from.p, from.len);
                if (json_peek(&j) == '{' && json_enter(&j, '{')) {
                        while (json_key(&j, &key))
                                if (decoder_is_part(key, prefix, pointer, len))
                                        found = json_raw(&j);
                                else
                                        json_skip(&j);
                }
                from = found;
                pointer += len;
        }
        return from;
}

/* --- metadata --- */

static int decoder_labels(struct decoder *d, struct label **ret)
{
        struct label seen[VIEW_LABELS];
        int count = 0;
        struct text key;
        if (!json_enter(&d->j, '{'))
                return 0;
        while (json_key(&d->j, &key)) {
                if (count == VIEW_LABELS) {
                        decoder_refuse(d, ERR_TOOBIG, "more than %d labels", VIEW_LABELS);
                        return 0;
                }
                struct text value = json_text(&d->j, d->arena);
                seen[count++] = (struct label){key, value};
        }
        if (count == 0)
                return 0;
        *ret = arena_new(d->arena, (size_t)count * sizeof *seen);
        memcpy(*ret, seen, (size_t)count * sizeof *seen);
        return count;
}

static void decoder_annotations(struct decoder *d, struct our_annotations *ret)
{
        static const char ours[] = "halflife.dev/";
        struct text key;
        DECODER_EACH (d, key) {
                struct text *to = NULL;
                if (key.len >= sizeof ours && memcmp(key.p, ours, sizeof ours - 1) == 0)
                        to = text_is(key, ANNOTATION_ORIGINAL)          ? &ret->original
                             : text_is(key, ANNOTATION_APPLIED)         ? &ret->applied
                             : text_is(key, ANNOTATION_BASIS)           ? &ret->basis
                             : text_is(key, ANNOTATION_RAISED)          ? &ret->raised
                             : text_is(key, ANNOTATION_APPLY)           ? &ret->apply
                             : text_is(key, ANNOTATION_HOLD)            ? &ret->hold
                             : text_is(key, ANNOTATION_TARGETS)         ? &ret->targets
                             : text_is(key, ANNOTATION_TARGETS_APPLIED) ? &ret->targets_applied
                                                                        : NULL;
                if (to)
                        *to = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
        }
}

/* What names an object; keys are made of these, so what no API server lets pass is refused here. */
static struct text decoder_name(struct decoder *d, const char *field)
{
        struct text name = json_text(&d->j, d->arena);
        if (name.len > VIEW_NAME)
                decoder_refuse(d, ERR_TOOBIG, "%s is longer than %d bytes", field, VIEW_NAME);
        for (size_t i = 0; i < name.len && name.len <= VIEW_NAME; i++)
                if ((unsigned char)name.p[i] <= ' ' || name.p[i] == '/' || name.p[i] == 0x7f)
                        decoder_refuse(d, ERR_INVALID, "%s has a byte that no name has, 0x%02x", field,
                                       (unsigned)(unsigned char)name.p[i]);
        return name;
}

static void decoder_owner(struct decoder *d, struct object_view *m)
{
        struct owner_ref o = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
        bool controller = false;
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "apiVersion"))
                        o.api_version = json_text(&d->j, d->arena);
                else if (text_is(key, "kind"))
                        o.kind = decoder_name(d, "ownerReferences.kind");
                else if (text_is(key, "name"))
                        o.name = decoder_name(d, "ownerReferences.name");
                else if (text_is(key, "uid"))
                        o.uid = json_text(&d->j, d->arena);
                else if (text_is(key, "controller"))
                        controller = json_bool(&d->j);
                else
                        json_skip(&d->j);
        if (controller)
                m->owner = o;
}

void decoder_reference(struct decoder *d, struct owner_ref *ret)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "apiVersion"))
                        ret->api_version = json_text(&d->j, d->arena);
                else if (text_is(key, "kind"))
                        ret->kind = json_text(&d->j, d->arena);
                else if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
}

static void decoder_meta_member(struct decoder *d, struct text key, struct object_view *m)
{
        struct json *j = &d->j;
        if (text_is(key, "name"))
                m->name = decoder_name(d, "metadata.name");
        else if (text_is(key, "generateName"))
                m->unnamed = json_text(j, d->arena).len > 0;
        else if (text_is(key, "namespace"))
                m->ns = decoder_name(d, "metadata.namespace");
        else if (text_is(key, "uid"))
                m->uid = json_text(j, d->arena);
        else if (text_is(key, "resourceVersion"))
                m->version = json_text(j, d->arena);
        else if (text_is(key, "generation"))
                m->generation = json_int(j);
        else if (text_is(key, "creationTimestamp"))
                m->created = decoder_time(d, "creationTimestamp");
        else if (text_is(key, "deletionTimestamp"))
                m->deleted = decoder_time(d, "deletionTimestamp");
        else if (text_is(key, "labels"))
                m->labels = decoder_labels(d, &m->label);
        else if (text_is(key, "annotations"))
                decoder_annotations(d, &m->annotation);
        else if (text_is(key, "managedFields"))
                d->managed = json_raw(j);
        else if (text_is(key, "ownerReferences") && json_enter(j, '['))
                while (json_item(j))
                        decoder_owner(d, m);
        else if (!text_is(key, "ownerReferences"))
                json_skip(j);
}

void decoder_meta(struct decoder *d, struct object_view *ret)
{
        struct text key;
        DECODER_EACH (d, key)
                decoder_meta_member(d, key, ret);
        ret->unnamed &= ret->name.len == 0;
}

/* --- containers --- */

/* [{"resourceName":"memory","restartPolicy":"RestartContainer"}] */
static void decoder_resize_policy(struct decoder *d, bool ret_restarts[RESOURCES])
{
        if (!json_enter(&d->j, '['))
                return;
        while (json_item(&d->j)) {
                struct text key, name = {"", 0}, policy = {"", 0};
                DECODER_EACH (d, key)
                        if (text_is(key, "resourceName"))
                                name = json_text(&d->j, d->arena);
                        else if (text_is(key, "restartPolicy"))
                                policy = json_text(&d->j, d->arena);
                        else
                                json_skip(&d->j);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (text_is(name, resource_name(r)))
                                ret_restarts[r] = text_is(policy, "RestartContainer");
        }
}

/* Passes over a value: true, unless it is null. */
static bool decoder_present(struct decoder *d)
{
        bool present = json_peek(&d->j) != 'n';
        json_skip(&d->j);
        return present;
}

static bool has_start_hook(struct decoder *d)
{
        bool has = false;
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "postStart"))
                        has = decoder_present(d);
                else
                        json_skip(&d->j);
        return has;
}

static void decoder_container(struct decoder *d, bool init, struct container_view *ret)
{
        bool always = false;
        struct text key;
        *ret = (struct container_view){.name = {"", 0}};
        DECODER_EACH (d, key)
                if (text_is(key, "name"))
                        ret->name = json_text(&d->j, d->arena);
                else if (text_is(key, "resources"))
                        decoder_resources(d, ret->request, ret->limit);
                else if (text_is(key, "restartPolicy"))
                        always = text_is(json_text(&d->j, d->arena), "Always");
                else if (text_is(key, "resizePolicy"))
                        decoder_resize_policy(d, ret->restarts);
                else if (text_is(key, "livenessProbe") || text_is(key, "startupProbe"))
                        ret->probed |= decoder_present(d);
                else if (text_is(key, "lifecycle"))
                        ret->probed |= has_start_hook(d);
                else
                        json_skip(&d->j);
        ret->role = !init ? ROLE_MAIN : always ? ROLE_SIDECAR : ROLE_INIT;
        if (ret->name.len == 0)
                decoder_refuse(d, ERR_INVALID, "name is missing");
}

/* The API server takes a limit for the request as well, where no container asks for the resource. */
static struct amount decoder_pod_asks(const struct amount request, const struct amount limit, enum resource r,
                                      const struct container_view *c, int count)
{
        if (request.set)
                return request;
        for (int i = 0; i < count; i++)
                if (c[i].request[r].set || c[i].limit[r].set)
                        return (struct amount){0};
        return limit;
}

void decoder_pod_spec(struct decoder *d, struct container_view ret[VIEW_CONTAINERS], int *ret_count,
                      struct amount ret_pod_asks[RESOURCES], struct pod_place *ret_place)
{
        bool seen[2] = {false, false};
        struct amount request[RESOURCES] = {0}, limit[RESOURCES] = {0};
        struct text key;
        DECODER_EACH (d, key) {
                if (text_is(key, "resources")) {
                        decoder_resources(d, request, limit);
                        continue;
                }
                struct text *place = text_is(key, "priorityClassName") ? &ret_place->priority_class
                                     : text_is(key, "nodeName")        ? &ret_place->node
                                                                       : NULL;
                if (place) {
                        *place = json_text(&d->j, d->arena);
                        continue;
                }
                bool init = text_is(key, "initContainers");
                if (!init && !text_is(key, "containers")) {
                        json_skip(&d->j);
                        continue;
                }
                const char *list = init ? "initContainers" : "containers";
                if (seen[init])
                        decoder_refuse(d, ERR_INVALID, "%s occurs twice", list);
                seen[init] = true;
                if (json_enter(&d->j, '['))
                        while (decoder_item(d, list, *ret_count, VIEW_CONTAINERS))
                                decoder_container(d, init, &ret[(*ret_count)++]);
        }
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret_pod_asks[r] = decoder_pod_asks(request[r], limit[r], r, ret, *ret_count);
}
