#include "cache/sample_refusals.h"

#include "cache/cache.h"

static bool refusals_are_over(const struct sample_refusals *s, int64_t now_ms)
{
        return now_ms > s->until_ms || now_ms < s->newest_ms;
}

void sample_refused(struct target *t, enum sample_refusal why, const struct pod *p, int64_t now_ms, int64_t interval_ms)
{
        if (t->refusals && refusals_are_over(t->refusals, now_ms))
                sample_refusals_forget(t);
        if (!t->refusals) {
                t->refusals = MEM_NEW(struct sample_refusals);
                t->refusals->pod =
                        p->node ? mem_printf("'%s' on node '%s'", p->name, p->node->name) : mem_printf("'%s'", p->name);
        }
        t->refusals->newest_ms = now_ms;
        t->refusals->until_ms = now_ms + REFUSAL_INTERVALS * interval_ms;
        if (t->refusals->count[why] < UINT32_MAX)
                t->refusals->count[why]++;
}

const struct sample_refusals *sample_refusals_of(const struct target *t, int64_t now_ms)
{
        return t->refusals && !refusals_are_over(t->refusals, now_ms) ? t->refusals : NULL;
}

void sample_refusals_forget(struct target *t)
{
        if (t->refusals)
                mem_free(t->refusals->pod);
        mem_free(t->refusals);
        t->refusals = NULL;
}
