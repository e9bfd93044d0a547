/*
 * Builds a JSON Patch step by step.
 */
#ifndef HALFLIFE_OBJECTS_JSON_PATCH_BUILDER_H
#define HALFLIFE_OBJECTS_JSON_PATCH_BUILDER_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/yaml.h"

/* Each operation is also applied to `object`, so that `object` always shows the result so far. */
struct builder {
        json_t *ops, *object;
        bool tests;      /* the patch also tests the values that it replaces or removes */
        struct buf path; /* JSON pointer of the current place */
        struct err *err;
};

/* Start a patch of `object`, a JSON text. `version`: its resourceVersion, which the patch tests along with every
 * replaced value; NULL: no tests. Returns 0 or ERR_INVALID. The caller must call builder_end in both cases. */
int builder_begin(struct builder *b, struct text object, const char *version, struct err *err);
/* Release the builder. Returns the operations, a reference that the caller owns; NULL when `rc` is negative. */
json_t *builder_end(struct builder *b, int rc);

/* Make a place the current one. `fmt` is the printf format of its JSON pointer, whose parts the caller has escaped. */
__attribute__((format(printf, 2, 3))) void builder_stand_at(struct builder *b, const char *fmt, ...);
/* Go from `parent` down into its member `key`, an object, which is added when absent. NULL with err: the member is no
 * object. */
json_t *builder_enter(struct builder *b, json_t *parent, const char *key);
/* Go back up from the member `key` to `parent`. A member that is now empty is removed, because nobody but halflife
 * would have left it so. */
void builder_leave(struct builder *b, json_t *parent, const char *key);
/* Add a test that the object has `value` at `path`, if the patch tests. Takes over the reference to `value`. */
void builder_test(struct builder *b, const char *path, json_t *value);
/* Set the member `key` of `parent` to `value`; NULL removes the member. If the patch tests, it tests the old value
 * first. Takes over the reference to `value`. */
void builder_set(struct builder *b, json_t *parent, const char *key, json_t *value);
/* Set annotations of `holder`, the object or the template, which is at `path`; a text NULL removes its annotation.
 * Returns 0 or ERR_INVALID. */
int builder_annotate(struct builder *b, json_t *holder, const char *path, const char *const key[],
                     const char *const text[], int count);
/* The object at a JSON pointer whose parts need no escapes; NULL: none. */
json_t *builder_at(json_t *from, const char *pointer);

#endif
