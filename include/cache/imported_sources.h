/*
 * The foreign histories whose samples a target's histories contain: from an import, or adopted from another target. The
 * target remembers these sources, so that no foreign history counts twice in it.
 */
#ifndef HALFLIFE_CACHE_IMPORTED_SOURCES_H
#define HALFLIFE_CACHE_IMPORTED_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/yaml.h"

struct cache;
struct target;

/* The most sources that a target remembers: with 16 hex digits for each, its record must stay within 64 KiB. */
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
                  uint64_t source); /* does nothing for a known source, or if `t` has IMPORTED_MOST sources */
/* After t has adopted the histories of `old`: move the sources of `old` to t. */
void imported_inherit(struct cache *w, struct target *t, struct target *old);
void imported_forget(struct cache *w, struct target *t);
/* The target's sources as JSON for its record in the store; t->imported must not be NULL. imported_read adds the
 * sources in such JSON to the target; `printed` NULL: none. */
json_t *imported_print(const struct target *t);
void imported_read(struct cache *w, struct target *t, const json_t *printed);

#endif
