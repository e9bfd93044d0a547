/*
 * The objects that the page of `halflife ui` shows, as far as the API server lets the page's user read them: a snapshot
 * of each namespace that was asked for, kept for some seconds.
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
                char ns[64];           /* the namespace; "": all namespaces */
                struct snapshot *view; /* the objects; NULL: `why` has the API server's error */
                struct err why;
                struct mono read; /* time of the reading; ns 0: nothing was read yet */
        } entry[PAGE_NAMESPACES];
};

/* The entry of a namespace if it was read lately, or that of all namespaces; NULL: call page_objects_read. */
const struct page_objects_entry *page_objects_find(const struct page_objects *o, const char *ns, struct mono now);
/* Read a namespace ("": all) at the API server and wait. It turns the loop, so never call it in a callback of the loop.
 */
const struct page_objects_entry *page_objects_read(struct page_objects *o, const char *ns);
void page_objects_release(struct page_objects *o);

#endif
