/*
 * The series and points of the answers to one fetch. They arrive in any order, a series for each cgroup of a container
 * and each resource; joined, a container is one series, sorted by name, and its points are sorted by time.
 */
#ifndef HALFLIFE_PROMETHEUS_SERIES_ROWS_H
#define HALFLIFE_PROMETHEUS_SERIES_ROWS_H

#include "base/map.h"
#include "prometheus/prometheus.h"

struct series_rows {
        struct map by_name; /* "ns/pod/container/cgroup" -> struct series_entry */
        struct series_entry **entry;
        size_t entries, entry_cap;
        struct raw_point *raw;
        size_t raws, raw_cap; /* raws: points so far; the caller bounds them */
        struct prometheus_series *series;
        struct prometheus_point *point;
};

/* The number of a series, which is added if it is new: from 0, in the order in which the series arrive. */
uint32_t series_rows_number(struct series_rows *rows, const struct prometheus_series *s, struct text cgroup);
void series_rows_add(struct series_rows *rows, struct wall at, uint32_t number, enum resource r, double value);
/* Fill the series and points of an answer; call it once. They belong to `rows`, and live until series_rows_release. */
void series_rows_join(struct series_rows *rows, struct prometheus_answer *ret);
void series_rows_release(struct series_rows *rows);

#endif
