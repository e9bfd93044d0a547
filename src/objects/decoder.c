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
        d->path = "";
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
        d->j.error = "refused"; /* an error of the JSON reader ends all further reading */
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

bool decoder_item_cut(struct decoder *d, const char *list, int count, int max, bool *cut)
{
        d->list = list;
        d->index = count;
        while (json_item(&d->j)) {
                if (count < max)
                        return true;
                if (cut)
                        *cut = true;
                json_skip(&d->j);
        }
        d->list = NULL;
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

/* Go's JSON decoder of quantities trims white space around them. */
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

bool decoder_quantity_or_odd(struct decoder *d, int digits, int64_t *ret, bool *ret_readable)
{
        char next = json_peek(&d->j);
        struct text t = {"", 0};
        if (next == '{' || next == '[' || next == 'n')
                json_skip(&d->j);
        else
                t = decoder_trimmed(json_scalar(&d->j, d->arena));
        size_t at;
        bool read = !d->j.error && next != 'n' && quantity_parse(t.p, t.len, digits, ret, &at) == 0;
        *ret_readable &= read || next == 'n';
        return read;
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

static int decoder_labels(struct decoder *d, struct label **ret, bool *ret_cut)
{
        struct label seen[VIEW_LABELS];
        int count = 0;
        struct text key;
        if (!json_enter(&d->j, '{'))
                return 0;
        while (json_key(&d->j, &key)) {
                if (count == VIEW_LABELS) {
                        *ret_cut = true;
                        json_skip(&d->j);
                        continue;
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
                             : text_is(key, ANNOTATION_PROBE)           ? &ret->probe
                             : text_is(key, ANNOTATION_TARGETS)         ? &ret->targets
                             : text_is(key, ANNOTATION_TARGETS_APPLIED) ? &ret->targets_applied
                                                                        : NULL;
                if (to)
                        *to = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
        }
}

/* Reads a name and refuses one that no API server accepts. halflife joins names into keys, so a name must have no
 * slash. */
static struct text decoder_name(struct decoder *d, const char *field)
{
        struct text name = json_text(&d->j, d->arena);
        if (name.len > VIEW_NAME)
                decoder_refuse(d, ERR_TOOBIG, "%s is longer than %d bytes", field, VIEW_NAME);
        for (size_t i = 0; i < name.len && name.len <= VIEW_NAME; i++)
                if ((unsigned char)name.p[i] <= ' ' || name.p[i] == '/' || name.p[i] == 0x7f)
                        decoder_refuse(d, ERR_INVALID, "%s has a byte that no name may have, 0x%02x", field,
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
                m->labels = decoder_labels(d, &m->label, &m->labels_cut);
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

void decoder_meta(struct decoder *d, void *to)
{
        struct object_view *ret = to;
        struct text key;
        DECODER_EACH (d, key)
                decoder_meta_member(d, key, ret);
        ret->unnamed &= ret->name.len == 0;
}

/* --- by tables --- */

/* Whether the next part of the path is this key. A key may itself contain a dot, so the lengths are compared. */
static bool decoder_path_has(const char *path, struct text key)
{
        return strcspn(path, ".") == key.len && memcmp(path, key.p, key.len) == 0;
}

/* Reads an object by `count` rows of a table, whose paths share their first `depth` bytes. */
static void decoder_level(struct decoder *d, const struct decoder_field *row, size_t count, size_t depth, void *to)
{
        struct text key;
        DECODER_EACH (d, key) {
                size_t i = 0, below = depth + key.len + 1, alike = 1;
                while (i < count && !decoder_path_has(row[i].path + depth, key))
                        i++;
                if (i == count) {
                        json_skip(&d->j);
                } else if (row[i].path[below - 1] == '\0') {
                        d->path = row[i].path;
                        row[i].read(d, (char *)to + row[i].at);
                } else {
                        while (i + alike < count && strncmp(row[i].path, row[i + alike].path, below) == 0)
                                alike++;
                        decoder_level(d, &row[i], alike, below, to);
                }
        }
}

void decoder_fields(struct decoder *d, const struct decoder_field *table, void *to)
{
        size_t count = 0;
        while (table[count].path)
                count++;
        decoder_level(d, table, count, 0, to);
}

const char *decoder_field_name(const struct decoder *d)
{
        const char *dot = strrchr(d->path, '.');
        return dot ? dot + 1 : d->path;
}

void decoder_field_text(struct decoder *d, void *to)
{
        *(struct text *)to = json_text(&d->j, d->arena);
}

void decoder_field_int(struct decoder *d, void *to)
{
        *(int64_t *)to = json_int(&d->j);
}

void decoder_field_raw(struct decoder *d, void *to)
{
        *(struct text *)to = json_raw(&d->j);
}

void decoder_field_time(struct decoder *d, void *to)
{
        *(struct wall *)to = decoder_time(d, decoder_field_name(d));
}

void decoder_field_amounts(struct decoder *d, void *to)
{
        decoder_amounts(d, decoder_field_name(d), to);
}

void decoder_reference(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"apiVersion", decoder_field_text, offsetof(struct owner_ref, api_version)},
                {"kind", decoder_field_text, offsetof(struct owner_ref, kind)},
                {"name", decoder_field_text, offsetof(struct owner_ref, name)},
                {0},
        };
        decoder_fields(d, table, to);
}

int decoder_view(const struct decoder_kind *kind, struct text json, struct arena *a, void *ret,
                 struct text *ret_managed, struct err *err)
{
        struct decoder d;
        memset(ret, 0, kind->size);
        decoder_init(&d, json, a);
        decoder_fields(&d, kind->table, ret);
        if (ret_managed)
                *ret_managed = d.managed;
        return decoder_end(&d, kind->what, ret, err);
}

int decoder_managed(struct text managed, struct arena *a, managed_reader *each, void *arg, const char *what,
                    const struct object_view *meta, struct err *err)
{
        static const struct decoder_field table[] = {
                {"manager", decoder_field_text, offsetof(struct managed_entry, manager)},
                {"operation", decoder_field_text, offsetof(struct managed_entry, operation)},
                {"fieldsV1", decoder_field_raw, offsetof(struct managed_entry, fields)},
                {0},
        };
        struct decoder d;
        if (managed.len == 0)
                return 0;
        decoder_init(&d, managed, a);
        if (json_enter(&d.j, '['))
                while (json_item(&d.j)) {
                        struct managed_entry e = {{"", 0}, {"", 0}, {"", 0}};
                        decoder_fields(&d, table, &e);
                        each(&d, &e, arg);
                }
        return decoder_end(&d, what, meta, err);
}
