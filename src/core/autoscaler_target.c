#include "core/autoscaler_target.h"

#include <assert.h>

void retune_add(struct retune_sum *s, struct amount original, struct amount request)
{
        s->unknown |= !request.set || request.value <= 0;
        if (!request.set)
                return;
        s->request += request.value;
        s->original += original.set ? original.value : request.value;
}

int64_t retune_target(int64_t old, const struct retune_sum *s)
{
        assert(old >= RETUNE_LEAST);
        if (s->unknown || s->request <= 0)
                return old;
        __int128 target = (2 * s->original * old + s->request) / (2 * s->request);
        if (target < RETUNE_LEAST)
                return RETUNE_LEAST;
        return target > RETUNE_MOST ? RETUNE_MOST : (int64_t)target;
}

/* A utilization target other than the one that halflife wrote is the owner's, and is the new original. Where only the
 * original is recorded, any other value counts as halflife's: taken for the owner's, it would be retuned a second
 * time. */
struct retune_origin retune_origin(const struct retune_facts *f)
{
        struct retune_origin o = {.original = f->live};
        if (!f->recorded.set)
                return o;
        o.reset = f->live == f->recorded.value && f->applied.set && f->applied.value != f->live;
        o.ours = f->applied.set ? f->live == f->applied.value : f->live != f->recorded.value;
        if (o.ours)
                o.original = f->recorded.value;
        return o;
}
