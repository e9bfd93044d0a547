#include "ledger/ledger_report.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

struct ledger_report *ledger_report_new(const struct ledger_ask *ask, int64_t now_ms)
{
        struct ledger_report *r = MEM_NEW(struct ledger_report);
        int64_t from_ms = now_ms > ask->since_ms ? now_ms - ask->since_ms : 0;
        assert(ledger_keeps(ask->axis, ask->span));
        r->ask = *ask;
        r->until_ms = now_ms > 0 ? now_ms : 0;
        r->from_ms = ledger_span_start(ask->span, from_ms);
        return r;
}

void ledger_report_free(struct ledger_report *r)
{
        if (!r)
                return;
        for (size_t i = 0; i < r->rows; i++)
                mem_free(r->row[i]);
        ledger_report_free(r->pools);
        prices_free(r->prices);
        map_release(&r->by_name);
        mem_free(r->row);
        mem_free(r);
}

/* --- accounts --- */

static struct ledger_report_row *report_row_new(struct ledger_report *r, struct text name)
{
        struct ledger_report_row *row = mem_new(sizeof *row + name.len + 1);
        if (name.len)
                memcpy(row->name, name.p, name.len);
        if (r->rows == r->rows_cap) {
                r->rows_cap = r->rows_cap ? 2 * r->rows_cap : 64;
                r->row = mem_resize(r->row, r->rows_cap, sizeof(struct ledger_report_row *));
        }
        r->row[r->rows++] = row;
        map_put(&r->by_name, text_of(row->name), row);
        return row;
}

static struct ledger_report_row *report_row(struct ledger_report *r, struct text name)
{
        struct ledger_report_row *row = map_get(&r->by_name, name);
        if (row)
                return row;
        if (r->rows < LEDGER_REPORT_ROWS)
                return report_row_new(r, name);
        row = map_get(&r->by_name, TEXT(LEDGER_OTHERS));
        return row ? row : report_row_new(r, TEXT(LEDGER_OTHERS));
}

/* The report's sum for a period, added if it is new. NULL: there are LEDGER_REPORT_PERIODS already, which happens only
 * after the clock was set far back. */
static struct ledger_report_period *report_period(struct ledger_report *r, int64_t start_ms)
{
        size_t at = r->periods;
        while (at > 0 && r->period[at - 1].start_ms > start_ms)
                at--;
        if (at > 0 && r->period[at - 1].start_ms == start_ms)
                return &r->period[at - 1];
        if (r->periods == LEDGER_REPORT_PERIODS)
                return NULL;
        memmove(&r->period[at + 1], &r->period[at], (r->periods - at) * sizeof r->period[0]);
        r->periods++;
        r->period[at] = (struct ledger_report_period){.start_ms = start_ms};
        return &r->period[at];
}

/* The name of the report's row for an account: of an account "key=value", only the value if ask->label is the key, else
 * "". */
static struct text report_name(const struct ledger_ask *ask, struct text name)
{
        size_t key = strlen(ask->label);
        if (ask->axis != LEDGER_LABEL || text_is(name, LEDGER_OTHERS))
                return name;
        if (name.len <= key || memcmp(name.p, ask->label, key) != 0 || name.p[key] != '=')
                return TEXT("");
        return (struct text){name.p + key + 1, name.len - key - 1};
}

void ledger_report_add(struct ledger_report *r, int64_t start_ms, struct text name, const struct ledger_sum *sum)
{
        struct ledger_report_period *period;
        const struct ledger_sum unbooked = {.unbooked_ms = sum->unbooked_ms};
        if (start_ms < r->from_ms || start_ms > r->until_ms ||
            (r->ask.workload[0] && !text_is(name, r->ask.workload)) || !(period = report_period(r, start_ms)))
                return;
        if (r->ask.ns[0] && !text_is(name, r->ask.ns)) {
                ledger_sum_add(&period->sum, &unbooked); /* unbooked time is nobody's: it counts in every report */
                return;
        }
        ledger_sum_add(&period->sum, sum);
        ledger_sum_add(&report_row(r, report_name(&r->ask, name))->sum, sum);
}

struct text ledger_report_only(const struct ledger_report *r)
{
        return r->ask.workload[0] ? text_of(r->ask.workload) : (struct text){0};
}

struct ledger_sum ledger_report_total(const struct ledger_report *r)
{
        struct ledger_sum total = {0};
        for (size_t i = 0; i < r->periods; i++)
                ledger_sum_add(&total, &r->period[i].sum);
        return total;
}

/* --- reading open periods and stored pages --- */

static bool report_has(const struct ledger_report *r, const struct ledger_page_key *key)
{
        for (size_t i = 0; i < r->opens; i++)
                if (r->open[i].start_ms == key->start_ms && key->number >= r->open[i].first_number &&
                    key->number - r->open[i].first_number < r->open[i].numbers)
                        return true;
        return false;
}

void ledger_report_page(struct ledger_report *r, const struct ledger_page_key *key, struct text packed)
{
        struct ledger_page page;
        struct ledger_sum sum;
        struct text name;
        int rc = 1;
        if (report_has(r, key))
                return;
        if (!ledger_page_open(&page, packed.p, packed.len)) {
                r->damaged++;
                return;
        }
        while ((rc = ledger_page_next(&page, &name, &sum)) > 0)
                ledger_report_add(r, key->start_ms, name, &sum);
        r->damaged += rc < 0;
}

struct report_reader {
        struct ledger_report *report;
        int64_t start_ms;
};

static void report_opened(void *arg, int64_t start_ms, int64_t first_number, int64_t numbers)
{
        struct report_reader *reader = arg;
        struct ledger_report *r = reader->report;
        assert(r->opens < sizeof r->open / sizeof r->open[0]);
        r->open[r->opens++] = (struct ledger_report_open){start_ms, first_number, numbers};
        reader->start_ms = start_ms;
}

static void report_read(void *arg, struct text name, const struct ledger_sum *sum)
{
        struct report_reader *reader = arg;
        ledger_report_add(reader->report, reader->start_ms, name, sum);
}

void ledger_report_read(struct ledger_report *r, const struct ledger *l)
{
        struct report_reader reader = {.report = r};
        ledger_each_open(l, r->ask.axis, r->ask.span, ledger_report_only(r), report_opened, report_read, &reader);
}
