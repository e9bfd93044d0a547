/*
 * Recommendations as they are in the API server: the last published status, so that halflife does not write an equal
 * one after a restart, and a person's hold.
 */
#include <string.h>

#include "base/utf8.h"
#include "base/yaml.h"
#include "cache/cache.h"

enum { HOLD_MOST = 1024 }; /* bytes that are kept of a person's reason for a hold; an annotation may have 256 KiB */

static void status_release(struct cache *w, struct recommendation_status *s)
{
        for (int i = 0; i < s->containers; i++)
                intern_drop(w->names, s->container[i].name);
        for (int i = 0; i < s->conditions; i++) {
                intern_drop(w->names, s->condition[i].type);
                intern_drop(w->names, s->condition[i].reason);
        }
        if (s->guard)
                mem_free(s->guard->message);
        mem_free(s->container);
        mem_free(s->condition);
        mem_free(s->quota);
        mem_free(s->node);
        mem_free(s->so_far);
        mem_free(s->limits);
        mem_free(s->left);
        mem_free(s->guard);
        mem_free(s->applied);
        mem_free(s->admitted);
        mem_free(s->rest);
        *s = (struct recommendation_status){0};
}

static void *list_copy(const void *list, size_t count, size_t size)
{
        void *copy = count && list ? mem_new_array(count, size) : NULL;
        if (copy)
                memcpy(copy, list, count * size);
        return copy;
}

static struct status_limits *limits_copy(const struct status_limits *from)
{
        return from ? list_copy(from, 1, sizeof *from + (size_t)from->rows * sizeof from->row[0]) : NULL;
}

static void status_copy(struct cache *w, const struct recommendation_status *from, struct recommendation_status *to)
{
        *to = *from;
        to->pod = NULL;
        to->container = list_copy(from->container, (size_t)from->containers, sizeof *to->container);
        for (int i = 0; i < to->containers; i++)
                to->container[i].name = intern_text(w->names, text_of(from->container[i].name));
        to->condition = list_copy(from->condition, (size_t)from->conditions, sizeof *to->condition);
        for (int i = 0; i < to->conditions; i++) {
                to->condition[i].type = intern_text(w->names, text_of(from->condition[i].type));
                to->condition[i].reason = intern_text(w->names, text_of(from->condition[i].reason));
                to->condition[i].message = NULL;
        }
        to->quota = list_copy(from->quota, RESOURCES, sizeof *to->quota);
        to->node = list_copy(from->node, RESOURCES, sizeof *to->node);
        to->so_far = list_copy(from->so_far, RESOURCES, sizeof *to->so_far);
        to->limits = limits_copy(from->limits);
        to->left = from->left ? vpa_policy_copy(from->left, mem_new(vpa_policy_size(from->left))) : NULL;
        to->guard = list_copy(from->guard, 1, sizeof *to->guard);
        if (to->guard)
                to->guard->message = mem_string(from->guard->message);
        to->applied = mem_string(from->applied);
        to->admitted = mem_string(from->admitted);
        to->rest = mem_string(from->rest);
}

static void published_clear(struct cache *w, struct published *p)
{
        status_release(w, &p->status);
        labels_release(&w->label_sets, &p->labels);
        mem_free(p->hold);
        intern_drop(w->names, p->profile_name);
        intern_drop(w->names, p->target_api_version);
        intern_drop(w->names, p->target_kind);
        intern_drop(w->names, p->target_name);
        p->hold = NULL;
        p->profile_name = p->target_api_version = p->target_kind = p->target_name = NULL;
}

/* Set kind_key, where the Recommendation's target is a workload of a kind that is not built in; else NULL. */
static void published_set_kind_key(struct cache *w, struct published *p)
{
        struct text group, version, kind = text_of(p->target_kind);
        const char *was = p->kind_key;
        key_split(text_of(p->target_api_version), &group, &version);
        bool named = kind.len && kind_dimension(group, kind) == DIMENSION_WORKLOAD && !kind_find(group, kind);
        p->kind_key = named ? watched_kind_key(w, group, kind) : NULL;
        w->kinds_recommended |= p->kind_key != was;
        intern_drop(w->names, was);
}

static void published_free(struct cache *w, struct published *p)
{
        published_clear(w, p);
        intern_drop(w->names, p->kind_key);
        for (int i = 0; i < ANNOTATION_COMMANDS; i++)
                annotation_command_free(w, p->command[i]);
        mem_free(p->key);
        mem_free(p);
}

