/*
 * What is asked, as text: PromQL and the form that carries it.
 */
#ifndef HALFLIFE_PROMETHEUS_QUERY_H
#define HALFLIFE_PROMETHEUS_QUERY_H

#include "base/buf.h"
#include "prometheus/prometheus.h"

/* ERR_INVALID: braces, unclosed strings or a comma too many: what would end the selector, or mean something else. */
int query_check_matchers(const char *matchers, struct err *err);
/* Both append to a buffer. */
void query_promql(struct buf *out, const struct prometheus_options *o, enum resource r,
                  const struct prometheus_slice *s);
void query_form(struct buf *out, const char *promql, const struct prometheus_slice *s);

#endif
