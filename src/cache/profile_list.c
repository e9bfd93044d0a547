#include "cache/profile_list.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "cache/profile.h"

static struct profile_rank profile_rank_of(const struct profile *p)
{
        return (struct profile_rank){!p->ns, p->spec->priority, p->created_ms, p->name};
}

/* How many profiles of the list win over a profile of that rank: the place of such a profile in the list. */
static size_t profile_list_before(const struct profile_list *l, struct profile_rank rank)
{
        size_t low = 0, high = l->count;
        while (low < high) {
                size_t mid = low + (high - low) / 2;
                if (profile_beats(profile_rank_of(l->of[mid]), rank))
                        low = mid + 1;
                else
                        high = mid;
        }
        return low;
}

void profile_list_add(struct profile_list *l, struct profile *p)
{
        size_t at = profile_list_before(l, profile_rank_of(p));
        if (l->count == l->cap) {
                l->cap = l->cap ? l->cap * 2 : 4;
                l->of = mem_resize(l->of, l->cap, sizeof(struct profile *));
        }
        memmove(&l->of[at + 1], &l->of[at], (l->count - at) * sizeof(struct profile *));
        l->of[at] = p;
        l->count++;
        l->left_out = 0;
}

void profile_list_drop(struct profile_list *l, const struct profile *p)
{
        size_t at = profile_list_before(l, profile_rank_of(p));
        assert(at < l->count && l->of[at] == p);
        l->count--;
        l->left_out = 0;
        memmove(&l->of[at], &l->of[at + 1], (l->count - at) * sizeof(struct profile *));
}

void profile_list_release(struct profile_list *l)
{
        mem_free(l->of);
        *l = (struct profile_list){0};
}
