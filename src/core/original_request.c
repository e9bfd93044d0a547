#include "core/original_request.h"

static struct amount origin_effective(struct amount request, struct amount limit, struct amount range_default)
{
        return request.set ? request : limit.set ? limit : range_default;
}

/* Of a container whose owner set none before, the namespace's own: filled in as its pod was admitted. */
static bool is_filled_in(struct amount limit, const struct origin_facts *f)
{
        return f->recorded && !f->original_limit.set && limit.set && amount_equal(limit, f->range_limit);
}

/* If the request differs from what we wrote, the owner has spoken, and what he says now is the original. */
struct origin origin(const struct origin_facts *f)
{
        struct origin o;
        bool admitted = f->changed && amount_equal(f->request, f->admitted);
        o.ours = f->applied.set && (amount_equal(f->request, f->applied) || admitted);
        o.reset = f->applied.set && !o.ours && f->recorded && amount_equal(f->request, f->original);
        o.raw = o.ours && f->recorded ? f->original : f->request;
        o.limit = o.ours && is_filled_in(f->limit, f) ? (struct amount){0} : f->limit;
        o.effective = origin_effective(o.raw, o.limit, f->range_default);
        o.current = origin_effective(f->request, f->limit, f->range_default);
        return o;
}
