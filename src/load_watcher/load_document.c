#include "load_watcher/load_document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cache/cache.h"

/* NODE_BYTES: the most bytes that one node takes in the document, beside the name. */
enum { HEAD_BYTES = 256, NODE_BYTES = 640, MEAN_LEAST = 2, DEVIATION_LEAST = 5, WINDOW_S = NODE_WINDOW_MS / SECOND_MS };

/* A node's member of the map, such as "n-1":{…} */
struct load_entry {
        struct text name;
        size_t at, len; /* start and length within `bytes` */
};

struct load_document {
        _Atomic int refs;
        struct buf bytes;
        size_t head; /* bytes before the first node */
        struct arena names;
        struct load_entry *entry; /* sorted by name */
        size_t entries;
};

static const char tail[] = "}}}";

/* --- nodes --- */

struct load_node {
        struct text name;
        struct node_spread spread;
};

/* Whether the name has only the characters that API servers allow in names of nodes, so that the document needs no
 * escapes. */
static bool load_name_is_plain(struct text name)
{
        if (name.len == 0 || name.len > VIEW_NAME)
                return false;
        for (size_t i = 0; i < name.len; i++) {
                char c = name.p[i];
                if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
                        return false;
        }
        return true;
}

static int load_node_compare(const void *a, const void *b)
{
        const struct load_node *x = a, *y = b;
        return text_compare(x->name, y->name);
}

/* The nodes with a sample in the last five minutes, sorted by name. The caller frees the array. */
static struct load_node *load_nodes_of(const struct cache *w, struct wall now, size_t *ret_count)
{
        struct load_node *all = mem_new_array(w->nodes.with_facts + 1, sizeof *all);
        const struct node *n;
        *ret_count = 0;
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));) {
                struct load_node *to = &all[*ret_count];
                if (!n->facts || !load_name_is_plain(text_of(n->name)))
                        continue;
                to->name = text_of(n->name);
                node_ring_spread(&n->facts->ring, n->facts->capacity, now, &to->spread);
                *ret_count += to->spread.samples > 0;
        }
        qsort(all, *ret_count, sizeof *all, load_node_compare);
        return all;
}

static int64_t load_nodes_end(const struct load_node *node, size_t count, struct wall now)
{
        int64_t end_s = count > 0 ? node[0].spread.at_s : now.ms / SECOND_MS;
        for (size_t i = 1; i < count; i++)
                end_s = node[i].spread.at_s < end_s ? node[i].spread.at_s : end_s;
        return end_s;
}

/* --- bytes --- */

/* Write millionths of a per cent as per cent, without zeros at the end. */
static void load_document_add_percent(struct buf *out, int32_t millionths)
{
        enum { ONE = NODE_WHOLE / 100 };
        char text[16];
        int len = snprintf(text, sizeof text, "%d.%06d", millionths / ONE, millionths % ONE);
        while (text[len - 1] == '0')
                len--;
        len -= text[len - 1] == '.';
        (void)buf_add(out, text, (size_t)len);
}

static void load_document_add_metric(struct buf *out, enum resource r, const char *operator, const char * rollup,
                                     int32_t value)
{
        (void)buf_add_text(out, out->data[out->len - 1] == '[' ? "" : ",");
        (void)buf_add_text(out, r == CPU ? "{\"name\":\"\",\"type\":\"CPU\",\"operator\":\""
                                         : "{\"name\":\"\",\"type\":\"Memory\",\"operator\":\"");
        (void)buf_add_text(out, operator);
        (void)buf_add_text(out, "\",\"rollup\":\"");
        (void)buf_add_text(out, rollup);
        (void)buf_add_text(out, "\",\"value\":");
        load_document_add_percent(out, value);
        (void)buf_add_text(out, "}");
}

