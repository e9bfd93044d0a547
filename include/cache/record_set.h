/*
 * The requests and limits in one of halflife's annotation records.
 */
#ifndef HALFLIFE_CACHE_RECORD_SET_H
#define HALFLIFE_CACHE_RECORD_SET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "core/amount.h"

struct cache;

struct record_row {
        const char *container; /* interned */
        struct amount request[RESOURCES], limit[RESOURCES];
};

struct record_set {
        struct record_row *row;
        int rows;
        bool present;
        bool broken; /* the annotation cannot be read: which requests are halflife's and which the owner's is not known
                      */
};

/* Read an annotation record. One that cannot be read gives no rows, and sets broken. */
struct record_set record_set_read(struct cache *w, struct text annotation);
void record_set_release(struct cache *w, struct record_set *s);
/* Its requests in the form of status.applied.containers; the caller's. */
json_t *record_set_rows(const struct record_set *s);

#endif
