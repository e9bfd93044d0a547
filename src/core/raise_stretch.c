#include "core/raise_stretch.h"

#include <assert.h>

#include "core/rules.h"

static bool goes_on(const struct raise_stretch *s, const struct raise_facts *f)
{
        bool follows = f->at.ms > s->last_ms && f->at.ms - s->last_ms <= RAISE_GAP_MS;
        return s->highest && follows && f->request <= s->request;
}

static void raise_extend(struct raise_stretch *s, const struct raise_facts *f)
{
        if (!goes_on(s, f))
                *s = (struct raise_stretch){.since_ms = f->at.ms};
        s->last_ms = f->at.ms;
        s->request = f->request;
        if (f->used > s->highest)
                s->highest = f->used;
}

static int64_t raise_least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

bool raise_sample(struct raise_stretch *s, const struct raise_facts *f, int64_t *ret_request)
{
        assert(f->used >= 0 && f->request >= 0 && f->round_to >= 1);
        if (s->highest && f->at.ms <= s->last_ms && s->last_ms - f->at.ms <= RAISE_GAP_MS)
                return false;
        if (!f->policy->enabled || f->used <= f->request) {
                *s = (struct raise_stretch){0};
                return false;
        }
        raise_extend(s, f);
        if (!f->original.set || f->at.ms - s->since_ms < f->policy->after_ms)
                return false;
        int64_t to = raise_least(correct_scale(s->highest, f->policy->factor, f->round_to),
                                 correct_scale(f->request, f->policy->most, f->round_to));
        to = raise_least(to, f->original.value);
        if (to <= f->request)
                return false;
        *ret_request = to;
        return true;
}
