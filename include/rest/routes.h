/*
 * The REST doors under /api/v1, as pure functions: a request and a view in, an answer out. Sockets, TLS, threads and
 * who may ask are the server's business (http/server.h), so everything here is tested without a socket.
 *
 *   GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}             the recommendation, and what to deploy with;
 *                                                                    ?container, original=cpu:2,memory:4Gi, labels
 *   GET  /api/v1/namespaces/{ns}/workloads                           a page; ?labelSelector, state, limit, continue,
 *                                                                    fields
 *   GET  /api/v1/workloads                                           the same of all namespaces
 *   GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}/histogram   ?resource, container
 *   GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}/history     what was learned, bit by bit
 *   GET  /api/v1/namespaces/{ns}/workloads/{kind}/{name}/explain     ?container, resource, percentile, halfLife,
 *                                                                    multiplier
 *   POST /api/v1/namespaces/{ns}/render                              manifests in, manifests out; ?dryRun
 *   GET  /openapi.yaml                                               all of this, in full (src/rest/openapi.yaml)
 *
 * {kind} is what kubectl takes ("deploy", "deployments.apps", "Deployment"), kinds of others with their group
 * ("widgets.example.com"). HEAD is as GET; whoever sends the answer leaves the body out. Every answer of 200 has a
 * strong ETag, and If-None-Match makes it a 304. Errors are problem details (RFC 9457, application/problem+json) whose
 * type is one of the closed list of enum problem. A parameter that a door does not know, or one given twice, is an
 * error that names it.
 *
 * A page goes by key: `continue` is the last key looked at, so what is there throughout is neither skipped nor
 * repeated. Cost is bounded, so with a selector a page may be short, even empty, and still have a `continue`.
 */
#ifndef HALFLIFE_REST_ROUTES_H
#define HALFLIFE_REST_ROUTES_H

#include "base/buf.h"
#include "base/err.h"
#include "snapshot/learned_copy.h"
#include "snapshot/snapshot.h"

enum problem {
        PROBLEM_NOT_FOUND,          /* 404 no such path, or nothing known by that name */
        PROBLEM_METHOD_NOT_ALLOWED, /* 405, with Allow */
        PROBLEM_INVALID_PARAMETER,  /* 400 names the parameter and the cure */
        PROBLEM_INVALID_BODY,       /* 400 line, column and reason */
        PROBLEM_UNSUPPORTED_TYPE,   /* 415 */
        PROBLEM_TOO_LARGE,          /* 413 */
        PROBLEM_UNAUTHENTICATED,    /* 401, with WWW-Authenticate */
        PROBLEM_FORBIDDEN,          /* 403: the same whether the object is there or not */
        PROBLEM_EXPIRED,            /* 410 a continue token that cannot be read */
        PROBLEM_OVERLOADED,         /* 503, with Retry-After */
        PROBLEM_UNAVAILABLE,        /* 503, with Retry-After: what only the learner knows, and it cannot be asked; or
                                       who is asking */
        PROBLEM_TIMEOUT,            /* 408 */
        PROBLEMS
};
/* "https://halflife.dev/problems/not-found", …: stable. */
const char *problem_type(enum problem p);

enum route_name {
        ROUTE_WORKLOAD,
        ROUTE_LIST,
        ROUTE_HISTOGRAM,
        ROUTE_HISTORY,
        ROUTE_EXPLAIN,
        ROUTE_RENDER,
        ROUTE_OPENAPI,
        ROUTES
};

/* A request cut down to what doors look at. Texts are not NUL-terminated and are as they came (percent-encoded). */
struct request {
        struct text method, path, query; /* query without its '?' */
        struct text content_type, if_none_match;
        struct text body;
        struct wall at; /* when it came */
};

/* What matched: which door, what it wants, and what the caller must be allowed for it. */
struct route {
        enum route_name name;
        const char *verb;            /* "get" or "list" on recommendations.halflife.dev; NULL: anybody */
        char ns[64];                 /* "" : all namespaces */
        const char *group;           /* of the kind, "" is core; constants, in the arena or in the view */
        const char *kind, *workload; /* as group; NULL where the door has none */
        const char *recommendation;  /* its name for the access review, in the arena; NULL: none */
        bool wants_body;             /* render */
        bool wants_learned; /* histogram, history and explain: the learner's copies of this workload's containers */
        bool dry_run;       /* of render */
        const struct query *query; /* its parameters, in the arena */
};

struct answer_header {
        const char *name, *value; /* constants or in the arena */
};
enum { ANSWER_HEADERS = 12 };
/* {0} to begin with. */
struct answer {
        unsigned status;
        const char *type; /* media type */
        struct buf body;  /* released by the caller */
        struct answer_header header[ANSWER_HEADERS];
        int headers;
};
void answer_header(struct answer *a, const char *name, const char *value);
/* A strong ETag of what the body holds; 304 without a body where the caller has it. */
void answer_tag(struct answer *a, struct text if_none_match, struct arena *arena);
/* One problem as the whole answer, whatever stood there before. detail says what, why and what to do; what is no UTF-8
 * in it becomes '?'. */
void answer_problem(struct answer *a, enum problem p, const char *detail_fmt, ...)
        __attribute__((format(printf, 3, 4)));

/*
 * 0, or ERR_INVALID and *ret_answer is a problem (404, 405, 400). v, which may be NULL, only tells how a kind is
 * spelled that is in no table of ours; the same view goes to route_answer. Texts of r need not outlive the call.
 */
int route_match(const struct request *r, const struct snapshot *v, struct arena *a, struct route *ret,
                struct answer *ret_answer);

/*
 * Answer from the view and, for doors with wants_learned, from the copies: learned NULL says that the learner cannot be
 * asked (503), no copies that nothing was learned. ROUTE_RENDER is not answered here (asserted) but by route_render,
 * because it has a thread of its own. While the API server is away the answer says so by Warning and Age.
 */
void route_answer(const struct route *route, const struct request *r, const struct snapshot *v,
                  const struct learned_copy *learned, size_t copies, struct arena *a, struct answer *ret);

/*
 * POST …/render by deploy/render.h: the manifests in the type that they came in or, with ?dryRun, its report. Takes
 * application/yaml, application/x-yaml, text/yaml, text/plain, application/json, and what tells no type. Headers:
 * X-Halflife-Changed and X-Halflife-Left count objects, X-Halflife-Reason lists, where something was left, why.
 */
void route_render(const struct route *route, const struct request *r, const struct snapshot *v, struct arena *a,
                  struct answer *ret);

#endif
