/*
 * The resources that our annotations record: {"app":{"requests":{"cpu":"2"},"limits":{"cpu":"4"}}, …}. A container
 * whose request is absent there had none.
 */
#ifndef HALFLIFE_OBJECTS_ANNOTATION_RECORD_H
#define HALFLIFE_OBJECTS_ANNOTATION_RECORD_H

#include "base/err.h"
#include "base/mem.h"
#include "core/rules.h"

#define FIELD_MANAGER "halflife" /* as which we write, in managedFields */

/* On the object whose request is written: what it was, as its owner set it; what we wrote; what utilization is of. */
#define ANNOTATION_ORIGINAL "halflife.dev/original-resources"
#define ANNOTATION_APPLIED  "halflife.dev/applied-resources"
#define ANNOTATION_BASIS    "halflife.dev/utilization-basis"
#define ANNOTATION_RAISED   "halflife.dev/raised" /* of a running pod: when its usage made us raise its requests */
#define BASIS_REQUEST       "request"             /* autoscalers go by the request that we wrote */

struct recorded {
        struct text container;
        struct amount request[RESOURCES], limit[RESOURCES];
};

/* Calls each once per container; 0 or ERR_INVALID (somebody edited it: it is then taken as absent). */
int record_read(struct text annotation, struct arena *a, int (*each)(void *arg, const struct recorded *r), void *arg,
                struct err *err);

/* The annotation's text (mem_free it); NULL where there is no row. */
char *record_print(const struct recorded *row, size_t rows);

/*
 * On an autoscaler whose targets of utilization we moved: what they were, as its owner set them, and what we wrote, in
 * per cent: {"Resource/cpu":70,"ContainerResource/app/cpu":60}.
 */
#define ANNOTATION_TARGETS         "halflife.dev/original-targets"
#define ANNOTATION_TARGETS_APPLIED "halflife.dev/applied-targets"

struct recorded_target {
        struct text container; /* "" : the whole pod */
        enum resource resource;
        int64_t percent; /* 1 to INT32_MAX */
};
/* Reads at most VIEW_METRICS (decode.h) into ret. Returns how many, or ERR_INVALID. */
int record_targets_read(struct text annotation, struct arena *a, struct recorded_target *ret, struct err *err);
/* The annotation's text (mem_free it); NULL where there is none. */
char *record_targets_print(const struct recorded_target *row, int rows);

#endif
