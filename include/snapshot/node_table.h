/*
 * A table of the nodes at one moment, for the threads that answer HTTP requests. The loop makes the table when an HTTP
 * request needs it; it is immutable from then on, and HTTP requests of the next seconds share it. References are
 * counted.
 */
#ifndef HALFLIFE_SNAPSHOT_NODE_TABLE_H
#define HALFLIFE_SNAPSHOT_NODE_TABLE_H

#include "base/clock.h"
#include "base/mem.h"
#include "core/node_ring.h"

/* A workload whose pods on the node use more than they ask for. */
struct node_row_workload {
        const char *ns, *kind, *name;
        int64_t requested[RESOURCES], used[RESOURCES]; /* sums over its pods on the node, millicores and bytes */
};
enum { NODE_ROW_WORKLOADS = 3 };

struct node_row {
        const char *name;
        const char *labels; /* "key\0value\0" for each label */
        uint32_t labels_size;
        bool labels_cut; /* the node has more labels than these: no selector selects it */
        bool ready, unschedulable;
        const char *taints;                                  /* "key=value:Effect,…"; "": none */
        int64_t capacity[RESOURCES], allocatable[RESOURCES]; /* millicores, bytes; 0: not known */
        int64_t original[RESOURCES],
                requested[RESOURCES]; /* sums over the node's pods: original requests, and present requests */
        int64_t pods_used[RESOURCES]; /* usage of its pods that were measured lately */
        int64_t peak[RESOURCES];      /* the learned model of what its pods use together; 0: not known */
        int pods, measured;           /* pods on the node, and those of them that were measured lately */
        struct node_load load;
        int above[RESOURCES];            /* samples above hot_percent */
        int64_t hot_since_ms[RESOURCES]; /* since when the node is hot, wall ms; 0: it is not */
        int workloads;
        struct node_row_workload workload[NODE_ROW_WORKLOADS]; /* furthest above their requests first */
};

struct node_table {
        _Atomic int refs;
        struct arena arena; /* everything that the rows point to */
        struct wall at;
        int hot_percent;
        struct node_row *row; /* by pressure, the greatest first; then by name */
        size_t rows;
};

struct node_table *node_table_new(size_t most); /* with room for `most` rows; the caller owns its one reference */
void node_table_sort(struct node_table *t);     /* once all rows are there */
struct node_table *node_table_hold(struct node_table *t);
void node_table_drop(struct node_table *t); /* any thread; NULL: does nothing */

#endif
