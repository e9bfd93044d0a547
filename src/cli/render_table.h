/* The table of halflife render --dry-run. */
#ifndef HALFLIFE_CLI_RENDER_TABLE_H
#define HALFLIFE_CLI_RENDER_TABLE_H

#include <jansson.h>

#include "manifest_inputs.h"

/* Print to stdout a row for each CPU or memory request that changes or stays. An object with one reason for all its
 * requests has one row. report: the report of each input, in the form of deploy/render.h. Without rows nothing is
 * printed. */
void render_table_print(const struct inputs *in, json_t *const *report);

#endif
