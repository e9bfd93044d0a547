/*
 * Workloads as CSV (RFC 4180), for spreadsheets. Every text is quoted, and one that a spreadsheet could read as a
 * formula begins with an apostrophe.
 */
#ifndef HALFLIFE_SRC_REST_LIST_CSV_H
#define HALFLIFE_SRC_REST_LIST_CSV_H

#include "handlers.h"

/* Make the answer of the workloads. */
void list_csv_answer(struct ask *k, const struct snapshot_target *const *target, size_t count);
/* Append a comma and CPU in cores, memory in bytes; nothing behind it for an amount that is not known. */
void list_csv_amount(struct buf *b, enum resource r, int64_t value);
/* The headers of an answer that is CSV, of which disposition says the file's name. */
void list_csv_end(struct answer *ret, const char *disposition);
/* Append a quoted cell. */
void list_csv_text(struct buf *b, const char *text);

#endif
