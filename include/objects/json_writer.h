/*
 * JSON, written straight into a buffer: no tree. Commas are the writer's business; what is open is closed by the
 * caller.
 *
 *     writer_open(&w, NULL, '{');
 *     writer_text(&w, "name", text_of(name));
 *     writer_close(&w, '}');
 *
 * key is a constant that needs no escapes, NULL for an element of an array. Every answer is smaller than the buffer's
 * bound (asserted): what is long in it is cut before.
 */
#ifndef HALFLIFE_OBJECTS_JSON_WRITER_H
#define HALFLIFE_OBJECTS_JSON_WRITER_H

#include "base/buf.h"
#include "core/rules.h"

struct writer {
        struct buf *b;
        bool more; /* a member or element stands before this place */
};

void writer_open(struct writer *w, const char *key, char bracket);
void writer_close(struct writer *w, char bracket);
void writer_text(struct writer *w, const char *key, struct text value);
void writer_member(struct writer *w, struct text key, struct text value); /* a key from outside */
void writer_int(struct writer *w, const char *key, int64_t value);
void writer_bool(struct writer *w, const char *key, bool value);
void writer_double(struct writer *w, const char *key, double value); /* finite; reads back to the same double */
void writer_raw(struct writer *w, const char *key, struct text json);
/* The rest writes nothing where there is none: a time of 0, an amount that is not set. */
void writer_time(struct writer *w, const char *key, int64_t ms);
void writer_amount(struct writer *w, const char *key, enum resource r, struct amount a);
void writer_printf(struct writer *w, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
