#include "ledger/prices.h"

#include <string.h>

#include "base/mem.h"

enum { DECIMALS = 9, CURRENCY = 3 };

/* --- the setting --- */

static struct text prices_trim(struct text t)
{
        while (t.len > 0 && *t.p == ' ') {
                t.p++;
                t.len--;
        }
        while (t.len > 0 && t.p[t.len - 1] == ' ')
                t.len--;
        return t;
}

/* The part up to the next comma, without blanks around it; *rest then points behind the comma. */
static struct text prices_part(const char **rest)
{
        size_t len = strcspn(*rest, ",");
        struct text part = prices_trim((struct text){*rest, len});
        *rest += len;
        *rest += **rest == ',';
        return part;
}

static bool price_is_digit(char c)
{
        return c >= '0' && c <= '9';
}

/* Parse a decimal number such as "0.034" into billionths. */
static bool price_read(struct text t, int64_t *ret)
{
        int64_t n = 0;
        size_t at = 0, decimals = 0;
        if (t.len == 0 || !price_is_digit(*t.p))
                return false;
        for (; at < t.len && price_is_digit(t.p[at]) && n <= PRICE_LIMIT; at++)
                n = n * 10 + (t.p[at] - '0');
        if (at + 1 < t.len && t.p[at] == '.')
                for (at++; at < t.len && price_is_digit(t.p[at]) && decimals < DECIMALS; at++, decimals++)
                        n = n * 10 + (t.p[at] - '0');
        for (; decimals < DECIMALS && n <= PRICE_LIMIT * PRICE_UNIT; decimals++)
                n *= 10;
        *ret = n;
        return at == t.len && n <= PRICE_LIMIT * PRICE_UNIT;
}

static bool price_is_pool(struct text t)
{
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
        if (text_is(t, PRICE_OTHER))
                return true;
        for (size_t i = 0; i < t.len; i++)
                if (!t.p[i] || !strchr(plain, t.p[i]))
                        return false;
        return t.len > 0 && t.len < PRICE_POOL_MAX;
}

static int prices_read_pool(struct text part, struct price *ret, struct err *err)
{
        const char *equals = memchr(part.p, '=', part.len), *end = part.p + part.len;
        const char *slash = equals ? memchr(equals, '/', (size_t)(end - equals)) : NULL;
        if (!slash)
                return err_set(err, ERR_INVALID,
                               "'%.*s' is no price: give POOL=CORE-HOUR/GIB-HOUR, such as spot=0.012/0.0015, or * for "
                               "all other pools",
                               TEXT_ARG(part));
        struct text pool = prices_trim((struct text){part.p, (size_t)(equals - part.p)});
        if (!price_is_pool(pool))
                return err_set(err, ERR_INVALID, "'%.*s' is no value of a node's label, and not *", TEXT_ARG(pool));
        struct text price[RESOURCES] = {
                [CPU] = {equals + 1, (size_t)(slash - equals - 1)}, [MEMORY] = {slash + 1, (size_t)(end - slash - 1)}};
        memcpy(ret->pool, pool.p, pool.len);
        ret->pool[pool.len] = '\0';
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (!price_read(prices_trim(price[r]), &ret->of[r]))
                        return err_set(
                                err, ERR_INVALID,
                                "'%.*s' in '%.*s' is no price: give a number from 0 to 1000000 with at most nine "
                                "decimals, such as 0.034",
                                TEXT_ARG(price[r]), TEXT_ARG(part));
        return 0;
}

static int prices_add(struct prices *p, struct text part, struct err *err)
{
        struct price read = {0};
        int rc = prices_read_pool(part, &read, err);
        if (rc < 0)
                return rc;
        for (size_t i = 0; i < p->count; i++)
                if (strcmp(p->price[i].pool, read.pool) == 0)
                        return err_set(err, ERR_INVALID, "pool '%s' has two prices: keep one", read.pool);
        if (p->count == PRICES_MOST)
                return err_set(err, ERR_INVALID, "it has more than %d prices: give * for what the other pools cost",
                               PRICES_MOST);
        p->price = mem_resize(p->price, p->count + 1, sizeof *p->price);
        p->price[p->count++] = read;
        return 0;
}

