/*
 * Memory.
 *
 * Small allocations never return NULL: when the system has no memory left the process says so and ends by abort(), and
 * the last checkpoint stands (it is whole at any instant). What the outside can make large is bounded where it is born
 * (base/buf, base/queue, limits of net/stream), so running out is our own failure or the machine's, never a peer's
 * choice.
 */
#ifndef HALFLIFE_BASE_MEM_H
#define HALFLIFE_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

void *mem_new(size_t size);                           /* zeroed */
void *mem_new_array(size_t count, size_t size);       /* zeroed; overflow aborts */
void *mem_resize(void *p, size_t count, size_t size); /* like reallocarray; count 0 frees and gives NULL */
char *mem_string(const char *s);                      /* NULL gives NULL */
char *mem_string_n(const char *p, size_t len);        /* NUL-terminated copy */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mem_free(void *p);
void mem_trim(void); /* what is free goes back to the system, where it has means for that */

#define MEM_NEW(type) ((type *)mem_new(sizeof(type)))

/* char *s AUTO(mem_free): freed at the end of the scope by FN##_auto, defined with MEM_AUTO(FN, type *). */
#define AUTO(fn) __attribute__((cleanup(fn##_auto)))
#define MEM_AUTO(fn, type)                                                                                             \
        static inline void fn##_auto(type *p)                                                                          \
        {                                                                                                              \
                if (*p)                                                                                                \
                        fn(*p);                                                                                        \
        }
/* Hand over what an AUTO variable holds: return STEAL(&x); */
#define STEAL(pp)                                                                                                      \
        ({                                                                                                             \
                __typeof__(*(pp)) stolen_ = *(pp);                                                                     \
                *(pp) = NULL;                                                                                          \
                stolen_;                                                                                               \
        })

static inline void mem_free_auto(void *pp)
{
        void *p;
        memcpy(&p, pp, sizeof p);
        mem_free(p);
}

/*
 * An arena: memory of one lifetime (one cycle, one object being decoded). Its memory is kept over arena_reset, as one
 * block, and freed by arena_release. {0} is a valid empty arena. Alignment is that of max_align_t for arena_new, none
 * for copies of bytes.
 */
struct arena {
        struct arena_block *block;
        size_t used; /* bytes handed out since the reset */
};
void *arena_new(struct arena *a, size_t size);    /* zeroed */
char *arena_text(struct arena *a, struct text t); /* NUL-terminated copy */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/*
 * Small blocks from slabs: sizes are rounded up to a class (16 bytes apart to 256, then powers of 2^(1/4) to 4096),
 * freed blocks are reused by the same class; larger ones go to malloc. No header per block: the caller tells the size
 * when it frees.
 */
struct slab;
struct slab *slab_new(void);
void slab_free(struct slab *s);               /* everything in it */
void *slab_take(struct slab *s, size_t size); /* not zeroed */
void slab_give(struct slab *s, void *p, size_t size);
size_t slab_round(size_t size);          /* what a block of this size really takes */
size_t slab_bytes(const struct slab *s); /* held from the system */

#endif
