/*
 * Printing of JSON as YAML in block style, with keys in their order. A text that a YAML reader might take for another
 * type (no, 1e3, 12:30, a date) is quoted.
 */
#ifndef HALFLIFE_CLI_YAML_PRINT_H
#define HALFLIFE_CLI_YAML_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* Print a value to the stream `to`. Returns 0, or ERR_IO if writing failed. */
int yaml_print(FILE *to, const json_t *value);

#endif
