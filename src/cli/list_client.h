/*
 * Reads all objects of a collection, page by page.
 */
#ifndef HALFLIFE_CLI_LIST_CLIENT_H
#define HALFLIFE_CLI_LIST_CLIENT_H

#include <jansson.h>

#include "kube/client.h"

enum { LISTING_ITEM_BYTES = 64 << 20 /* most bytes of one answer or page */ };

struct listing {
        const char *path;   /* path of the collection, from path_of */
        const char *labels; /* a label selector; NULL: all objects */
        /* Called when the list begins anew: forget the items so far. May be NULL. */
        void (*restart)(void *arg);
        int (*each)(void *arg, json_t *item, struct err *err); /* takes an item, borrowed; a result < 0 ends the list */
        void *arg;
};
/* Read all pages. If the list's version expires, start anew once, then ask for the whole list in one answer. Returns 0,
 * the result of each, or the error. */
int listing_read(struct client *c, const struct listing *l, struct err *err);

/* GET one path as JSON, which the caller releases; NULL: an error, in err. most: bound of the answer in bytes. */
json_t *listing_ask(struct client *c, const char *path, const char *query, size_t most, struct err *err);

#endif
