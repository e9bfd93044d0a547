#include "cache/labels.h"

#include <string.h>

#include "base/mem.h"

void labels_release(struct labels *l)
{
        mem_free(l->pair);
        *l = (struct labels){0};
}

void labels_set(struct labels *l, const struct label_pair *pair, size_t count)
{
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++)
                bytes += pair[i].key.len + pair[i].value.len;
        struct label_pair *copy = count ? mem_new(count * sizeof *copy + bytes) : NULL;
        char *at = copy ? (char *)(copy + count) : NULL;
        for (size_t i = 0; i < count; i++) {
                copy[i] = (struct label_pair){{at, pair[i].key.len}, {at + pair[i].key.len, pair[i].value.len}};
                memcpy(at, pair[i].key.p, pair[i].key.len);
                at += pair[i].key.len;
                if (pair[i].value.len)
                        memcpy(at, pair[i].value.p, pair[i].value.len);
                at += pair[i].value.len;
        }
        mem_free(l->pair);
        *l = (struct labels){copy, count};
}

static bool labels_same(const struct labels *l, const struct label_pair *pair, size_t count)
{
        bool same = l->count == count;
        for (size_t i = 0; same && i < count; i++)
                same = text_equal(l->pair[i].key, pair[i].key) && text_equal(l->pair[i].value, pair[i].value);
        return same;
}

bool labels_keep(struct labels *l, const struct label_pair *pair, size_t count)
{
        if (labels_same(l, pair, count))
                return false;
        labels_set(l, pair, count);
        return true;
}
