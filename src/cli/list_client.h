/*
 * All objects of a collection, page by page.
 */
#ifndef HALFLIFE_CLI_LIST_CLIENT_H
#define HALFLIFE_CLI_LIST_CLIENT_H

#include <jansson.h>

#include "kube/client.h"

enum { LISTING_ITEM_BYTES = 64 << 20 /* of one answer, a page included */ };

struct listing {
        const char *path;   /* as path_of gives it: a collection */
        const char *labels; /* a label selector; NULL: all */
        /* What was told so far counts no more: the list begins anew. May be NULL. */
        void (*restart)(void *arg);
        int (*each)(void *arg, json_t *item, struct err *err); /* the item is borrowed; < 0 ends it */
        void *arg;
};
/* A list that outlives its version is begun anew once, then asked for whole. 0, what each returned, or the error. */
int listing_read(struct client *c, const struct listing *l, struct err *err);

/* One answer as JSON, the caller's; NULL with err. most: of its bytes. */
json_t *listing_ask(struct client *c, const char *path, const char *query, size_t most, struct err *err);

#endif
