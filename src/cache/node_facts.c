/*
 * The facts and samples of nodes, and their text in the database. A node that lies is refused or bounded: by
 * core/node_ring its usage, here its texts and its number.
 */
#include <string.h>

#include "base/json.h"
#include "cache/cache.h"
#include "objects/decode.h"
#include "objects/json_writer.h"

static struct node_facts *node_facts_made(struct cache *w, struct node *n)
{
        if (n->facts || w->nodes_kept == NODES_MOST)
                return n->facts;
        w->nodes_kept++;
        return n->facts = MEM_NEW(struct node_facts);
}

void node_facts_free(struct cache *w, struct node *n)
{
        if (!n->facts)
                return;
        w->nodes_kept--;
        mem_free(n->facts->texts);
        mem_free(n->facts);
        n->facts = NULL;
}

/* --- from the object --- */

static void node_facts_add_labels(struct buf *out, const struct node_view *v, struct node_facts *f)
{
        f->labels_cut = v->meta.labels_cut;
        for (int i = 0; i < v->meta.labels; i++) {
                const struct label *l = &v->meta.label[i];
                if (out->len + l->key.len + l->value.len + 2 > NODE_LABELS_MOST) {
                        f->labels_cut = true;
                        break;
                }
                (void)buf_printf(out, "%.*s%c%.*s%c", TEXT_ARG(l->key), '\0', TEXT_ARG(l->value), '\0');
        }
}

static void node_facts_add_taints(struct buf *out, const struct node_view *v)
{
        size_t from = out->len;
        for (int i = 0; i < v->taints; i++) {
                const struct taint_view *t = &v->taint[i];
                if (out->len - from + t->key.len + t->value.len + t->effect.len + 4 > NODE_TAINTS_MOST)
                        break;
                (void)buf_printf(out, "%s%.*s%s%.*s:%.*s", i ? "," : "", TEXT_ARG(t->key), t->value.len ? "=" : "",
                                 TEXT_ARG(t->value), TEXT_ARG(t->effect));
        }
        (void)buf_add(out, "", 1);
}

/* Nodes are updated every few minutes and seldom change: equal texts stay where they are. */
static void node_facts_keep_texts(struct node_facts *f, const struct buf *texts, size_t labels_size)
{
        size_t was = f->texts ? f->labels_size + strlen(node_facts_taints(f)) + 1u : 0;
        f->labels_size = (uint16_t)labels_size;
        if (was == texts->len && memcmp(f->texts, texts->data, texts->len) == 0)
                return;
        mem_free(f->texts);
        f->texts = mem_new(texts->len);
        memcpy(f->texts, texts->data, texts->len);
}

static int64_t node_facts_size(struct amount a)
{
        return a.set ? a.value : 0;
}

void node_facts_read(struct cache *w, struct node *n, const struct node_view *v)
{
        struct node_facts *f = node_facts_made(w, n);
        struct buf texts __attribute__((cleanup(buf_release_auto))) = {0};
        int64_t capacity[RESOURCES] = {node_facts_size(v->capacity[CPU]), node_facts_size(v->capacity[MEMORY])};
        if (!f)
                return;
        if (memcmp(capacity, f->capacity, sizeof capacity) != 0) {
                f->ring = (struct node_ring){0};
                memcpy(f->capacity, capacity, sizeof capacity);
        }
        f->ready = v->ready;
        f->unschedulable = v->unschedulable;
        buf_init(&texts, NODE_LABELS_MOST + NODE_TAINTS_MOST);
        node_facts_add_labels(&texts, v, f);
        size_t labels_size = texts.len;
        node_facts_add_taints(&texts, v);
        node_facts_keep_texts(f, &texts, labels_size);
}

bool node_facts_judge(struct node_facts *f, enum resource r, int percent, struct wall now)
{
        bool was = f->hot_since_ms[r] != 0;
        bool hot = node_ring_hot(node_ring_above(&f->ring, r, f->capacity[r], percent, now), was);
        f->hot_since_ms[r] = !hot ? 0 : was ? f->hot_since_ms[r] : now.ms;
        return hot && !was;
}

const char *node_facts_taints(const struct node_facts *f)
{
        return f->texts ? f->texts + f->labels_size : "";
}