static int prices_read_currency(struct text t, struct prices *ret, struct err *err)
{
        bool sound = t.len == CURRENCY;
        for (size_t i = 0; sound && i < CURRENCY; i++)
                sound = t.p[i] >= 'A' && t.p[i] <= 'Z';
        if (!sound)
                return err_set(err, ERR_INVALID,
                               "it begins with '%.*s', not with a currency of three capitals, such as EUR, and a comma",
                               TEXT_ARG(t));
        memcpy(ret->currency, t.p, CURRENCY);
        return 0;
}

static int prices_read(const char *text, struct prices *p, struct err *err)
{
        const char *rest = text;
        int rc = prices_read_currency(prices_part(&rest), p, err);
        while (rc == 0 && *rest) {
                struct text part = prices_part(&rest);
                if (!text_is(part, "opencost"))
                        rc = prices_add(p, part, err);
                else
                        p->asked = true;
        }
        if (rc == 0 && p->asked && p->count > 0)
                rc = err_set(err, ERR_INVALID, "it has both opencost and prices of its own: keep one of them");
        if (rc == 0 && !p->asked && p->count == 0)
                rc = err_set(err, ERR_INVALID, "it has no price: add *=CORE-HOUR/GIB-HOUR, or opencost");
        return rc;
}

int prices_parse(const char *text, struct prices *ret, struct err *err)
{
        struct prices fresh = {0};
        int rc = prices_read(text, &fresh, err);
        if (rc < 0) {
                prices_release(&fresh);
                return rc;
        }
        *ret = fresh;
        return 0;
}

void prices_release(struct prices *p)
{
        mem_free(p->price);
        *p = (struct prices){0};
}

struct prices *prices_copy(const struct prices *p)
{
        struct prices *copy = MEM_NEW(struct prices);
        *copy = *p;
        copy->price = mem_new_array(p->count + 1, sizeof *p->price);
        if (p->count)
                memcpy(copy->price, p->price, p->count * sizeof *p->price);
        return copy;
}

void prices_free(struct prices *p)
{
        if (p)
                prices_release(p);
        mem_free(p);
}

/* --- what something costs --- */

static const struct price *prices_named(const struct prices *p, const char *pool)
{
        for (size_t i = 0; i < p->count; i++)
                if (strcmp(p->price[i].pool, pool) == 0)
                        return &p->price[i];
        return NULL;
}

const struct price *prices_of(const struct prices *p, const char *pool)
{
        const struct price *own = prices_named(p, pool);
        return own ? own : prices_named(p, PRICE_OTHER);
}

const struct price *prices_only(const struct prices *p)
{
        return p->count == 1 ? prices_named(p, PRICE_OTHER) : NULL;
}

static unsigned __int128 price_sum(unsigned __int128 a, unsigned __int128 b)
{
        return a + b < a ? ~(unsigned __int128)0 : a + b;
}

/* amount * price / unit, in which whole units are priced first: amount * price might not fit in 128 bits. */
static unsigned __int128 price_share(unsigned __int128 amount, uint64_t price, uint64_t unit)
{
        unsigned __int128 most = ~(unsigned __int128)0, whole = amount / unit, rest = amount % unit;
        if (price == 0)
                return 0;
        if (whole > most / price)
                return most;
        return price_sum(whole * price, rest * price / unit);
}

unsigned __int128 price_cost(const struct price *p, const struct ledger_sum *sum, enum ledger_flow f)
{
        static const uint64_t hour[RESOURCES] = {
                [CPU] = UINT64_C(1000) * 3600000, [MEMORY] = (UINT64_C(1) << 30) * 3600000};
        unsigned __int128 cost = 0;
        for (enum resource r = CPU; r < RESOURCES; r++)
                cost = price_sum(cost, price_share(sum->of[f][r], (uint64_t)p->of[r], hour[r]));
        return cost;
}

const char *price_print(unsigned __int128 billionths, char out[static PRICES_MONEY_MAX])
{
        char digits[PRICES_MONEY_MAX], *to = out;
        int count = 0;
        for (; billionths > 0 || count <= DECIMALS; billionths /= 10)
                digits[count++] = (char)('0' + (int)(billionths % 10));
        int last = 0; /* the lowest digit that is printed */
        while (last < DECIMALS && digits[last] == '0')
                last++;
        for (int at = count - 1; at >= last; at--) {
                if (at == DECIMALS - 1)
                        *to++ = '.';
                *to++ = digits[at];
        }
        *to = '\0';
        return out;
}
