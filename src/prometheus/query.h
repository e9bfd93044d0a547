/*
 * The text of a query: PromQL, and the HTTP form that carries it.
 */
#ifndef HALFLIFE_PROMETHEUS_QUERY_H
#define HALFLIFE_PROMETHEUS_QUERY_H

#include "base/buf.h"
#include "prometheus/prometheus.h"

/* Returns ERR_INVALID if matchers hold brackets, '#', an unclosed string or a comma too many, which would end the
 * selector or change its meaning; else 0. */
int query_check_matchers(const char *matchers, struct err *err);
/* Append the PromQL for the containers' usage of one resource. */
void query_promql(struct buf *out, const struct prometheus_options *o, enum resource r,
                  const struct prometheus_slice *s);
/* Append the PromQL for the nodes' usage of one resource. */
void query_promql_nodes(struct buf *out, const struct prometheus_options *o, enum resource r,
                        const struct prometheus_slice *s);
/* Append the PromQL for the price of a core-hour or of a GiB-hour. */
void query_promql_prices(struct buf *out, const struct prometheus_options *o, enum resource r);
/* Append the PromQL for the containers' share of throttled CPU periods. */
void query_promql_throttling(struct buf *out, const struct prometheus_options *o, const struct prometheus_slice *s);
/* Append the form for /api/v1/query_range, percent-encoded. */
void query_form(struct buf *out, const char *promql, const struct prometheus_slice *s);

/* Append a text as it has to stand in a form or a URL's query. ERR_TOOBIG: only a part of it fits. */
int query_add_escaped(struct buf *out, const char *s);

#endif
