/*
 * Recommendations as the API server has them: what was published last, so that a restart writes nothing that stands
 * already, and what a person said (hold).
 */
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "cache/cache.h"
#include "cache/status_digest.h"

static void rows_release(struct cache *w, struct published *p)
{
        for (int i = 0; i < p->rows; i++)
                intern_drop(w->names, p->row[i].container);
        for (int i = 0; i < p->conditions; i++) {
                intern_drop(w->names, p->condition[i].type);
                intern_drop(w->names, p->condition[i].reason);
        }
        mem_free(p->row);
        mem_free(p->condition);
        mem_free(p->quota);
        p->quota = NULL;
        if (p->guard)
                mem_free(p->guard->why);
        mem_free(p->guard);
        p->guard = NULL;
        p->row = NULL;
        p->condition = NULL;
        p->rows = p->conditions = 0;
}

static void published_clear(struct cache *w, struct published *p)
{
        rows_release(w, p);
        labels_release(&p->labels);
        mem_free(p->hold);
        mem_free(p->applied);
        mem_free(p->resting);
        intern_drop(w->names, p->profile_kind);
        intern_drop(w->names, p->profile_name);
        intern_drop(w->names, p->target_api_version);
        intern_drop(w->names, p->target_kind);
        mem_free(p->target_name);
        p->hold = p->applied = p->resting = p->target_name = NULL;
        p->profile_kind = p->profile_name = p->target_api_version = p->target_kind = NULL;
}

static void published_free(struct cache *w, struct published *p)
{
        published_clear(w, p);
        for (int i = 0; i < ANNOTATION_COMMANDS; i++)
                annotation_command_free(p->command[i]);
        mem_free(p->key);
        mem_free(p);
}

static struct amount amount_of(const json_t *container, enum resource r, const char *field)
{
        const char *s = json_string_value(json_object_get(json_object_get(container, resource_name(r)), field));
        struct amount a = {0};
        (void)amount_parse(text_of(s), r, &a);
        return a;
}

static bool published_is_word(const json_t *object, const char *key, const char *word)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s && strcmp(s, word) == 0;
}

/* Does a container's target stand on usage? Neither the owner's request of then nor a static share of it does. */
static bool is_learned(const json_t *container, enum resource r)
{
        const json_t *of = json_object_get(container, resource_name(r));
        struct amount original = amount_of(container, r, "original"), target = amount_of(container, r, "target");
        if (!target.set || (original.set && target.value >= original.value) ||
            published_is_word(of, "reason", "Static"))
                return false;
        bool young =
                published_is_word(container, "state", "NoData") || published_is_word(container, "state", "Learning");
        return !young ||
               published_is_word(of, "reason", "Learning"); /* the last good value of a history that was lost */
}

static enum state state_of(const char *name)
{
        for (int s = 0; name && s < STATES; s++)
                if (strcmp(name, state_name((enum state)s)) == 0)
                        return (enum state)s;
        return STATE_NO_DATA;
}

static int64_t published_time_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));
        struct wall at = {0};
        if (text)
                (void)wall_parse(text, strlen(text), &at);
        return at.ms;
}

static void conditions_set(struct cache *w, struct published *p, const json_t *conditions)
{
        size_t count = json_array_size(conditions);
        if (count > VIEW_METRICS)
                count = VIEW_METRICS;
        p->condition = count ? mem_new_array(count, sizeof *p->condition) : NULL;
        for (size_t i = 0; i < count; i++) {
                const json_t *c = json_array_get(conditions, i);
                const char *type = json_string_value(json_object_get(c, "type"));
                const char *status = json_string_value(json_object_get(c, "status"));
                const char *reason = json_string_value(json_object_get(c, "reason"));
                p->condition[p->conditions++] = (struct published_condition){
                        .type = intern_text(w->names, text_of(type ? type : "")),
                        .reason = intern_text(w->names, text_of(reason ? reason : "")),
                        .status = status && strcmp(status, "True") == 0,
                        .since_ms = published_time_of(c, "lastTransitionTime"),
                };
        }
}

