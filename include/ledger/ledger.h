/*
 * The ledger: accounts of the CPU and memory that pods asked for, had in force and used. Each booking is added to one
 * account on each axis, for the hour and for the day that it falls in, so the accounts of all axes have the same total,
 * to the last unit. The ledger does no I/O and reads no clock: the caller gives the time, and stores the pages.
 *
 * A page holds up to LEDGER_PAGE_ACCOUNTS accounts of one axis and period, as totals since the period began, so a page
 * that is stored twice counts once. A period is open for as long as something is booked in it. A period that is opened
 * again, or after a later period (the clock was set back), gets pages with numbers of its own, so that no stored page
 * is overwritten.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_H
#define HALFLIFE_LEDGER_LEDGER_H

#include "base/map.h"
#include "ledger/ledger_page.h"

enum ledger_axis { LEDGER_NAMESPACE, LEDGER_PROFILE, LEDGER_POOL, LEDGER_WORKLOAD, LEDGER_LABEL, LEDGER_AXES };
enum ledger_span { LEDGER_HOUR, LEDGER_DAY, LEDGER_SPANS }; /* by UTC */

/* The account of all objects beyond the most accounts that a period may have; no object can have this name. */
#define LEDGER_OTHERS "(others)"
int64_t ledger_span_ms(enum ledger_span s);
int64_t ledger_span_start(enum ledger_span s, int64_t at_ms);
/* Does the ledger keep accounts of this axis for this span? It keeps all but accounts of workloads by the hour. */
bool ledger_keeps(enum ledger_axis a, enum ledger_span s);
/* How long accounts are kept: by the day 35 days for workloads, 400 days for other axes; by the hour 48 hours. */
int64_t ledger_kept_ms(enum ledger_axis a, enum ledger_span s);

struct ledger_names {
        const char *of[LEDGER_AXES]; /* "": none, such as no profile; NULL: this axis has no accounts at all */
};

struct ledger;
/* `stamp` must be random: the numbers of pages of periods opened out of order begin with it, and should not collide
 * with those of an earlier process. */
struct ledger *ledger_new(uint32_t stamp);
void ledger_free(struct ledger *l); /* NULL: does nothing */

/* Book a sum: add it to one account on each axis, in the hour and the day of at_ms (wall ms, not negative). */
void ledger_book(struct ledger *l, const struct ledger_names *names, const struct ledger_sum *sum, int64_t at_ms);

/* Give `each` every namespace's sum since the process began, for metrics. Namespaces beyond LEDGER_TOTALS share the
 * name LEDGER_OTHERS. */
enum { LEDGER_TOTALS = 1000 };
void ledger_totals(const struct ledger *l, void (*each)(void *arg, const char *ns, const struct ledger_sum *sum),
                   void *arg);

/* Pages of a period opened in order have numbers from 0 to below this; those of a period opened late, greater ones. */
enum { LEDGER_NUMBERS = 1 << 20 };
/* Read the open periods of an axis and span, and their accounts so far. `only`: the one account to read; {NULL, 0}: all
 * accounts. `opened` is called before the accounts of a period, with the range of numbers that its pages may have. */
void ledger_each_open(const struct ledger *l, enum ledger_axis a, enum ledger_span s, struct text only,
                      void (*opened)(void *arg, int64_t start_ms, int64_t first_number, int64_t numbers),
                      void (*each)(void *arg, struct text name, const struct ledger_sum *sum), void *arg);

/* --- pages --- */

struct ledger_page_key {
        enum ledger_axis axis;
        enum ledger_span span;
        int64_t start_ms, number;
};
/* Give `each` every page that changed since it was given last. Then close each period that does not include now_ms, and
 * in which nothing was booked since the ledger_write before. */
void ledger_write(struct ledger *l, int64_t now_ms,
                  void (*each)(void *arg, const struct ledger_page_key *key, struct text packed), void *arg);
/* Make the next ledger_write give every page of the open periods, since the database lost pages. */
void ledger_write_again(struct ledger *l);

/*
 * Take a stored page into the ledger, so that bookings add to its accounts; call it before anything is booked. Of each
 * axis and span it takes the pages of the newest period, in the order of their numbers. ERR_DAMAGED: the page cannot be
 * read, or a page before it is missing. The period then goes on with new pages, and the stored pages stay as they are.
 */
int ledger_restore(struct ledger *l, const struct ledger_page_key *key, struct text packed);

#endif
