/*
 * What the endpoints share: a request with the data that answers it, and the functions that write parts of answers.
 */
#ifndef HALFLIFE_REST_HANDLERS_H
#define HALFLIFE_REST_HANDLERS_H

#include "deploy/deploy_answer.h"
#include "objects/json_writer.h"
#include "query_parameters.h"
#include "rest/routes.h"

/* A request on its way to an endpoint. All is borrowed, and lives until the answer is made. */
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
/* Add the headers Warning and Age where the API server or its metrics cannot be asked, so that the view is old. */
void answer_age(const struct snapshot *v, struct wall now, struct arena *a, struct answer *ret);

/* The function of each endpoint that has one. */
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

/* Read what a report is asked of the ledger into ret->ledger; ret->ns must be set before. Returns 0, or ERR_INVALID
 * with the answer made. */
#define REPORT_CLUSTER "cluster" /* ?by of one row for all */
int report_asked(const struct query *q, struct arena *a, struct route *ret, struct answer *ret_answer);

/* The same of the days of the workload of ret. */
void days_asked(struct arena *a, struct route *ret);
/* Make the answer a 503: the ledger cannot be read. */
void answer_no_ledger(struct answer *ret);
/* The members cpu and memory of a sum of the ledger, and those of a sum's pods and events. */
void report_write_flows(struct writer *w, const struct ledger_sum *s, bool allocatable);
void report_write_events(struct writer *w, const struct ledger_sum *s);

/* --- parts --- */

/* The member "metadata" of the requested workload, which may be unknown. */
void write_metadata(struct writer *w, const struct ask *k);
/* The members metadata, profile and status of a target. container: only the container of this name; NULL: all. */
void write_target(struct writer *w, const struct snapshot_target *t, const struct text *container);

/* The first sample's time as "firstSample", and as "since": the former name, which the next API version drops. */
void write_first_sample(struct writer *w, int64_t ms);
void write_profile(struct writer *w, const struct snapshot_profile *p); /* NULL: nothing */
/* Make the answer a 404: the view does not have the workload. */
void answer_not_known(struct ask *k);

/* Find the container that ?container names; without the parameter, the workload's only main container. Returns its
 * index in k->target->container, or ERR_INVALID with the answer made. */
int container_asked(struct ask *k);

/* Read ?limit, 1 to most; standard where it is not given. Returns 0, or ERR_INVALID with the answer made. */
int limit_asked(struct ask *k, long standard, long most, long *ret);
/* Likewise ?offset, 0 where it is not given, and whether ?output is csv. */
int offset_asked(struct ask *k, long *ret);
int csv_asked(struct ask *k, bool *ret);

/* Read ?resource. Returns 0, or ERR_INVALID with the answer made. */
int resource_asked(struct ask *k, enum resource *ret);

/* Check that the workload is known and that the halflife that learns can be asked. Returns 0, or ERR_INVALID with the
 * answer made. */
int learned_asked(struct ask *k);
/* What was learned of a container; NULL: nothing. */
const struct usage *learned_of(const struct ask *k, const char *container);

/* The requested workload, with its containers and their originals, as the input of deploy_answer. Texts and arrays are
 * in the arena or the view; the container array has room for one more. */
struct deploy_subject subject_of(const struct ask *k);

#endif
