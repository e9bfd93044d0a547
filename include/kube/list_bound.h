/*
 * Whether a list that comes in pages has an end. A broken server may continue a list for ever; each page is a request,
 * so that the list would take the whole API rate.
 */
#ifndef HALFLIFE_KUBE_LIST_BOUND_H
#define HALFLIFE_KUBE_LIST_BOUND_H

#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct list_bound {
        int pages; /* read so far */
        int empty; /* the last so many had no object */
        int64_t items;
        int64_t most;    /* objects that the list may have, by what its first page tells; 0: it does not tell */
        uint64_t marked; /* digest of the continue token of page 1, 2, 4, 8 …, the last one of those */
};

/*
 * Take note of a page with so many objects. next: its continue token, "" on the last page. remaining: its
 * remainingItemCount, 0 if it has none. Returns 0, or < 0 if the list cannot be read to its end: a continue token
 * came before, 100 pages in a row had no object, there are ten times the objects that the first page told, or 4096
 * pages. {0} begins a list.
 */
int list_bound_page(struct list_bound *b, struct text next, int64_t remaining, int64_t items, struct err *err);

#endif
