/*
 * Kubernetes quantities ("250m", "1.5Gi", "2e3"): numbers with a suffix, in fixed point down to 10^-9. They are read
 * and printed exactly as k8s.io/apimachinery/pkg/api/resource reads and prints them.
 */
#ifndef HALFLIFE_CORE_QUANTITY_H
#define HALFLIFE_CORE_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The unit of a result, as its number of decimal digits after the point: nano, milli or whole units. */
enum { QUANTITY_NANO = 9, QUANTITY_MILLI = 3, QUANTITY_WHOLE = 0 };

/*
 * Parse into whole units of 10^-digits: QUANTITY_MILLI gives millicores, QUANTITY_WHOLE bytes. s need not end in NUL. A
 * fraction of a unit rounds away from zero, as Kubernetes' own Value() rounds: "1n" of CPU is 1 millicore. Returns 0,
 * or ERR_INVALID with *reterr_at the index of the first wrong byte (len: the value exceeds int64_t). reterr_at may be
 * NULL.
 */
int quantity_parse(const char *s, size_t len, int digits, int64_t *ret_units, size_t *reterr_at);

/*
 * The canonical text of a quantity, as Kubernetes prints it after parsing; Kubernetes keeps input that looks canonical
 * verbatim. out holds QUANTITY_TEXT_MAX bytes and is NUL-terminated. Returns 0; ERR_INVALID where Kubernetes refuses
 * the text; ERR_TOOBIG where the canonical text needs more room.
 */
enum { QUANTITY_TEXT_MAX = 64 };
int quantity_canonical(const char *s, size_t len, char out[static QUANTITY_TEXT_MAX]);

/* Print an amount as Kubernetes does: millicores ("454m", "2"), and bytes with binary suffixes ("812Mi", "1500").
 * Return out. */
char *quantity_print_cpu(int64_t milli, char out[static QUANTITY_TEXT_MAX]);
char *quantity_print_memory(int64_t bytes, char out[static QUANTITY_TEXT_MAX]);

/* a + b, saturating at the bounds of int64_t: made-up objects may ask for any amount. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
        int64_t sum;
        return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}

#endif
