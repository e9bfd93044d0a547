/*
 * Lists the cluster into the cache. Where the credentials may not list a kind in the whole cluster, each namespace is
 * listed by itself. A list that they may not read is reported by the option `tell`, and left out.
 */
#ifndef HALFLIFE_SCAN_SCAN_LISTS_H
#define HALFLIFE_SCAN_SCAN_LISTS_H

#include "cache/cache.h"
#include "scan/cluster_scan.h"

/* The namespaces of a scan. */
struct scan_scope {
        bool whole;      /* each kind is read by one list of the whole cluster */
        const char **ns; /* interned by the cache; whole: all namespaces, to fall back on; else those whose pods could
                            be read */
        size_t count;
};

/* List pods, the workloads that own them, and the objects that decide about their requests, such as LimitRanges and
 * autoscalers. Returns 0, or an error: the API server is away, the namespace does not exist, or the credentials may
 * read no pod. The caller releases *ret in any case. */
int scan_lists_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *ret, struct err *err);
void scan_scope_release(struct scan_scope *s);

/* Append the first names of namespaces to a message, and how many more there are: "a, b, c and 4 more". */
void scan_names_add(struct buf *out, const char *const *name, size_t count);

#endif
