#include "rest/explain_change.h"

#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "core/quantity.h"

enum { PERCENT_LEAST = 50, PERCENT_MOST = 100 };
enum { FACTOR_LEAST = 100, FACTOR_MOST = 100000 }; /* thousandths */
enum { SHOWN_MOST = 64 };                          /* bytes of a refused value in the error */
static const int64_t half_life_least = MINUTE_MS, half_life_most = 720 * (int64_t)HOUR_MS;

static int shown_bytes(struct text t)
{
        return t.len < SHOWN_MOST ? (int)t.len : SHOWN_MOST;
}

/* A decimal number with at most three decimals, as thousandths; -1: the text is not such a number. */
static int64_t read_decimal(struct text t)
{
        int64_t units = -1;
        bool plain = t.len > 0 && t.p[0] != '.';
        for (size_t i = 0; i < t.len; i++)
                plain &= (t.p[i] >= '0' && t.p[i] <= '9') || t.p[i] == '.';
        const char *point = t.len ? memchr(t.p, '.', t.len) : NULL;
        size_t decimals = point ? t.len - (size_t)(point - t.p) - 1 : 0;
        if (!plain || (point && (decimals < 1 || decimals > 3)) ||
            quantity_parse(t.p, t.len, QUANTITY_MILLI, &units, NULL) < 0)
                return -1;
        return units;
}

int explain_change_percentile(const char *name, struct text t, int *ret, struct err *err)
{
        int64_t p = read_decimal(t);
        if (p < PERCENT_LEAST * 1000 || p > PERCENT_MOST * 1000 || p % 1000)
                return err_set(err, ERR_INVALID, "%s '%.*s' is not a whole number of per cent from %d to %d", name,
                               shown_bytes(t), t.p, PERCENT_LEAST, PERCENT_MOST);
        *ret = (int)(p / 100);
        return 0;
}

int explain_change_multiplier(const char *name, struct text t, int *ret, struct err *err)
{
        int64_t m = read_decimal(t);
        if (m < FACTOR_LEAST || m > FACTOR_MOST)
                return err_set(err, ERR_INVALID,
                               "%s '%.*s' is not a factor from 0.1 to 100 with at most three decimals", name,
                               shown_bytes(t), t.p);
        *ret = (int)m;
        return 0;
}

int explain_change_half_life(const char *name, struct text t, int64_t *ret_ms, struct err *err)
{
        int64_t ms;
        if (duration_parse(t.p, t.len, &ms) < 0 || ms < half_life_least || ms > half_life_most)
                return err_set(err, ERR_INVALID, "%s '%.*s' is not a duration from 1m to 720h, such as 48h", name,
                               shown_bytes(t), t.p);
        *ret_ms = ms;
        return 0;
}
