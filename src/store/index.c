#include "index.h"

#include <assert.h>

enum { NAMES = 4, KEY_MAX = 1024 };

struct known {
        struct known_history history; /* for a target only its id is set */
        uint16_t len;
        char key[];
};

struct key {
        size_t len;
        char bytes[KEY_MAX];
};

void index_init(struct index *x)
{
        *x = (struct index){.slab = slab_new()};
}

void index_release(struct index *x)
{
        map_release(&x->targets);
        map_release(&x->histories);
        slab_free(x->slab);
        *x = (struct index){0};
}

void index_reset(struct index *x)
{
        index_release(x);
        index_init(x);
}

static void key_add(struct key *k, const void *p, size_t len)
{
        assert(k->len + len <= sizeof k->bytes); /* holds, since names have at most 253 bytes */
        if (len)
                memcpy(k->bytes + k->len, p, len);
        k->len += len;
}

static struct text target_key(struct key *k, const struct store_key *from)
{
        const struct text name[NAMES] = {from->ns, from->group, from->kind, from->name};
        k->len = 0;
        for (int i = 0; i < NAMES; i++)
                key_add(k, &(uint8_t){(uint8_t)name[i].len}, 1);
        for (int i = 0; i < NAMES; i++)
                key_add(k, name[i].p, name[i].len);
        return (struct text){k->bytes, k->len};
}

static struct text history_key(struct key *k, int64_t target, struct text container)
{
        k->len = 0;
        key_add(k, &target, sizeof target);
        key_add(k, container.p, container.len);
        return (struct text){k->bytes, k->len};
}

static struct known *index_add(struct index *x, struct map *m, struct text key, int64_t id)
{
        struct known *known = slab_take(x->slab, sizeof *known + key.len);
        *known = (struct known){.history.id = id, .len = (uint16_t)key.len};
        memcpy(known->key, key.p, key.len);
        struct known *old = map_put(m, (struct text){known->key, known->len}, known);
        if (!old)
                return known;
        map_put(m, (struct text){old->key, old->len}, old);
        slab_give(x->slab, known, sizeof *known + known->len);
        return NULL;
}

static void index_drop(struct index *x, struct map *m, struct text key)
{
        struct known *known = map_drop(m, key);
        if (known)
                slab_give(x->slab, known, sizeof *known + known->len);
}

int64_t index_target(const struct index *x, const struct store_key *key)
{
        struct key k;
        const struct known *known = map_get(&x->targets, target_key(&k, key));
        return known ? known->history.id : 0;
}

bool index_add_target(struct index *x, const struct store_key *key, int64_t id)
{
        struct key k;
        return index_add(x, &x->targets, target_key(&k, key), id) != NULL;
}

void index_drop_target(struct index *x, const struct store_key *key)
{
        struct key k;
        index_drop(x, &x->targets, target_key(&k, key));
}

struct known_history *index_history(const struct index *x, int64_t target, struct text container)
{
        struct key k;
        struct known *known = map_get(&x->histories, history_key(&k, target, container));
        return known ? &known->history : NULL;
}

struct known_history *index_add_history(struct index *x, int64_t target, struct text container, int64_t id)
{
        struct key k;
        struct known *known = index_add(x, &x->histories, history_key(&k, target, container), id);
        return known ? &known->history : NULL;
}

void index_drop_history(struct index *x, int64_t target, struct text container)
{
        struct key k;
        if (container.len <= sizeof k.bytes - sizeof target) /* a longer name is damage and was never added */
                index_drop(x, &x->histories, history_key(&k, target, container));
}
