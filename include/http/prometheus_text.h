/*
 * Writes Prometheus' text format (0.0.4) into a buffer, family by family. The functions fail only where the buffer is
 * full, with the buffer's error.
 */
#ifndef HALFLIFE_HTTP_PROMETHEUS_TEXT_H
#define HALFLIFE_HTTP_PROMETHEUS_TEXT_H

#include "base/buf.h"
#include "base/metric_seconds.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A row of a table of metrics. Every metric of halflife is in such a table; docs/metrics.md is generated from them. */
struct metric {
        const char *name, *help;
        enum metric_type type;
};

/* metric_family writes # HELP and # TYPE; the family's samples follow. `labels` NULL: no labels; else pairs such as
 * "verb=\"get\",code=\"200\"", each made by metric_label. */
int metric_family(struct buf *out, const struct metric *m);
int metric_sample(struct buf *out, const struct metric *m, const char *labels, double value);
int metric_seconds_sample(struct buf *out, const struct metric *m, const char *labels, const struct metric_seconds *s);
/* Write key="value". In the value, backslash, quote and newline are escaped, and bytes that are not UTF-8 become '?'.
 * The value is cut after the last whole character that fits into 128 bytes and into `size`, which must be at least the
 * key's length plus four. Returns out. */
char *metric_label(const char *key, const char *value, char *out, size_t size);

#endif
