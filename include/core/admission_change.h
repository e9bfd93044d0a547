/*
 * What admission makes of the requests that halflife writes. Platforms round requests up, raise them to a minimum, or
 * bound limits to a multiple of requests. The rule is guessed from what was sent and what came back. Amounts are
 * millicores or bytes.
 */
#ifndef HALFLIFE_CORE_ADMISSION_CHANGE_H
#define HALFLIFE_CORE_ADMISSION_CHANGE_H

#include <stddef.h>

#include "core/amount.h"

/* What admission made of one request: of one resource, in one container. */
struct admission_request {
        struct amount sent, got; /* what halflife wrote; what came back. Unset: no request */
        struct amount limit;     /* the container's, as it came back; unset: none */
};

/* The rules that explain all the requests together; several may. 0: that rule does not explain them. */
struct admission_rules {
        int64_t step;    /* requests are rounded up to multiples of it */
        int64_t minimum; /* requests are raised to it */
        int64_t ratio;   /* a limit is at most so many thousandths of its request; rounded up to tenths */
};

/* Did the request come back other than it was sent? */
static inline bool admission_changed(const struct admission_request *q)
{
        return !amount_equal(q->sent, q->got);
}

/*
 * The rules that explain n requests of resource r in one answer. The requests that came back as sent count as well: a
 * rule that would have changed one is none. All are 0 where a request was removed or lowered, which no such rule does.
 */
struct admission_rules admission_explain(enum resource r, const struct admission_request *q, size_t n);

#endif
