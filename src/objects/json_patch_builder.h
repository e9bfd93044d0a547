/*
 * A JSON Patch under way: what the patches of this module are made of.
 */
#ifndef HALFLIFE_OBJECTS_JSON_PATCH_BUILDER_H
#define HALFLIFE_OBJECTS_JSON_PATCH_BUILDER_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/yaml.h"

/* Each operation is also done to the document, so that what it needs next is looked up there. */
struct builder {
        json_t *ops, *object;
        bool tests;      /* of what was read */
        struct buf path; /* of the place stood at */
        struct err *err;
};

/* Reads the object; version: its resourceVersion, tested with all that is replaced; NULL: nothing is tested. The
 * builder is to be ended in any case. */
int builder_begin(struct builder *b, struct text object, const char *version, struct err *err);
/* The operations (the caller's reference), or NULL where rc tells of a failure. */
json_t *builder_end(struct builder *b, int rc);

/* Stand at a place: a printf pattern, its parts escaped by the caller. */
__attribute__((format(printf, 2, 3))) void builder_stand_at(struct builder *b, const char *fmt, ...);
/* Step down into an object, made where there is none. NULL with err: something else stands there. */
json_t *builder_enter(struct builder *b, json_t *parent, const char *key);
/* Step back up to the parent. What a removal has emptied goes as well: nobody else would have left it there. */
void builder_leave(struct builder *b, json_t *parent, const char *key);
/* Test a value that was read (taken over) at a place. */
void builder_test(struct builder *b, const char *path, json_t *value);
/* Set a member (value is taken over), tested and replaced where one stands; NULL removes it. */
void builder_set(struct builder *b, json_t *parent, const char *key, json_t *value);
/* The annotations of what stands at path to these texts, NULL to none. 0, or ERR_INVALID. */
int builder_annotate(struct builder *b, json_t *holder, const char *path, const char *const key[],
                     const char *const text[], int count);
/* The value at a JSON pointer whose parts need no escapes; NULL: there is none. */
json_t *builder_at(json_t *from, const char *pointer);

#endif
