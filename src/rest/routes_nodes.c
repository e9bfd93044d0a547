/*
 * GET …/nodes: the nodes by pressure, the greatest first.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "handlers.h"
#include "objects/label_selector.h"

/* NODES_BYTES is less than the 8 MiB that a replica forwards. */
enum { NODES_LIMIT = 500, NODES_LIMIT_MOST = 10000, NODES_BYTES = 7 << 20 };

struct node_page {
        const struct node_table *table;
        const char *ns; /* namespace whose workloads may be named; "": all; NULL: none */
        struct selector *selector;
        long limit;
};

static bool node_is_selected(const struct node_page *p, const struct node_row *row)
{
        struct label_pair label[VIEW_LABELS_MAX];
        if (!p->selector)
                return true;
        size_t labels = snapshot_unpack_labels(row->labels, row->labels_size, label, VIEW_LABELS_MAX);
        return !row->labels_cut && selector_match(p->selector, label, labels);
}

/* --- one node --- */

static void node_write_amount(struct writer *w, const char *key, enum resource r, int64_t value)
{
        writer_amount(w, key, r, (struct amount){true, value});
}

/* Write thousandths as per cent, with one decimal. */
static void node_write_percent(struct writer *w, const char *key, int thousandths)
{
        char text[16];
        int len = snprintf(text, sizeof text, "%d.%d", thousandths / 10, thousandths % 10);
        writer_raw(w, key, (struct text){text, (size_t)len});
}

/* How much of the node's allocatable resource its pods request, in thousandths. */
static int node_packing(const struct node_row *row, enum resource r)
{
        __int128 share = (__int128)row->requested[r] * 1000 / row->allocatable[r];
        return share > INT_MAX ? INT_MAX : (int)share;
}

static void node_write_resource(struct writer *w, const struct node_row *row, enum resource r)
{
        writer_open(w, resource_name(r), '{');
        node_write_amount(w, "capacity", r, row->capacity[r]);
        node_write_amount(w, "allocatable", r, row->allocatable[r]);
        node_write_amount(w, "original", r, row->original[r]);
        node_write_amount(w, "requested", r, row->requested[r]);
        node_write_amount(w, "podsUsed", r, row->pods_used[r]);
        if (row->allocatable[r] > 0)
                node_write_percent(w, "packingPercent", node_packing(row, r));
        if (row->peak[r] > 0)
                node_write_amount(w, "peak", r, row->peak[r]);
        if (row->load.samples) {
                node_write_amount(w, "used", r, row->load.used[r]);
                node_write_percent(w, "usedPercent", row->load.latest[r]);
                node_write_percent(w, "meanPercent", row->load.mean[r]);
                node_write_percent(w, "mostPercent", row->load.most[r]);
                writer_int(w, "hotSamples", row->above[r]);
        }
        writer_close(w, '}');
}

static void node_write_taints(struct writer *w, const char *taints)
{
        if (!*taints)
                return;
        writer_open(w, "taints", '[');
        for (const char *at = taints; *at;) {
                size_t len = strcspn(at, ",");
                writer_text(w, NULL, (struct text){at, len});
                at += len + (at[len] == ',');
        }
        writer_close(w, ']');
}

