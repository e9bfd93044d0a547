/*
 * Sums of a stretch of time, read from the ledger: the accounts of one axis, each over the whole stretch, and the total
 * of each hour or day. First the periods that the ledger has open are read, then the pages of the database; a page of a
 * period that was read already adds nothing.
 *
 * A report is made on one thread after the other, and is read-only once it is made.
 */
#ifndef HALFLIFE_LEDGER_LEDGER_REPORT_H
#define HALFLIFE_LEDGER_LEDGER_REPORT_H

#include "base/map.h"
#include "ledger/ledger.h"
#include "ledger/prices.h"

enum {
        LEDGER_REPORT_ROWS = 20000,  /* further accounts are added to LEDGER_OTHERS */
        LEDGER_REPORT_PERIODS = 512, /* more than days are kept */
        LEDGER_NS_MAX = 64,
        LEDGER_LABEL_MAX = 320, /* of a label's key */
};

/* What somebody asks for. */
struct ledger_ask {
        enum ledger_axis axis;
        enum ledger_span span;
        int64_t since_ms;       /* how far back; the stretch begins with the hour or day in which that is */
        char ns[LEDGER_NS_MAX]; /* "": all namespaces; else axis is LEDGER_NAMESPACE, and only this account is read */
        char workload[LEDGER_NAME_MAX + 1]; /* "": all; else axis is LEDGER_WORKLOAD, and only this account is read */
        /* Key of LEDGER_LABEL, whose accounts are "key=value"; the rows have the value. What was booked by another key
         * is in the row without a name. */
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
                managed; /* how many there are, and how many of them a profile selects; set by who makes the report */

        char label[LEDGER_LABEL_MAX]; /* key of the label that is booked by; "": none. Set by who makes the report */
        struct prices *prices;        /* the report's own; NULL: none */
        struct ledger_report *pools;  /* the same stretch by pool, for what all of it costs; NULL: not made */

        struct map by_name;
        struct ledger_report_open { /* periods that were read from the ledger itself, with the numbers of their pages */
                int64_t start_ms, first_number, numbers;
        } open[8];
        size_t opens;
};

/* The stretch before now_ms, empty so far. */
struct ledger_report *ledger_report_new(const struct ledger_ask *ask, int64_t now_ms);
void ledger_report_free(struct ledger_report *r); /* NULL: does nothing */
/* Add an account of the period that begins at start_ms; outside the stretch it adds nothing. */
void ledger_report_add(struct ledger_report *r, int64_t start_ms, struct text name, const struct ledger_sum *sum);
/* Add a page of the database, of this axis and span. Of one workload, only a page that has its account is wanted. */
void ledger_report_page(struct ledger_report *r, const struct ledger_page_key *key, struct text packed);
/* Whether the report is of one account of the ledger's pages, of which most are not wanted; then its name. */
struct text ledger_report_only(const struct ledger_report *r);
/* Add the periods that the ledger has open, before any page. */
void ledger_report_read(struct ledger_report *r, const struct ledger *l);
/* The total of the stretch. */
struct ledger_sum ledger_report_total(const struct ledger_report *r);

#endif
