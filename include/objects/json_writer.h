/*
 * Writes JSON straight into a buffer, without a tree. The writer adds the commas; the caller closes what it opens.
 *
 *     writer_open(&w, NULL, '{');
 *     writer_text(&w, "name", text_of(name));
 *     writer_close(&w, '}');
 *
 * key is a constant that needs no escapes, or NULL for an element of an array. The output must fit the buffer's bound
 * (asserted), so callers cut long texts and lists first.
 */
#ifndef HALFLIFE_OBJECTS_JSON_WRITER_H
#define HALFLIFE_OBJECTS_JSON_WRITER_H

#include "base/buf.h"
#include "core/rules.h"

struct writer {
        struct buf *b;
        bool more; /* the next member or element needs a comma */
};

void writer_open(struct writer *w, const char *key, char bracket);
void writer_close(struct writer *w, char bracket);
void writer_text(struct writer *w, const char *key, struct text value);
void writer_member(struct writer *w, struct text key, struct text value); /* key may need escapes */
void writer_int(struct writer *w, const char *key, int64_t value);
void writer_bool(struct writer *w, const char *key, bool value);
/* The value must be finite. Its text reads back to the same double. */
void writer_double(struct writer *w, const char *key, double value);
void writer_raw(struct writer *w, const char *key, struct text json);
/* writer_time writes nothing for the time 0, writer_amount nothing for an amount that is not set. */
void writer_time(struct writer *w, const char *key, int64_t ms);
void writer_amount(struct writer *w, const char *key, enum resource r, struct amount a);
void writer_printf(struct writer *w, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
