/*
 * The REST API under /api/v1, as pure functions: they take a request and a view (the snapshot of a pass), and return an
 * answer. Sockets, TLS, threads and authorization are the server's (http/server.h), so tests need no socket.
 *
 * The paths are the rows of the table in src/rest/routes.c; src/rest/openapi.yaml describes each with its parameters.
 *
 * The path segment {kind} is any name of a kind that kubectl takes ("deploy", "deployments.apps", "Deployment"). A kind
 * that is not built into Kubernetes needs its group ("widgets.example.com"). HEAD is answered like GET, and the server
 * drops the body.
 *
 * Every answer with status 200 has a strong ETag; a matching If-None-Match turns the answer into a 304. Errors are
 * problem details (RFC 9457, application/problem+json), whose type is one of the closed list of enum problem. A
 * parameter that is unknown to the endpoint, or given twice, is an error that names the parameter.
 *
 * `continue`, in the answer and as parameter, names the last workload that a page looked at, and the next page starts
 * after it. So a workload that exists all the time is neither skipped nor repeated. The work for a page is bounded:
 * where a selector matches few workloads, a page may be short or empty and still have a `continue`. With `sort` or
 * `offset` all workloads are read, and the answer has the number of those selected, `total`, in place of `continue`.
 */
#ifndef HALFLIFE_REST_ROUTES_H
#define HALFLIFE_REST_ROUTES_H

#include "base/buf.h"
#include "base/err.h"
#include "ledger/ledger_report.h"
#include "snapshot/learned_copy.h"
#include "snapshot/node_table.h"
#include "snapshot/percentile_table.h"
#include "snapshot/snapshot.h"

enum problem {
        PROBLEM_NOT_FOUND,          /* 404: the path does not exist, or no workload is known by that name */
        PROBLEM_METHOD_NOT_ALLOWED, /* 405, with the header Allow */
        PROBLEM_INVALID_PARAMETER,  /* 400; the detail names the parameter and the remedy */
        PROBLEM_INVALID_HEADER,     /* 400; the detail names the header and the remedy */
        PROBLEM_INVALID_BODY,       /* 400; the detail has line, column and reason */
        PROBLEM_UNSUPPORTED_TYPE,   /* 415 */
        PROBLEM_TOO_LARGE,          /* 413 */
        PROBLEM_UNAUTHENTICATED,    /* 401, with WWW-Authenticate */
        PROBLEM_FORBIDDEN,          /* 403; this answer does not tell whether the object exists */
        PROBLEM_EXPIRED,            /* 410: the continue token cannot be read */
        PROBLEM_SHARE_USED,         /* 429, with Retry-After: the caller's requests hold its share of the memory */
        PROBLEM_OVERLOADED,         /* 503, with Retry-After */
        PROBLEM_UNAVAILABLE,        /* 503, with Retry-After: the halflife that learns, or the API server that checks
                                       the token, cannot be asked now */
        PROBLEM_TIMEOUT,            /* 408 */
        PROBLEMS
};
/* "https://halflife.dev/problems/not-found", …; these URIs never change. */
const char *problem_type(enum problem p);

enum route_name {
        ROUTE_WORKLOAD,
        ROUTE_LIST,
        ROUTE_SUMMARY,
        ROUTE_PROFILES,
        ROUTE_NODES,
        ROUTE_REPORT,
        ROUTE_DAYS,
        ROUTE_CHANGES,
        ROUTE_WHAT_IF,
        ROUTE_HISTOGRAM,
        ROUTE_HISTORY,
        ROUTE_EXPLAIN,
        ROUTE_RENDER,
        ROUTE_OPENAPI,
        ROUTE_PAGE,
        ROUTES
};

/* The parts of an HTTP request that endpoints read. Texts are not NUL-terminated, and still percent-encoded. */
struct request {
        struct text method, path, query; /* query without its '?' */
        struct text content_type, if_none_match;
        struct text body;
        struct wall at; /* when the request came */
};

