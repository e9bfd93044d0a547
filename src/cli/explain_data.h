/*
 * What is known of a workload's numbers: the answers of the REST doors /explain and /histogram, wherever they come
 * from, or the Recommendation alone.
 */
#ifndef HALFLIFE_CLI_EXPLAIN_DATA_H
#define HALFLIFE_CLI_EXPLAIN_DATA_H

#include <jansson.h>

#include "core/policy.h"
#include "target_arg.h"

/* What is wanted; NULL: not said. */
struct inquiry {
        struct workload workload;
        const char *ns, *container, *resource, *percentile, *half_life, *multiplier;
};

struct evidence {
        json_t *explain;        /* as GET …/explain answers; NULL */
        json_t *histograms;     /* of "container/resource" as GET …/histogram answers; NULL */
        json_t *recommendation; /* the object; NULL */
        char *note;             /* what is missing and why, one sentence; NULL */
        bool offline; /* of a database: it knows neither profile nor workload, so rules and gates say nothing */
};
void evidence_release(struct evidence *e);

/* GET of a door, wherever it is: the caller's reference, or NULL with an error. */
typedef json_t *evidence_door(void *arg, const char *path_query, struct err *err);
/* All that the doors tell of one of a namespace. 0, or what get said; *ret is untouched then. */
int evidence_collect(evidence_door *get, void *arg, const struct inquiry *q, struct evidence *ret, struct err *err);

struct remote;
/* All that a halflife tells. 0, or what remote_get says; *ret is untouched then. */
int evidence_ask(struct remote *r, const struct inquiry *q, struct evidence *ret, struct err *err);
/*
 * All that a database tells, which is only read, also while a halflife holds it. ns NULL: of whichever namespace has
 * it, if one alone has. The numbers are those of a profile's defaults, or as wanted. ERR_NOTFOUND: it has nothing of
 * the workload; else what the store says of the file, or ERR_INVALID naming what is wrong with the inquiry.
 */
int evidence_read(const char *path, const struct inquiry *q, struct evidence *ret, struct err *err);

#endif
