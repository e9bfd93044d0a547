#include "cache/budget_account.h"

#include <string.h>

#include "base/mem.h"
#include "core/quantity.h"

struct budget_share {
        int64_t used[BUDGET_UNITS];
        char ns[]; /* the namespace: the share's key in budget_account.shares */
};

void budget_account_release(struct budget_account *a)
{
        struct budget_share *s;
        for (size_t at = 0; (s = map_each(&a->shares, &at));)
                mem_free(s);
        map_release(&a->shares);
        *a = (struct budget_account){0};
}

int64_t budget_account_most(const struct budget_account *a, int64_t limit)
{
        return a->shared ? limit / 2 + limit % 2 : limit;
}

static int64_t budget_least(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

/* The amount by which a share counts: at most `most`; in full if its namespace is not known (""). */
static int64_t budget_counts(const struct budget_share *s, enum budget_unit u, int64_t most)
{
        return *s->ns ? budget_least(s->used[u], most) : s->used[u];
}

static struct budget_share *budget_share_made(struct budget_account *a, const char *ns)
{
        struct budget_share *s = map_get(&a->shares, text_of(ns));
        if (!s) {
                size_t size = strlen(ns) + 1;
                s = mem_new(sizeof *s + size);
                memcpy(s->ns, ns, size);
                map_put(&a->shares, text_of(s->ns), s);
        }
        return s;
}

void budget_account_add(struct budget_account *a, const char *ns, enum budget_unit u, int64_t amount)
{
        struct budget_share *s = budget_share_made(a, ns);
        int64_t before = budget_counts(s, u, a->most[u]);
        s->used[u] = add_saturated(s->used[u], amount);
        a->counted[u] = add_saturated(a->counted[u], budget_counts(s, u, a->most[u]) - before);
}

int64_t budget_account_of(const struct budget_account *a, const char *ns, enum budget_unit u)
{
        const struct budget_share *s = map_get(&a->shares, text_of(ns));
        return s ? s->used[u] : 0;
}

static int64_t budget_account_counted(struct budget_account *a, enum budget_unit u, int64_t most)
{
        const struct budget_share *s;
        if (a->most[u] == most)
                return a->counted[u];
        a->most[u] = most;
        a->counted[u] = 0;
        for (size_t at = 0; (s = map_each(&a->shares, &at));)
                a->counted[u] = add_saturated(a->counted[u], budget_counts(s, u, most));
        return a->counted[u];
}

static bool budget_fits(int64_t already, int64_t amount, int64_t limit)
{
        return already == 0 || add_saturated(already, amount) <= limit;
}

enum budget_verdict budget_account_ask(struct budget_account *a, const char *ns, enum budget_unit u, int64_t amount,
                                       int64_t limit)
{
        if (limit == 0)
                return BUDGET_HAS_ROOM;
        int64_t most = budget_account_most(a, limit);
        if (!budget_fits(budget_account_counted(a, u, most), budget_least(amount, most), limit))
                return BUDGET_ALL_USED;
        return budget_fits(budget_account_of(a, ns, u), amount, most) ? BUDGET_HAS_ROOM : BUDGET_SHARE_USED;
}
