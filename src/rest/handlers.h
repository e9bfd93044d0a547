/*
 * What the doors share: a question with all that goes with it, and the ways to answer.
 */
#ifndef HALFLIFE_REST_HANDLERS_H
#define HALFLIFE_REST_HANDLERS_H

#include "deploy/deploy.h"
#include "objects/json_writer.h"
#include "query.h"
#include "rest/routes.h"

struct ask {
        const struct route *route;
        const struct query *query;
        const struct snapshot *v;
        const struct snapshot_target *target; /* NULL: unknown, or the door has none */
        const struct learned_copy *learned;
        size_t copies;
        struct arena *a;
        struct answer *ret;
};

/* 200 with JSON to come. */
struct writer answer_begin(struct answer *a);
/* 400 that names a parameter (also a part of the path). Returns ERR_INVALID. */
int answer_bad_parameter(struct answer *a, const char *parameter, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* Whether what is told is of before the API server was away. */
void answer_age(const struct snapshot *v, struct wall now, struct arena *a, struct answer *ret);

/* One row each for enum route_name, but render. */
void answer_workload(struct ask *k);
void answer_list(struct ask *k);
void answer_histogram(struct ask *k);
void answer_history(struct ask *k);
void answer_explain(struct ask *k);
void answer_openapi(struct ask *k);

/* --- parts --- */

/* "metadata" of what is asked for; its target may be unknown. */
void write_metadata(struct writer *w, const struct ask *k);
/* metadata, profile and status of a target, as members. Only the container of this name; NULL: all. */
void write_target(struct writer *w, const struct snapshot_target *t, const struct text *container);

void write_profile(struct writer *w, const struct snapshot_profile *p); /* NULL: nothing */
/* 404 for a workload that the view has not. */
void answer_not_known(struct ask *k);

/* The container that ?container names, else the only main one: its place, or ERR_INVALID with the answer made. */
int container_asked(struct ask *k);

/* ?resource. 0, or ERR_INVALID with the answer made. */
int resource_asked(struct ask *k, enum resource *ret);

/* Whether what only the learner knows can be told: 0, or ERR_INVALID with the answer made. */
int learned_asked(struct ask *k);
/* NULL: nothing was learned of it. */
const struct usage *learned_of(const struct ask *k, const char *container);

/* What the containers of a known workload deploy with. Everything in the arena or the view. */
struct deploy_subject subject_of(const struct ask *k);

#endif
