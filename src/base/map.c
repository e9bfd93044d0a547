#include "base/map.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

/* --- hashing: SipHash-1-3 with a random seed per process --- */

static uint64_t seed[2];
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void seed_draw(void)
{
        if (getentropy(seed, sizeof seed) < 0)
                abort(); /* every supported kernel has getentropy */
}

struct sip {
        uint64_t v0, v1, v2, v3;
};

static uint64_t map_rotate(uint64_t x, int bits)
{
        return x << bits | x >> (64 - bits);
}

static void sip_round(struct sip *s)
{
        s->v0 += s->v1;
        s->v1 = map_rotate(s->v1, 13) ^ s->v0;
        s->v0 = map_rotate(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = map_rotate(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = map_rotate(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = map_rotate(s->v1, 17) ^ s->v2;
        s->v2 = map_rotate(s->v2, 32);
}

static void sip_word(struct sip *s, uint64_t word)
{
        s->v3 ^= word;
        sip_round(s);
        s->v0 ^= word;
}

uint64_t map_hash(struct text key)
{
        pthread_once(&seed_once, seed_draw);
        struct sip s = {0x736f6d6570736575 ^ seed[0], 0x646f72616e646f6d ^ seed[1], 0x6c7967656e657261 ^ seed[0],
                        0x7465646279746573 ^ seed[1]};
        size_t at = 0;
        for (uint64_t word; key.len - at >= sizeof word; at += sizeof word) {
                memcpy(&word, key.p + at, sizeof word);
                sip_word(&s, word);
        }
        uint64_t last = 0;
        if (key.len > at)
                memcpy(&last, key.p + at, key.len - at);
        sip_word(&s, last | (uint64_t)key.len << 56);
        s.v2 ^= 0xff;
        for (int i = 0; i < 3; i++)
                sip_round(&s);
        return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t digest_bytes(uint64_t digest, const void *p, size_t len)
{
        const unsigned char *byte = p;
        uint64_t hash = digest ? digest : UINT64_C(14695981039346656037);
        for (size_t i = 0; i < len; i++)
                hash = (hash ^ byte[i]) * UINT64_C(1099511628211);
        return hash;
}

/* --- map: open addressing, linear probing; a drop moves later entries back, so there are no tombstones --- */

enum { MAP_LEAST = 8 };

struct map_slot { /* kept to three words: a map of a million pods has some two million slots */
        const char *key;
        void *value; /* NULL: the slot is empty */
        uint32_t len, hash;
};

static struct text slot_key(const struct map_slot *s)
{
        return (struct text){s->key, s->len};
}

static uint32_t slot_hash(struct text key)
{
        return (uint32_t)map_hash(key);
}

void map_release(struct map *m)
{
        mem_free(m->slot);
        *m = (struct map){0};
}

/* The slot that holds the key, or the empty slot where the key belongs. */
static size_t map_find(const struct map *m, struct text key, uint32_t hash)
{
        size_t mask = m->cap - 1, i = hash & mask;
        while (m->slot[i].value && !(m->slot[i].hash == hash && text_equal(slot_key(&m->slot[i]), key)))
                i = (i + 1) & mask;
        return i;
}

static void map_grow(struct map *m)
{
        struct map bigger = {.count = m->count, .cap = m->cap ? 2 * m->cap : MAP_LEAST};
        bigger.slot = mem_new_array(bigger.cap, sizeof *bigger.slot);
        for (size_t i = 0; i < m->cap; i++) {
                if (!m->slot[i].value)
                        continue;
                size_t to = m->slot[i].hash & (bigger.cap - 1);
                while (bigger.slot[to].value)
                        to = (to + 1) & (bigger.cap - 1);
                bigger.slot[to] = m->slot[i];
        }
        mem_free(m->slot);
        *m = bigger;
}

void *map_get(const struct map *m, struct text key)
{
        return m->count ? m->slot[map_find(m, key, slot_hash(key))].value : NULL;
}

void *map_put(struct map *m, struct text key, void *value)
{
        assert(value && key.len <= UINT32_MAX);
        if (m->count >= m->cap / 4 * 3)
                map_grow(m);
        uint32_t hash = slot_hash(key);
        struct map_slot *s = &m->slot[map_find(m, key, hash)];
        void *old = s->value;
        m->count += !old;
        *s = (struct map_slot){key.p, value, (uint32_t)key.len, hash};
        return old;
}

void *map_drop(struct map *m, struct text key)
{
        if (m->count == 0)
                return NULL;
        size_t mask = m->cap - 1, hole = map_find(m, key, slot_hash(key));
        void *old = m->slot[hole].value;
        if (!old)
                return NULL;
        for (size_t i = (hole + 1) & mask; m->slot[i].value; i = (i + 1) & mask) {
                size_t home = m->slot[i].hash & mask;
                if (((i - home) & mask) < ((i - hole) & mask))
                        continue; /* this entry stays: in the hole, it would stand before the slot of its hash */
                m->slot[hole] = m->slot[i];
                hole = i;
        }
        m->slot[hole] = (struct map_slot){0};
        m->count--;
        return old;
}

/*
 * Walks backwards from an empty slot. Dropping the entry just returned moves only entries back that the walk has
 * already returned, and no run of entries spans the start. The upper half of *at holds the start slot + 1, the lower
 * half the steps made.
 */
bool map_next(const struct map *m, size_t *at, struct text *ret_key, void **ret_value)
{
        static_assert(sizeof *at == 8, "two halves of 32 bits");
        if (m->count == 0)
                return false;
        if (*at == 0) {
                size_t empty = 0;
                while (m->slot[empty].value)
                        empty++;
                *at = (empty + 1) << 32;
        }
        size_t start = *at >> 32;
        for (size_t step = *at & UINT32_MAX; step < m->cap - 1; step++) {
                const struct map_slot *s = &m->slot[(start - 2 - step) & (m->cap - 1)];
                if (!s->value)
                        continue;
                *at = start << 32 | (step + 1);
                *ret_key = slot_key(s);
                *ret_value = s->value;
                return true;
        }
        return false;
}

/* --- interned strings --- */

struct interned {
        size_t references, len;
        char text[];
};

struct intern {
        struct map map;
};

struct intern *intern_new(void)
{
        return MEM_NEW(struct intern);
}

void intern_free(struct intern *in)
{
        if (!in)
                return;
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&in->map, &at, &key, &value);)
                mem_free(value);
        map_release(&in->map);
        mem_free(in);
}

const char *intern_text(struct intern *in, struct text t)
{
        struct interned *s = map_get(&in->map, t);
        if (!s) {
                s = mem_new(sizeof *s + t.len + 1);
                s->len = t.len;
                if (t.len)
                        memcpy(s->text, t.p, t.len);
                map_put(&in->map, (struct text){s->text, t.len}, s);
        }
        s->references++;
        return s->text;
}

static struct interned *interned_of(const char *text)
{
        return (struct interned *)((uintptr_t)text - offsetof(struct interned, text));
}

const char *intern_keep(const char *text)
{
        interned_of(text)->references++;
        return text;
}

void intern_drop(struct intern *in, const char *text)
{
        if (!text)
                return;
        struct interned *s = interned_of(text);
        assert(s->references > 0);
        if (--s->references > 0)
                return;
        map_drop(&in->map, (struct text){s->text, s->len});
        mem_free(s);
}
