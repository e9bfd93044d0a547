/*
 * Answers checked against our own description of them (src/rest/openapi.yaml): as much of OpenAPI as it uses.
 */
#ifndef HALFLIFE_TEST_OPENAPI_H
#define HALFLIFE_TEST_OPENAPI_H

#include <jansson.h>

#include "base/err.h"

/*
 * Is an answer among those that an operation has? path is the template ("/api/v1/namespaces/{ns}/workloads"), method
 * in lower case, body NULL for a 304 and for what is no JSON. Members that no schema names are errors, except where it
 * allows additionalProperties; so are keywords of a schema that OpenAPI does not have. ERR_INVALID names the place:
 * "status.containers.0.cpu: …".
 */
int openapi_check(json_t *doc, const char *path, const char *method, unsigned status, const char *type, json_t *body,
                  struct err *err);
/* One value against a named schema. */
int openapi_check_schema(json_t *doc, const char *schema, json_t *value, struct err *err);
/* "#/components/…" followed, as often as it takes. NULL: dangling. */
json_t *openapi_follow(json_t *doc, json_t *node);

#endif
