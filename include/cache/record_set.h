/*
 * Resources as one of our annotations records them.
 */
#ifndef HALFLIFE_CACHE_RECORD_SET_H
#define HALFLIFE_CACHE_RECORD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "core/amount.h"

struct cache;

/* Resources as one of our annotations records them. */
struct record_row {
        const char *container; /* interned */
        struct amount request[RESOURCES], limit[RESOURCES];
};

struct record_set {
        struct record_row *row;
        int rows;
        bool present;
        bool broken; /* there is one, and it cannot be read: what is ours and what the owner asked for is not known */
};

/* One of our annotations, read; what cannot be is as good as absent. */
struct record_set record_set_read(struct cache *w, struct text annotation);
void record_set_release(struct cache *w, struct record_set *s);

#endif
