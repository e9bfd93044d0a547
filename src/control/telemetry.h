/*
 * The metrics that halflife exports, and the counters of its requests to the API server.
 */
#ifndef HALFLIFE_CONTROL_TELEMETRY_H
#define HALFLIFE_CONTROL_TELEMETRY_H

#include <stdint.h>

struct parts;
struct telemetry;
struct telemetry *telemetry_new(const struct parts *parts); /* the caller frees it by mem_free */
/* Count and log (at debug level) a request to the API server that has ended. status 0: no answer came. */
void telemetry_observe(struct telemetry *all, const char *verb, const char *path, int status, int64_t took_ms,
                       const char *id);
void telemetry_publish(struct telemetry *all);          /* hand the pass's snapshot, with metrics, to the server */
uint64_t telemetry_writes(const struct telemetry *all); /* writing requests sent to the API server so far */

#endif
