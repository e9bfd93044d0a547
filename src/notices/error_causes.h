/*
 * The causes of errors. One cause may make many watches and writes fail, each with a different text. The log reports
 * each cause once.
 */
#ifndef HALFLIFE_NOTICES_ERROR_CAUSES_H
#define HALFLIFE_NOTICES_ERROR_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The error text without the request: "list '/api/v1/pods': GET /api/v1/pods: HTTP 401: …" gives "HTTP 401: …". */
const char *cause_text(const char *error);
/*
 * A digest that is equal for errors with the same cause. It ignores the HTTP request, numbers other than HTTP statuses,
 * and the words of subject: the names that the error is about ("web", "shop"). subject ends with NULL, or is NULL.
 */
uint64_t cause_digest(const struct err *err, const char *const *subject);
/* Does halflife lack an RBAC rule? True for HTTP 403 from the API server's authorizer. */
bool cause_is_missing_rule(const struct err *err);
/* Does the error say that the namespace is being deleted, so that nothing can be created in it? */
bool cause_is_going_namespace(const struct err *err);
/* What a person can do about the error, as a text for the log. */
const char *cause_cure(const struct err *err);

#endif
