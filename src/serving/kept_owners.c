#include "kept_owners.h"

#include <string.h>

#include "base/mem.h"

enum {
        KEPT_MAX = 1024, /* owners, each with at most some 100 KiB of labels */
        KEPT_MS = MINUTE_MS,
};

struct kept {
        char *key;
        struct admission_owner *owner;
        struct mono at;
};

struct text_room {
        char *at;
};

static struct text owner_put(struct text_room *room, struct text t)
{
        struct text copy = {room->at, t.len};
        if (t.len)
                memcpy(room->at, t.p, t.len);
        room->at += t.len;
        return copy;
}

struct admission_owner *owner_copy(const struct admission_owner *o)
{
        size_t size = o->group.len + o->kind.len + o->name.len;
        for (size_t i = 0; i < o->labels; i++)
                size += o->label[i].key.len + o->label[i].value.len;
        struct admission_owner *copy = mem_new(sizeof *copy + o->labels * sizeof *o->label + size);
        struct label_pair *label = (struct label_pair *)(copy + 1);
        struct text_room room = {(char *)(label + o->labels)};
        *copy = (struct admission_owner){owner_put(&room, o->group),
                                         owner_put(&room, o->kind),
                                         owner_put(&room, o->name),
                                         label,
                                         o->labels,
                                         o->apply_never,
                                         o->unseen};
        for (size_t i = 0; i < o->labels; i++) {
                label[i].key = owner_put(&room, o->label[i].key);
                label[i].value = owner_put(&room, o->label[i].value);
        }
        return copy;
}

static void kept_free(struct kept *k)
{
        mem_free(k->key);
        mem_free(k->owner);
        mem_free(k);
}

void kept_owners_clear(struct kept_owners *k)
{
        struct kept *each;
        for (size_t at = 0; (each = map_each(&k->by_key, &at));)
                kept_free(each);
        map_release(&k->by_key);
        *k = (struct kept_owners){0};
}

void kept_owners_put(struct kept_owners *k, const char *key, const struct admission_owner *owner, struct mono now)
{
        struct kept *old = map_drop(&k->by_key, text_of(key));
        if (old)
                kept_free(old);
        if (k->by_key.count >= KEPT_MAX)
                kept_owners_clear(k);
        struct kept *fresh = MEM_NEW(struct kept);
        *fresh = (struct kept){mem_string(key), owner_copy(owner), now};
        map_put(&k->by_key, text_of(fresh->key), fresh);
}

const struct admission_owner *kept_owners_find(const struct kept_owners *k, const char *key, struct mono now)
{
        const struct kept *kept = map_get(&k->by_key, text_of(key));
        return kept && now.ns - kept->at.ns < (int64_t)KEPT_MS * 1000000 ? kept->owner : NULL;
}
