#include "core/original_request.h"

static struct amount original_request_effective(struct amount request, struct amount limit, struct amount range_default)
{
        return request.set ? request : limit.set ? limit : range_default;
}

/* Whether the limit is the LimitRange's default, which Kubernetes filled in when it admitted the pod: the owner had set
 * no limit. */
static bool is_filled_in(struct amount limit, const struct original_request_facts *f)
{
        return f->recorded && !f->original_limit.set && limit.set && amount_equal(limit, f->range_limit);
}

/* A request other than the one that halflife wrote is the owner's, and so the new original. */
struct original_request original_request_read(const struct original_request_facts *f)
{
        struct original_request o;
        bool admitted = f->changed && amount_equal(f->request, f->admitted);
        o.ours = f->applied.set && (amount_equal(f->request, f->applied) || admitted);
        o.reset = f->applied.set && !o.ours && f->recorded && amount_equal(f->request, f->original);
        o.raw = o.ours && f->recorded ? f->original : f->request;
        o.limit = o.ours && is_filled_in(f->limit, f) ? (struct amount){0} : f->limit;
        o.effective = original_request_effective(o.raw, o.limit, f->range_default);
        o.current = original_request_effective(f->request, f->limit, f->range_default);
        return o;
}
