/*
 * One series of an answer: {"metric": {labels}, "values": [[seconds, "value"], …]}.
 */
#ifndef HALFLIFE_PROMETHEUS_DECODE_H
#define HALFLIFE_PROMETHEUS_DECODE_H

#include "base/json.h"
#include "prometheus/prometheus.h"

/* What the reader of a series does with it. */
struct series_reader {
        /* false: its points are not wanted. Texts live until the series was read. */
        bool (*series)(void *arg, const struct prometheus_series *s);
        int (*point)(void *arg, struct wall at, double value); /* < 0 ends the reading with that code */
        void *arg;
};
/* 0; ERR_INVALID: it is not of that form; or what point returned. *refused is raised by values that are not finite, and
 * by one for a series that lacks a label. */
int series_decode(struct text json, struct arena *a, const struct series_reader *r, uint64_t *refused, struct err *err);

/* Why a query was not answered, from the body of an answer that is none: its "error", else what of the body can be
 * shown. Returns out. */
char *query_error(struct text body, char *out, size_t size);

#endif
