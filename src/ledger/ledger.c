#include "ledger/ledger.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

enum {
        OPEN_MOST = 4, /* open periods of one axis and span; a booking for a fifth goes to the one booked in last */
};

struct account {
        struct ledger_sum sum;
        uint32_t index;
        char name[];
};

struct sheet { /* the accounts of one axis and period */
        int64_t start_ms, first_number;
        bool booked; /* something was booked since the last ledger_write */
        struct map by_name;
        struct account **account; /* in the order of their pages */
        bool *dirty;              /* for each page: an account on it changed since the page was written */
        size_t accounts, cap;
};

struct ledger {
        struct sheet *open[LEDGER_AXES][LEDGER_SPANS][OPEN_MOST]; /* the sheet booked in last comes first; then NULL */
        int64_t newest_ms[LEDGER_AXES][LEDGER_SPANS];             /* start of the newest period; -1: none */
        uint32_t stamp, late;
        struct sheet *totals;
        struct place { /* where the last booking went, since most bookings go to the same accounts as the one before */
                int64_t hour_ms;
                struct sheet *sheet[LEDGER_AXES][LEDGER_SPANS];
                struct account *account[LEDGER_AXES][LEDGER_SPANS], *total; /* total NULL: no namespace */
        } last;
};

static const size_t accounts_most[LEDGER_AXES] = {[LEDGER_NAMESPACE] = 10000,
                                                  [LEDGER_PROFILE] = 10000,
                                                  [LEDGER_POOL] = 1000,
                                                  [LEDGER_WORKLOAD] = 200000,
                                                  [LEDGER_LABEL] = 1000};

/* --- periods --- */

int64_t ledger_span_ms(enum ledger_span s)
{
        return s == LEDGER_HOUR ? HOUR_MS : DAY_MS;
}

int64_t ledger_span_start(enum ledger_span s, int64_t at_ms)
{
        return at_ms - at_ms % ledger_span_ms(s);
}

bool ledger_keeps(enum ledger_axis a, enum ledger_span s)
{
        return a != LEDGER_WORKLOAD || s == LEDGER_DAY;
}

int64_t ledger_kept_ms(enum ledger_axis a, enum ledger_span s)
{
        return s == LEDGER_HOUR ? INT64_C(48) * HOUR_MS : (a == LEDGER_WORKLOAD ? INT64_C(35) : INT64_C(400)) * DAY_MS;
}

/* --- sheets --- */

static struct sheet *sheet_new(int64_t start_ms, int64_t first_number)
{
        struct sheet *s = MEM_NEW(struct sheet);
        s->start_ms = start_ms;
        s->first_number = first_number;
        return s;
}

static void sheet_free(struct sheet *s)
{
        if (!s)
                return;
        for (size_t i = 0; i < s->accounts; i++)
                mem_free(s->account[i]);
        map_release(&s->by_name);
        mem_free(s->account);
        mem_free(s->dirty);
        mem_free(s);
}

/* Make room in a sheet for one more account, and for the dirty mark of that account's page. */
static void sheet_grow(struct sheet *s)
{
        if (s->accounts < s->cap)
                return;
        size_t pages = s->cap / LEDGER_PAGE_ACCOUNTS;
        s->cap = s->cap ? 2 * s->cap : LEDGER_PAGE_ACCOUNTS;
        s->account = mem_resize(s->account, s->cap, sizeof(struct account *));
        s->dirty = mem_resize(s->dirty, s->cap / LEDGER_PAGE_ACCOUNTS, sizeof *s->dirty);
        memset(s->dirty + pages, 0, (s->cap / LEDGER_PAGE_ACCOUNTS - pages) * sizeof *s->dirty);
}

static struct account *sheet_append(struct sheet *s, struct text name)
{
        struct account *a = mem_new(sizeof *a + name.len + 1);
        if (name.len)
                memcpy(a->name, name.p, name.len);
        sheet_grow(s);
        a->index = (uint32_t)s->accounts;
        s->account[s->accounts++] = a;
        map_put(&s->by_name, text_of(a->name), a);
        return a;
}

static struct account *sheet_account(struct sheet *s, struct text name, size_t most)
{
        name.len = name.len < LEDGER_NAME_MAX ? name.len : LEDGER_NAME_MAX;
        struct account *a = map_get(&s->by_name, name);
        if (a)
                return a;
        if (s->accounts < most)
                return sheet_append(s, name);
        a = map_get(&s->by_name, TEXT(LEDGER_OTHERS));
        return a ? a : sheet_append(s, TEXT(LEDGER_OTHERS));
}

/* --- periods that are open --- */

