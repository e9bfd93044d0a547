/* Objects, their versions, and what happened to them. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

const char *object_ns(const json_t *object)
{
        return text_at(object, "metadata.namespace");
}

const char *object_name(const json_t *object)
{
        return text_at(object, "metadata.name");
}

char *object_key(const char *ns, const char *name)
{
        return mem_printf("%s/%s", ns, name);
}

/* --- versions --- */

char *resource_version_text(const struct fake *f, uint64_t number)
{
        return f->options.opaque_versions ? mem_printf("v%" PRIx64 ".a", number) : mem_printf("%" PRIu64, number);
}

bool version_parse(const struct fake *f, const char *text, uint64_t *ret)
{
        char *end;
        *ret = 0;
        if (!*text || strcmp(text, "0") == 0)
                return true;
        if (f->options.opaque_versions) {
                *ret = strtoull(text + (*text == 'v'), &end, 16);
                return strcmp(end, ".a") == 0;
        }
        *ret = strtoull(text, &end, 10);
        return !*end && *text != '-';
}

struct version *version_take(struct version *v)
{
        v->refs++;
        return v;
}

void version_drop(struct version *v)
{
        if (!v || --v->refs > 0)
                return;
        json_decref(v->object);
        free(v->text);
        mem_free(v);
}

/* Members that are there, in the order the API server writes them, the rest behind. */
static json_t *order_members(const struct kind *k, json_t *object, const char *api_version)
{
        json_t *ordered = json_object();
        json_object_set_new(ordered, "kind", json_string(k->name));
        json_object_set_new(ordered, "apiVersion", json_string(api_version));
        json_object_update_missing(ordered, object);
        json_decref(object);
        return ordered;
}

static struct version *version_new(struct fake *f, const struct kind *k, json_t *object, uint64_t number)
{
        struct buf av = {0};
        buf_init(&av, 512);
        struct version *v = MEM_NEW(struct version);
        v->refs = 1;
        v->number = number;
        v->object = order_members(k, object, kind_api_version(k, &av));
        char *rv = resource_version_text(f, number);
        json_object_set_new(json_object_get(v->object, "metadata"), "resourceVersion", json_string(rv));
        mem_free(rv);
        v->text = json_dumps(v->object, JSON_COMPACT);
        assert(v->text);
        v->len = strlen(v->text);
        v->bare = strlen("{\"kind\":\"\",\"apiVersion\":\"\",") + strlen(k->name) + av.len;
        buf_release(&av);
        return v;
}

void version_print(const struct version *v, const struct kind *k, const char *api_version, struct buf *out)
{
        buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", k->name, api_version);
        buf_add(out, v->text + v->bare, v->len - v->bare);
}

/* --- objects --- */

size_t store_lower(const struct kind *k, const char *key)
{
        size_t low = 0, high = k->count;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (strcmp(k->object[mid].key, key) < 0)
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

struct object *store_find(const struct kind *k, const char *ns, const char *name)
{
        AUTO(mem_free) char *key = object_key(ns, name);
        size_t i = store_lower(k, key);
        return i < k->count && strcmp(k->object[i].key, key) == 0 ? &k->object[i] : NULL;
}

static void event_release(struct event *e)
{
        version_drop(e->now);
        version_drop(e->before);
        *e = (struct event){0};
}

/* Takes both references. */
static void event_push(struct fake *f, struct kind *k, enum change change, struct version *now, struct version *before)
{
        size_t room = f->options.history;
        if (!k->event)
                k->event = mem_new_array(room, sizeof *k->event);
        struct event *e = &k->event[k->next % room];
        if (k->kept == room) {
                k->forgotten = e->now->number;
                event_release(e);
        } else {
                k->kept++;
        }
        *e = (struct event){change, now, before};
        k->next++;
        fake_notify(f);
}

void store_forget(struct fake *f, struct kind *k)
{
        for (uint64_t i = k->next - k->kept; i < k->next; i++)
                event_release(&k->event[i % f->options.history]);
        k->kept = 0;
        k->forgotten = f->number;
}

static struct object *slot_open(struct kind *k, size_t at, char *key)
{
        if (k->count == k->cap) {
                k->cap = k->cap ? 2 * k->cap : 16;
                k->object = mem_resize(k->object, k->cap, sizeof *k->object);
        }
        memmove(&k->object[at + 1], &k->object[at], (k->count - at) * sizeof *k->object);
        k->count++;
        k->object[at] = (struct object){.key = key};
        return &k->object[at];
}

struct version *store_write(struct fake *f, struct kind *k, json_t *object)
{
        char *key = object_key(object_ns(object), object_name(object));
        size_t at = store_lower(k, key);
        struct object *slot = at < k->count && strcmp(k->object[at].key, key) == 0 ? &k->object[at] : NULL;
        struct version *now = version_new(f, k, object, ++f->number);
        k->writes++;
        if (!slot) {
                slot = slot_open(k, at, key);
                slot->version = now;
                event_push(f, k, ADDED, version_take(now), NULL);
                return now;
        }
        mem_free(key);
        struct version *before = slot->version;
        slot->version = now;
        event_push(f, k, MODIFIED, version_take(now), before);
        return now;
}

void store_remove(struct fake *f, struct kind *k, const char *ns, const char *name)
{
        struct object *slot = store_find(k, ns, name);
        assert(slot);
        struct version *before = slot->version;
        struct version *last = version_new(f, k, json_deep_copy(before->object), ++f->number);
        mem_free(slot->key);
        size_t at = (size_t)(slot - k->object);
        memmove(slot, slot + 1, (k->count - at - 1) * sizeof *slot);
        k->count--;
        k->writes++;
        event_push(f, k, DELETED, last, before);
}

void kind_empty(struct kind *k)
{
        for (size_t i = 0; i < k->count; i++) {
                mem_free(k->object[i].key);
                version_drop(k->object[i].version);
        }
        mem_free(k->object);
        k->object = NULL;
        k->count = k->cap = 0;
}
