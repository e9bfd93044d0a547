/*
 * Memory.
 *
 * Allocations never return NULL. When the system has no memory left, the process writes a message and calls abort();
 * the database keeps the last checkpoint, which is complete at any instant. Everything that input can make large has a
 * bound (base/buf, base/queue, the limits of net/stream). No peer can therefore make halflife run out of memory.
 */
#ifndef HALFLIFE_BASE_MEM_H
#define HALFLIFE_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

void *mem_new(size_t size);                           /* zeroed memory */
void *mem_new_array(size_t count, size_t size);       /* zeroed memory for an array; aborts on overflow */
void *mem_resize(void *p, size_t count, size_t size); /* like reallocarray; count 0 frees p and returns NULL */
char *mem_string(const char *s);                      /* a copy, which the caller frees; NULL returns NULL */
char *mem_string_n(const char *p, size_t len);        /* NUL-terminated copy */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mem_free(void *p);
void mem_wipe(char *s);               /* overwrites a secret text, and frees it; NULL is fine */
void mem_wipe_n(void *p, size_t len); /* overwrites len bytes, and frees p: for secrets that may hold a NUL */
void mem_trim(void);                  /* returns free memory to the system, with glibc only */
size_t mem_resident(void);            /* bytes of this process that are in memory; 0: the system does not tell */

#define MEM_NEW(type) ((type *)mem_new(sizeof(type)))

/* char *s AUTO(mem_free): the end of the scope frees s by FN##_auto, which MEM_AUTO(FN, type *) defines. */
#define AUTO(fn) __attribute__((cleanup(fn##_auto)))
#define MEM_AUTO(fn, type)                                                                                             \
        static inline void fn##_auto(type *p)                                                                          \
        {                                                                                                              \
                if (*p)                                                                                                \
                        fn(*p);                                                                                        \
        }
/* Take the value out of an AUTO variable, which is NULL afterwards and frees nothing: return STEAL(&x); */
#define STEAL(pp)                                                                                                      \
        ({                                                                                                             \
                __typeof__(*(pp)) stolen_ = *(pp);                                                                     \
                *(pp) = NULL;                                                                                          \
                stolen_;                                                                                               \
        })

MEM_AUTO(mem_wipe, char *)
static inline void mem_free_auto(void *pp)
{
        void *p;
        memcpy(&p, pp, sizeof p);
        mem_free(p);
}

/*
 * An arena: memory that is all freed at once, after one cycle or one decoded object. arena_reset empties the arena and
 * keeps its memory as one block; arena_release frees it. {0} is a valid empty arena. arena_new aligns to max_align_t,
 * arena_text not at all.
 */
struct arena {
        struct arena_block *block;
        size_t used; /* bytes handed out since the reset */
};
void *arena_new(struct arena *a, size_t size);    /* zeroed memory */
char *arena_text(struct arena *a, struct text t); /* NUL-terminated copy */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/*
 * A slab allocator for small blocks. A size is rounded up to a size class: multiples of 16 bytes up to 256, then steps
 * of a factor 2^(1/4) up to 4096. A freed block is reused for the same class. Larger blocks come from malloc. Small
 * blocks have no header, so the caller gives the size again when it frees one.
 */
struct slab;
struct slab *slab_new(void);
void slab_free(struct slab *s);               /* frees all blocks as well */
void *slab_take(struct slab *s, size_t size); /* a block, not zeroed */
void slab_give(struct slab *s, void *p, size_t size);
size_t slab_round(size_t size);          /* bytes that a block of this size occupies */
size_t slab_bytes(const struct slab *s); /* bytes held from the system, in use or not */

#endif