static void applied_set(struct published *p, const json_t *applied)
{
        char *containers = json_dumps(json_object_get(applied, "containers"), JSON_SORT_KEYS | JSON_COMPACT);
        mem_free(p->applied);
        p->applied = mem_string(containers);
        const char *mode = json_string_value(json_object_get(applied, "mode"));
        p->in_place = mode && strcmp(mode, apply_mode_writes(APPLY_IN_PLACE)) == 0;
        p->applied_ms = containers ? published_time_of(applied, "time") : 0;
        free(containers);
}

static void resting_set(struct published *p, const json_t *rest)
{
        char *text = rest ? json_dumps(rest, JSON_SORT_KEYS | JSON_COMPACT) : NULL;
        mem_free(p->resting);
        p->resting = mem_string(text);
        free(text);
}

static enum reason published_reason_of(const json_t *of)
{
        const char *name = json_string_value(json_object_get(of, "reason"));
        for (int r = 0; name && r < REASONS; r++)
                if (strcmp(name, reason_name((enum reason)r)) == 0)
                        return (enum reason)r;
        return REASON_NONE;
}

static struct snapshot_numbers published_numbers_of(const json_t *container, enum resource r)
{
        return (struct snapshot_numbers){
                .original = snapshot_amount_of(amount_of(container, r, "original")),
                .current = snapshot_amount_of(amount_of(container, r, "current")),
                .model = snapshot_amount_of(amount_of(container, r, "model")),
                .target = snapshot_amount_of(amount_of(container, r, "target")),
                .lower = snapshot_amount_of(amount_of(container, r, "lower")),
                .upper = snapshot_amount_of(amount_of(container, r, "upper")),
                .applied = -1,
                .reason = (uint8_t)published_reason_of(json_object_get(container, resource_name(r))),
                .learned = is_learned(container, r),
        };
}

static void row_set(struct cache *w, struct published_amount *row, const json_t *container)
{
        const char *name = json_string_value(json_object_get(container, "name"));
        row->container = intern_text(w->names, text_of(name ? name : ""));
        row->state = state_of(json_string_value(json_object_get(container, "state")));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                row->target[r] = amount_of(container, r, "target");
                row->learned[r] = is_learned(container, r);
                row->shown[r] = published_numbers_of(container, r);
        }
}

static void counters_set(struct published *p, const json_t *status)
{
        p->samples = json_integer_value(json_object_get(status, "samples"));
        p->since_ms = published_time_of(status, json_object_get(status, "firstSample") ? "firstSample" : "since");
        p->last_ms = published_time_of(status, "lastSample");
        p->confidence_percent = (int)json_integer_value(json_object_get(status, "confidencePercent"));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const char *text =
                        json_string_value(json_object_get(json_object_get(status, "saving"), resource_name(r)));
                struct amount saving = {0};
                (void)amount_parse(text_of(text), r, &saving);
                p->saving[r] = saving.value;
        }
}

static void quota_set(struct published *p, const json_t *quota)
{
        p->quota = quota ? MEM_NEW(struct published_quota) : NULL;
        for (enum resource r = CPU; quota && r < RESOURCES; r++) {
                p->quota->hard[r] = amount_of(quota, r, "hard");
                p->quota->used[r] = amount_of(quota, r, "used");
        }
}

static void guard_set(struct published *p, const json_t *guard)
{
        const char *cause = json_string_value(json_object_get(guard, "cause"));
        enum guard_cause known = guard_cause_find(cause ? cause : "");
        if (known == GUARD_NONE)
                return;
        p->guard = MEM_NEW(struct published_guard);
        *p->guard = (struct published_guard){
                .cause = known,
                .fired_ms = published_time_of(guard, "time"),
                .until_ms = published_time_of(guard, "until"),
                .why = mem_string(json_string_value(json_object_get(guard, "message"))),
        };
}

/* What new pods come with of each container, for whoever admits its pods. */
static void settings_set(struct published *p, const json_t *containers)
{
        size_t at;
        json_t *set;
        json_array_foreach(containers, at, set)
        {
                const char *name = json_string_value(json_object_get(set, "name"));
                for (int i = 0; name && i < p->rows; i++)
                        for (enum resource r = CPU; r < RESOURCES && strcmp(p->row[i].container, name) == 0; r++) {
                                struct amount a = {0};
                                const char *text = json_string_value(json_object_get(set, resource_name(r)));
                                (void)amount_parse(text_of(text), r, &a);
                                p->row[i].shown[r].applied = snapshot_amount_of(a);
                        }
        }
}

