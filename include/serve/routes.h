/*
 * The REST doors under /api/v1, as pure functions: a request and a view in, an answer out. Sockets, TLS, threads and
 * who may ask are the server's business (serve/server.h), so everything here is tested without a socket.
 *
 *   GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}             the recommendation; ?container=,
 * ?original=cpu:2,memory:4Gi GET  /api/v1/namespaces/{ns}/workloads                           a page; ?labelSelector,
 * state, limit, continue, fields GET  /api/v1/workloads                                           the same of all
 * namespaces GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}/histogram   ?resource=cpu&container= GET
 * /api/v1/namespaces/{ns}/workloads/{kind}/{name}/explain     ?percentile=90&halfLife=48h&multiplier=1.2 POST
 * /api/v1/namespaces/{ns}/render                              manifests in, manifests out; ?dryRun GET  /openapi.yaml
 *
 * Errors are problem details (RFC 9457, application/problem+json) whose type is one of the closed list of enum problem.
 */
#ifndef HALFLIFE_SERVE_ROUTES_H
#define HALFLIFE_SERVE_ROUTES_H

#include "base/buf.h"
#include "base/err.h"
#include "core/usage.h"
#include "serve/view.h"

enum problem {
        PROBLEM_NOT_FOUND,          /* 404 no such path, or nothing known by that name */
        PROBLEM_METHOD_NOT_ALLOWED, /* 405, with Allow */
        PROBLEM_INVALID_PARAMETER,  /* 400 names the parameter and the cure */
        PROBLEM_INVALID_BODY,       /* 400 line, column and reason */
        PROBLEM_UNSUPPORTED_TYPE,   /* 415 */
        PROBLEM_TOO_LARGE,          /* 413 */
        PROBLEM_UNAUTHENTICATED,    /* 401 */
        PROBLEM_FORBIDDEN,          /* 403: the same whether the object is there or not */
        PROBLEM_EXPIRED,            /* 410 a continue token that cannot be read */
        PROBLEM_OVERLOADED,         /* 503, with Retry-After */
        PROBLEM_UNAVAILABLE,        /* 503: what only the learner knows, and it cannot be asked; or who is asking */
        PROBLEM_TIMEOUT,            /* 408 */
        PROBLEMS
};

enum route_name { ROUTE_WORKLOAD, ROUTE_LIST, ROUTE_HISTOGRAM, ROUTE_EXPLAIN, ROUTE_RENDER, ROUTE_OPENAPI, ROUTES };

/* A request cut down to what doors look at. Texts are not NUL-terminated and are as they came (percent-encoded). */
struct request {
        struct text method, path, query;
        struct text content_type, if_none_match;
        struct text body;
};

/* What matched: which door, and what the caller must be allowed for it. */
struct route {
        enum route_name name;
        const char *verb;            /* "get" or "list" on recommendations.halflife.dev; NULL: anybody */
        char ns[64];                 /* "" : all namespaces */
        const char *group;           /* of the kind, "" is core; constants or in the arena */
        const char *kind, *workload; /* in the arena; NULL where the door has none */
        const char *recommendation;  /* its name for the access review; NULL: none */
};

struct answer_header {
        const char *name, *value; /* constants or in the arena */
};
enum { ANSWER_HEADERS = 12 };
struct answer {
        unsigned status;
        const char *type; /* media type */
        struct buf body;  /* released by the caller */
        struct answer_header header[ANSWER_HEADERS];
        int headers;
};
void answer_header(struct answer *a, const char *name, const char *value);
/* One problem as the whole answer. detail says what, why and what to do. */
void answer_problem(struct answer *a, enum problem p, const char *detail_fmt, ...)
        __attribute__((format(printf, 3, 4)));

/* 0, or *ret_answer is a problem (404, 405, 400). */
int route_match(const struct request *r, struct arena *a, struct route *ret, struct answer *ret_answer);

/* What only the learner's loop knows of one container: copied for one answer. */
struct learned_copy {
        const char *container;
        struct usage usage; /* its buckets are in room */
        double room[2 * HISTOGRAM_BUCKETS];
};

/* Answer from the view (and for histogram and explain from the copies, which may be NULL elsewhere). */
void route_answer(const struct route *route, const struct request *r, const struct view *v,
                  const struct learned_copy *learned, size_t copies, struct arena *a, struct answer *ret);

#endif