static struct sheet *ledger_open(struct ledger *l, enum ledger_axis a, enum ledger_span s, int64_t start_ms)
{
        int64_t first = 0;
        if (start_ms > l->newest_ms[a][s])
                l->newest_ms[a][s] = start_ms;
        else
                first = (int64_t)((uint64_t)l->stamp + ++l->late) * LEDGER_NUMBERS;
        return sheet_new(start_ms, first);
}

/* The open sheet of a period, moved to the front of its list; a new sheet if the period was not open. If OPEN_MOST
 * others are open, the sheet booked in last. */
static struct sheet *ledger_sheet(struct ledger *l, enum ledger_axis a, enum ledger_span s, int64_t start_ms)
{
        struct sheet **open = l->open[a][s], *found = NULL;
        size_t at = 0;
        while (at < OPEN_MOST && open[at] && open[at]->start_ms != start_ms)
                at++;
        if (at == OPEN_MOST)
                return open[0];
        found = open[at] ? open[at] : ledger_open(l, a, s, start_ms);
        memmove(open + 1, open, at * sizeof(struct sheet *));
        return open[0] = found;
}

/* --- booking --- */

static bool ledger_is_there(const struct place *p, const struct ledger_names *names, int64_t hour_ms)
{
        if (p->hour_ms != hour_ms)
                return false;
        for (int a = 0; a < LEDGER_AXES; a++) {
                const struct account *account = p->account[a][LEDGER_DAY];
                if (!account != !names->of[a] || (account && strcmp(account->name, names->of[a]) != 0))
                        return false;
        }
        return true;
}

static void ledger_find(struct ledger *l, const struct ledger_names *names, int64_t at_ms)
{
        struct place *p = &l->last;
        *p = (struct place){.hour_ms = ledger_span_start(LEDGER_HOUR, at_ms)};
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++)
                        if (ledger_keeps(a, s) && names->of[a]) {
                                p->sheet[a][s] = ledger_sheet(l, a, s, ledger_span_start(s, at_ms));
                                p->account[a][s] =
                                        sheet_account(p->sheet[a][s], text_of(names->of[a]), accounts_most[a]);
                        }
        const char *ns = names->of[LEDGER_NAMESPACE];
        p->total = *ns ? sheet_account(l->totals, text_of(ns), LEDGER_TOTALS) : NULL;
}

void ledger_book(struct ledger *l, const struct ledger_names *names, const struct ledger_sum *sum, int64_t at_ms)
{
        assert(at_ms >= 0);
        struct place *p = &l->last;
        if (!ledger_is_there(p, names, ledger_span_start(LEDGER_HOUR, at_ms)))
                ledger_find(l, names, at_ms);
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++)
                        if (p->account[a][s]) {
                                struct account *to = p->account[a][s];
                                ledger_sum_add(&to->sum, sum);
                                p->sheet[a][s]->dirty[to->index / LEDGER_PAGE_ACCOUNTS] = true;
                                p->sheet[a][s]->booked = true;
                        }
        if (p->total)
                ledger_sum_add(&p->total->sum, sum);
}

void ledger_totals(const struct ledger *l, void (*each)(void *arg, const char *ns, const struct ledger_sum *sum),
                   void *arg)
{
        for (size_t i = 0; i < l->totals->accounts; i++)
                each(arg, l->totals->account[i]->name, &l->totals->account[i]->sum);
}

void ledger_each_open(const struct ledger *l, enum ledger_axis a, enum ledger_span s, struct text only,
                      void (*opened)(void *arg, int64_t start_ms, int64_t first_number, int64_t numbers),
                      void (*each)(void *arg, struct text name, const struct ledger_sum *sum), void *arg)
{
        for (size_t i = 0; i < OPEN_MOST && l->open[a][s][i]; i++) {
                const struct sheet *of = l->open[a][s][i];
                opened(arg, of->start_ms, of->first_number, LEDGER_NUMBERS);
                const struct account *one = only.p ? map_get(&of->by_name, only) : NULL;
                if (one)
                        each(arg, only, &one->sum);
                for (size_t at = 0; !only.p && at < of->accounts; at++)
                        each(arg, text_of(of->account[at]->name), &of->account[at]->sum);
        }
}

/* --- pages --- */

struct page_writer {
        void (*each)(void *arg, const struct ledger_page_key *key, struct text packed);
        void *arg;
        uint8_t *packed;
};

static void ledger_write_page(const struct page_writer *w, const struct sheet *s, struct ledger_page_key key,
                              size_t page)
{
        size_t len = ledger_page_begin(w->packed), from = page * LEDGER_PAGE_ACCOUNTS;
        for (size_t i = from; i < s->accounts && i < from + LEDGER_PAGE_ACCOUNTS; i++)
                len = ledger_page_add(w->packed, len, text_of(s->account[i]->name), &s->account[i]->sum);
        key.number = s->first_number + (int64_t)page;
        w->each(w->arg, &key, (struct text){(const char *)w->packed, len});
}

