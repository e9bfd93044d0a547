/* The table of halflife render --dry-run. */
#ifndef HALFLIFE_CLI_RENDER_TABLE_H
#define HALFLIFE_CLI_RENDER_TABLE_H

#include <jansson.h>

#include "manifest_inputs.h"

/* Print to stdout a row for each request that changes or stays, and for each object with one reason for all of them.
 * report has the report of each input, in the form of deploy/render.h. Without rows nothing is printed. */
void render_table_print(const struct inputs *in, json_t *const *report);

#endif
