/*
 * Workloads as CSV (RFC 4180), for spreadsheets. Every text is quoted, and one that a spreadsheet could read as a
 * formula begins with an apostrophe.
 */
#ifndef HALFLIFE_SRC_REST_LIST_CSV_H
#define HALFLIFE_SRC_REST_LIST_CSV_H

#include "handlers.h"

/* Make the answer of the workloads. */
void list_csv_answer(struct ask *k, const struct snapshot_target *const *target, size_t count);
/* Append a quoted cell. */
void list_csv_text(struct buf *b, const char *text);

#endif
