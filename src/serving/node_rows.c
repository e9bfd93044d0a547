#include "serving/node_rows.h"

#include <string.h>

#include "cache/node_target.h"
#include "cache/pod_originals.h"
#include "core/recommend.h"

struct node_rows {
        struct wall now;
        int64_t fresh_ms;
        struct node_table *table;
        struct pod_originals originals;
        struct node_row_workload *workload; /* the workloads of the node under way */
        int workloads, workload_cap;
};

/* --- a pod --- */

struct pod_part {
        struct pod_asks asks;
        int64_t used[RESOURCES];
        bool measured;
};

static void node_rows_pod(struct node_rows *all, const struct pod *p, struct pod_part *ret)
{
        *ret = (struct pod_part){.measured = pod_is_measured(p, all->now, all->fresh_ms)};
        pod_originals_ask(&all->originals, p, &ret->asks);
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret->used[r] = ret->measured ? pod_used(p, r) : 0;
}

/* --- workloads --- */

/* The workload that a pod counts for: the recommendation's target, else the topmost owner that the cache knows, else
 * the pod itself. */
static struct node_row_workload node_rows_workload_of(const struct pod *p)
{
        const struct workload *top = p->owner;
        if (p->target)
                return (struct node_row_workload){.ns = p->ns, .kind = p->target->kind, .name = p->target->name};
        while (top && top->owner)
                top = top->owner;
        return top ? (struct node_row_workload){.ns = p->ns, .kind = top->kind->kind, .name = top->name}
                   : (struct node_row_workload){.ns = p->ns, .kind = "Pod", .name = p->name};
}

static struct node_row_workload *node_rows_workload(struct node_rows *all, const struct node_row_workload *of)
{
        for (int i = 0; i < all->workloads; i++) {
                struct node_row_workload *w = &all->workload[i];
                if (w->ns == of->ns && strcmp(w->name, of->name) == 0 && strcmp(w->kind, of->kind) == 0)
                        return w;
        }
        if (all->workloads == all->workload_cap) {
                all->workload_cap = all->workload_cap * 2 + 32;
                all->workload = mem_resize(all->workload, (size_t)all->workload_cap, sizeof *all->workload);
        }
        all->workload[all->workloads] = *of;
        return &all->workload[all->workloads++];
}

/* How far a workload's usage on the node is above its requests there: the larger of CPU and memory, in millionths of
 * the node's capacity. */
static int64_t node_rows_above(const struct node_row *row, const struct node_row_workload *w)
{
        int64_t most = 0;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                int64_t above = w->used[r] - w->requested[r];
                int64_t share =
                        above > 0 && row->capacity[r] > 0 ? (int64_t)((__int128)above * 1000000 / row->capacity[r]) : 0;
                most = share > most ? share : most;
        }
        return most;
}

/* Keep in the row the workloads whose usage is furthest above their requests, most first. Their names are copied into
 * the table. */
static void node_rows_keep_workloads(struct node_rows *all, struct node_row *row)
{
        struct arena *a = &all->table->arena;
        while (row->workloads < NODE_ROW_WORKLOADS) {
                struct node_row_workload *best = NULL;
                int64_t most = 0;
                for (int i = 0; i < all->workloads; i++) {
                        int64_t above = all->workload[i].name ? node_rows_above(row, &all->workload[i]) : 0;
                        if (above > most) {
                                most = above;
                                best = &all->workload[i];
                        }
                }
                if (!best)
                        return;
                struct node_row_workload *to = &row->workload[row->workloads++];
                *to = *best;
                to->ns = arena_text(a, text_of(best->ns));
                to->kind = arena_text(a, text_of(best->kind));
                to->name = arena_text(a, text_of(best->name));
                best->name = NULL;
        }
}

/* --- a node --- */

static void node_rows_add_pod(struct node_rows *all, struct node_row *row, const struct pod *p)
{
        struct pod_part part;
        node_rows_pod(all, p, &part);
        row->pods++;
        row->measured += part.measured;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                row->original[r] = add_saturated(row->original[r], part.asks.original[r]);
                row->requested[r] = add_saturated(row->requested[r], part.asks.requested[r]);
                row->pods_used[r] = add_saturated(row->pods_used[r], part.used[r]);
        }
        if (!part.measured)
                return;
        const struct node_row_workload of = node_rows_workload_of(p);
        struct node_row_workload *w = node_rows_workload(all, &of);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                w->requested[r] = add_saturated(w->requested[r], part.asks.requested[r]);
                w->used[r] = add_saturated(w->used[r], part.used[r]);
        }
}

/* Set the row's peak from the node's own Recommendation, if a profile selects the node: the model of its usage. */
static void node_rows_learned(const struct cache *w, const struct node *n, struct wall now, struct node_row *row)
{
        const struct target *t = n->facts->whole ? n->facts->whole->target : NULL;
        const struct history *h = t && t->profile ? history_find(t, w->whole) : NULL;
        struct recommendation learned;
        if (!h)
                return;
        recommend(&h->usage, t->profile->spec->of, &(struct recommend_facts){.now = now}, &learned);
        for (enum resource r = CPU; r < RESOURCES; r++)
                row->peak[r] = learned.of[r].known ? learned.of[r].model : 0;
}

static void node_rows_describe(struct node_rows *all, const struct node *n, struct node_row *row)
{
        const struct node_facts *f = n->facts;
        struct arena *a = &all->table->arena;
        row->name = arena_text(a, text_of(n->name));
        row->labels = arena_text(a, (struct text){f->texts ? f->texts : "", f->labels_size});
        row->labels_size = f->labels_size;
        row->labels_cut = f->labels_cut;
        row->taints = arena_text(a, text_of(node_facts_taints(f)));
        row->ready = f->ready;
        row->unschedulable = f->unschedulable;
        node_ring_load(&f->ring, f->capacity, all->now, &row->load);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                row->capacity[r] = f->capacity[r];
                row->allocatable[r] = n->allocatable[r].set ? n->allocatable[r].value : 0;
                row->hot_since_ms[r] = f->hot_since_ms[r];
                row->above[r] = node_ring_above(&f->ring, r, f->capacity[r], all->table->hot_percent, all->now);
        }
}

static void node_rows_add(struct node_rows *all, const struct cache *w, const struct node *n)
{
        struct node_row *row = &all->table->row[all->table->rows++];
        const struct pod *p;
        node_rows_describe(all, n, row);
        node_rows_learned(w, n, all->now, row);
        all->workloads = 0;
        LIST_FOREACH (p, &n->pods, on_node)
                if (!p->gone && !p->finished)
                        node_rows_add_pod(all, row, p);
        node_rows_keep_workloads(all, row);
}

struct node_table *node_rows_make(const struct cache *w, int hot_percent, struct wall now, int64_t fresh_ms)
{
        struct node_rows all = {.now = now, .fresh_ms = fresh_ms, .table = node_table_new(w->nodes.with_facts)};
        const struct node *n;
        all.table->at = now;
        all.table->hot_percent = hot_percent;
        for (size_t at = 0; (n = map_each(&w->nodes.by_name, &at));)
                if (n->facts)
                        node_rows_add(&all, w, n);
        node_table_sort(all.table);
        pod_originals_release(&all.originals);
        mem_free(all.workload);
        return all.table;
}
