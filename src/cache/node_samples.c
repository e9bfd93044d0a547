/*
 * The samples of nodes, and since when nodes are hot, as text for the database, and back.
 */
#include <string.h>

#include "base/json.h"
#include "cache/cache.h"
#include "objects/json_writer.h"

/* One node:
 * {"name":"n-1","capacity":[4000,17179869184],"hot":[1763999000000,0],"samples":[[1764000000,1200,8589934592],…]}, the
 * oldest sample first */
static void node_samples_print_one(struct writer *w, const struct node *n)
{
        const struct node_ring *g = &n->facts->ring;
        const int64_t *hot = n->facts->hot_since_ms;
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(n->name));
        writer_open(w, "capacity", '[');
        writer_int(w, NULL, n->facts->capacity[CPU]);
        writer_int(w, NULL, n->facts->capacity[MEMORY]);
        writer_close(w, ']');
        if (hot[CPU] || hot[MEMORY]) {
                writer_open(w, "hot", '[');
                writer_int(w, NULL, hot[CPU]);
                writer_int(w, NULL, hot[MEMORY]);
                writer_close(w, ']');
        }
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

/* Is the newest sample of a ring recent enough for the ring to count? */
static bool node_samples_is_recent(const struct node_ring *g, struct wall now)
{
        return g->count > 0 && now.ms - (int64_t)node_ring_at(g, 0)->at_s * SECOND_MS <= NODE_WINDOW_MS;
}

void node_samples_print(const struct cache *w, struct wall now, struct buf *out)
{
        enum { ONE_MOST = 2 << 10 };
        struct writer to = {.b = out};
        const struct node *n;
        writer_open(&to, NULL, '[');
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at)) && out->len + ONE_MOST < out->max;)
                if (n->facts && node_samples_is_recent(&n->facts->ring, now))
                        node_samples_print_one(&to, n);
        writer_close(&to, ']');
}

/* Read an array of `count` integers; a missing integer becomes -1, and further ones are skipped. */
static void node_samples_parse_row(struct json *j, int64_t *ret, int count)
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

static void node_samples_parse_samples(struct json *j, struct node_ring *g, const int64_t capacity[static RESOURCES],
                                       struct wall latest)
{
        enum { AT, SAMPLE_CPU, SAMPLE_MEMORY, SAMPLE };
        if (json_enter(j, '['))
                while (json_item(j)) {
                        int64_t row[SAMPLE];
                        node_samples_parse_row(j, row, SAMPLE);
                        bool dated = row[AT] > 0 && row[AT] <= UINT32_MAX;
                        const struct node_usage u = {{dated ? row[AT] * SECOND_MS : 0},
                                                     {row[SAMPLE_CPU], row[SAMPLE_MEMORY]}};
                        (void)node_ring_add(g, &u, capacity, latest);
                }
}

static void node_samples_parse_hot(struct json *j, int64_t ret[static RESOURCES], struct wall latest)
{
        node_samples_parse_row(j, ret, RESOURCES);
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (ret[r] < 0 || ret[r] > latest.ms)
                        ret[r] = 0;
}

static void node_samples_parse_one(struct cache *w, struct json *j, struct wall latest)
{
        struct text key, name = {"", 0};
        struct node_facts read = {0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "name"))
                        name = json_text(j, &w->scratch);
                else if (text_is(key, "capacity"))
                        node_samples_parse_row(j, read.capacity, RESOURCES);
                else if (text_is(key, "hot"))
                        node_samples_parse_hot(j, read.hot_since_ms, latest);
                else if (text_is(key, "samples"))
                        node_samples_parse_samples(j, &read.ring, read.capacity, latest);
                else
                        json_skip(j);
        if (j->error || name.len == 0 || name.len > VIEW_NAME || !node_samples_is_recent(&read.ring, latest))
                return;
        if (w->nodes.with_facts == NODES_MOST || map_get(&w->nodes.by_name, name))
                return;
        struct node_facts *f = node_facts_get(w, node_get(w, name));
        memcpy(f->capacity, read.capacity, sizeof f->capacity);
        memcpy(f->hot_since_ms, read.hot_since_ms, sizeof f->hot_since_ms);
        f->ring = read.ring;
}

int node_samples_parse(struct cache *w, struct text text, struct wall latest, struct err *err)
{
        struct json j;
        json_init(&j, text.p, text.len);
        if (json_enter(&j, '['))
                while (json_item(&j))
                        node_samples_parse_one(w, &j, latest);
        arena_reset(&w->scratch);
        return json_done(&j, err);
}
