/*
 * Tell whether a store of metrics says that its answer is only a part of the data, since some servers behind it are
 * away.
 */
#ifndef HALFLIFE_SRC_PROMETHEUS_PARTIAL_ANSWER_H
#define HALFLIFE_SRC_PROMETHEUS_PARTIAL_ANSWER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

/*
 * Judge the envelope of an answer with HTTP status 200. Returns 0 for a whole answer, ERR_INVALID if it is no JSON or
 * its data are no series over time (a vector of present values would pass for a past without usage), and ERR_RETRY with
 * *ret_partial set for a part: err quotes the store's words, cut to 200 bytes, without control characters.
 *
 * A part is: "isPartial": true (VictoriaMetrics), a status other than "success" (data may come beside it), and each of
 * "warnings" (Thanos, Mimir, promxy, and Prometheus with remote read) but those that begin with "PromQL info: ". With
 * such a text, Prometheus 2.48 to 2.52 remark on the query, and later versions do so in "infos"; nothing is missing.
 * "PromQL warning: " means a part: of mixed types of samples the engine leaves some out, and a sum of the rest is too
 * low. "warnings" and "isPartial" of another JSON type count too, unless they are false, 0 or empty: a text, or an
 * object of warnings.
 */
int partial_answer_judge(struct text envelope, bool *ret_partial, struct err *err);

#endif
