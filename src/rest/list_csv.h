/*
 * Workloads as CSV (RFC 4180), for spreadsheets. Every text is quoted. A text that a spreadsheet could read as a
 * formula gets an apostrophe in front.
 */
#ifndef HALFLIFE_SRC_REST_LIST_CSV_H
#define HALFLIFE_SRC_REST_LIST_CSV_H

#include "handlers.h"

/* Make the whole CSV answer from these workloads, one row each. */
void list_csv_answer(struct ask *k, const struct snapshot_target *const *target, size_t count);
/* Append a comma and the value, CPU in cores or memory in bytes; only the comma where the value is not known
 * (negative). */
void list_csv_amount(struct buf *b, enum resource r, int64_t value);
/* Add the headers of an answer that is CSV. `disposition` is the header Content-Disposition, which names the file. */
void list_csv_end(struct answer *ret, const char *disposition);
/* Append a quoted cell. */
void list_csv_text(struct buf *b, const char *text);

#endif
