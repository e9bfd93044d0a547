/*
 * The formats of halflife scan: table, Markdown, CSV and JSON.
 */
#ifndef HALFLIFE_SRC_CLI_SCAN_PRINT_H
#define HALFLIFE_SRC_CLI_SCAN_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "scan_report.h"
#include "terminal.h"

enum scan_format { SCAN_TABLE, SCAN_WIDE, SCAN_CSV, SCAN_MD, SCAN_JSON };

struct scan_heading {
        const char *source; /* where usage was read: "metrics API", or the Prometheus */
        const char *worth;  /* one sentence: what the numbers are worth */
        const char *next;   /* the command to run next, as advice */
        bool namespaces;    /* the rows may be of more than one namespace */
        json_t *notes;      /* the messages printed on standard error: an array of strings; borrowed */
};

void scan_print(FILE *to, const struct scan_report *r, enum scan_format f, const struct scan_heading *h,
                const struct terminal *t);

/* A cell of CSV, which the caller frees: in quotes, where it needs them. A text that a spreadsheet would run as a
 * formula (it begins with = + - @, tab or carriage return) gets an apostrophe before it. */
char *scan_csv_cell(const char *text);
/* A cell of a Markdown table, which the caller frees. */
char *scan_md_cell(const char *text);

#endif
