#include "base/recent_count.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct recent_name {
        uint64_t count;
        size_t len;
        char name[];
};

void recent_count_init(struct recent_count *r, int64_t lifetime_ms, size_t most, struct mono now)
{
        assert(lifetime_ms > 0 && most > 0);
        *r = (struct recent_count){.began = now, .lifetime_ms = lifetime_ms, .most = most};
}

static void names_clear(struct map *names)
{
        struct recent_name *each;
        for (size_t at = 0; (each = map_each(names, &at));)
                mem_free(each);
        map_release(names);
        *names = (struct map){0};
}

void recent_count_release(struct recent_count *r)
{
        names_clear(&r->young);
        names_clear(&r->old);
}

/* The young names become old, and the old ones are forgotten. */
static void recent_count_turn(struct recent_count *r, struct mono now)
{
        names_clear(&r->old);
        r->old = r->young;
        r->young = (struct map){0};
        r->began = now;
}

static void recent_count_age(struct recent_count *r, struct mono now)
{
        int64_t lifetime_ns = r->lifetime_ms * 1000000;
        if (now.ns - r->began.ns >= 2 * lifetime_ns)
                names_clear(&r->young);
        if (now.ns - r->began.ns >= lifetime_ns)
                recent_count_turn(r, now);
}

static struct recent_name *name_new(struct text name)
{
        struct recent_name *n = mem_new(sizeof *n + name.len);
        n->len = name.len;
        memcpy(n->name, name.p, name.len);
        return n;
}

void recent_count_add(struct recent_count *r, struct text name, uint64_t amount, struct mono now)
{
        recent_count_age(r, now);
        struct recent_name *n = map_get(&r->young, name);
        if (!n) {
                if (r->young.count >= r->most)
                        recent_count_turn(r, now);
                n = name_new(name);
                map_put(&r->young, (struct text){n->name, n->len}, n);
        }
        n->count += amount;
}

uint64_t recent_count_get(struct recent_count *r, struct text name, struct mono now)
{
        recent_count_age(r, now);
        const struct recent_name *young = map_get(&r->young, name), *old = map_get(&r->old, name);
        return (young ? young->count : 0) + (old ? old->count : 0);
}
