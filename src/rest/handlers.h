/*
 * What the endpoints share: a request with the data that answers it, and the functions that write parts of answers.
 */
#ifndef HALFLIFE_REST_HANDLERS_H
#define HALFLIFE_REST_HANDLERS_H

#include "deploy/deploy_answer.h"
#include "objects/json_writer.h"
#include "query_parameters.h"
#include "rest/routes.h"

/* A request on its way to an endpoint. All pointers are borrowed, and stay valid until the answer is made. */
struct ask {
        const struct route *route;
        const struct query *query;
        const struct snapshot *v;
        const struct snapshot_target *target; /* NULL: the workload is unknown, or the path names none */
        const struct learned_copy *learned;   /* NULL: the halflife that learns cannot be asked */
        size_t copies;
        struct arena *a;
        struct answer *ret;
};

/* Begin an answer with status 200; the writer writes its JSON body. */
struct writer answer_begin(struct answer *a);
/* Make the answer a 400 that names a parameter of the query or of the path. Returns ERR_INVALID. */
int answer_bad_parameter(struct answer *a, const char *parameter, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* Add the headers Warning and Age where the view is old, because the API server or its metrics cannot be asked. */
void answer_age(const struct snapshot *v, struct wall now, struct arena *a, struct answer *ret);

/* The endpoints that answer by a function of their own, one function each. */
void answer_workload(struct ask *k);
void answer_list(struct ask *k);
void answer_summary(struct ask *k);
void answer_profiles(struct ask *k);
void answer_changes(struct ask *k);
void answer_histogram(struct ask *k);
void answer_history(struct ask *k);
void answer_explain(struct ask *k);
void answer_openapi(struct ask *k);
void answer_page(struct ask *k);

/* Read the parameters of a report (?by, ?since) into ret->ledger; ret->ns must be set before. Returns 0, or ERR_INVALID
 * with the answer made. */
#define REPORT_CLUSTER "cluster" /* the value of ?by for one row that sums up all */
int report_asked(const struct query *q, struct arena *a, struct route *ret, struct answer *ret_answer);

/* Set ret->ledger to ask for the last days of the workload that *ret names. */
void days_asked(struct arena *a, struct route *ret);
/* Make the answer a 503 that says that the ledger cannot be read now. */
void answer_no_ledger(struct answer *ret);
/* Write from a sum of the ledger the members cpu and memory (allocatable: also what nodes can give), or those that
 * count events. */
void report_write_flows(struct writer *w, const struct ledger_sum *s, bool allocatable);
void report_write_events(struct writer *w, const struct ledger_sum *s);

/* --- parts --- */

/* Write the member "metadata" of the requested workload, which the view need not know. */
void write_metadata(struct writer *w, const struct ask *k);
/* Write the members metadata, profile and status of a target. The status has all containers, or only the one named
 * `container` if that is not NULL. */
void write_target(struct writer *w, const struct snapshot_target *t, const struct text *container);

/* Write the first sample's time as member "firstSample", and again as "since", the former name, which the next API
 * version drops. */
void write_first_sample(struct writer *w, int64_t ms);
void write_profile(struct writer *w, const struct snapshot_profile *p); /* p NULL: writes nothing */
/* Make the answer a 404 that says that the view does not have the workload. */
void answer_not_known(struct ask *k);

/* Find the container that ?container names; without the parameter, the workload's only main container. Returns its
 * index in k->target->container, or ERR_INVALID with the answer made. */
int container_asked(struct ask *k);

/* Read ?limit, from 1 to `most`; without the parameter *ret is `standard`. Returns 0, or ERR_INVALID with the answer
 * made. */
int limit_asked(struct ask *k, long standard, long most, long *ret);
/* Read ?offset (0 where it is not given), or whether ?output is csv. Both return 0, or ERR_INVALID with the answer
 * made. */
int offset_asked(struct ask *k, long *ret);
int csv_asked(struct ask *k, bool *ret);

/* Read ?resource. Returns 0, or ERR_INVALID with the answer made. */
int resource_asked(struct ask *k, enum resource *ret);

/* Check that the workload is known and that the halflife that learns can be asked. Returns 0, or ERR_INVALID with the
 * answer made. */
int learned_asked(struct ask *k);
/* The learned usage of the container of this name; NULL: nothing was learned of it. */
const struct usage *learned_of(const struct ask *k, const char *container);

/* The requested workload, with its containers and their originals, as the input of deploy_answer. Texts and arrays are
 * in the arena or the view; the container array has room for one container more. */
struct deploy_subject subject_of(const struct ask *k);

#endif
