/*
 * The Prometheus of the settings.
 */
#ifndef HALFLIFE_CLI_PROMETHEUS_SETTINGS_H
#define HALFLIFE_CLI_PROMETHEUS_SETTINGS_H

#include "cli/settings.h"
#include "prometheus/prometheus.h"

/* url NULL: none is set. Strings are the settings'. */
struct prometheus_options recorded_options(const struct settings *s);

/* Ask it for what containers use now, and wait for the answer. 0 with how many containers it tells of, or why not. */
int recorded_count(struct loop *l, const struct settings *s, size_t *ret_containers, struct err *err);

#endif
