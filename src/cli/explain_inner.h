/* What explaining from the doors' answers and from a Recommendation share. */
#ifndef HALFLIFE_SRC_CLI_EXPLAIN_INNER_H
#define HALFLIFE_SRC_CLI_EXPLAIN_INNER_H

#include <jansson.h>

#include "core/policy.h"
#include "terminal.h"

struct page {
        FILE *to;
        const struct terminal *t;
};

/* A member's text, tamed and the caller's (mem_free); "" where it is none. */
char *page_text(const json_t *object, const char *key);
/* A quantity for people: bytes that are no whole Mi as "763.5Mi". The caller's; NULL: there is none. */
char *page_quantity(const json_t *object, const char *key, enum resource r);
/* The same in cores or bytes; negative: there is none. */
double page_value(const json_t *object, const char *key, enum resource r);

/* "app  cpu  2 -> 457m  Lowered: 77 % less" */
void page_head(const struct page *p, const char *container, const json_t *number, enum resource r);
/* "  percentile   95 % of …", wrapped; label "" goes on below the last. */
void page_line(const struct page *p, const char *label, const char *words);
void page_printf(const struct page *p, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