static void ledger_write_sheet(const struct page_writer *w, struct sheet *s, struct ledger_page_key key)
{
        key.start_ms = s->start_ms;
        for (size_t page = 0; page * LEDGER_PAGE_ACCOUNTS < s->accounts; page++)
                if (s->dirty[page]) {
                        ledger_write_page(w, s, key, page);
                        s->dirty[page] = false;
                }
}

/* Free the sheets of past periods in which nothing was booked since the last ledger_write, and close the gaps. */
static void ledger_close_idle(struct sheet **open, int64_t now_start_ms)
{
        size_t kept = 0;
        for (size_t i = 0; i < OPEN_MOST && open[i]; i++) {
                struct sheet *s = open[i];
                bool idle = !s->booked;
                s->booked = false;
                if (idle && s->start_ms != now_start_ms)
                        sheet_free(s);
                else
                        open[kept++] = s;
        }
        while (kept < OPEN_MOST)
                open[kept++] = NULL;
}

void ledger_write(struct ledger *l, int64_t now_ms,
                  void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg)
{
        struct page_writer w = {each, arg, mem_new(LEDGER_PAGE_BYTES)};
        l->last.hour_ms = -1; /* l->last may point to sheets that are freed below */
        for (enum ledger_axis a = 0; a < LEDGER_AXES; a++)
                for (enum ledger_span s = 0; s < LEDGER_SPANS; s++) {
                        struct sheet **open = l->open[a][s];
                        for (size_t i = 0; i < OPEN_MOST && open[i]; i++)
                                ledger_write_sheet(&w, open[i], (struct ledger_page_key){.axis = a, .span = s});
                        ledger_close_idle(open, ledger_span_start(s, now_ms));
                }
        mem_free(w.packed);
}

void ledger_write_again(struct ledger *l)
{
        for (int a = 0; a < LEDGER_AXES; a++)
                for (int s = 0; s < LEDGER_SPANS; s++)
                        for (size_t i = 0; i < OPEN_MOST && l->open[a][s][i]; i++) {
                                struct sheet *of = l->open[a][s][i];
                                memset(of->dirty, 1, of->cap / LEDGER_PAGE_ACCOUNTS * sizeof *of->dirty);
                        }
}

/* Add the accounts of a stored page to a sheet. Returns false if the page is damaged; accounts before the damage were
 * added. */
static bool ledger_read_page(struct sheet *s, struct text packed)
{
        struct ledger_page page;
        struct ledger_sum sum;
        struct text name;
        int rc = ledger_page_open(&page, packed.p, packed.len) ? 1 : ERR_DAMAGED;
        while (rc > 0 && (rc = ledger_page_next(&page, &name, &sum)) > 0)
                sheet_append(s, name)->sum = sum;
        return rc == 0;
}

int ledger_restore(struct ledger *l, const struct ledger_page_key *key, struct text packed)
{
        struct sheet **open = l->open[key->axis][key->span];
        if (key->start_ms > l->newest_ms[key->axis][key->span]) {
                sheet_free(open[0]);
                open[0] = ledger_open(l, key->axis, key->span, key->start_ms);
        }
        if (key->number < 0 || key->number >= LEDGER_NUMBERS)
                return 0; /* a page of a period that was opened late: the page stays as it is in the database */
        struct sheet *s = open[0];
        if (s && s->start_ms == key->start_ms && s->accounts == (size_t)key->number * LEDGER_PAGE_ACCOUNTS &&
            ledger_read_page(s, packed))
                return 0;
        sheet_free(s);
        open[0] = NULL;
        return ERR_DAMAGED;
}

/* --- from start to end --- */

struct ledger *ledger_new(uint32_t stamp)
{
        struct ledger *l = MEM_NEW(struct ledger);
        l->stamp = stamp;
        l->totals = sheet_new(0, 0);
        l->last.hour_ms = -1;
        for (int a = 0; a < LEDGER_AXES; a++)
                for (int s = 0; s < LEDGER_SPANS; s++)
                        l->newest_ms[a][s] = -1;
        return l;
}

void ledger_free(struct ledger *l)
{
        if (!l)
                return;
        for (int a = 0; a < LEDGER_AXES; a++)
                for (int s = 0; s < LEDGER_SPANS; s++)
                        for (int i = 0; i < OPEN_MOST; i++)
                                sheet_free(l->open[a][s][i]);
        sheet_free(l->totals);
        mem_free(l);
}