enum container_role published_role(const struct published *p, const struct published_amount *row)
{
        if (strcmp(row->container, CONTAINER_WHOLE) == 0 && p->rows > 1)
                return ROLE_WHOLE;
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (row->shown[r].reason == REASON_INIT || row->shown[r].reason == REASON_NOT_IN_TEMPLATE)
                        return row->shown[r].reason == REASON_INIT ? ROLE_INIT : ROLE_INJECTED;
        return ROLE_MAIN;
}

void published_set_status(struct cache *w, struct published *p, const json_t *status)
{
        rows_release(w, p);
        p->state = state_of(json_string_value(json_object_get(status, "state")));
        p->urgent = publish_status_digest(status);
        conditions_set(w, p, json_object_get(status, "conditions"));
        applied_set(p, json_object_get(status, "applied"));
        resting_set(p, json_object_get(json_object_get(status, "canary"), "rest"));
        counters_set(p, status);
        quota_set(p, json_object_get(status, "quota"));
        guard_set(p, json_object_get(status, "guard"));
        const json_t *containers = json_object_get(status, "containers");
        size_t count = json_array_size(containers);
        if (count > VIEW_CONTAINERS)
                count = VIEW_CONTAINERS;
        p->row = count ? mem_new_array(count, sizeof *p->row) : NULL;
        for (size_t i = 0; i < count; i++)
                row_set(w, &p->row[p->rows++], json_array_get(containers, i));
        if (p->in_place && p->resting)
                settings_set(p, json_object_get(json_object_get(status, "canary"), "rest"));
        else if (p->in_place)
                settings_set(p, json_object_get(json_object_get(status, "applied"), "containers"));
}

static struct text published_string_of(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return text_of(s ? s : "");
}

static void refs_set(struct cache *w, struct published *p, const json_t *spec)
{
        const json_t *profile = json_object_get(spec, "profileRef"), *target = json_object_get(spec, "targetRef");
        struct text name = published_string_of(target, "name");
        p->profile_kind = intern_text(w->names, published_string_of(profile, "kind"));
        p->profile_name = intern_text(w->names, published_string_of(profile, "name"));
        p->target_api_version = intern_text(w->names, published_string_of(target, "apiVersion"));
        p->target_kind = intern_text(w->names, published_string_of(target, "kind"));
        p->target_name = mem_string_n(name.p, name.len);
}

static void labels_read(struct cache *w, struct published *p, json_t *labels)
{
        const char *key;
        json_t *value;
        size_t count = 0;
        struct label_pair *pair = arena_new(&w->scratch, (json_object_size(labels) + 1) * sizeof *pair);
        json_object_foreach(labels, key, value) pair[count++] =
                (struct label_pair){text_of(key), text_of(json_string_value(value))};
        labels_set(&p->labels, pair, count);
}

static void published_set(struct cache *w, struct published *p, const json_t *object)
{
        const json_t *meta = json_object_get(object, "metadata");
        const json_t *notes = json_object_get(meta, "annotations");
        const char *hold = json_string_value(json_object_get(notes, ANNOTATION_HOLD));
        published_clear(w, p);
        p->hold = mem_string(hold);
        for (int i = 0; i < ANNOTATION_COMMANDS; i++)
                annotation_command_set(&p->command[i],
                                       json_string_value(json_object_get(
                                               notes, annotation_command_key((enum annotation_command_name)i))));
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

/* It is watched, whether or not a profile still names it: the target may carry values of ours. */
static void name_kind(struct cache *w, const struct published *p)
{
        struct text group, version;
        key_split(text_of(p->target_api_version), &group, &version);
        if (*p->target_kind && kind_dimension(group, text_of(p->target_kind)) == DIMENSION_WORKLOAD)
                (void)kind_watched(w, group, text_of(p->target_kind));
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
                        name_kind(w, p);
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
