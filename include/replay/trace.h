/*
 * Usage traces: lines of entity,timestamp_s,cpu_cores,memory_bytes. A missing value is empty. Blank lines are skipped,
 * and so is a first line that equals TRACE_HEADER.
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
        struct text entity; /* points into the parsed line */
        int64_t at_s;
        bool has[RESOURCES];
        double value[RESOURCES]; /* cores, bytes; any finite or infinite number, since the core checks values */
};

/* Parse a line without its line end. Returns 0, or ERR_INVALID with the reason in *ret_why ("cpu_cores is not a
 * number"). */
int trace_parse(struct text line, struct trace_row *ret, const char **ret_why);

/* Parse a whole text as a decimal number, with exactly strtod's result. Returns false for any other text, also for
 * hexadecimal, "inf" and "nan". */
bool trace_number(struct text t, double *ret);

/* A source of bytes, called like read(2): returns the number of bytes, 0 at the end, or -1 with errno. */
typedef ssize_t trace_source(void *arg, void *buf, size_t size);

struct trace {
        trace_source *source;
        void *arg;
        char *buf;
        size_t begin, end; /* the part of buf that is not parsed yet */
        bool at_end;       /* the source has ended */
        int64_t line;      /* number of the last line, from 1 */
        int64_t bytes;     /* bytes read from the source so far */
};
void trace_init(struct trace *t, trace_source *source, void *arg);
void trace_release(struct trace *t);

/*
 * Read the next row, which is valid until the next call. Returns 1, or 0 at the end. ERR_INVALID: a bad row in line
 * t->line; the next call continues with the row after it. ERR_IO: the source failed. err may be NULL.
 */
int trace_next(struct trace *t, struct trace_row *ret, struct err *err);

#endif
