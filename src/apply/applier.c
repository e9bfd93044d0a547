#include "applier_private.h"

/* The tenant of a target in the queue of writes: its namespace, so that namespaces take turns. */
static const void *target_tenant(const void *target)
{
        return ((const struct target *)target)->ns;
}

/* Targets with histories are urgent, so they are written first: thousands of others may only have been found. */
static bool target_has_usage(const void *target)
{
        return ((const struct target *)target)->histories != NULL;
}

struct applier *applier_new(const struct applier_options *o)
{
        enum { WORK_MAX = 1 << 20, BACK_OFF_LEAST_MS = SECOND_MS, BACK_OFF_MOST_MS = 5 * MINUTE_MS };
        struct applier *applier = MEM_NEW(struct applier);
        *applier = (struct applier){
                .loop = o->loop,
                .client = o->client,
                .cache = o->cache,
                .live = o->live,
                .checkpointer = o->checkpointer,
                .skew = o->skew,
                .leadership = o->leadership,
                .notices = o->notices,
                .safety = o->safety,
                .options = *o,
                .work = queue_new(WORK_MAX, BACK_OFF_LEAST_MS, BACK_OFF_MOST_MS, target_tenant),
        };
        queue_set_urgent(applier->work, target_has_usage);
        profile_turns_init(&applier->statuses);
        return applier;
}

void applier_free(struct applier *applier)
{
        if (!applier)
                return;
        queue_free(applier->work);
        profile_turns_release(&applier->statuses);
        arena_release(&applier->plans);
        mem_free(applier);
}

static struct plan_facts applier_facts_of(const struct applier *applier, const struct target *t)
{
        const struct applier_options *o = &applier->options;
        bool blind = o->blind(o->arg) != NULL || (t->profile && profile_is_blind(t->profile));
        return (struct plan_facts){
                .now = loop_now(applier->loop),
                .interval_ms = applier->live->interval_ms,
                .apply_never = applier->live->apply_never || ns_find(applier->cache, t->ns)->exempt,
                .source_away = notice_usage_source(applier->notices)->away || blind,
                .fuse_blown = fuse_blown(applier->safety) != NULL,
        };
}

void applier_decide(struct applier *applier, struct target *t, struct plan *ret)
{
        const struct plan_facts facts = applier_facts_of(applier, t);
        plan_judge(applier->cache, t, &facts, &applier->plans, ret);
        budget_gate(applier->safety, ret);
        plan_finish(applier->cache, &facts, &applier->plans, ret);
}

void decide_end(struct applier *applier)
{
        arena_reset(&applier->plans);
}

const struct applier_counts *applier_counts(const struct applier *applier)
{
        return &applier->count;
}
