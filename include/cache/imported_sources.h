/*
 * The foreign histories whose samples a target's histories contain: from an import, or adopted from another target.
 * They are remembered, so that the same history never counts twice.
 */
#ifndef HALFLIFE_CACHE_IMPORTED_SOURCES_H
#define HALFLIFE_CACHE_IMPORTED_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/yaml.h"

struct cache;
struct target;

/* sources per target: 16 hex digits each must fit a record of 64 KiB */
enum { IMPORTED_MOST = 1024 };
/* The sources of one target; store/transfer.h defines the numbers that name them. */
struct imported {
        int count;
        struct imported_source {
                const char *container; /* interned */
                uint64_t source;
        } of[];
};

bool imported_has(const struct target *t, const char *container, uint64_t source);
void imported_add(struct target *t, const char *container,
                  uint64_t source); /* ignores a known source, and one beyond IMPORTED_MOST */
/* After t has adopted the histories of `old`: move the sources of `old` to t. */
void imported_inherit(struct cache *w, struct target *t, struct target *old);
void imported_forget(struct cache *w, struct target *t);
/* Write the sources as the JSON that the store keeps with the target, NULL if there are none; and read it. */
json_t *imported_print(const struct target *t);
void imported_read(struct cache *w, struct target *t, const json_t *printed);

#endif
