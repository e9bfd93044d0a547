/*
 * What errors have in common: the same cause meets many watches and many writes, each with a text of its own. The log
 * tells a cause once.
 */
#ifndef HALFLIFE_REPORT_ERROR_CAUSES_H
#define HALFLIFE_REPORT_ERROR_CAUSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The text without what was asked: "list '/api/v1/pods': GET /api/v1/pods: HTTP 401: …" gives "HTTP 401: …". */
const char *cause_text(const char *error);
/*
 * Equal for errors of one cause. subject: what the error is about ("web", "shop"; NULL at the end, or NULL); these
 * words, numbers other than HTTP's own, and what was asked make no difference.
 */
uint64_t cause_digest(const struct err *err, const char *const *subject);
/* A rule of ours is missing at the server (403 by its authorizer). */
bool cause_is_missing_rule(const struct err *err);
/* The namespace is being deleted: nothing new may be made in it. */
bool cause_is_going_namespace(const struct err *err);
/* What a person can do about it. */
const char *cause_cure(const struct err *err);

#endif
