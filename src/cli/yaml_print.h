/*
 * JSON as YAML, for people: block style, keys in their order. What another reader might take for something else than
 * text (no, 1e3, 12:30, a date) is quoted.
 */
#ifndef HALFLIFE_CLI_YAML_PRINT_H
#define HALFLIFE_CLI_YAML_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* 0, or ERR_IO where it could not be written. */
int yaml_print(FILE *to, const json_t *value);

#endif