void published_set_status(struct cache *w, struct published *p, const json_t *status)
{
        struct text group, version;
        struct arena a = {0};
        struct recommendation_status read;
        key_split(text_of(p->target_api_version), &group, &version);
        recommendation_status_read(status, kind_dimension(group, text_of(p->target_kind)), &a, &read);
        status_release(w, &p->status);
        status_copy(w, &read, &p->status);
        p->digest = recommendation_status_digest(&read);
        arena_release(&a);
}

static struct text published_string_of(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return text_of(s ? s : "");
}

static void refs_set(struct cache *w, struct published *p, const json_t *spec)
{
        const json_t *profile = json_object_get(spec, "profileRef"), *target = json_object_get(spec, "targetRef");
        p->of_profile = text_is(published_string_of(profile, "kind"), "Profile");
        p->profile_name = intern_text(w->names, published_string_of(profile, "name"));
        p->target_api_version = intern_text(w->names, published_string_of(target, "apiVersion"));
        p->target_kind = intern_text(w->names, published_string_of(target, "kind"));
        p->target_name = intern_text(w->names, published_string_of(target, "name"));
}

static void labels_read(struct cache *w, struct published *p, json_t *labels)
{
        const char *key;
        json_t *value;
        size_t count = 0;
        struct label_pair *pair = arena_new(&w->scratch, (json_object_size(labels) + 1) * sizeof *pair);
        json_object_foreach(labels, key, value) pair[count++] =
                (struct label_pair){text_of(key), text_of(json_string_value(value))};
        labels_set(&w->label_sets, &p->labels, pair, count);
}

static void published_set_commands(struct cache *w, struct published *p, const json_t *notes)
{
        struct text ns, name;
        key_split(text_of(p->key), &ns, &name);
        for (int i = 0; i < ANNOTATION_COMMANDS; i++) {
                const char *key = annotation_command_key((enum annotation_command_name)i);
                annotation_command_set(w, ns, &p->command[i], json_string_value(json_object_get(notes, key)));
        }
}

static void published_set(struct cache *w, struct published *p, const json_t *object)
{
        const json_t *meta = json_object_get(object, "metadata");
        const json_t *notes = json_object_get(meta, "annotations");
        const char *hold = json_string_value(json_object_get(notes, ANNOTATION_HOLD));
        published_clear(w, p);
        p->hold = hold ? mem_string_n(hold, utf8_cut(hold, strlen(hold), HOLD_MOST)) : NULL;
        published_set_commands(w, p, notes);
        refs_set(w, p, json_object_get(object, "spec"));
        labels_read(w, p, json_object_get(meta, "labels"));
        published_set_status(w, p, json_object_get(object, "status"));
        p->known = true;
}

struct published *published_get(struct cache *w, struct text key)
{
        struct published *p = map_get(&w->published, key);
        if (p)
                return p;
        p = MEM_NEW(struct published);
        p->key = mem_string_n(key.p, key.len);
        map_put(&w->published, text_of(p->key), p);
        return p;
}

int published_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err)
{
        struct object_view view;
        int rc = decode_object(json, &w->scratch, &view, err);
        if (rc == 0) {
                AUTO(json_decref) json_t *object = json_loadb(json.p, json.len, 0, NULL);
                if (object) {
                        struct published *p = published_get(w, key_of_object(w, &view));
                        p->epoch = epoch;
                        p->generation = view.generation;
                        published_set(w, p, object);
                        published_set_kind_key(w, p);
                        w->changed = true;
                } else {
                        rc = err_set(err, ERR_INVALID, "recommendation '%.*s' is not JSON", TEXT_ARG(view.name));
                }
        }
        arena_reset(&w->scratch);
        return rc;
}

static void published_drop(struct cache *w, struct published *p)
{
        if (p->target)
                p->target->published = NULL;
        w->kinds_recommended |= p->kind_key != NULL;
        map_drop(&w->published, text_of(p->key));
        published_free(w, p);
        w->changed = true;
}

void published_remove(struct cache *w, struct text json)
{
        struct object_view view;
        if (decode_object(json, &w->scratch, &view, NULL) == 0) {
                struct published *p = map_get(&w->published, key_of_object(w, &view));
                if (p)
                        published_drop(w, p);
        }
        arena_reset(&w->scratch);
}

void published_swept(struct cache *w, uint32_t epoch)
{
        struct published *p;
        for (size_t at = 0; (p = map_each(&w->published, &at));)
                if (p->epoch != epoch)
                        published_drop(w, p);
}

void published_release(struct cache *w)
{
        struct published *p;
        for (size_t at = 0; (p = map_each(&w->published, &at));)
                published_free(w, p);
        map_release(&w->published);
}

void published_deleted(struct published *p)
{
        p->known = false;
}
