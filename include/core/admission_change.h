/*
 * How a cluster's admission changes the CPU and memory requests that halflife writes. Platforms round requests up,
 * raise them to a minimum, or bound limits to a multiple of requests. halflife guesses the rule from the requests that
 * it sent and those that came back. Amounts are millicores or bytes.
 */
#ifndef HALFLIFE_CORE_ADMISSION_CHANGE_H
#define HALFLIFE_CORE_ADMISSION_CHANGE_H

#include <stddef.h>

#include "core/amount.h"

/* One CPU or memory request of one container, before and after admission. */
struct admission_request {
        struct amount sent, got; /* the request that halflife wrote; the request that came back; unset: there is none */
        struct amount limit;     /* the container's limit as it came back; unset: there is none */
};

/* The rules of admission, each of which alone explains all requests of one answer. 0: that rule does not explain
 * them. */
struct admission_rules {
        int64_t step;    /* admission rounds requests up to multiples of this amount */
        int64_t minimum; /* admission raises lower requests to this amount */
        int64_t ratio;   /* admission bounds a limit to so many thousandths of its request; rounded up to tenths */
};

/* Whether admission changed the request that halflife sent. */
static inline bool admission_changed(const struct admission_request *q)
{
        return !amount_equal(q->sent, q->got);
}

/*
 * The rules that explain what admission made of n requests of resource r. A rule must explain the unchanged requests as
 * well: it must leave them as they were sent. All fields are 0 where admission changed no request, or removed or
 * lowered one, which no such rule does.
 */
struct admission_rules admission_explain(enum resource r, const struct admission_request *q, size_t n);

#endif
