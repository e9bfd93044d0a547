#include "page_objects.h"

#include <stdio.h>
#include <string.h>

#include "serving/snapshot_once.h"

enum { FRESH_MS = 10 * SECOND_MS };

static bool page_objects_is_fresh(const struct page_objects_entry *e, const char *ns, struct mono now)
{
        return e->read.ns && now.ns - e->read.ns < (int64_t)FRESH_MS * 1000000 && strcmp(e->ns, ns) == 0;
}

const struct page_objects_entry *page_objects_find(const struct page_objects *o, const char *ns, struct mono now)
{
        const struct page_objects_entry *found = NULL;
        for (int i = 0; i < PAGE_NAMESPACES; i++) {
                const struct page_objects_entry *e = &o->entry[i];
                if (page_objects_is_fresh(e, ns, now))
                        return e;
                if (e->view && page_objects_is_fresh(e, "", now))
                        found = e;
        }
        return found;
}

/* The entry to read a namespace into: the namespace's own, else the entry that was read longest ago. */
static struct page_objects_entry *page_objects_place(struct page_objects *o, const char *ns)
{
        struct page_objects_entry *oldest = &o->entry[0];
        for (int i = 0; i < PAGE_NAMESPACES; i++) {
                if (o->entry[i].read.ns && strcmp(o->entry[i].ns, ns) == 0)
                        return &o->entry[i];
                if (o->entry[i].read.ns < oldest->read.ns)
                        oldest = &o->entry[i];
        }
        return oldest;
}

const struct page_objects_entry *page_objects_read(struct page_objects *o, const char *ns)
{
        struct page_objects_entry *e = page_objects_place(o, ns);
        snapshot_drop(e->view);
        *e = (struct page_objects_entry){0};
        snprintf(e->ns, sizeof e->ns, "%s", ns);
        if (snapshot_shown(o->session->client, *ns ? ns : NULL, &e->view, &e->why) < 0) {
                e->view = NULL;
                session_advise(&e->why);
        }
        e->read = mono_read();
        return e;
}

void page_objects_release(struct page_objects *o)
{
        for (int i = 0; i < PAGE_NAMESPACES; i++)
                snapshot_drop(o->entry[i].view);
}
