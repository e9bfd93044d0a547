/*
 * Reads all objects of a collection once, page by page. For commands: the calls turn the client's loop.
 */
#ifndef HALFLIFE_KUBE_COLLECTION_H
#define HALFLIFE_KUBE_COLLECTION_H

#include "kube/client.h"

struct collection {
        const char *path;                            /* of the collection, from path_of */
        const char *selector;                        /* a query part such as "fieldSelector=…"; NULL: all objects */
        void (*each)(void *arg, struct text object); /* called with each object's JSON, valid until `each` returns */
        void *arg;
};

/*
 * Read all pages. If the list's version expires on the server, the list begins anew, in one answer: then objects come
 * twice, and some may be deleted by now. Returns 0, the client's error, ERR_INVALID (the answer is not a list) or
 * what list_bound_page returns (the list has no end).
 */
int collection_read(struct client *c, const struct collection *l, struct err *err);

#endif
