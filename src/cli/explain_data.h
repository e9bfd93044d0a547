/*
 * The data behind halflife explain: the answers of the REST endpoints /explain and /histogram, from a server or from a
 * database, or only the Recommendation.
 */
#ifndef HALFLIFE_CLI_EXPLAIN_DATA_H
#define HALFLIFE_CLI_EXPLAIN_DATA_H

#include <jansson.h>

#include "core/policy.h"
#include "target_arg.h"

/* The arguments of the command; NULL: not given. */
struct explain_arguments {
        struct workload workload;
        const char *ns, *container, *resource, *percentile, *half_life, *multiplier;
};

struct explain_data {
        json_t *explain;        /* the answer of GET …/explain; NULL: none */
        json_t *histograms;     /* the answers of GET …/histogram, by "container/resource"; NULL: none */
        json_t *recommendation; /* the Recommendation object; NULL: it was not read */
        char *note;             /* one sentence: what is missing, and why; NULL: nothing is */
        bool database_source;   /* the data is of a database, which has no profiles and workloads, so no rules and gates
                                 */
};
void explain_data_release(struct explain_data *e);

/* GET an endpoint of a server or database. Returns the caller's reference, or NULL with an error. */
typedef json_t *explain_data_route(void *arg, const char *path_query, struct err *err);
/* Collect the answers about one workload. Returns 0, or the error of get, which leaves *ret untouched. */
int explain_data_collect(explain_data_route *get, void *arg, const struct explain_arguments *q,
                         struct explain_data *ret, struct err *err);

struct api_client;
/* Collect the answers from a server. Returns 0, or the error of api_client_get, which leaves *ret untouched. */
int explain_data_ask(struct api_client *r, const struct explain_arguments *q, struct explain_data *ret,
                     struct err *err);
/*
 * Collect the answers from a database file, which is only read, even while a halflife has it open. ns NULL: the one
 * namespace that has the workload. The numbers use a profile's defaults, or the values given in *q. Returns 0;
 * ERR_NOTFOUND: the file has no history of the workload; ERR_INVALID: an argument is wrong; or the store's error.
 */
int explain_data_read(const char *path, const struct explain_arguments *q, struct explain_data *ret, struct err *err);

#endif