/* The endpoint that matches a request, the data it needs, and the permission that the caller needs. */
struct route {
        enum route_name name;
        const struct endpoint *endpoint; /* the endpoint's row in the table of routes.c */
        const char *verb;  /* "get" or "list": the permission that the caller needs on recommendations.halflife.dev, for
                              ROUTE_NODES on nodes; NULL: none, open to everybody */
        char ns[64];       /* "": all namespaces. ROUTE_NODES: the namespace whose workloads the answer may name */
        const char *group; /* the kind's API group; "": core. A constant, in the arena or the view */
        const char *kind, *workload; /* stored like `group`; NULL: the path names no workload */
        const char *file;            /* a file of the web page, percent-encoded, stored like `group`; NULL: the page */
        const char *recommendation;  /* the Recommendation's name for the access review, in the arena; NULL: none */
        bool wants_body;             /* the endpoint reads the request's body */
        bool wants_learned;          /* the endpoint reads learned copies of the workload's containers */
        bool wants_worker;           /* the answer is long, so the worker thread for lists makes it */
        bool only_known; /* ROUTE_WORKLOAD: leave out the requests to deploy with, which the view cannot tell */
        bool dry_run;    /* render only: ?dryRun was given */
        const struct query *query;       /* the parameters, in the arena */
        const struct ledger_ask *ledger; /* ROUTE_REPORT, ROUTE_DAYS: what to read, in the arena; else NULL */
};

struct answer_header {
        const char *name, *value; /* constants or in the arena */
};
enum { ANSWER_HEADERS = 12 };
/* Begin with {0}. */
struct answer {
        unsigned status;
        const char *type; /* media type */
        struct buf body;  /* released by the caller */
        struct answer_header header[ANSWER_HEADERS];
        int headers;
};
void answer_header(struct answer *a, const char *name, const char *value);
/* Add a strong ETag, a digest of the body. Where `if_none_match`, the caller's header, lists the tag, the answer
 * becomes a 304 without a body. */
void answer_tag(struct answer *a, struct text if_none_match, struct arena *arena);
/* Make the problem p the whole answer, and discard what the answer held before. The detail states what is wrong, why,
 * and what to do. Bytes of the detail that are not UTF-8 become '?'. */
void answer_problem(struct answer *a, enum problem p, const char *detail_fmt, ...)
        __attribute__((format(printf, 3, 4)));

/*
 * Find the endpoint of a request. Returns 0, or ERR_INVALID with a problem (404, 405, 400) in *ret_answer. The view v
 * supplies only the spelling of kinds that core/kind.h does not list, and may be NULL. Pass the same view to
 * route_answer. The texts of r need not outlive the call.
 */
int route_match(const struct request *r, const struct snapshot *v, struct arena *a, struct route *ret,
                struct answer *ret_answer);

/*
 * Answer from the view and, for endpoints with wants_learned, from the copies `learned`. `learned` NULL means that the
 * halflife that learns cannot be asked (503); `copies` 0 means that nothing was learned. The route must be none of
 * ROUTE_RENDER, ROUTE_NODES, ROUTE_WHAT_IF, ROUTE_REPORT and ROUTE_DAYS (asserted), which the functions below answer.
 * While the API server or its metrics cannot be asked, the headers Warning and Age state how old the answer's data is.
 */
void route_answer(const struct route *route, const struct request *r, const struct snapshot *v,
                  const struct learned_copy *learned, size_t copies, struct arena *a, struct answer *ret);

/*
 * Answer GET nodes from the table of nodes. `names`: the caller may list the Recommendations of route->ns, so the
 * answer may name the workloads of that namespace. `nodes` NULL: the halflife that learns cannot be asked (503). The
 * view v only tells how old the data is.
 */
void route_nodes(const struct route *route, const struct request *r, const struct snapshot *v,
                 const struct node_table *nodes, bool names, struct arena *a, struct answer *ret);

/* Answer GET what-if from the table of percentiles; the first answer from a table also makes its sums. `percentiles`
 * NULL: the halflife that learns cannot be asked (503). */
void route_what_if(const struct route *route, const struct request *r, const struct snapshot *v,
                   struct percentile_table *percentiles, struct arena *a, struct answer *ret);

/*
 * Answer GET report from a report of the ledger that was made as route->ledger says. `report` NULL: no report can be
 * made now (503). The rows of the report are sorted into the order of the answer.
 */
void route_report(const struct route *route, const struct request *r, const struct snapshot *v,
                  struct ledger_report *report, struct arena *a, struct answer *ret);

/* Answer GET days, a workload's usage day by day, from a report of the ledger. `report` NULL: no report can be made now
 * (503). */
void route_days(const struct route *route, const struct request *r, const struct snapshot *v,
                const struct ledger_report *report, struct arena *a, struct answer *ret);

/*
 * Answer POST …/render by deploy/render.h: the changed manifests in the media type of the request or, with ?dryRun,
 * what would change, as JSON. The request's type is application/yaml, application/x-yaml, text/yaml, text/plain or
 * application/json; a request without a type is read as YAML. The headers X-Halflife-Changed and X-Halflife-Left count
 * the objects changed and the objects left as they were; X-Halflife-Reason lists the reasons why objects were left.
 */
void route_render(const struct route *route, const struct request *r, const struct snapshot *v, struct arena *a,
                  struct answer *ret);

#endif
