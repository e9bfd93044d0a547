/* What the two ways to print an explanation share: from the REST API's answers, and from a Recommendation alone. */
#ifndef HALFLIFE_SRC_CLI_EXPLAIN_PRIVATE_H
#define HALFLIFE_SRC_CLI_EXPLAIN_PRIVATE_H

#include <jansson.h>

#include "core/policy.h"
#include "terminal.h"

struct page {
        FILE *to;
        const struct terminal *t;
};

/* The text of a JSON object's member, made harmless for a terminal; "" if there is none. Free it with mem_free. */
char *page_text(const json_t *object, const char *key);
/* A quantity for people ("763.5Mi"), which the caller frees; NULL: the member is not there. */
char *page_quantity(const json_t *object, const char *key, enum resource r);
/* The quantity of a member, in cores or bytes; negative: the member is not there. */
double page_value(const json_t *object, const char *key, enum resource r);

/* Print the title of a container's CPU or memory: "app  cpu  2 -> 457m  Lowered, 77 % less". */
void page_head(const struct page *p, const char *container, const json_t *number, enum resource r);
/* Print a label and a text, wrapped: " percentile 95 % of …". With label "", the text belongs to the label before. */
void page_line(const struct page *p, const char *label, const char *words);
void page_printf(const struct page *p, const char *label, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Print the line of an advised limit; limit NULL: none is advised. */
void page_limit(const struct page *p, const json_t *limit, enum resource r);

#endif
