/*
 * An amount of CPU or memory: a container's request, limit or target. CPU is in millicores, memory in bytes; amounts
 * are never negative.
 */
#ifndef HALFLIFE_CORE_AMOUNT_H
#define HALFLIFE_CORE_AMOUNT_H

#include "base/text.h"
#include "core/policy.h"
#include "core/quantity.h"

/* An amount that may be absent; value counts only where set. */
struct amount {
        bool set;
        int64_t value;
};

/* An amount in half the memory, for structs of which there are many. {0} is an absent amount. */
struct packed_amount {
        int64_t bits; /* the value with every bit inverted, hence below 0; 0: the amount is absent */
};
static inline struct packed_amount amount_pack(struct amount a)
{
        return (struct packed_amount){a.set ? ~a.value : 0};
}
static inline struct amount amount_unpack(struct packed_amount p)
{
        return p.bits < 0 ? (struct amount){true, ~p.bits} : (struct amount){0};
}

static inline bool amount_equal(struct amount a, struct amount b)
{
        return a.set == b.set && (!a.set || a.value == b.value);
}

/* Read a Kubernetes quantity, rounded up to a whole millicore or byte. Returns 0, or ERR_INVALID where the text is no
 * quantity, is negative or exceeds int64_t; *ret is untouched then. */
int amount_parse(struct text t, enum resource r, struct amount *ret);

/* Print a value as Kubernetes prints it: "454m", "812Mi". Returns out. */
char *amount_print(enum resource r, int64_t value, char out[static QUANTITY_TEXT_MAX]);

#endif