static void node_write_workloads(struct writer *w, const struct node_page *p, const struct node_row *row)
{
        if (!p->ns)
                return;
        writer_open(w, "workloads", '[');
        for (int i = 0; i < row->workloads; i++) {
                const struct node_row_workload *of = &row->workload[i];
                if (*p->ns && strcmp(p->ns, of->ns) != 0)
                        continue;
                writer_open(w, NULL, '{');
                writer_text(w, "namespace", text_of(of->ns));
                writer_text(w, "kind", text_of(of->kind));
                writer_text(w, "name", text_of(of->name));
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        writer_open(w, resource_name(r), '{');
                        node_write_amount(w, "requested", r, of->requested[r]);
                        node_write_amount(w, "used", r, of->used[r]);
                        writer_close(w, '}');
                }
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

/* Write the condition HotNode into the answer; a node that is not hot has no condition. */
static void node_write_condition(struct writer *w, const struct node_page *p, const struct node_row *row)
{
        static const char *const reason[] = {"", "CPU", "Memory", "CPUAndMemory"};
        bool cpu = row->hot_since_ms[CPU], memory = row->hot_since_ms[MEMORY];
        enum resource r = !cpu || (memory && row->above[MEMORY] > row->above[CPU]) ? MEMORY : CPU;
        int64_t since = cpu && (!memory || row->hot_since_ms[CPU] < row->hot_since_ms[MEMORY])
                                ? row->hot_since_ms[CPU]
                                : row->hot_since_ms[MEMORY];
        if (!cpu && !memory)
                return;
        writer_open(w, "conditions", '[');
        writer_open(w, NULL, '{');
        writer_text(w, "type", TEXT("HotNode"));
        writer_text(w, "status", TEXT("True"));
        writer_text(w, "reason", text_of(reason[cpu + 2 * memory]));
        writer_printf(w, "message", "%d of the last %d samples of %s are above %d %%", row->above[r], row->load.samples,
                      resource_name(r), p->table->hot_percent);
        writer_time(w, "lastTransitionTime", since);
        writer_close(w, '}');
        writer_close(w, ']');
}

static void node_write(struct writer *w, const struct node_page *p, const struct node_row *row)
{
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(row->name));
        writer_bool(w, "ready", row->ready);
        writer_bool(w, "unschedulable", row->unschedulable);
        node_write_taints(w, row->taints);
        writer_int(w, "samples", row->load.samples);
        writer_time(w, "lastSample", row->load.at_ms);
        if (row->load.samples)
                node_write_percent(w, "pressurePercent", node_load_pressure(&row->load));
        for (enum resource r = CPU; r < RESOURCES; r++)
                node_write_resource(w, row, r);
        writer_int(w, "pods", row->pods);
        writer_int(w, "measuredPods", row->measured);
        node_write_condition(w, p, row);
        node_write_workloads(w, p, row);
        writer_close(w, '}');
}

/* --- the list --- */

static int node_page_read(struct ask *k, struct node_page *ret)
{
        struct err err;
        if (selector_parse(k->query->value[PARAM_LABEL_SELECTOR], k->a, &ret->selector, &err) < 0)
                return answer_bad_parameter(k->ret, "labelSelector", "%s", err.text);
        return limit_asked(k, NODES_LIMIT, NODES_LIMIT_MOST, &ret->limit);
}

static void node_page_write(struct ask *k, const struct node_page *p)
{
        struct writer w = answer_begin(k->ret);
        int64_t left = 0;
        long written = 0;
        writer_open(&w, NULL, '{');
        writer_time(&w, "time", p->table->at.ms);
        writer_int(&w, "hotPercent", p->table->hot_percent);
        writer_open(&w, "items", '[');
        for (size_t i = 0; i < p->table->rows; i++) {
                if (!node_is_selected(p, &p->table->row[i]))
                        continue;
                if (written == p->limit || w.b->len >= NODES_BYTES) {
                        left++;
                        continue;
                }
                node_write(&w, p, &p->table->row[i]);
                written++;
        }
        writer_close(&w, ']');
        if (left)
                writer_int(&w, "left", left);
        writer_close(&w, '}');
}

void route_nodes(const struct route *route, const struct request *r, const struct snapshot *v,
                 const struct node_table *nodes, bool names, struct arena *a, struct answer *ret)
{
        struct ask k = {.route = route, .query = route->query, .v = v, .a = a, .ret = ret};
        struct node_page p = {.table = nodes, .ns = names ? route->ns : NULL};
        assert(route->name == ROUTE_NODES);
        if (!nodes) {
                answer_problem(ret, PROBLEM_UNAVAILABLE, "only the halflife that learns knows the usage of nodes");
                return;
        }
        if (node_page_read(&k, &p) < 0)
                return;
        node_page_write(&k, &p);
        answer_tag(ret, r->if_none_match, a);
        answer_age(v, r->at, a, ret);
}
