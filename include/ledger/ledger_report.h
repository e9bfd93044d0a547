/*
 * A report of the ledger over a stretch of time: the accounts of one axis, each summed over the whole stretch, and the
 * total of each hour or day. First the ledger's open periods are read, then the pages of the database; a page of a
 * period that was read already adds nothing.
 *
 * The loop's thread begins a report, then the store's thread completes it. A complete report is read-only.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_REPORT_H
#define HALFLIFE_LEDGER_LEDGER_REPORT_H

#include "base/map.h"
#include "ledger/ledger.h"
#include "ledger/prices.h"

enum {
        LEDGER_REPORT_ROWS = 20000,  /* most rows of a report; further accounts share LEDGER_OTHERS */
        LEDGER_REPORT_PERIODS = 512, /* most periods of a report: more than are kept */
        LEDGER_NS_MAX = 64,
        LEDGER_LABEL_MAX = 320, /* bytes for a label's key, its final NUL included */
};

/* Which accounts of the ledger a report sums, and over which time. */
struct ledger_ask {
        enum ledger_axis axis;
        enum ledger_span span;
        int64_t since_ms;       /* how far back, in ms before now; the stretch begins with that moment's hour or day */
        char ns[LEDGER_NS_MAX]; /* "": all namespaces; else axis is LEDGER_NAMESPACE, and only this one counts */
        char workload[LEDGER_NAME_MAX + 1]; /* "": all; else axis is LEDGER_WORKLOAD, and only this one counts */
        /* With axis LEDGER_LABEL, whose accounts are named "key=value": the key. The report's rows are named after the
         * values. Accounts of another key are summed in the row with the name "". */
        char label[LEDGER_LABEL_MAX];
};

struct ledger_report_row {
        struct ledger_sum sum;
        char name[];
};

struct ledger_report_period {
        int64_t start_ms;
        struct ledger_sum sum;
};

struct ledger_report {
        struct ledger_ask ask;
        int64_t from_ms, until_ms; /* wall; from_ms is the start of an hour or day */
        struct ledger_report_row **row;
        size_t rows, rows_cap;
        struct ledger_report_period period[LEDGER_REPORT_PERIODS]; /* by start */
        size_t periods;
        int damaged; /* pages that could not be read, wholly or in part */
        int64_t workloads,
                managed; /* workloads that exist, and those of them that a profile selects; the caller sets both */

        char label[LEDGER_LABEL_MAX]; /* key of the label by whose values the ledger books; "": none. The caller's */
        struct prices *prices;        /* a copy that the report owns; NULL: no prices */
        struct ledger_report *pools;  /* a second report, by pool, to tell the total cost; NULL: not made */

        struct map by_name;
        struct ledger_report_open { /* periods that were read from the ledger itself, with the numbers of their pages */
                int64_t start_ms, first_number, numbers;
        } open[8];
        size_t opens;
};

/* An empty report of the stretch that ask->since_ms tells, until now_ms. */
struct ledger_report *ledger_report_new(const struct ledger_ask *ask, int64_t now_ms);
void ledger_report_free(struct ledger_report *r); /* NULL: does nothing */
/* Add an account's sum in the period that begins at start_ms; if that is outside the stretch, nothing is added. */
void ledger_report_add(struct ledger_report *r, int64_t start_ms, struct text name, const struct ledger_sum *sum);
/* Add a page of the database, of the report's axis and span. A report of one workload needs only the pages that have
 * its account. */
void ledger_report_page(struct ledger_report *r, const struct ledger_page_key *key, struct text packed);
/* The one account that the report is about, that of ask.workload, so that pages without it need not be read; {NULL, 0}:
 * the report needs every page. */
struct text ledger_report_only(const struct ledger_report *r);
/* Add the periods that the ledger has open, before any page. */
void ledger_report_read(struct ledger_report *r, const struct ledger *l);
/* The total of the stretch. */
struct ledger_sum ledger_report_total(const struct ledger_report *r);

#endif
