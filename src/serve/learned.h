/* What histogram and explain share. */
#ifndef HALFLIFE_SRC_SERVE_LEARNED_H
#define HALFLIFE_SRC_SERVE_LEARNED_H

#include "answer.h"

/* NULL: nothing was learned of it. */
const struct usage *learned_of(const struct ask *k, const char *container);
/* 0 where the workload is known and the learner could be asked; else ERR_INVALID with the answer made. */
int learned_asked(struct ask *k);
int resource_asked(struct ask *k, enum resource *ret);
/* Cores or bytes as whole millicores or bytes, rounded up. */
int64_t units_up(enum resource r, double value);

#endif
