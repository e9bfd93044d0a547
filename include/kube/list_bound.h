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
        int pages; /* pages read so far */
        int empty; /* number of the last pages in a row that had no object */
        int64_t items;
        int64_t most;    /* most objects that the list may have, by its first page; 0: the page does not tell */
        uint64_t marked; /* digest of the continue token of page 1, 2, 4, 8 …, the last one of those */
};

/*
 * Take note of a page that has `items` objects. `next`: the page's continue token, "" on the last page. `remaining`:
 * its remainingItemCount, 0 if it has none. Returns 0, or < 0 if the list cannot be read to its end: a continue token
 * came before, 100 pages in a row had no object, there are more than ten times the objects that the first page told of,
 * or there are more than 4096 pages. {0} begins a list.
 */
int list_bound_page(struct list_bound *b, struct text next, int64_t remaining, int64_t items, struct err *err);

#endif
