#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"

/* Writes the message with write(2), because stdio may itself allocate memory. */
static _Noreturn void out_of_memory(void)
{
        static const char text[] = "halflife: out of memory; the database keeps the last checkpoint\n";
        ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        abort();
}

static size_t mem_product(size_t count, size_t size)
{
        size_t bytes;
        if (__builtin_mul_overflow(count, size, &bytes))
                out_of_memory();
        return bytes;
}

static void *mem_checked(void *p)
{
        if (!p)
                out_of_memory();
        return p;
}

void *mem_new(size_t size)
{
        return mem_checked(calloc(1, size ? size : 1));
}

void *mem_new_array(size_t count, size_t size)
{
        return mem_new(mem_product(count, size));
}

void *mem_resize(void *p, size_t count, size_t size)
{
        size_t bytes = mem_product(count, size);
        if (bytes == 0) {
                free(p);
                return NULL;
        }
        return mem_checked(realloc(p, bytes));
}

char *mem_string(const char *s)
{
        return s ? mem_string_n(s, strlen(s)) : NULL;
}

char *mem_string_n(const char *p, size_t len)
{
        char *copy = mem_checked(malloc(len + 1));
        if (len)
                memcpy(copy, p, len);
        copy[len] = '\0';
        return copy;
}

char *mem_printf(const char *fmt, ...)
{
        va_list args;
        va_start(args, fmt);
        char *text = NULL;
        int len = vasprintf(&text, fmt, args);
        va_end(args);
        return mem_checked(len < 0 ? NULL : text);
}

void mem_free(void *p)
{
        free(p);
}

void mem_wipe(char *s)
{
        mem_wipe_n(s, s ? strlen(s) : 0);
}

void mem_wipe_n(void *p, size_t len)
{
        if (p)
                explicit_bzero(p, len);
        mem_free(p);
}

void mem_trim(void)
{
#ifdef __GLIBC__
        malloc_trim(0);
#endif
}

/* --- arena: a chain of blocks, the current one first; arena_reset replaces them by one block --- */

enum { ARENA_LEAST = 4096, ARENA_MOST = 256 * 1024 };

struct arena_block {
        struct arena_block *prev;
        size_t cap, len;
        _Alignas(max_align_t) char data[];
};

static size_t align_up(size_t n)
{
        enum { A = _Alignof(max_align_t) };
        return (n + A - 1) / A * A;
}

static struct arena_block *block_new(size_t cap, struct arena_block *prev)
{
        struct arena_block *b = mem_checked(malloc(sizeof *b + cap));
        *b = (struct arena_block){.prev = prev, .cap = cap};
        return b;
}

static char *arena_take(struct arena *a, size_t size, bool aligned)
{
        struct arena_block *b = a->block;
        size_t at = b ? (aligned ? align_up(b->len) : b->len) : 0;
        if (!b || at > b->cap || b->cap - at < size) {
                if (size > SIZE_MAX / 2)
                        out_of_memory();
                size_t cap = b ? 2 * b->cap : ARENA_LEAST;
                cap = cap > ARENA_MOST ? ARENA_MOST : cap;
                a->block = b = block_new(size > cap ? size : cap, b);
                at = 0;
        }
        a->used += size;
        b->len = at + size;
        return b->data + at;
}

void *arena_new(struct arena *a, size_t size)
{
        return memset(arena_take(a, size, true), 0, size);
}

char *arena_text(struct arena *a, struct text t)
{
        char *copy = arena_take(a, t.len + 1, false);
        if (t.len)
                memcpy(copy, t.p, t.len);
        copy[t.len] = '\0';
        return copy;
}

/* Frees all blocks; returns the bytes they held. */
static size_t blocks_free(struct arena_block *b)
{
        size_t held = 0;
        for (struct arena_block *prev; b; b = prev) {
                prev = b->prev;
                held += b->cap;
                free(b);
        }
        return held;
}

void arena_reset(struct arena *a)
{
        a->used = 0;
        if (a->block && a->block->prev)
                a->block = block_new(blocks_free(a->block), NULL);
        if (a->block)
                a->block->len = 0;
}

void arena_release(struct arena *a)
{
        blocks_free(a->block);
        *a = (struct arena){0};
}

/* --- slab: each chunk is cut into blocks of one class; a freed block's first bytes link it into a list --- */

