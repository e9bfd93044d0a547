/*
 * GET …/report: what pods asked for, had in force and used over a stretch of time, by namespace, profile, pool or
 * label.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "handlers.h"
#include "ledger/ledger_money.h"
#include "target_sums.h"

enum { ROWS_MOST = 1000, WEEK_DAYS = 7 };

/* --- sums --- */

struct report_scope {
        bool allocatable;  /* the report is of all namespaces, so it tells what nodes can give */
        bool in_rows;      /* rows are pools, so each row tells what its nodes can give */
        bool is_all;       /* the sum to be written is that of all rows */
        double booked_sec; /* the time that the sums cover, in seconds */
};

static const char *const flow_name[] = {[LEDGER_ASKED] = "asked",
                                        [LEDGER_IN_FORCE] = "inForce",
                                        [LEDGER_USED] = "used",
                                        [LEDGER_ALLOCATABLE] = "allocatable"};

void report_write_flows(struct writer *w, const struct ledger_sum *s, bool allocatable)
{
        for (enum resource r = CPU; r < RESOURCES; r++) {
                writer_open(w, resource_name(r), '{');
                for (enum ledger_flow f = 0; f < LEDGER_FLOWS; f++)
                        if (f != LEDGER_ALLOCATABLE || allocatable)
                                writer_double(w, flow_name[f], ledger_sum_seconds(s, f, r));
                writer_close(w, '}');
        }
}

static void report_write_money(struct writer *w, const struct ledger_money *money, bool allocatable)
{
        char printed[PRICES_MONEY_MAX];
        writer_open(w, "money", '{');
        for (enum ledger_flow f = 0; f < LEDGER_FLOWS; f++)
                if (f != LEDGER_ALLOCATABLE || allocatable)
                        writer_raw(w, flow_name[f], text_of(price_print(money->of[f], printed)));
        writer_close(w, '}');
}

void report_write_events(struct writer *w, const struct ledger_sum *s)
{
        writer_int(w, "changes", (int64_t)s->events[LEDGER_CHANGE]);
        writer_int(w, "guards", (int64_t)s->events[LEDGER_GUARD]);
        writer_int(w, "kills", (int64_t)s->events[LEDGER_KILL]);
}

/* Write one sum as members. `money` NULL: no price is known for it, so no cost is written. */
static void report_write_sum(struct writer *w, const struct ledger_sum *s, const struct report_scope *scope,
                             const struct ledger_money *money)
{
        double pod_seconds = (double)s->pod_ms / 1e3;
        writer_double(w, "pods", scope->booked_sec > 0 ? round(pod_seconds / scope->booked_sec * 1e3) / 1e3 : 0);
        writer_double(w, "podSeconds", pod_seconds);
        report_write_flows(w, s, scope->in_rows);
        report_write_events(w, s);
        if (money)
                report_write_money(w, money, scope->in_rows || (scope->allocatable && scope->is_all));
}

/* --- rows --- */

/* Whether an account becomes a row: it needs pods or events. The account of a pool also does with nodes alone. */
static bool report_is_row(const struct ledger_report_row *row, bool pool)
{
        bool some = row->sum.pod_ms > 0;
        for (int e = 0; e < LEDGER_EVENTS; e++)
                some |= row->sum.events[e] > 0;
        return some || (pool && row->sum.of[LEDGER_ALLOCATABLE][CPU] > 0);
}

static unsigned __int128 report_saved(const struct ledger_report_row *row, enum resource r)
{
        return row->sum.of[LEDGER_ASKED][r] - row->sum.of[LEDGER_IN_FORCE][r];
}

/* Order rows by the CPU saved, most first, then by memory. The account LEDGER_OTHERS, of all that had no room, is
 * last. */
static int report_compare_rows(const void *left, const void *right)
{
        const struct ledger_report_row *a = *(struct ledger_report_row *const *)left,
                                       *b = *(struct ledger_report_row *const *)right;
        bool a_last = strcmp(a->name, LEDGER_OTHERS) == 0, b_last = strcmp(b->name, LEDGER_OTHERS) == 0;
        if (a_last != b_last)
                return a_last - b_last;
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (report_saved(a, r) != report_saved(b, r))
                        return report_saved(a, r) < report_saved(b, r) ? 1 : -1;
        return strcmp(a->name, b->name);
}

static void report_write_row(struct writer *w, const struct ledger_report *r, const char *name,
                             const struct ledger_sum *s, const struct report_scope *scope)
{
        struct ledger_money money;
        writer_open(w, NULL, '{');
        writer_text(w, "name", text_of(name));
        report_write_sum(w, s, scope, ledger_money_row(r, name, s, &money) ? &money : NULL);
        writer_close(w, '}');
}

