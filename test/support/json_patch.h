/*
 * A small applier of JSON Patch (RFC 6902: test, add, replace, remove of members of objects).
 */
#ifndef HALFLIFE_TEST_JSON_PATCH_H
#define HALFLIFE_TEST_JSON_PATCH_H

#include <jansson.h>
#include <stdbool.h>

/* false at the first operation that does not apply; those before it are done. */
bool json_patch_apply(json_t *object, const json_t *patch);

#endif
