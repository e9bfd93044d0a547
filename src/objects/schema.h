/*
 * Tables of fields: an object of a profile is read by a table that names each field, how it is read, where it goes, its
 * bounds and what to say where it is none of these.
 */
#ifndef HALFLIFE_OBJECTS_SCHEMA_H
#define HALFLIFE_OBJECTS_SCHEMA_H

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
        size_t at; /* offset in the struct that the table is about */
        int64_t least, most;
        const char *cure;        /* "3d is not <cure>" */
        const char *const *word; /* of a choice: the values in the order of their enum, NULL at the end */
        field_shape *shape;      /* of a text */
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

/* Read an object by its table, in the table's order; what is absent or null leaves what is there: the default. Unknown
 * fields are refused. ERR_INVALID names the field and the cure. */
int field_object(const struct field *table, const json_t *json, void *at, struct err *err);

/* Readers, and what they write at their place. */
field_reader field_bool;             /* bool */
field_reader field_integer;          /* int */
field_reader field_percentile;       /* int, tenths of the per cent read */
field_reader field_cores;            /* int64_t millicores of the whole cores read */
field_reader field_factor;           /* int, thousandths of the decimal text read */
field_reader field_duration;         /* int64_t ms */
field_reader field_duration_or_zero; /* the same; 0 although it is out of bounds */
field_reader field_cpu;              /* int64_t millicores */
field_reader field_memory;           /* int64_t bytes */
field_reader field_text;             /* char *, the caller's to free; what was there is freed */

/* The index of the value among the words, -1: none of them. */
int field_choice(const struct field *f, const json_t *v);
/* "<value> is not <cure>" */
int field_refuse(const struct field *f, const json_t *v, struct err *err);

#endif