static void report_write_rows(struct writer *w, struct ledger_report *r, const struct report_scope *scope)
{
        struct ledger_sum others = {0};
        size_t written = 0, left = 0;
        if (r->rows > 1) /* without rows r->row may be NULL, which qsort must not get */
                qsort(r->row, r->rows, sizeof(struct ledger_report_row *), report_compare_rows);
        for (size_t i = 0; i < r->rows; i++) {
                const struct ledger_report_row *row = r->row[i];
                if (!report_is_row(row, scope->in_rows))
                        continue;
                if (written < ROWS_MOST && strcmp(row->name, LEDGER_OTHERS) != 0) {
                        report_write_row(w, r, row->name, &row->sum, scope);
                        written++;
                } else {
                        ledger_sum_add(&others, &row->sum);
                        left++;
                }
        }
        if (left)
                report_write_row(w, r, LEDGER_OTHERS, &others, scope);
}

/* --- what could be saved --- */

static void report_write_possible(struct writer *w, const struct ask *k)
{
        static const double unit[RESOURCES] = {[CPU] = 1e3, [MEMORY] = 1 << 30};
        struct target_sums sums = {0};
        for (size_t i = 0; i < k->v->targets; i++) {
                const struct snapshot_target *t = k->v->target[i];
                if (target_sums_takes(t) && (!k->route->ns[0] || strcmp(t->ns, k->route->ns) == 0))
                        target_sums_add(&sums, t);
        }
        writer_open(w, "possible", '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                writer_double(w, resource_name(r), (double)(sums.original[r] - sums.target[r]) / unit[r]);
        writer_close(w, '}');
}

/* --- over time --- */

static void report_write_series(struct writer *w, const struct ledger_report *r, const struct report_scope *scope)
{
        writer_open(w, "series", '[');
        for (size_t i = 0; i < r->periods; i++) {
                const struct ledger_report_period *p = &r->period[i];
                int64_t ms = ledger_span_ms(r->ask.span), so_far_ms = r->until_ms - p->start_ms;
                writer_open(w, NULL, '{');
                writer_time(w, "time", p->start_ms);
                writer_int(w, "seconds", so_far_ms < SECOND_MS ? 1 : (so_far_ms < ms ? so_far_ms : ms) / SECOND_MS);
                report_write_flows(w, &p->sum, scope->allocatable);
                report_write_events(w, &p->sum);
                writer_close(w, '}');
        }
        writer_close(w, ']');
}

/* --- the first and the last week --- */

struct report_week {
        struct ledger_sum sum;
        double booked_days; /* days of the week, without the time that halflife was away */
};

static struct report_week report_week_of(const struct ledger_report_period *first)
{
        struct report_week week = {0};
        for (int i = 0; i < WEEK_DAYS; i++) {
                double away = (double)first[i].sum.unbooked_ms / (double)DAY_MS;
                week.booked_days += away < 1 ? 1 - away : 0;
                ledger_sum_add(&week.sum, &first[i].sum);
        }
        return week;
}

/* Find the first and the last seven whole days. The day on which the ledger began and today are not whole. false: there
 * are no 14 such days. */
static bool report_find_weeks(const struct ledger_report *r, struct report_week *ret_first,
                              struct report_week *ret_last)
{
        size_t from = r->periods && r->period[0].start_ms > r->from_ms, to = r->periods;
        if (to > 0 && r->period[to - 1].start_ms + DAY_MS > r->until_ms)
                to--;
        if (r->ask.span != LEDGER_DAY || to < from + 2 * (size_t)WEEK_DAYS)
                return false;
        *ret_first = report_week_of(&r->period[from]);
        *ret_last = report_week_of(&r->period[to - WEEK_DAYS]);
        return true;
}

static void report_write_week(struct writer *w, const char *key, const struct report_week *week)
{
        const struct report_scope scope = {.booked_sec = week->booked_days * (double)DAY_MS / 1e3};
        writer_open(w, key, '{');
        report_write_sum(w, &week->sum, &scope, NULL);
        writer_close(w, '}');
}

static void report_write_weeks(struct writer *w, const struct ledger_report *r)
{
        struct report_week first, last;
        if (!report_find_weeks(r, &first, &last))
                return;
        writer_open(w, "weeks", '{');
        report_write_week(w, "first", &first);
        report_write_week(w, "last", &last);
        writer_close(w, '}');
}

/* Write what nodes could give in a mean day of the week. Nothing is written if halflife was away all week. */
static void report_write_nodes_of_week(struct writer *w, const char *key, const struct report_week *week)
{
        if (week->booked_days <= 0)
                return;
        writer_open(w, key, '{');
        for (enum resource r = CPU; r < RESOURCES; r++)
                writer_double(w, resource_name(r),
                              ledger_sum_seconds(&week->sum, LEDGER_ALLOCATABLE, r) / week->booked_days);
        writer_close(w, '}');
}

static void report_write_allocatable(struct writer *w, const struct ledger_report *r, const struct ledger_sum *total)
{
        struct report_week first, last;
        writer_open(w, "allocatable", '{');
        for (enum resource res = CPU; res < RESOURCES; res++)
                writer_double(w, resource_name(res), ledger_sum_seconds(total, LEDGER_ALLOCATABLE, res));
        if (report_find_weeks(r, &first, &last)) {
                report_write_nodes_of_week(w, "firstWeek", &first);
                report_write_nodes_of_week(w, "lastWeek", &last);
        }
        writer_close(w, '}');
}

/* --- money --- */

static void report_write_prices(struct writer *w, const struct prices *p, const struct ledger_sum *unpriced)
{
        char printed[PRICES_MONEY_MAX];
        writer_open(w, "prices", '{');
        writer_text(w, "currency", text_of(p->currency));
        writer_text(w, "from", p->asked ? TEXT("opencost") : TEXT("setting"));
        writer_open(w, "pools", '[');
        for (size_t i = 0; i < p->count; i++) {
                writer_open(w, NULL, '{');
                writer_text(w, "name", text_of(p->price[i].pool));
                for (enum resource r = CPU; r < RESOURCES; r++)
                        writer_raw(w, resource_name(r),
                                   text_of(price_print((unsigned __int128)p->price[i].of[r], printed)));
                writer_close(w, '}');
        }
        writer_close(w, ']');
        if (unpriced->of[LEDGER_ASKED][CPU] || unpriced->of[LEDGER_ASKED][MEMORY]) {
                writer_open(w, "unpriced", '{');
                for (enum resource r = CPU; r < RESOURCES; r++)
                        writer_double(w, resource_name(r), ledger_sum_seconds(unpriced, LEDGER_ASKED, r));
                writer_close(w, '}');
        }
        writer_close(w, '}');
}

/* --- the answer --- */

static struct report_scope report_scope_of(const struct ask *k, const struct ledger_report *r,
                                           const struct ledger_sum *total)
{
        int64_t ms = r->periods ? r->until_ms - r->period[0].start_ms - (int64_t)total->unbooked_ms : 0;
        return (struct report_scope){.allocatable = !k->route->ns[0],
                                     .in_rows = text_is(k->query->value[PARAM_BY], "pool"),
                                     .booked_sec = (double)ms / 1e3};
}

static void report_write(struct ask *k, struct ledger_report *r)
{
        struct ledger_sum total = ledger_report_total(r);
        struct report_scope scope = report_scope_of(k, r, &total), all = scope;
        struct ledger_money money;
        struct ledger_sum unpriced;
        bool priced = ledger_money_total(r, &money, &unpriced);
        struct text by = k->query->value[PARAM_BY];
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        writer_time(&w, "since", r->from_ms);
        writer_time(&w, "until", r->until_ms);
        writer_text(&w, "by", by.p ? by : TEXT("namespace"));
        writer_open(&w, "workloads", '{');
        writer_int(&w, "managed", r->managed);
        writer_int(&w, "all", r->workloads);
        writer_close(&w, '}');
        writer_open(&w, "rows", '[');
        all.is_all = true;
        if (by.p && text_is(by, REPORT_CLUSTER)) {
                writer_open(&w, NULL, '{');
                writer_text(&w, "name", TEXT(REPORT_CLUSTER));
                report_write_sum(&w, &total, &all, priced ? &money : NULL);
                writer_close(&w, '}');
        } else {
                report_write_rows(&w, r, &scope);
        }
        writer_close(&w, ']');
        writer_open(&w, "total", '{');
        report_write_sum(&w, &total, &all, priced ? &money : NULL);
        writer_close(&w, '}');
        if (priced || unpriced.pod_ms)
                report_write_prices(&w, r->prices, &unpriced);
        report_write_possible(&w, k);
        if (scope.allocatable)
                report_write_allocatable(&w, r, &total);
        report_write_weeks(&w, r);
        report_write_series(&w, r, &scope);
        writer_double(&w, "notBooked", (double)total.unbooked_ms / 1e3);
        if (r->damaged)
                writer_int(&w, "damagedPages", r->damaged);
        writer_close(&w, '}');
}

void answer_no_ledger(struct answer *ret)
{
        answer_problem(
                ret, PROBLEM_UNAVAILABLE,
                "the ledger cannot be read now: only the halflife that learns has it, and it makes a few reports "
                "at once: try again");
}

static void report_refuse_label(struct answer *ret, const struct ledger_report *r)
{
        if (r->label[0])
                answer_bad_parameter(ret, "by",
                                     "no accounts are kept by label '%s', but by label:%s; the setting "
                                     "report-label chooses it",
                                     r->ask.label, r->label);
        else
                answer_bad_parameter(ret, "by",
                                     "no accounts are kept by label '%s': name it in the setting report-label. The "
                                     "summary has sums by label of now",
                                     r->ask.label);
}

void route_report(const struct route *route, const struct request *r, const struct snapshot *v,
                  struct ledger_report *report, struct arena *a, struct answer *ret)
{
        struct ask k = {.route = route, .query = route->query, .v = v, .a = a, .ret = ret};
        assert(route->name == ROUTE_REPORT);
        if (!report) {
                answer_no_ledger(ret);
                return;
        }
        if (report->ask.axis == LEDGER_LABEL && strcmp(report->ask.label, report->label) != 0) {
                report_refuse_label(ret, report);
                return;
        }
        report_write(&k, report);
        answer_tag(ret, r->if_none_match, a);
        answer_age(v, r->at, a, ret);
}
