/*
 * The resources that our annotations record: {"app":{"requests":{"cpu":"2"},"limits":{"cpu":"4"}}, …}. A container
 * whose request is absent there had none.
 */
#ifndef HALFLIFE_DOC_RECORD_H
#define HALFLIFE_DOC_RECORD_H

#include "base/err.h"
#include "base/mem.h"
#include "core/correct.h"

#define FIELD_MANAGER "halflife" /* as which we write, in managedFields */

/* On the object whose request is written: what it was, as its owner set it; what we wrote; what utilization is of. */
#define ANNOTATION_ORIGINAL "halflife.dev/original-resources"
#define ANNOTATION_APPLIED  "halflife.dev/applied-resources"
#define ANNOTATION_BASIS    "halflife.dev/utilization-basis"
#define BASIS_REQUEST       "request" /* autoscalers go by the request that we wrote */

struct recorded {
        struct text container;
        struct amount request[RESOURCES], limit[RESOURCES];
};

/* Calls each once per container; 0 or ERR_INVALID (somebody edited it: it is then taken as absent). */
int record_read(struct text annotation, struct arena *a, int (*each)(void *arg, const struct recorded *r), void *arg,
                struct err *err);

/* The annotation's text (mem_free it); NULL where there is no row. */
char *record_print(const struct recorded *row, size_t rows);

#endif
