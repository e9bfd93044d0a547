#include "kube/event.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "kube/known_resource.h"

#define CONTROLLER "halflife.dev/controller"

enum {
        KINDS_MAX = 1000, /* different events remembered */
        WRITES_MAX = 25,  /* concurrent writes */
        NOTE_MAX = 1024,
        NAME_MAX_BYTES = 253,
        IDLE_MS = 6 * MINUTE_MS,     /* a series is over after this long without the event */
        REFRESH_MS = 30 * MINUTE_MS, /* how often the count of a long series is written */
};

/* An event and its repetitions: the same object, reason, action and note. */
struct entry {
        struct event_source *source;
        char *key;
        char *path;               /* path of the Event object */
        int64_t count, written;   /* times the event was emitted, and the count that the server's Event has */
        struct now last;          /* when the event was last emitted */
        struct mono refreshed;    /* when the Event was last written */
        struct client_call *call; /* the current write; NULL: none */
        int64_t sending;          /* the count in the current write */
};

struct event_source {
        struct client *client;
        char *instance;
        struct map entries;
        int writes; /* writes in progress */
        uint64_t dropped, named;
};

struct event_source *event_source_new(struct client *c, const char *instance)
{
        struct event_source *s = MEM_NEW(struct event_source);
        s->client = c;
        s->instance = mem_string(instance);
        return s;
}

static void entry_free(struct entry *e)
{
        struct event_source *s = e->source;
        map_drop(&s->entries, text_of(e->key));
        if (e->call) {
                client_cancel(s->client, e->call);
                s->writes--;
        }
        mem_free(e->key);
        mem_free(e->path);
        mem_free(e);
}

void event_source_free(struct event_source *s)
{
        struct text key;
        void *value;
        if (!s)
                return;
        for (size_t at = 0; map_next(&s->entries, &at, &key, &value);)
                entry_free(value);
        map_release(&s->entries);
        mem_free(s->instance);
        mem_free(s);
}

bool event_writing(const struct event_source *s)
{
        return s->writes > 0;
}

uint64_t event_dropped(const struct event_source *s)
{
        return s->dropped;
}

/* --- writing --- */

static void write_series(struct entry *e);

static void entry_written(void *arg, const struct client_answer *a)
{
        struct entry *e = arg;
        e->call = NULL;
        e->source->writes--;
        if (a->err.code) {
                e->source->dropped++;
                entry_free(e); /* The write was refused, or the server has deleted the Event: the next emission makes a
                                  new Event. */
                return;
        }
        e->written = e->sending;
        if (e->written == 1 && e->count > 1)
                write_series(e);
}

/* Send a write; takes ownership of body. */
static void entry_send(struct entry *e, enum http_method method, const char *path, const char *type, json_t *body)
{
        struct event_source *s = e->source;
        AUTO(mem_free) char *manager = path_escape(client_field_manager(s->client));
        AUTO(mem_free) char *query = mem_printf("fieldManager=%s", manager);
        char *text = json_dumps(body, JSON_COMPACT);
        const struct call call = {
                .method = method, .path = path, .query = query, .content_type = type, .body = text_of(text)};
        e->sending = e->count;
        e->refreshed = e->last.mono;
        s->writes++;
        e->call = client_start(s->client, &call, entry_written, e);
        free(text); /* allocated by jansson */
        json_decref(body);
}

static bool event_may_write(struct event_source *s)
{
        if (s->writes < WRITES_MAX)
                return true;
        s->dropped++;
        return false;
}

static void write_series(struct entry *e)
{
        char time[WALL_TEXT_MAX];
        if (e->call || !event_may_write(e->source))
                return;
        json_t *body = json_pack("{s:{s:I, s:s}}", "series", "count", (json_int_t)e->count, "lastObservedTime",
                                 wall_print_micro(e->last.wall, time));
        entry_send(e, HTTP_PATCH, e->path, "application/merge-patch+json", body);
}

