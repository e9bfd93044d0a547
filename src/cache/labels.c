#include "cache/labels.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct label_set {
        size_t references, count, text_len;
        struct label_pair pair[]; /* behind the pairs: all keys and values in one text, which is the set's map key */
};

static bool labels_same(const struct labels *l, const struct label_pair *pair, size_t count)
{
        bool same = l->count == count;
        for (size_t i = 0; same && i < count; i++)
                same = text_equal(l->pair[i].key, pair[i].key) && text_equal(l->pair[i].value, pair[i].value);
        return same;
}

static struct label_set *label_set_of(const struct label_pair *pair)
{
        return (struct label_set *)((uintptr_t)pair - offsetof(struct label_set, pair));
}

static struct text label_set_text(const struct label_set *s)
{
        return (struct text){s->pair[0].key.p, s->text_len};
}

static char *label_set_add(char *at, struct text from, struct text *to)
{
        if (from.len)
                memcpy(at, from.p, from.len);
        *to = (struct text){at, from.len};
        return at + from.len;
}

static struct label_set *label_set_new(const struct label_pair *pair, size_t count)
{
        size_t text_len = 0;
        for (size_t i = 0; i < count; i++)
                text_len += pair[i].key.len + pair[i].value.len;
        struct label_set *s = mem_new(sizeof *s + count * sizeof s->pair[0] + text_len);
        char *at = (char *)(s->pair + count);
        s->count = count;
        s->text_len = text_len;
        for (size_t i = 0; i < count; i++) {
                at = label_set_add(at, pair[i].key, &s->pair[i].key);
                at = label_set_add(at, pair[i].value, &s->pair[i].value);
        }
        return s;
}

/* Sets of the same text may be cut differently into keys and values. Only the first of them is in the map, and shared.
 */
static const struct label_pair *label_set_keep(struct map *sets, const struct label_pair *pair, size_t count)
{
        struct label_set *fresh = label_set_new(pair, count), *kept = map_get(sets, label_set_text(fresh));
        if (kept && labels_same(&(struct labels){kept->pair, kept->count}, pair, count)) {
                mem_free(fresh);
                fresh = kept;
        } else if (!kept) {
                map_put(sets, label_set_text(fresh), fresh);
        }
        fresh->references++;
        return fresh->pair;
}

void labels_release(struct map *sets, struct labels *l)
{
        struct label_set *s = l->count ? label_set_of(l->pair) : NULL;
        *l = (struct labels){0};
        if (!s || --s->references > 0)
                return;
        if (map_get(sets, label_set_text(s)) == s)
                map_drop(sets, label_set_text(s));
        mem_free(s);
}

void labels_set(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count)
{
        const struct label_pair *kept =
                count ? label_set_keep(sets, pair, count) : NULL; /* before the release: pair may be l's own */
        labels_release(sets, l);
        *l = (struct labels){kept, count};
}

bool labels_keep(struct map *sets, struct labels *l, const struct label_pair *pair, size_t count)
{
        if (labels_same(l, pair, count))
                return false;
        labels_set(sets, l, pair, count);
        return true;
}
