#include "safety_private.h"

struct safety *safety_new(const struct safety_options *o)
{
        struct safety *safety = MEM_NEW(struct safety);
        *safety = (struct safety){
                .loop = o->loop,
                .cache = o->cache,
                .live = o->live,
                .checkpointer = o->checkpointer,
                .leadership = o->leadership,
                .notices = o->notices,
        };
        return safety;
}

void safety_free(struct safety *safety)
{
        if (!safety)
                return;
        budget_release(safety);
        fuse_release(&safety->fuse);
        mem_free(safety);
}

void safety_settle(struct safety *safety)
{
        budget_settle(safety);
        fuse_settle(safety);
        canary_settle(safety);
}

void safety_load(struct safety *safety, struct text name, struct text value)
{
        if (text_is(name, "fuse"))
                fuse_load(safety, value);
        else if (text_is(name, "budget"))
                budget_load(safety, value);
}

void safety_store(struct safety *safety)
{
        budget_store(safety);
        fuse_store(safety);
}

const struct safety_counts *safety_counts(const struct safety *safety)
{
        return &safety->count;
}
