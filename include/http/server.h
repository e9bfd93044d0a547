/*
 * halflife's HTTP server. It answers from an immutable view that the controller publishes once a cycle.
 *
 * On options.listen, without TLS and open to every caller, for kubelet and Prometheus:
 *
 *   GET /healthz   200 "ok" while the loop turned within 3 intervals; else 503 with the seconds since the last turn
 *   GET /readyz    200 from the first sync of the caches on; before that 503 with what is missing
 *   GET /metrics   Prometheus' text format, as of the last cycle
 *
 * On options.rest, the paths of rest/routes.h and /admission. One thread handles connections, reads and admission. Slow
 * work has threads of its own, so that it delays no other request: one renders, one makes lists, one reads large
 * AdmissionReviews, each in turn by client (turns.h). TLS is 1.2 or newer. A caller shows a bearer token, and the API
 * server decides the caller's permissions. For answers that only the loop has, the server calls the functions of
 * server_calls; the connection waits.
 *
 * Admission is open to every caller that knows its path, because API servers show no credentials by default. The path
 * is /admission until server_set_admission_paths; any other gets 404 before a body is read. A review changes nothing in
 * halflife and costs a bounded look-up. It reveals what SECURITY.md says, which REST tells only with a permission.
 *
 * Limits:
 *   - a body: 16 MiB for render, 3 MiB for admission, none for a GET;
 *   - bodies and unread answers at once: 128 MiB, a quarter of it for one caller, and 64 MiB more for reviews, half
 *     of it for one address; less than 64 KiB each does not count;
 *   - request line and headers: 16 KiB;
 *   - a request is complete within 10 s; a connection idle for 60 s is closed;
 *   - with all connections taken, a new one displaces one of the address that has the most, idle ones first;
 *   - 64 requests wait for each of the other threads, and a client has as many of them as it leaves to others; with
 *     no place left, a client that has none displaces the newest request of the client that has most.
 *
 * A request over a limit gets 408, 413, 414, 431 or 503. MHD itself answers 414, 431 and, to bytes that are not HTTP,
 * 400 or 505: with a line of HTML and no problem details.
 */
#ifndef HALFLIFE_HTTP_SERVER_H
#define HALFLIFE_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "deploy/admission_review.h"
#include "http/admission_paths.h"
#include "ledger/ledger_report.h"
#include "snapshot/learned_copy.h"
#include "snapshot/node_table.h"
#include "snapshot/percentile_table.h"
#include "snapshot/snapshot.h"

/* The key of an access question to the API server: a digest of token, resource, verb, namespace and name. */
struct auth_key {
        uint8_t byte[32];
};
/* May the token's owner do verb on the resource, such as "nodes" or "recommendations.halflife.dev"? */
struct server_question {
        struct auth_key key;
        const char *token;
        const char *resource, *verb, *ns, *name; /* ns "": all namespaces; name "": every object */
};
enum server_verdict {
        SERVER_ALLOWS,
        SERVER_KNOWS_NOT, /* the API server does not accept the token */
        SERVER_FORBIDS,
        SERVER_BUSY,        /* the question was never sent, because too many wait */
        SERVER_CANNOT_TELL, /* the API server cannot be reached, or refuses the question */
};

/* A request needs the learned histories of one workload. */
struct server_usage_request {
        uint64_t ticket;
        const char *ns, *group, *kind, *name;
};

/* A request that a replica forwards to the halflife that learns, with the caller's own token. */
struct server_proxy_request {
        uint64_t ticket;
        const char *token, *path_query; /* as the caller sent them */
};
/* The answer of the halflife that learns. */
struct server_relayed {
        unsigned status;  /* 0: the halflife that learns could not be asked */
        const char *type; /* the body's media type */
        struct text body; /* with status 0: the reason, as text */
};

/* A review of a pod needs the owners above the pod's controller, see admission_wants_owner. */
struct server_owner_lookup {
        uint64_t ticket;
        const char *address;                        /* the client's, without its port */
        const char *ns, *api_version, *kind, *name; /* the pod's controller */
};

/*
 * What the loop does for REST and admission. The server's threads call these functions, so they only copy the
 * arguments, whose texts live until they return. An answer later than 10 s is dropped.
 */
