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
        bool broken; /* the annotation cannot be read, so nobody knows which requests are halflife's */
};

/* Read an annotation record. An unreadable annotation gives no rows, and sets `broken`; an empty one gives {0}. */
struct record_set record_set_read(struct cache *w, struct text annotation);
void record_set_release(struct cache *w, struct record_set *s);
/* The record's requests as JSON in the form of status.applied.containers; the caller owns it. */
json_t *record_set_rows(const struct record_set *s);

#endif
