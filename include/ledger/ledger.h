/*
 * The ledger: accounts of what pods asked for, had in force and used. Each booking is added to one account on each
 * axis, for the hour and for the day that it falls in, so the accounts of all axes have the same total, to the last
 * unit. No I/O and no clock: the caller says when, and stores the pages.
 *
 * A page holds up to LEDGER_PAGE_ACCOUNTS accounts of one axis and period, as totals since the period began, so a page
 * that is stored twice counts once. A period is open for as long as something is booked in it. One that is opened
 * again, or after a later one (the clock was set back), gets pages with numbers of its own: nothing stored is
 * overwritten.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_H
#define HALFLIFE_LEDGER_LEDGER_H

#include "base/map.h"
#include "ledger/ledger_page.h"

enum ledger_axis { LEDGER_NAMESPACE, LEDGER_PROFILE, LEDGER_POOL, LEDGER_WORKLOAD, LEDGER_LABEL, LEDGER_AXES };
enum ledger_span { LEDGER_HOUR, LEDGER_DAY, LEDGER_SPANS }; /* by UTC */

/* Most accounts of a period; further ones are booked together as LEDGER_OTHERS, which no object can be named. */
#define LEDGER_OTHERS "(others)"
int64_t ledger_span_ms(enum ledger_span s);
int64_t ledger_span_start(enum ledger_span s, int64_t at_ms);
/* Whether such accounts are kept: those of workloads by the day only. */
bool ledger_keeps(enum ledger_axis a, enum ledger_span s);
/* How long they are kept: workloads 35 days, other axes 400 days, or 48 hours by the hour. */
int64_t ledger_kept_ms(enum ledger_axis a, enum ledger_span s);

struct ledger_names {
        const char *of[LEDGER_AXES]; /* "": none, such as no profile; NULL: this axis has no accounts at all */
};

struct ledger;
/* stamp: at random, so that pages of a period that is opened out of order have numbers of their own */
struct ledger *ledger_new(uint32_t stamp);
void ledger_free(struct ledger *l); /* NULL: does nothing */

/* Add to one account on each axis, in the hour and the day of at_ms (wall ms, not negative). */
void ledger_book(struct ledger *l, const struct ledger_names *names, const struct ledger_sum *sum, int64_t at_ms);

/* By namespace since the process began, for counters: at most LEDGER_TOTALS of them, then LEDGER_OTHERS. */
enum { LEDGER_TOTALS = 1000 };
void ledger_totals(const struct ledger *l, void (*each)(void *arg, const char *ns, const struct ledger_sum *sum),
                   void *arg);

/* Pages of a period that was not opened late have lower numbers, from 0 on. */
enum { LEDGER_NUMBERS = 1 << 20 };
/* Read the periods that are open, and their accounts so far; only: this account, {NULL, 0}: all. opened is called
 * before the accounts of a period, with the numbers that its pages may have. */
void ledger_each_open(const struct ledger *l, enum ledger_axis a, enum ledger_span s, struct text only,
                      void (*opened)(void *arg, int64_t start_ms, int64_t first_number, int64_t numbers),
                      void (*each)(void *arg, struct text name, const struct ledger_sum *sum), void *arg);

/* --- pages --- */

struct ledger_page_key {
        enum ledger_axis axis;
        enum ledger_span span;
        int64_t start_ms, number;
};
/* Pass each page that changed since it was last passed. Then a period is closed that is not that of now_ms, and in
 * which nothing was booked since the ledger_write before. */
void ledger_write(struct ledger *l, int64_t now_ms,
                  void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg);
/* Pass every page of open periods at the next ledger_write: the database lost some. */
void ledger_write_again(struct ledger *l);

/*
 * Go on with a stored page, before anything is booked. Of each axis and span the pages of the newest period are wanted,
 * in the order of their numbers. ERR_DAMAGED: the page cannot be read, or one before it is missing. The period then
 * goes on with other pages, and the stored ones stay as they are.
 */
int ledger_restore(struct ledger *l, const struct ledger_page_key *key, struct text packed);

#endif