static void load_document_add_node(struct buf *out, const struct load_node *n)
{
        const struct node_spread *s = &n->spread;
        (void)buf_printf(out, "\"%.*s\":{\"metrics\":[", TEXT_ARG(n->name));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                if (s->samples >= MEAN_LEAST)
                        load_document_add_metric(out, r, "AVG", "15m", s->mean[r]);
                if (s->samples >= DEVIATION_LEAST)
                        load_document_add_metric(out, r, "STD", "15m", s->deviation[r]);
                load_document_add_metric(out, r, "Latest", "", s->latest[r]);
        }
        (void)buf_add_text(out, "],\"tags\":{},\"metadata\":{\"dataCenter\":\"\"}}");
}

static void load_document_write(struct load_document *d, const struct load_node *node, size_t count, struct wall now)
{
        int64_t end_s = load_nodes_end(node, count, now);
        (void)buf_printf(&d->bytes,
                         "{\"timestamp\":%" PRId64 ",\"window\":{\"duration\":\"15m\",\"start\":%" PRId64
                         ",\"end\":%" PRId64 "},\"source\":\"halflife\",\"data\":{\"NodeMetricsMap\":{",
                         now.ms / SECOND_MS, end_s - WINDOW_S, end_s);
        d->head = d->bytes.len;
        for (size_t i = 0; i < count; i++) {
                struct load_entry *e = &d->entry[d->entries++];
                (void)buf_add_text(&d->bytes, i ? "," : "");
                e->name = (struct text){arena_text(&d->names, node[i].name), node[i].name.len};
                e->at = d->bytes.len;
                load_document_add_node(&d->bytes, &node[i]);
                e->len = d->bytes.len - e->at;
        }
        (void)buf_add_text(&d->bytes, tail);
        assert(d->bytes.len < d->bytes.max); /* a full buffer would have dropped bytes above */
}

struct load_document *load_document_new(const struct cache *w, struct wall now)
{
        struct load_document *d = MEM_NEW(struct load_document);
        size_t count;
        AUTO(mem_free) struct load_node *node = load_nodes_of(w, now, &count);
        d->refs = 1;
        d->entry = mem_new_array(count + 1, sizeof *d->entry);
        buf_init(&d->bytes, HEAD_BYTES + count * (NODE_BYTES + VIEW_NAME));
        load_document_write(d, node, count, now);
        return d;
}

struct load_document *load_document_hold(struct load_document *d)
{
        atomic_fetch_add(&d->refs, 1);
        return d;
}

void load_document_drop(struct load_document *d)
{
        if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
                return;
        buf_release(&d->bytes);
        arena_release(&d->names);
        mem_free(d->entry);
        mem_free(d);
}

/* --- the texts of answers --- */

size_t load_document_nodes(const struct load_document *d)
{
        return d->entries;
}

struct text load_document_whole(const struct load_document *d)
{
        return buf_text(&d->bytes);
}

/* The document with `nodes`, the text of some nodes, in place of all nodes. The caller frees the text. */
static char *load_document_with(const struct load_document *d, struct text nodes, size_t *ret_len)
{
        struct buf out;
        buf_init(&out, d->head + nodes.len + sizeof tail);
        (void)buf_add(&out, d->bytes.data, d->head);
        (void)buf_add(&out, nodes.p, nodes.len);
        (void)buf_add_text(&out, tail);
        *ret_len = out.len;
        return buf_steal(&out);
}

static int load_entry_compare(const void *name, const void *entry)
{
        return text_compare(*(const struct text *)name, ((const struct load_entry *)entry)->name);
}

char *load_document_one(const struct load_document *d, struct text node, size_t *ret_len)
{
        const struct load_entry *e = bsearch(&node, d->entry, d->entries, sizeof *e, load_entry_compare);
        return e ? load_document_with(d, (struct text){d->bytes.data + e->at, e->len}, ret_len) : NULL;
}

char *load_document_none(const struct load_document *d, size_t *ret_len)
{
        return load_document_with(d, (struct text){"", 0}, ret_len);
}
