/*
 * Whose samples the histories of a target hold besides its own: joined by an import, or by adopting another's. It is
 * remembered, so that the same one never counts twice.
 */
#ifndef HALFLIFE_CACHE_IMPORTED_H
#define HALFLIFE_CACHE_IMPORTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/yaml.h"

struct cache;
struct target;

enum { IMPORTED_MOST = 1024 /* of a target: 16 hex digits each, in a record of 64 KiB */ };

/* Sources are named by store/transfer.h. */
struct imported {
        int count;
        struct imported_source {
                const char *container; /* interned */
                uint64_t source;
        } of[];
};

bool imported_has(const struct target *t, const char *container, uint64_t source);
void imported_add(struct target *t, const char *container,
                  uint64_t source); /* but one that is known, or beyond the most */
/* What t's histories hold now besides its own, when they have become those of old as well; old's is forgotten. */
void imported_inherit(struct cache *w, struct target *t, struct target *old);
void imported_forget(struct cache *w, struct target *t);
/* As the store keeps it beside a target that has some, and back; NULL: none. */
json_t *imported_print(const struct target *t);
void imported_read(struct cache *w, struct target *t, const json_t *printed);

#endif
