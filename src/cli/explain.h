/*
 * Evidence for people: for each container and resource the histogram with its marks, then how the number came about, in
 * words. What others wrote is tamed.
 */
#ifndef HALFLIFE_CLI_EXPLAIN_H
#define HALFLIFE_CLI_EXPLAIN_H

#include "explain_data.h"
#include "terminal.h"

void explain_print(FILE *to, const struct evidence *e, const struct terminal *t);
/* The same of the Recommendation alone: only this container (NULL: all) and resource (NULL: both). */
void explain_print_object(FILE *to, const struct evidence *e, const char *container, const char *resource,
                          const struct terminal *t);

#endif
