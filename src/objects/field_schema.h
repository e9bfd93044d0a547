/*
 * Tables that describe the JSON objects in a profile. For each field a table gives the name, the reader, the place of
 * the result, the bounds, and the text for the error.
 */
#ifndef HALFLIFE_SRC_OBJECTS_FIELD_SCHEMA_H
#define HALFLIFE_SRC_OBJECTS_FIELD_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct field;
typedef int field_reader(const struct field *f, const json_t *v, void *at, struct err *err);
typedef bool field_shape(const char *s);

struct field {
        const char *name;
        field_reader *read;
        size_t at;               /* offset of the result in the table's struct */
        int64_t least, most;     /* field_percentile: per cent; field_cores: cores; else the unit of the result */
        const char *cure;        /* what a valid value is, for "3d is not <cure>" */
        const char *const *word; /* for a choice: the values in the order of their enum, NULL at the end */
        field_shape *shape;      /* for a text: whether its syntax is valid */
};
/* A table ends with {0}. */
#define FIELD(name, read, at, least, most, cure)                                                                       \
        {                                                                                                              \
                name, read, at, least, most, cure, NULL, NULL                                                          \
        }
#define FIELD_CHOICE(name, read, at, cure, word)                                                                       \
        {                                                                                                              \
                name, read, at, 0, 0, cure, word, NULL                                                                 \
        }
#define FIELD_TEXT(name, at, cure, shape)                                                                              \
        {                                                                                                              \
                name, field_text, at, 0, 0, cure, NULL, shape                                                          \
        }

/* Read an object by its table, in the table's order. An absent or null field leaves the result as it was: the default.
 * Returns 0, or the negative code of the first error, mostly ERR_INVALID, with the field and the remedy in err. Unknown
 * fields are an error. */
int field_object(const struct field *table, const json_t *json, void *at, struct err *err);

/* Readers, and the type that each writes. */
field_reader field_bool;             /* bool */
field_reader field_integer;          /* int */
field_reader field_percentile;       /* int, in tenths of a per cent; the field is in per cent */
field_reader field_cores;            /* int64_t millicores; the field is in whole cores */
field_reader field_factor;           /* int, in thousandths; the field is a decimal in quotes */
field_reader field_duration;         /* int64_t ms */
field_reader field_duration_or_zero; /* int64_t ms; 0 is valid too, although below the bounds */
field_reader field_cpu;              /* int64_t millicores */
field_reader field_memory;           /* int64_t bytes */
field_reader field_text;             /* char *, which the caller frees; an earlier text there is freed */

/* The index of the value in f->word; -1: the value is no such word. */
int field_choice(const struct field *f, const json_t *v);
/* Set the error "<value> is not <cure>" and return ERR_INVALID. */
int field_refuse(const struct field *f, const json_t *v, struct err *err);

#endif
