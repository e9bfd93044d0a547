/*
 * Lists the cluster into the cache. Where the whole cluster may not be listed, each namespace is listed by itself; what
 * may not be read is told, and left out.
 */
#ifndef HALFLIFE_SCAN_SCAN_LISTS_H
#define HALFLIFE_SCAN_SCAN_LISTS_H

#include "cache/cache.h"
#include "scan/cluster_scan.h"

/* The namespaces of a scan. */
struct scan_scope {
        bool whole;      /* all of the cluster, by one list each */
        const char **ns; /* interned by the cache; the pods of each could be read; unused where whole */
        size_t count;
};

/* Read pods, their owners, and what decides about their requests. Returns 0, or an error: the API server is away, the
 * namespace does not exist, or no pod may be read. The caller releases the scope in any case. */
int scan_lists_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *ret, struct err *err);
void scan_scope_release(struct scan_scope *s);

/* Append "a, b, c and 4 more" to a message about namespaces. */
void scan_names_add(struct buf *out, const char *const *name, size_t count);

#endif
