/*
 * A hash map from byte strings to pointers, and interned strings.
 *
 * Keys are hashed with a seed drawn once a process, so that names chosen by a stranger cannot be made to collide. The
 * map does not copy keys: a key lives in the value or in the caller's own memory, at least as long as its entry. Not
 * thread-safe.
 */
#ifndef HALFLIFE_BASE_MAP_H
#define HALFLIFE_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct map {
        struct map_slot *slot;
        size_t count, cap; /* cap: a power of two or 0; {0} is an empty map */
};
void map_release(struct map *m); /* keys and values stay the caller's */
void *map_get(const struct map *m, struct text key);
void *map_put(struct map *m, struct text key,
              void *value);                     /* returns the value replaced, or NULL; value is never NULL */
void *map_drop(struct map *m, struct text key); /* returns the value dropped, or NULL */
/* Iterate in no order: size_t at = 0; while (map_next(m, &at, &key, &value)). No put or drop meanwhile, but dropping
 * the entry just seen. */
bool map_next(const struct map *m, size_t *at, struct text *ret_key, void **ret_value);
uint64_t map_hash(struct text key);

/*
 * Interned strings: equal strings are one pointer, so names that occur a million times (namespaces, container names)
 * are held once and compared by address. Counted: intern_drop of the last reference frees it.
 */
struct intern;
struct intern *intern_new(void);
void intern_free(struct intern *in);
const char *intern_text(struct intern *in, struct text t); /* NUL-terminated; one more reference */
const char *intern_keep(const char *s);                    /* of an interned string: one more, without a look-up */
void intern_drop(struct intern *in, const char *s);        /* NULL is fine */

/* The next value of a map, NULL at the end: for (size_t at = 0; (v = map_each(&m, &at));). The entry just seen may be
 * dropped. */
static inline void *map_each(const struct map *m, size_t *at)
{
        struct text key;
        void *value;
        return map_next(m, at, &key, &value) ? value : NULL;
}

#endif
