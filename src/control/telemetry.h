/*
 * The metrics that halflife exports, and what it counts for them of its requests to the API server.
 */
#ifndef HALFLIFE_CONTROL_TELEMETRY_H
#define HALFLIFE_CONTROL_TELEMETRY_H

#include <stdint.h>

struct parts;
struct telemetry;
struct telemetry *telemetry_new(const struct parts *parts); /* freed by mem_free */
/* A request to the API server, as its client observes it. */
void telemetry_observe(struct telemetry *all, const char *verb, const char *path, int status, int64_t took_ms,
                       const char *id);
void telemetry_publish(struct telemetry *all);          /* the pass' snapshot, with its metrics */
uint64_t telemetry_writes(const struct telemetry *all); /* requests that write, so far */

#endif
