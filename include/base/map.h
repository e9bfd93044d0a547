/*
 * A hash map from byte strings to pointers, and interned strings.
 *
 * Keys are hashed with a random seed per process, so that nobody can choose names that collide. The map does not copy
 * keys: a key lies in the value or in the caller's own memory and must live as long as its entry. Not thread-safe.
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
void map_release(struct map *m); /* frees the slots; keys and values stay the caller's */
void *map_get(const struct map *m, struct text key);
void *map_put(struct map *m, struct text key,
              void *value);                     /* returns the replaced value, or NULL; value must not be NULL */
void *map_drop(struct map *m, struct text key); /* returns the removed value, or NULL */
/* Iterate over the entries in no particular order: size_t at = 0; while (map_next(m, &at, &key, &value)). The only
 * change allowed during an iteration is to drop the entry just returned. */
bool map_next(const struct map *m, size_t *at, struct text *ret_key, void **ret_value);
uint64_t map_hash(struct text key);
/* FNV-1a hash, the same in every process. It only detects changes, so nobody gains by a collision. digest 0 begins a
 * digest; an earlier result continues it. */
uint64_t digest_bytes(uint64_t digest, const void *p, size_t len);

/*
 * Interned strings: equal strings share one pointer. A name that occurs a million times (a namespace, a container name)
 * is stored once and compared by address. References are counted: intern_drop of the last one frees the string.
 */
struct intern;
struct intern *intern_new(void);
void intern_free(struct intern *in);
const char *intern_text(struct intern *in, struct text t); /* the interned text, NUL-terminated; takes one reference */
const char *intern_keep(const char *s);                    /* takes a further reference to an interned string */
void intern_drop(struct intern *in, const char *s);        /* gives a reference back; accepts NULL */

/* The next value of a map; NULL: no value is left. Loop: for (size_t at = 0; (v = map_each(&m, &at));). The loop
 * may drop the entry just returned. */
static inline void *map_each(const struct map *m, size_t *at)
{
        struct text key;
        void *value;
        return map_next(m, at, &key, &value) ? value : NULL;
}

#endif
