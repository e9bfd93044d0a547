/*
 * What a container asks for or may use of a resource, in that resource's units: millicores or bytes, never negative.
 */
#ifndef HALFLIFE_CORE_AMOUNT_H
#define HALFLIFE_CORE_AMOUNT_H

#include "base/text.h"
#include "core/policy.h"
#include "core/quantity.h"

/* It may be absent. */
struct amount {
        bool set;
        int64_t value;
};

/* The same in half the room, where many are kept. {0}: it is absent. */
struct packed_amount {
        int64_t bits; /* of the value, each turned: below 0 */
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

/* Read a Kubernetes quantity, rounded up to a whole unit. 0, or ERR_INVALID for what is none, is negative or beyond
 * int64_t; *ret is untouched then. */
int amount_parse(struct text t, enum resource r, struct amount *ret);

/* A value as Kubernetes prints it. Returns out. */
char *amount_print(enum resource r, int64_t value, char out[static QUANTITY_TEXT_MAX]);

#endif