enum {
        SLAB_CHUNK = 32 * 1024,
        SLAB_FINE = 256,
        SLAB_MOST = 4096,
        SLAB_STEP = 16,
        SLAB_CLASSES = SLAB_FINE / SLAB_STEP + 16
};

/* Class sizes above SLAB_FINE: four to a doubling, each a multiple of SLAB_STEP. */
static const uint16_t coarse[] = {304,  368,  432,  512,  608,  720,  864,  1024,
                                  1216, 1440, 1728, 2048, 2432, 2896, 3440, 4096};

struct slab_block {
        struct slab_block *next;
};

/* A block larger than SLAB_MOST, from malloc. The list lets slab_free find it. */
struct slab_large {
        LIST_ENTRY(slab_large) link;
        _Alignas(max_align_t) char data[];
};

struct slab_chunk {
        struct slab_chunk *next;
        _Alignas(max_align_t) char data[];
};

struct slab {
        struct slab_block *idle[SLAB_CLASSES];
        char *fresh[SLAB_CLASSES]; /* the uncut end of a class's newest chunk */
        size_t left[SLAB_CLASSES]; /* bytes left in fresh */
        struct slab_chunk *chunk;
        LIST_HEAD(, slab_large) large;
        size_t bytes;
};

static size_t mem_class_of(size_t size)
{
        if (size <= SLAB_FINE)
                return size ? (size - 1) / SLAB_STEP : 0;
        size_t k = 0;
        while (coarse[k] < size)
                k++;
        return SLAB_FINE / SLAB_STEP + k;
}

static size_t class_size(size_t class)
{
        return class < SLAB_FINE / SLAB_STEP ? (class + 1) * SLAB_STEP : coarse[class - SLAB_FINE / SLAB_STEP];
}

size_t slab_round(size_t size)
{
        return size > SLAB_MOST ? size : class_size(mem_class_of(size));
}

struct slab *slab_new(void)
{
        struct slab *s = mem_new(sizeof *s);
        s->bytes = sizeof *s;
        return s;
}

void slab_free(struct slab *s)
{
        if (!s)
                return;
        for (struct slab_chunk *c = s->chunk, *next; c; c = next) {
                next = c->next;
                free(c);
        }
        struct slab_large *l, *next;
        LIST_FOREACH_SAFE (l, &s->large, link, next)
                free(l);
        free(s);
}

static void *large_take(struct slab *s, size_t size)
{
        struct slab_large *l = size > SIZE_MAX / 2 ? NULL : malloc(sizeof *l + size);
        l = mem_checked(l);
        LIST_INSERT_HEAD(&s->large, l, link);
        s->bytes += sizeof *l + size;
        return l->data;
}

static void large_give(struct slab *s, void *p, size_t size)
{
        struct slab_large *l = (struct slab_large *)(void *)((char *)p - offsetof(struct slab_large, data));
        LIST_REMOVE(l, link);
        s->bytes -= sizeof *l + size;
        free(l);
}

static void chunk_add(struct slab *s, size_t class)
{
        struct slab_chunk *c = mem_checked(malloc(sizeof *c + SLAB_CHUNK));
        c->next = s->chunk;
        s->chunk = c;
        s->fresh[class] = c->data;
        s->left[class] = SLAB_CHUNK;
        s->bytes += sizeof *c + SLAB_CHUNK;
}

void *slab_take(struct slab *s, size_t size)
{
        if (size > SLAB_MOST)
                return large_take(s, size);
        size_t class = mem_class_of(size), block = class_size(class);
        struct slab_block *idle = s->idle[class];
        if (idle) {
                s->idle[class] = idle->next;
                return idle;
        }
        if (s->left[class] < block)
                chunk_add(s, class);
        void *p = s->fresh[class];
        s->fresh[class] += block;
        s->left[class] -= block;
        return p;
}

void slab_give(struct slab *s, void *p, size_t size)
{
        if (!p)
                return;
        if (size > SLAB_MOST) {
                large_give(s, p, size);
                return;
        }
        struct slab_block *b = p;
        size_t class = mem_class_of(size);
        b->next = s->idle[class];
        s->idle[class] = b;
}

size_t slab_bytes(const struct slab *s)
{
        return s->bytes;
}

size_t mem_resident(void)
{
        size_t pages = 0;
        FILE *f = fopen("/proc/self/statm", "re");
        if (!f)
                return 0;
        if (fscanf(f, "%*s %zu", &pages) != 1)
                pages = 0;
        fclose(f);
        return pages * (size_t)sysconf(_SC_PAGESIZE);
}
