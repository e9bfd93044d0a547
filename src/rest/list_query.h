/*
 * The parameters of a list of workloads that filter and sort it. Routes that count workloads take the same filters.
 */
#ifndef HALFLIFE_SRC_REST_LIST_QUERY_H
#define HALFLIFE_SRC_REST_LIST_QUERY_H

#include "handlers.h"

struct list_query {
        struct selector *selector; /* NULL: any labels */
        bool by_state, by_reason;
        enum state state;
        enum reason reason;    /* some resource of some container has this reason */
        struct text search;    /* in lower case; contained in namespace, kind, name or the profile's name */
        struct text condition; /* the type of a condition that the workload has, with status True */
        struct text profile;   /* the name of the profile */
        bool sorted;           /* the parameter sort was given */
        int key;               /* index in the table of keys */
        bool descending;
};

/* Read the filters and the parameter sort. Returns 0, or ERR_INVALID with the answer made. */
int list_query_read(struct ask *k, struct list_query *ret);
/* The value of ?search in lower case, in the arena; {NULL, 0}: not given, so everything matches. */
struct text list_query_search(struct ask *k);
/* Whether `text` contains `part`, whatever the case of the letters of `text`; `part` must be in lower case. */
bool list_query_contains(const char *text, struct text part);
/* Whether the target passes all filters of the query. */
bool list_query_wants(const struct list_query *q, const struct snapshot_target *t);

/* The targets that pass the filters, of the route's namespace or of all namespaces, in the order of ?sort; without
 * ?sort, by namespace and Recommendation name. Reads the whole snapshot. The array is in the arena. */
const struct snapshot_target **list_query_targets(struct ask *k, const struct list_query *q, size_t *ret_count);

#endif