struct server_calls {
        /* Ask the API server; server_reviewed takes the answer. */
        void (*review)(void *arg, const struct server_question *q);
        /* The question need not be answered any more. May be NULL. */
        void (*withdraw)(void *arg, const struct auth_key *k);
        /* Copy what was learned; server_recalled takes the copies. NULL: this halflife does not learn. */
        void (*recall)(void *arg, const struct server_usage_request *w);
        /* Make or share a table of the nodes; server_listed_nodes takes a reference. NULL if recall is NULL. */
        void (*list_nodes)(void *arg, uint64_t ticket);
        /* The same of other percentiles; server_tried_percentiles takes a reference. NULL if recall is NULL. */
        void (*try_percentiles)(void *arg, uint64_t ticket);
        /* Make a report of the ledger; server_reported takes it. NULL if recall is NULL. */
        void (*read_ledger)(void *arg, uint64_t ticket, const struct ledger_ask *ask);
        /* In place of recall on a replica: forward the request; server_relayed takes the answer. NULL: not a replica.
         */
        void (*relay)(void *arg, const struct server_proxy_request *e);
        /* Find a pod's owner; server_found_owner takes it, within 1 s. NULL: owners are not looked up. */
        void (*find_owner)(void *arg, const struct server_owner_lookup *k);
        /* Count an answered admission. May be NULL. */
        void (*admitted)(void *arg, enum admission_result r);
        /* The certificate files hold a pair that cannot be used. Called once for each such pair; the old pair stays. */
        void (*trouble)(void *arg, const struct err *why);
        /* A new pair was read from the certificate files. May be NULL. */
        void (*renewed)(void *arg, const char *cert_file);
        void *arg;
};

struct rest_listener_options {
        const char *listen;               /* "127.0.0.1:8443", ":8443"; NULL: REST and admission are not served */
        bool tls;                         /* false: listen must be a loopback address */
        const char *cert_file, *key_file; /* PEM, checked each second; NULL: server_set_certificate sets the pair */
        int connections_max;              /* 0: 1024 */
        int connections_per_address;      /* 0: half of connections_max */
        int64_t request_ms, idle_ms;      /* time limits of a request and an idle connection; 0: 10 s, 60 s */
        size_t bodies_max;                /* bytes of bodies and answers at once, without admission; 0: 128 MiB */
        bool admission;                   /* whether admission is served */
        struct server_calls calls;
};

struct server_options {
        const char *listen;  /* "127.0.0.1:8080", ":8080", "[::1]:0"; NULL: only REST and admission */
        int64_t interval_ms; /* the interval of cycles, for /healthz */
        int connections_max; /* beyond it, a new one displaces one of the address that has the most */
        struct rest_listener_options rest;
};
struct server;
struct snapshot_ref;
/* Start the server. The caller keeps the texts of o alive until server_stop. */
int server_start(const struct server_options *o, struct server **ret, struct err *err);
const char *server_address(const struct server *s);        /* the bound address, "127.0.0.1:41234"; "": none */
const char *server_rest_address(const struct server *s);   /* the same of REST; "": REST is not served */
void server_publish(struct server *s, struct snapshot *v); /* takes over one reference */
struct snapshot_ref *server_views(struct server *s);       /* for another listener, until server_stop */
void server_turned(struct server *s, struct mono at);      /* the loop turned: an atomic store */
void server_set_interval(struct server *s, int64_t interval_ms);
/* Set the pair that new handshakes get; existing connections keep theirs. Any thread. ERR_INVALID: the old pair stays.
 */
int server_set_certificate(struct server *s, const char *cert_pem, const char *key_pem, struct err *err);
/* Set halflife's own user name, whose writes admission leaves unchanged. Any thread; copied. Before the first call,
 * admission treats halflife's writes as any other's. */
void server_set_own_user(struct server *s, const char *user);
/* Set the paths at which admission is served. Any thread; copied. */
void server_set_admission_paths(struct server *s, const struct admission_paths *p);
/* Answers to server_calls. Any thread may call them, also after the request that asked has ended. The server takes
 * ownership of copies, one block (mem_free) that includes the names; NULL: nothing was learned of the workload. */
void server_reviewed(struct server *s, const struct auth_key *k, enum server_verdict v);
void server_recalled(struct server *s, uint64_t ticket, struct learned_copy *copies, size_t count);
void server_relayed(struct server *s, uint64_t ticket, const struct server_relayed *r); /* copied */
void server_listed_nodes(struct server *s, uint64_t ticket, struct node_table *t);      /* takes over one reference */
void server_tried_percentiles(struct server *s, uint64_t ticket, struct percentile_table *t); /* likewise */
/* The server takes ownership of the report; NULL: it cannot be made now. */
void server_reported(struct server *s, uint64_t ticket, struct ledger_report *r);
/* The server takes ownership of owner, one block with all that it points to (mem_free); NULL: not found. */
void server_found_owner(struct server *s, uint64_t ticket, struct admission_owner *owner);
/* Counts since the start. */
struct server_counts {
        uint64_t answers[6]; /* by the first digit of the status */
        uint64_t shed;       /* answers 503 because of overload, and connections closed for new ones */
        uint64_t late;       /* requests that were not complete in time */
        uint64_t astray;     /* POST requests for a path that does not exist, with admission served */
        uint64_t reviews;    /* access questions asked of the API server */
        int64_t connections; /* connections open now */
};
struct server_counts server_counts(const struct server *s);
void server_stop(struct server *s);

#endif
