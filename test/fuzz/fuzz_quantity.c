/* Any bytes as a quantity: parsing and printing agree with each other. */
#include <stdbool.h>
#include <string.h>

#include "core/quantity.h"
#include "fuzz.h"

/* ceil away from zero */
static int64_t coarser(int64_t value, int64_t by)
{
        return value / by + (value % by > 0) - (value % by < 0);
}

static void canonical_is_the_same(const char *text, size_t len, int64_t nano)
{
        char out[QUANTITY_TEXT_MAX];
        int64_t got;
        if (quantity_canonical(text, len, out) == ERR_TOOBIG)
                return;
        MUST(strlen(out) < QUANTITY_TEXT_MAX);
        MUST(quantity_parse(out, strlen(out), QUANTITY_NANO, &got, NULL) == 0 && got == nano);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        char out[QUANTITY_TEXT_MAX];
        int64_t nano, milli, whole;
        size_t at = size + 1;
        int rc = quantity_canonical(text, size, out);
        bool fits = quantity_parse(text, size, QUANTITY_NANO, &nano, &at) == 0;
        bool beyond = !fits && at == size && size > 0;
        MUST(rc == 0 || rc == ERR_INVALID || rc == ERR_TOOBIG);
        /* a suffix that is refused may stand at the end as well, where it is empty */
        MUST(rc != ERR_INVALID || !fits);
        MUST(rc == ERR_INVALID || fits || beyond);
        if (!fits) {
                MUST(at <= size);
                return 0;
        }
        MUST(quantity_parse(text, size, QUANTITY_MILLI, &milli, NULL) == 0 && milli == coarser(nano, 1000000));
        MUST(quantity_parse(text, size, QUANTITY_WHOLE, &whole, NULL) == 0 && whole == coarser(milli, 1000));
        canonical_is_the_same(text, size, nano);
        quantity_print_cpu(milli, out);
        MUST(quantity_parse(out, strlen(out), QUANTITY_MILLI, &whole, NULL) == 0 && whole == milli);
        quantity_print_memory(nano, out);
        MUST(quantity_parse(out, strlen(out), QUANTITY_WHOLE, &whole, NULL) == 0 && whole == nano);
        return 0;
}
