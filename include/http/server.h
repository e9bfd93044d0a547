/*
 * halflife's HTTP server. It answers from an immutable view that the controller publishes once a cycle.
 *
 * On options.listen, without TLS and open to every caller, for kubelet and Prometheus:
 *
 *   GET /healthz   200 "ok" while the loop turned within 3 intervals; else 503 with the seconds since the last turn
 *   GET /readyz    200 from the first sync of the caches on; before that 503 with the caches not synced yet
 *   GET /metrics   Prometheus' text format, as of the last cycle
 *
 * On options.rest, the paths of rest/routes.h and /admission. One thread handles connections, reads and admission. Slow
 * work has threads of its own, so that it delays no other request: one thread renders manifests, one makes lists, one
 * reads large AdmissionReviews; each thread takes clients in turn (turns.h). TLS is 1.2 or newer. A caller shows a
 * bearer token, and the API server decides the caller's permissions. For answers that only the loop has, the server
 * calls the functions of server_calls; the connection waits.
 *
 * Admission is open to every caller that knows its path, because API servers show no credentials by default. The path
 * is /admission until server_set_admission_paths; any other path gets 404 before a body is read. An AdmissionReview
 * changes nothing in halflife and costs at most a bounded owner lookup. Its answer reveals the facts that SECURITY.md
 * lists, which REST tells only to callers with a permission.
 *
 * Limits:
 *   - a body: 16 MiB for render, 3 MiB for admission, none for a GET;
 *   - bodies and unread answers at once: 128 MiB, a quarter of it for one caller, and 64 MiB more for reviews, half
 *     of it for one address; a body or answer of at most 64 KiB does not count;
 *   - request line and headers: 16 KiB;
 *   - a request is complete within 10 s; a connection idle for 60 s is closed;
 *   - with all connections taken, a new one displaces a connection of the client address that has most, idle ones
 *     first;
 *   - at most 64 requests wait for each of the other threads; a client may add one while it has fewer waiting than
 *     places are free; with no place left, a client without any displaces the newest request of the client that has
 *     most.
 *
 * A request over a limit gets 408, 413, 414, 431 or 503. libmicrohttpd (MHD) itself answers 414, 431 and, to bytes that
 * are not HTTP, 400 or 505; such an answer has a line of HTML and no problem details.
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
/* A question to the API server: may the token's owner do `verb` on `resource`, such as "nodes" or
 * "recommendations.halflife.dev"? */
struct server_question {
        struct auth_key key;
        const char *token;
        const char *resource, *verb, *ns, *name; /* ns "": all namespaces; name "": every object */
};
enum server_verdict {
        SERVER_ALLOWS,
        SERVER_KNOWS_NOT, /* the API server does not accept the token */
        SERVER_FORBIDS,
        SERVER_BUSY,        /* halflife never sent the question, because too many questions wait */
        SERVER_CANNOT_TELL, /* the API server cannot be reached, or rejects the question */
};

/* What a REST request asks of the loop: the learned histories of one workload. */
struct server_usage_request {
        uint64_t ticket;
        const char *ns, *group, *kind, *name;
};

/* An HTTP request that a replica forwards to the halflife that learns, with the caller's own token. */
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

/* What the admission of a pod asks of the loop: the owners above the pod's controller, see admission_wants_owner. */
struct server_owner_lookup {
        uint64_t ticket;
        const char *address;                        /* the client's address, without its port */
        const char *ns, *api_version, *kind, *name; /* the pod's controller */
};

/*
 * What the loop does for REST and admission. The server's threads call these functions. So each function only copies
 * its arguments, whose texts live until it returns, and lets the loop do the work. The server drops an answer that
 * comes later than 10 s.
 */
