/*
 * The facts of nodes. A false report by a node is refused or bounded: its usage in core/node_ring, the length of its
 * labels and taints here. The number of nodes with facts is bounded here as well.
 */
#include <string.h>

#include "cache/cache.h"
#include "cache/node_target.h"
#include "objects/decode.h"

struct node_facts *node_facts_get(struct cache *w, struct node *n)
{
        if (n->facts || w->nodes.with_facts == NODES_MOST)
                return n->facts;
        w->nodes.with_facts++;
        return n->facts = MEM_NEW(struct node_facts);
}

void node_facts_free(struct cache *w, struct node *n)
{
        if (!n->facts)
                return;
        w->nodes.with_facts--;
        w->changed |= n->facts->whole != NULL;
        mem_free(n->facts->whole);
        mem_free(n->facts->texts);
        mem_free(n->facts);
        n->facts = NULL;
}

/* --- facts from the node's object --- */

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

/* The node's value of the label `key`; NULL: the node does not have that label. */
static const char *node_facts_label(const struct node_facts *f, const char *key)
{
        for (const char *at = f->texts; key && at < f->texts + f->labels_size;) {
                const char *value = at + strlen(at) + 1;
                if (strcmp(at, key) == 0)
                        return value;
                at = value + strlen(value) + 1;
        }
        return NULL;
}

/* Keep a node's labels and taints. Returns whether they changed; equal texts, which most updates bring, are not copied.
 */
static bool node_facts_keep_texts(struct node_facts *f, const struct buf *texts, size_t labels_size)
{
        size_t was = f->texts ? f->labels_size + strlen(node_facts_taints(f)) + 1u : 0;
        f->labels_size = (uint16_t)labels_size;
        if (was == texts->len && memcmp(f->texts, texts->data, texts->len) == 0)
                return false;
        mem_free(f->texts);
        f->texts = mem_new(texts->len);
        memcpy(f->texts, texts->data, texts->len);
        return true;
}

static int64_t node_facts_size(struct amount a)
{
        return a.set ? a.value : 0;
}

void node_facts_read(struct cache *w, struct node *n, const struct node_view *v)
{
        struct node_facts *f = node_facts_get(w, n);
        struct buf texts __attribute__((cleanup(buf_release_auto))) = {0};
        int64_t capacity[RESOURCES] = {node_facts_size(v->capacity[CPU]), node_facts_size(v->capacity[MEMORY])};
        bool changed = false;
        if (!f)
                return;
        if (memcmp(capacity, f->capacity, sizeof capacity) != 0) {
                f->ring = (struct node_ring){0};
                memset(f->hot_since_ms, 0, sizeof f->hot_since_ms);
                memcpy(f->capacity, capacity, sizeof capacity);
                changed = true;
        }
        f->ready = v->ready;
        f->unschedulable = v->unschedulable;
        buf_init(&texts, NODE_LABELS_MOST + NODE_TAINTS_MOST);
        node_facts_add_labels(&texts, v, f);
        size_t labels_size = texts.len;
        node_facts_add_taints(&texts, v);
        changed |= node_facts_keep_texts(f, &texts, labels_size);
        f->pool = node_facts_label(f, w->nodes.pool_label);
        w->changed |= changed && w->nodes.targets;
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