/* --- the text in the database --- */

/* {"name":"n-1","capacity":[4000,17179869184],"samples":[[1764000000,1200,8589934592],…]}, the oldest sample first */
static void node_facts_print_one(struct writer *w, const struct node *n)
{
        const struct node_ring *g = &n->facts->ring;
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(n->name));
        writer_open(w, "capacity", '[');
        writer_int(w, NULL, n->facts->capacity[CPU]);
        writer_int(w, NULL, n->facts->capacity[MEMORY]);
        writer_close(w, ']');
        writer_open(w, "samples", '[');
        for (int i = g->count; i-- > 0;) {
                const struct node_sample *s = node_ring_at(g, i);
                writer_open(w, NULL, '[');
                writer_int(w, NULL, s->at_s);
                writer_int(w, NULL, s->cpu_milli);
                writer_int(w, NULL, s->memory_bytes);
                writer_close(w, ']');
        }
        writer_close(w, ']');
        writer_close(w, '}');
}

/* Are the samples still worth something? */
static bool node_facts_is_recent(const struct node_ring *g, struct wall now)
{
        return g->count > 0 && now.ms - (int64_t)node_ring_at(g, 0)->at_s * SECOND_MS <= NODE_WINDOW_MS;
}

void node_facts_print(const struct cache *w, struct wall now, struct buf *out)
{
        enum { ONE_MOST = 2 << 10 };
        struct writer to = {.b = out};
        const struct node *n;
        writer_open(&to, NULL, '[');
        for (size_t at = 0; (n = map_each(&w->nodes, &at)) && out->len + ONE_MOST < out->max;)
                if (n->facts && node_facts_is_recent(&n->facts->ring, now))
                        node_facts_print_one(&to, n);
        writer_close(&to, ']');
}

/* Read an array of count integers; what is missing is -1. */
static void node_facts_parse_row(struct json *j, int64_t *ret, int count)
{
        int n = 0;
        for (int i = 0; i < count; i++)
                ret[i] = -1;
        if (!json_enter(j, '['))
                return;
        while (json_item(j))
                if (n < count)
                        ret[n++] = json_int(j);
                else
                        json_skip(j);
}

static void node_facts_parse_samples(struct json *j, struct node_ring *g, const int64_t capacity[static RESOURCES],
                                     struct wall latest)
{
        enum { AT, SAMPLE_CPU, SAMPLE_MEMORY, SAMPLE };
        if (json_enter(j, '['))
                while (json_item(j)) {
                        int64_t row[SAMPLE];
                        node_facts_parse_row(j, row, SAMPLE);
                        bool dated = row[AT] > 0 && row[AT] <= UINT32_MAX;
                        const struct node_usage u = {{dated ? row[AT] * SECOND_MS : 0},
                                                     {row[SAMPLE_CPU], row[SAMPLE_MEMORY]}};
                        (void)node_ring_add(g, &u, capacity, latest);
                }
}

static void node_facts_parse_one(struct cache *w, struct json *j, struct wall latest)
{
        struct text key, name = {"", 0};
        struct node_facts read = {0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "name"))
                        name = json_text(j, &w->scratch);
                else if (text_is(key, "capacity"))
                        node_facts_parse_row(j, read.capacity, RESOURCES);
                else if (text_is(key, "samples"))
                        node_facts_parse_samples(j, &read.ring, read.capacity, latest);
                else
                        json_skip(j);
        if (j->error || name.len == 0 || name.len > VIEW_NAME || !node_facts_is_recent(&read.ring, latest))
                return;
        if (w->nodes_kept == NODES_MOST || map_get(&w->nodes, name))
                return;
        struct node_facts *f = node_facts_made(w, node_get(w, name));
        memcpy(f->capacity, read.capacity, sizeof f->capacity);
        f->ring = read.ring;
}

int node_facts_parse(struct cache *w, struct text text, struct wall latest, struct err *err)
{
        struct json j;
        json_init(&j, text.p, text.len);
        if (json_enter(&j, '['))
                while (json_item(&j))
                        node_facts_parse_one(w, &j, latest);
        arena_reset(&w->scratch);
        return json_done(&j, err);
}
