#include "core/amount.h"

int amount_parse(struct text t, enum resource r, struct amount *ret)
{
        int64_t value = INT64_MIN; /* stays below 0 where the text is no quantity */
        (void)quantity_parse(t.p, t.len, r == CPU ? QUANTITY_MILLI : QUANTITY_WHOLE, &value, NULL);
        if (value < 0)
                return ERR_INVALID;
        *ret = (struct amount){true, value};
        return 0;
}

char *amount_print(enum resource r, int64_t value, char out[static QUANTITY_TEXT_MAX])
{
        return r == CPU ? quantity_print_cpu(value, out) : quantity_print_memory(value, out);
}
