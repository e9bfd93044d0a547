/*
 * halflife's annotations record container resources as {"app":{"requests":{"cpu":"2"},"limits":{"cpu":"4"}}, …}. A
 * request that is absent from the record of original values was not set by the owner.
 */
#ifndef HALFLIFE_OBJECTS_ANNOTATION_RECORD_H
#define HALFLIFE_OBJECTS_ANNOTATION_RECORD_H

#include "base/err.h"
#include "base/mem.h"
#include "core/rules.h"

#define FIELD_MANAGER "halflife" /* halflife's manager name in managedFields */

/* Annotations on the object whose requests halflife writes. They hold the owner's requests (ORIGINAL), halflife's
 * requests (APPLIED), and the amount that utilization is relative to (BASIS). */
#define ANNOTATION_ORIGINAL "halflife.dev/original-resources"
#define ANNOTATION_APPLIED  "halflife.dev/applied-resources"
#define ANNOTATION_BASIS    "halflife.dev/utilization-basis"
#define ANNOTATION_RAISED                                                                                              \
        "halflife.dev/raised" /* on a running pod: when halflife raised the pod's requests, because of its usage */
/* The value of ANNOTATION_BASIS by which utilization is relative to the request that halflife wrote. */
#define BASIS_REQUEST "request"

struct recorded {
        struct text container;
        struct amount request[RESOURCES], limit[RESOURCES];
};

/* Call the function `each` for every container of the annotation. Returns 0, the negative result of `each`, ERR_TOOBIG
 * (more than VIEW_CONTAINERS containers), or ERR_INVALID: somebody edited the annotation, and callers treat the
 * annotation as absent. */
int record_read(struct text annotation, struct arena *a, int (*each)(void *arg, const struct recorded *r), void *arg,
                struct err *err);

/* The text of the annotation, which the caller frees with mem_free; NULL when rows is 0. */
char *record_print(const struct recorded *row, size_t rows);

/*
 * Annotations on an autoscaler whose utilization targets halflife changed. They hold the owner's targets (TARGETS) and
 * halflife's targets (TARGETS_APPLIED), in per cent: {"Resource/cpu":70,"ContainerResource/app/cpu":60}.
 */
#define ANNOTATION_TARGETS         "halflife.dev/original-targets"
#define ANNOTATION_TARGETS_APPLIED "halflife.dev/applied-targets"

struct recorded_target {
        struct text container; /* "": the whole pod */
        enum resource resource;
        int64_t percent; /* 1 to INT32_MAX */
};
/* Reads at most VIEW_METRICS (decode.h) utilization targets of the annotation into `ret`. Returns their number,
 * ERR_TOOBIG (the annotation has more) or ERR_INVALID. */
int record_targets_read(struct text annotation, struct arena *a, struct recorded_target *ret, struct err *err);
/* The text of the annotation, which the caller frees with mem_free; NULL when rows is 0. */
char *record_targets_print(const struct recorded_target *row, int rows);

#endif
