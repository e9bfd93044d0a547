/*
 * Prints an explanation for people: for each container and resource the histogram with its marks, then each step from
 * the histogram to the target. Text from the cluster is made harmless for the terminal.
 */
#ifndef HALFLIFE_SRC_CLI_EXPLAIN_PRINT_H
#define HALFLIFE_SRC_CLI_EXPLAIN_PRINT_H

#include "explain_data.h"
#include "terminal.h"

void explain_print(FILE *to, const struct explain_data *e, const struct terminal *t);
/* Print the explanation from the Recommendation alone, for one container (NULL: all) and one resource (NULL: both). */
void explain_print_object(FILE *to, const struct explain_data *e, const char *container, const char *resource,
                          const struct terminal *t);

#endif
