/*
 * What a list of workloads is asked for: which workloads, and in which order. Routes that count workloads take the same
 * filters.
 */
#ifndef HALFLIFE_SRC_REST_LIST_QUERY_H
#define HALFLIFE_SRC_REST_LIST_QUERY_H

#include "handlers.h"

struct list_query {
        struct selector *selector; /* NULL: any labels */
        bool by_state, by_reason;
        enum state state;
        enum reason reason;    /* of a resource of a container */
        struct text search;    /* in lower case; contained in namespace, kind, name or the profile's name */
        struct text condition; /* the type of a condition that is True */
        struct text profile;   /* the name of the profile */
        bool sorted;           /* the parameter sort was given */
        int key;               /* index in the table of keys */
        bool descending;
};

/* Read the filters and sort. Returns 0, or ERR_INVALID with the answer made. */
int list_query_read(struct ask *k, struct list_query *ret);
/* ?search in lower case, in the arena; {NULL, 0}: everything. */
struct text list_query_search(struct ask *k);
/* Whether a text contains the part, which is in lower case, in any case. */
bool list_query_contains(const char *text, struct text part);
/* Whether the workload is one that was asked for. */
bool list_query_wants(const struct list_query *q, const struct snapshot_target *t);

/* The workloads of the route's namespace, or all of them, that were asked for, in their order; the array is in the
 * arena. Without sort: by namespace and Recommendation name. Reads the whole snapshot. */
const struct snapshot_target **list_query_targets(struct ask *k, const struct list_query *q, size_t *ret_count);

#endif