/* "<object>.<hex nanoseconds>", unique among halflife's Events, with the object's name cut to fit. */
static char *event_name(struct event_source *s, const struct event *e, struct now now)
{
        uint64_t nanos = (uint64_t)now.wall.ms * 1000000 + s->named++ % 1000000;
        char suffix[20];
        int len = snprintf(suffix, sizeof suffix, ".%llx", (unsigned long long)nanos);
        return mem_printf("%.*s%s", NAME_MAX_BYTES - len, e->name, suffix);
}

static json_t *event_body(const struct event_source *s, const struct event *e, const char *ns, const char *name,
                          struct now now)
{
        char time[WALL_TEXT_MAX];
        json_t *regarding = json_pack("{s:s, s:s, s:s, s:s*, s:s*}", "apiVersion", e->api_version, "kind", e->kind,
                                      "name", e->name, "namespace", e->ns, "uid", e->uid);
        size_t note = utf8_cut(e->note, strlen(e->note), NOTE_MAX);
        return json_pack("{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s%, s:o}", "apiVersion",
                         "events.k8s.io/v1", "kind", "Event", "metadata", "name", name, "namespace", ns, "eventTime",
                         wall_print_micro(now.wall, time), "reportingController", CONTROLLER, "reportingInstance",
                         s->instance, "action", e->action, "reason", e->reason, "type",
                         e->warning ? "Warning" : "Normal", "note", e->note, note, "regarding", regarding);
}

static void write_first(struct entry *entry, const struct event *e, struct now now)
{
        struct event_source *s = entry->source;
        const char *ns = e->ns && *e->ns ? e->ns : "default";
        AUTO(mem_free) char *name = event_name(s, e, now);
        AUTO(mem_free) char *collection = known_resource_path(KNOWN_NEW_EVENTS, ns, NULL, NULL);
        json_t *body = event_body(s, e, ns, name, now);
        if (!body) { /* a note that is not UTF-8 */
                s->dropped++;
                entry_free(entry);
                return;
        }
        entry->path = known_resource_path(KNOWN_NEW_EVENTS, ns, name, NULL);
        entry_send(entry, HTTP_POST, collection, NULL, body);
}

/* --- counting --- */

static int64_t event_elapsed_ms(struct mono since, struct mono now)
{
        return (now.ns - since.ns) / 1000000;
}

static char *event_key_of(const struct event *e)
{
        return mem_printf("%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s", e->api_version, e->kind, e->ns ? e->ns : "", e->name,
                          e->uid ? e->uid : "", e->reason, e->action, e->note);
}

static void emit_again(struct entry *entry, struct now now)
{
        entry->count++;
        entry->last = now;
        if (entry->written == 1)
                write_series(entry);
}

static bool has_room(struct event_source *s, struct now now)
{
        if (s->entries.count >= KINDS_MAX)
                event_tick(s, now);
        if (s->entries.count < KINDS_MAX)
                return event_may_write(s);
        s->dropped++;
        return false;
}

void event_emit(struct event_source *s, const struct event *e, struct now now)
{
        AUTO(mem_free) char *key = event_key_of(e);
        struct entry *entry = map_get(&s->entries, text_of(key));
        if (entry && event_elapsed_ms(entry->last.mono, now.mono) > IDLE_MS) {
                event_tick(s, now);
                /* event_tick keeps the entry while its last count is being written. */
                entry = map_get(&s->entries, text_of(key));
        }
        if (entry) {
                emit_again(entry, now);
                return;
        }
        if (!has_room(s, now))
                return;
        entry = MEM_NEW(struct entry);
        *entry = (struct entry){.source = s, .key = STEAL(&key), .count = 1, .last = now};
        map_put(&s->entries, text_of(entry->key), entry);
        write_first(entry, e, now);
}

void event_tick(struct event_source *s, struct now now)
{
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&s->entries, &at, &key, &value);) {
                struct entry *e = value;
                bool over = event_elapsed_ms(e->last.mono, now.mono) > IDLE_MS;
                bool due = over || event_elapsed_ms(e->refreshed, now.mono) >= REFRESH_MS;
                if (due && e->written > 0 && e->count > e->written)
                        write_series(e);
                else if (over && !e->call)
                        entry_free(e);
        }
}
