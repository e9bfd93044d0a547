#include "cache/change_log.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "base/yaml.h"

struct change_log {
        struct change **row; /* a ring of CHANGES_MOST places; each row is one block with its texts */
        size_t first, rows;
        int64_t last_id, written_id; /* the id given last; the last id that the database has */
        struct change_table *shared; /* the table of all rows; NULL: none was made since the rows changed */
};

static struct change_log *change_log_of(struct cache *w)
{
        struct change_log *l = w->books.changes;
        if (!l) {
                l = w->books.changes = MEM_NEW(struct change_log);
                l->row = mem_new_array(CHANGES_MOST, sizeof(struct change *));
        }
        return l;
}

static void change_log_drop_first(struct change_log *l)
{
        mem_free(l->row[l->first]);
        l->row[l->first] = NULL;
        l->first = (l->first + 1) % CHANGES_MOST;
        l->rows--;
}

/* Append a row and take it over; rows come in the order of their ids. A full log drops its oldest row. */
static void change_log_append(struct change_log *l, struct change *c)
{
        if (l->rows == CHANGES_MOST)
                change_log_drop_first(l);
        l->row[(l->first + l->rows++) % CHANGES_MOST] = c;
        l->last_id = c->id;
        change_table_drop(l->shared);
        l->shared = NULL;
}

static void change_log_forget_old(struct change_log *l, struct wall now)
{
        for (; l->rows && l->row[l->first]->at_ms < now.ms - CHANGES_KEPT_MS; l->shared = NULL) {
                change_log_drop_first(l);
                change_table_drop(l->shared);
        }
}

/* --- a row of the log --- */

enum { CHANGE_TEXTS = 9, CHANGE_TEXT_MAX = 512 };

struct change_texts {
        const char **of[CHANGE_TEXTS];
};

static struct change_texts change_texts_of(struct change *c)
{
        return (struct change_texts){
                {&c->ns, &c->group, &c->object_kind, &c->name, &c->mode, &c->container, &c->by, &c->reason, &c->words}};
}

/* Copy a change and its texts into one block of memory; a text is cut to CHANGE_TEXT_MAX bytes. */
static struct change *change_copy(const struct change *from)
{
        struct change plain = *from;
        struct change_texts text = change_texts_of(&plain);
        size_t len[CHANGE_TEXTS], size = sizeof *from;
        for (int i = 0; i < CHANGE_TEXTS; i++) {
                struct text t = text_of(*text.of[i]);
                len[i] = utf8_cut(t.p, t.len, CHANGE_TEXT_MAX);
                size += len[i] + 1;
        }
        struct change *to = mem_new(size);
        char *at = (char *)(to + 1);
        for (int i = 0; i < CHANGE_TEXTS; i++) {
                if (len[i])
                        memcpy(at, *text.of[i], len[i]);
                *text.of[i] = at;
                at += len[i] + 1;
        }
        *to = plain;
        return to;
}

void change_log_add(struct cache *w, const struct target *t, struct wall at, const struct change *c)
{
        struct change_log *l = change_log_of(w);
        struct change full = *c;
        full.id = l->last_id + 1;
        full.at_ms = at.ms;
        full.ns = t->ns;
        full.group = t->group;
        full.object_kind = t->kind;
        full.name = t->name;
        full.mode = t->profile ? apply_mode_name(t->profile->spec->apply.mode) : "";
        change_log_append(l, change_copy(&full));
}

struct change_table *change_log_table(struct cache *w, struct wall now)
{
        struct change_log *l = change_log_of(w);
        change_log_forget_old(l, now);
        if (!l->shared) {
                l->shared = change_table_new(l->rows);
                for (size_t i = 0; i < l->rows; i++)
                        change_table_add(l->shared, l->row[(l->first + i) % CHANGES_MOST]);
        }
        return change_table_hold(l->shared);
}

void change_log_release(struct cache *w)
{
        struct change_log *l = w->books.changes;
        if (!l)
                return;
        while (l->rows)
                change_log_drop_first(l);
        change_table_drop(l->shared);
        mem_free(l->row);
        mem_free(l);
        w->books.changes = NULL;
}

/* --- the database --- */

static char *change_print(const struct change *c)
{
        json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", change_kind_name(c->kind), "ns", c->ns, "group",
                              c->group, "object", c->object_kind, "name", c->name);
        const struct {
                const char *key, *text;
        } rest[] = {
                {"mode", c->mode}, {"container", c->container}, {"by", c->by}, {"why", c->reason}, {"words", c->words}};
        for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
                if (*rest[i].text)
                        json_object_set_new(o, rest[i].key, json_string(rest[i].text));
        if (*c->container) {
                json_object_set_new(o, "resource", json_string(resource_name(c->resource)));
                if (c->from >= 0)
                        json_object_set_new(o, "from", json_integer(c->from));
                if (c->to >= 0)
                        json_object_set_new(o, "to", json_integer(c->to));
        }
        char *text = json_dumps(o, JSON_COMPACT);
        json_decref(o);
        return text;
}

static const char *change_text(const json_t *o, const char *key)
{
        const char *text = json_string_value(json_object_get(o, key));
        return text ? text : "";
}

static status_amount change_amount(const json_t *o, const char *key)
{
        const json_t *n = json_object_get(o, key);
        return json_is_integer(n) ? json_integer_value(n) : -1;
}

void change_log_load(struct cache *w, int64_t id, struct wall at, struct text record)
{
        struct change_log *l = change_log_of(w);
        AUTO(json_decref) json_t *o = json_loadb(record.p, record.len, 0, NULL);
        struct change c = {.id = id,
                           .at_ms = at.ms,
                           .ns = change_text(o, "ns"),
                           .group = change_text(o, "group"),
                           .object_kind = change_text(o, "object"),
                           .name = change_text(o, "name"),
                           .mode = change_text(o, "mode"),
                           .container = change_text(o, "container"),
                           .resource = strcmp(change_text(o, "resource"), "memory") == 0 ? MEMORY : CPU,
                           .from = change_amount(o, "from"),
                           .to = change_amount(o, "to"),
                           .by = change_text(o, "by"),
                           .reason = change_text(o, "why"),
                           .words = change_text(o, "words")};
        if (id <= l->last_id)
                return;
        l->last_id = l->written_id = id; /* the id of a row that cannot be read is not given again */
        if (change_kind_find(text_of(change_text(o, "kind")), &c.kind) && *c.ns && *c.name)
                change_log_append(l, change_copy(&c));
}

void change_log_write(struct cache *w, struct store_batch *to, struct wall now)
{
        struct change_log *l = w->books.changes;
        if (!l)
                return;
        for (size_t i = 0; i < l->rows; i++) {
                const struct change *c = l->row[(l->first + i) % CHANGES_MOST];
                if (c->id <= l->written_id)
                        continue;
                char *record = change_print(c);
                if (record)
                        store_batch_change(to, c->id, (struct wall){c->at_ms}, text_of(record));
                free(record); /* allocated by jansson */
        }
        l->written_id = l->last_id;
        store_batch_forget_changes(to, l->last_id - CHANGES_MOST, (struct wall){now.ms - CHANGES_KEPT_MS});
}

void change_log_write_again(struct cache *w)
{
        if (w->books.changes)
                w->books.changes->written_id = 0;
}
