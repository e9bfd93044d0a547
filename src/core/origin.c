#include "core/origin.h"

static struct amount effective(struct amount request, const struct origin_facts *f)
{
        return request.set ? request : f->limit.set ? f->limit : f->range_default;
}

/* If the request differs from what we wrote, the owner has spoken, and what he says now is the original. */
struct origin origin(const struct origin_facts *f)
{
        struct origin o;
        bool admitted = f->changed && amount_equal(f->request, f->admitted);
        o.ours = f->applied.set && (amount_equal(f->request, f->applied) || admitted);
        o.reset = f->applied.set && !o.ours && f->recorded && amount_equal(f->request, f->original);
        o.raw = o.ours && f->recorded ? f->original : f->request;
        o.effective = effective(o.raw, f);
        o.current = effective(f->request, f);
        return o;
}
