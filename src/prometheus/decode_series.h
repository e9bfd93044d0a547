/*
 * Decode one series of an answer: {"metric": {labels}, "values": [[seconds, "value"], …]}.
 */
#ifndef HALFLIFE_SRC_PROMETHEUS_DECODE_SERIES_H
#define HALFLIFE_SRC_PROMETHEUS_DECODE_SERIES_H

#include "base/json.h"
#include "prometheus/prometheus.h"

/* The callbacks for a series. */
struct series_reader {
        /* Return false to skip the series' points. `cgroup` is the label id, "" without one. Texts live until
         * series_decode returns and hold no NUL; the names in `s` hold no '/'. */
        bool (*series)(void *arg, const struct prometheus_series *s, struct text cgroup);
        int (*point)(void *arg, struct wall at, double value); /* < 0 ends the reading with that code */
        void *arg;
        bool nodes; /* the series are those of nodes: s->pod is the node, and `cgroup` the label instance */
};
/* Returns 0, ERR_INVALID if `json` does not have the form above, or what `point` returned. *refused grows by one for
 * each value that is negative or not finite, and for a series that lacks a label or has one that is no name. */
int series_decode(struct text json, struct arena *a, const struct series_reader *r, uint64_t *refused, struct err *err);

/* Replace line breaks and control characters by spaces, since the text of another server goes into the log. */
void series_tame(char *s);
/* The reason why a query failed, from the body of an error response: Prometheus' "error", or the "message" of an API
 * server between, else the beginning of the body. Control characters become spaces. Returns `out`. */
char *query_error(struct text body, char *out, size_t size);

#endif
