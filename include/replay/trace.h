/*
 * Usage traces: lines of entity,timestamp_s,cpu_cores,memory_bytes; a missing value is empty. A first line that is this
 * header is skipped, and so are blank lines.
 */
#ifndef HALFLIFE_REPLAY_TRACE_H
#define HALFLIFE_REPLAY_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "core/policy.h"

#define TRACE_HEADER "entity,timestamp_s,cpu_cores,memory_bytes"
enum { TRACE_LINE_MAX = 4096, TRACE_ENTITY_MAX = 512 };

struct trace_row {
        struct text entity; /* points into the line */
        int64_t at_s;
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes: any number there is, judged by the core's watermark */
};

/* Read one line, without its end. Returns 0, or ERR_INVALID with the reason in *ret_why ("cpu_cores is not a number").
 */
int trace_parse(struct text line, struct trace_row *ret, const char **ret_why);

/* A decimal number, all of the text, exactly as strtod reads it; no hexadecimal, no infinity, no NaN. */
bool trace_number(struct text t, double *ret);

/* Like read(2): the bytes read, 0 at the end, -1 with errno. */
typedef ssize_t trace_source(void *arg, void *buf, size_t size);

struct trace {
        trace_source *source;
        void *arg;
        char *buf;
        size_t begin, end; /* what of buf is not read yet */
        bool at_end;
        int64_t line;  /* number of the line read last */
        int64_t bytes; /* taken from the source */
};
void trace_init(struct trace *t, trace_source *source, void *arg);
void trace_release(struct trace *t);

/*
 * The next row, valid until the next call. Returns 1; 0 at the end; ERR_INVALID for a bad row (t->line tells which, the
 * next call goes on behind it); ERR_IO when the source fails. err may be NULL.
 */
int trace_next(struct trace *t, struct trace_row *ret, struct err *err);

#endif