struct server_calls {
        /* Ask the API server question q; the loop gives the answer to server_reviewed. */
        void (*review)(void *arg, const struct server_question *q);
        /* Withdraw the question with key k, because no request waits for its answer any more. The function may be
         * NULL. */
        void (*withdraw)(void *arg, const struct auth_key *k);
        /* Copy the histories that w asks for; server_recalled takes the copies. NULL: this halflife does not learn. */
        void (*recall)(void *arg, const struct server_usage_request *w);
        /* Make or share a table of the nodes; server_listed_nodes takes a reference. NULL if recall is NULL. */
        void (*list_nodes)(void *arg, uint64_t ticket);
        /* Make or share a table of what other percentiles would recommend; server_tried_percentiles takes a reference.
         * NULL if recall is NULL. */
        void (*try_percentiles)(void *arg, uint64_t ticket);
        /* Make a report of the ledger; server_reported takes the report. NULL if recall is NULL. */
        void (*read_ledger)(void *arg, uint64_t ticket, const struct ledger_ask *ask);
        /* In place of recall on a replica: forward the request; server_relayed takes the answer. NULL: not a replica.
         */
        void (*relay)(void *arg, const struct server_proxy_request *e);
        /* Find a pod's owner within 1 s; server_found_owner takes the owner. NULL: owners are not looked up. */
        void (*find_owner)(void *arg, const struct server_owner_lookup *k);
        /* Count an answered AdmissionReview by its result. The function may be NULL. */
        void (*admitted)(void *arg, enum admission_result r);
        /* The certificate files hold a pair (certificate and key) that cannot be used. Called once for each such pair;
         * the old pair stays. */
        void (*trouble)(void *arg, const struct err *why);
        /* A new pair was read from the certificate files. The function may be NULL. */
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
        int connections_max; /* beyond it, a new connection displaces one of the address with most */
        struct rest_listener_options rest;
};
struct server;
struct snapshot_ref;
/* Start the server. The caller keeps the texts of o alive until server_stop. */
int server_start(const struct server_options *o, struct server **ret, struct err *err);
const char *server_address(const struct server *s);        /* the bound address, "127.0.0.1:41234"; "": none */
const char *server_rest_address(const struct server *s);   /* REST's bound address; "": REST is not served */
void server_publish(struct server *s, struct snapshot *v); /* takes over one reference */
struct snapshot_ref *server_views(struct server *s);       /* for another listener, until server_stop */
void server_turned(struct server *s, struct mono at); /* the controller's loop turned at `at`; cheap, an atomic store */
void server_set_interval(struct server *s, int64_t interval_ms);
/* Set the pair (certificate and key) for new TLS handshakes; existing connections keep their pair. Any thread may call
 * it. ERR_INVALID: the new pair is unusable, and the old pair stays. */
int server_set_certificate(struct server *s, const char *cert_pem, const char *key_pem, struct err *err);
/* Set halflife's own user name, whose writes admission leaves unchanged. Any thread may call it; the name is copied.
 * Before the first call, admission treats halflife's writes like anybody's. */
void server_set_own_user(struct server *s, const char *user);
/* Set the paths at which admission is served. Any thread may call it; *p is copied. */
void server_set_admission_paths(struct server *s, const struct admission_paths *p);
/* These functions take the answers to server_calls. Any thread may call them, also after the HTTP request that asked
 * has ended. The server takes ownership of `copies`, one block (mem_free) that includes the names; NULL: nothing was
 * learned of the workload. */
void server_reviewed(struct server *s, const struct auth_key *k, enum server_verdict v);
void server_recalled(struct server *s, uint64_t ticket, struct learned_copy *copies, size_t count);
void server_relayed(struct server *s, uint64_t ticket, const struct server_relayed *r); /* copied */
void server_listed_nodes(struct server *s, uint64_t ticket, struct node_table *t);      /* takes over one reference */
void server_tried_percentiles(struct server *s, uint64_t ticket, struct percentile_table *t); /* takes one reference */
/* The server takes ownership of the report; NULL: the report cannot be made now. */
void server_reported(struct server *s, uint64_t ticket, struct ledger_report *r);
/* The server takes ownership of `owner`, one block (mem_free) with all that it points to; NULL: no owner was found. */
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
