#include "kube/list_bound.h"

#include "base/map.h"

enum {
        PAGES_MAX = 4096, /* for 2 million objects in pages of 500 */
        EMPTY_MAX = 100,
        TIMES_TOLD = 10, /* remainingItemCount is an estimate */
};

/* How many objects the list may have, by its first page; 0: the page does not tell. */
static int64_t list_bound_told(int64_t remaining, int64_t items)
{
        if (remaining <= 0 || remaining > INT64_MAX / TIMES_TOLD - items)
                return 0;
        return (items + remaining) * TIMES_TOLD;
}

/* Brent's search for a cycle: each token is compared with one before, whose page's number is a power of two. */
static bool list_bound_turns(struct list_bound *b, struct text token)
{
        uint64_t digest = digest_bytes(0, token.p, token.len);
        bool again = b->pages > 1 && digest == b->marked;
        if ((b->pages & (b->pages - 1)) == 0)
                b->marked = digest;
        return again;
}

int list_bound_page(struct list_bound *b, struct text next, int64_t remaining, int64_t items, struct err *err)
{
        if (b->pages++ == 0)
                b->most = list_bound_told(remaining, items);
        b->empty = items > 0 ? 0 : b->empty + 1;
        b->items += items;
        if (next.len == 0)
                return 0;
        if (list_bound_turns(b, next))
                return err_set(err, ERR_INVALID, "the list has no end: a continue token came twice within %d pages",
                               b->pages);
        if (b->empty >= EMPTY_MAX)
                return err_set(err, ERR_INVALID, "the list has no end: %d pages in a row have no object, and continue",
                               EMPTY_MAX);
        if (b->most > 0 && b->items > b->most)
                return err_set(err, ERR_INVALID,
                               "the list has no end: %lld objects came, %d times what the first page told",
                               (long long)b->items, TIMES_TOLD);
        if (b->pages >= PAGES_MAX)
                return err_set(err, ERR_TOOBIG, "the list has no end: after %d pages there is one more", PAGES_MAX);
        return 0;
}
