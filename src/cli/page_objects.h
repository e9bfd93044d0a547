/*
 * The objects that the page of `halflife ui` shows, as the API server shows them to its user: a snapshot for each
 * namespace that was asked for, kept for some seconds.
 */
#ifndef HALFLIFE_CLI_PAGE_OBJECTS_H
#define HALFLIFE_CLI_PAGE_OBJECTS_H

#include "base/clock.h"
#include "cli/session.h"
#include "snapshot/snapshot.h"

enum { PAGE_NAMESPACES = 8 };

struct page_objects {
        struct session *session;
        struct page_objects_entry {
                char ns[64];           /* "": all */
                struct snapshot *view; /* NULL: why has the API server's error */
                struct err why;
                struct mono read; /* ns 0: nothing was read yet */
        } entry[PAGE_NAMESPACES];
};

/* What was read of the namespace lately; NULL: read it. A snapshot of all namespaces serves each of them. */
const struct page_objects_entry *page_objects_find(const struct page_objects *o, const char *ns, struct mono now);
/* Ask the API server and wait. It turns the loop, so call it from outside of the loop's callbacks. */
const struct page_objects_entry *page_objects_read(struct page_objects *o, const char *ns);
void page_objects_release(struct page_objects *o);

#endif
