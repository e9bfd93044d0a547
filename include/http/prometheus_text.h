/*
 * Prometheus' text format (0.0.4), written family by family into a buffer.
 */
#ifndef HALFLIFE_HTTP_PROMETHEUS_TEXT_H
#define HALFLIFE_HTTP_PROMETHEUS_TEXT_H

#include "base/buf.h"
#include "base/metric_seconds.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* One row of the documented list: everything halflife exports is in such a table (README's list is checked against it).
 */
struct metric {
        const char *name, *help;
        enum metric_type type;
};

/* # HELP and # TYPE; then its samples. label NULL: none; else pairs as "verb=\"get\",code=\"200\"", values escaped by
 * metric_label. */
int metric_family(struct buf *out, const struct metric *m);
int metric_sample(struct buf *out, const struct metric *m, const char *labels, double value);
int metric_seconds_sample(struct buf *out, const struct metric *m, const char *labels, const struct metric_seconds *s);
/* key="value" with \ " and newline escaped and what is not UTF-8 as ?, cut to whole characters of 128 bytes of value
 * and size bytes in all (size holds the key and four more). Returns out. */
char *metric_label(const char *key, const char *value, char *out, size_t size);

#endif
