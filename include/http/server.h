/*
 * The HTTP server for whoever calls us, answering from an immutable view that the controller publishes once a cycle.
 *
 * For machines that look after us, plain and open to all, on options.listen:
 *
 *   GET /healthz   200 "ok" while the loop turned within 3 intervals, else 503 with since when
 *   GET /readyz    200 once the caches were synced and ever after, else 503 with what is missing
 *   GET /metrics   Prometheus' text, as of the last cycle
 *
 * REST and admission (options.rest): everything of rest/routes.h and /admission. One thread takes connections, reads
 * and admission; another one renders, a third makes lists, a fourth sees to large reviews, so that they delay nobody.
 * TLS 1.2 and newer; callers prove who they are by a bearer token, and the API server says what they may. What only the
 * loop can answer is asked by the functions of server_calls, while the connection waits.
 *
 * /admission is open to whoever reaches it, for API servers show no credentials by default: a review changes nothing
 * here, costs a bounded look-up, and tells what a pod of that owner would be given.
 *
 * Limits: 16 MiB of body to render, 3 MiB to admission, none to a GET, 128 MiB at once of bodies and of answers that
 * are not read yet, 64 MiB more for reviews, and what has less than 64 KiB does not count; 16 KiB of request line and
 * headers; a request is whole within 10 s, an idle connection is closed after 60 s, or when a new one needs its place;
 * 64 requests wait for each of the other threads. What is over them gets 408, 413, 414, 431 or 503. A 414, a 431, and a
 * 400 or 505 for what is no HTTP are the library's: a line of HTML, and no problem details.
 */
#ifndef HALFLIFE_HTTP_SERVER_H
#define HALFLIFE_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"
#include "deploy/admission.h"
#include "snapshot/learned_copy.h"
#include "snapshot/snapshot.h"

/* A question to the API server, by a digest of all that it asks. */
struct auth_key {
        uint8_t byte[32];
};
struct server_question {
        struct auth_key key;
        const char *token;
        const char *verb, *ns, *name; /* on recommendations.halflife.dev; ns "": all; name "": any */
};
enum server_verdict {
        SERVER_ALLOWS,
        SERVER_KNOWS_NOT, /* the token is nobody's */
        SERVER_FORBIDS,
        SERVER_CANNOT_TELL, /* the API server is away, or does not answer us */
};

/* What was learned of one workload, wanted for a request. */
struct server_usage_request {
        uint64_t ticket;
        const char *ns, *group, *kind, *name;
};

/* A request that only the halflife that learns can answer, to be asked of it in the caller's own name. */
struct server_proxy_request {
        uint64_t ticket;
        const char *token, *path_query; /* as the caller sent them */
};
/* What it said. */
struct server_relayed {
        unsigned status;  /* 0: it could not be asked */
        const char *type; /* the body's media type */
        struct text body; /* of status 0: why, as text */
};

/* A pod at admission of whose owner more is wanted, see admission_wants_owner. */
struct server_owner_lookup {
        uint64_t ticket;
        const char *ns, *api_version, *kind, *name; /* the pod's controller */
};

/*
 * What control does for REST and admission. Called on the server's threads: copy what is needed, and return. Texts live
 * until then. An answer later than 10 s is dropped.
 */
struct server_calls {
        void (*review)(void *arg, const struct server_question *q); /* ends in server_reviewed */
        void (*recall)(void *arg,
                       const struct server_usage_request *w); /* ends in server_recalled; NULL: we do not learn */
        /* Instead of recall, where another process learns; ends in server_relayed. NULL: none does. */
        void (*relay)(void *arg, const struct server_proxy_request *e);
        /* Ends in server_found_owner, which after 1 s is too late. NULL: none is ever found. */
        void (*find_owner)(void *arg, const struct server_owner_lookup *k);
        /* An admission was answered: to be counted. May be NULL. */
        void (*admitted)(void *arg, enum admission_result r);
        /* A certificate that cannot be used, told once; the old one is kept. */
        void (*trouble)(void *arg, const struct err *why);
        /* A certificate was taken from the files. May be NULL. */
        void (*renewed)(void *arg, const char *cert_file);
        void *arg;
};

struct rest_listener_options {
        const char *listen;               /* "127.0.0.1:8443", ":8443"; NULL: neither is served */
        bool tls;                         /* without it only a loopback address is listened on */
        const char *cert_file, *key_file; /* PEM, looked at each second; NULL: server_set_certificate brings them */
        int connections_max;              /* 0: 1024 */
        int connections_per_address;      /* 0: half of them */
        int64_t request_ms, idle_ms;      /* 0: 10 s, 60 s */
        size_t bodies_max;                /* bytes of bodies and answers at once, admission aside; 0: 128 MiB */
        bool admission;                   /* whether there is /admission */
        struct server_calls calls;
};

struct server_options {
        const char *listen;  /* "127.0.0.1:8080", ":8080", "[::1]:0"; NULL: only REST and admission */
        int64_t interval_ms; /* for /healthz */
        /* One address has at most a quarter: who holds them all open must not keep the kubelet from /healthz. */
        int connections_max;
        struct rest_listener_options rest;
};
struct server;
struct snapshot_ref;
/* Texts of options are the caller's, kept until server_stop. */
int server_start(const struct server_options *o, struct server **ret, struct err *err);
const char *server_address(const struct server *s);        /* "127.0.0.1:41234": the port bound; "" none */
const char *server_rest_address(const struct server *s);   /* "" where it is not served */
void server_publish(struct server *s, struct snapshot *v); /* takes over one reference */
struct snapshot_ref *server_views(struct server *s);       /* for another listener, until server_stop */
void server_turned(struct server *s, struct mono at);      /* the loop turned: an atomic store */
void server_set_interval(struct server *s, int64_t interval_ms);
/* What new handshakes get from now on; connections go on. Any thread. ERR_INVALID: the old pair is kept. */
int server_set_certificate(struct server *s, const char *cert_pem, const char *key_pem, struct err *err);
/* Halflife's own user name: what he writes passes admission untouched. Any thread; copied. Until then he is not known.
 */
void server_set_own_user(struct server *s, const char *user);
/* Answers to server_calls, from any thread, also after the one who asked is gone. copies: the server's from now on, in
 * one block (mem_free), names included; NULL: nothing was learned of it. */
void server_reviewed(struct server *s, const struct auth_key *k, enum server_verdict v);
void server_recalled(struct server *s, uint64_t ticket, struct learned_copy *copies, size_t count);
void server_relayed(struct server *s, uint64_t ticket, const struct server_relayed *r); /* copied */
/* owner: the server's from now on, in one block with all it points to (mem_free); NULL: not found. */
void server_found_owner(struct server *s, uint64_t ticket, struct admission_owner *owner);
/* Since the start. */
struct server_counts {
        uint64_t answers[6]; /* by the first digit of the status */
        uint64_t shed;       /* 503 because there was too much at once, and connections closed for new ones */
        uint64_t late;       /* requests that were not whole in time */
        uint64_t reviews;    /* questions asked of the API server */
        int64_t connections; /* now */
};
struct server_counts server_counts(const struct server *s);
void server_stop(struct server *s);

#endif
