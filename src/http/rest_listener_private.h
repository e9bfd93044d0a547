/*
 * What the listener's files share: rest_listener.c (the thread, and messages from other threads), connections.c
 * (connections and their time limits), request*.c (one request, from its headers to its answer). Only the HTTP thread
 * touches all this, unless a comment says otherwise.
 */
#ifndef HALFLIFE_HTTP_REST_LISTENER_PRIVATE_H
#define HALFLIFE_HTTP_REST_LISTENER_PRIVATE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "auth.h"
#include "base/mailbox.h"
#include "base/map.h"
#include "base/recent_count.h"
#include "client_address.h"
#include "http/tls_certificate.h"
#include "job.h"
#include "lingering_close.h"
#include "rest_listener.h"
#include "worker.h"

enum {
        RENDER_BODY_MAX = 16 << 20,
        ADMISSION_BODY_MAX = 3 << 20,
        BODY_SMALL = 64 << 10,  /* a larger review takes up to a second, so a worker thread parses it */
        BODIES_MAX = 128 << 20, /* bodies and answers of all requests under way, without admission */
        REVIEWS_MAX = 64 << 20, /* bodies of all admissions under way */
        URI_MAX = 8 << 10,
        CONNECTION_MEMORY = 16 << 10,
        QUEUE_MAX = 64,
        OWNER_MS = SECOND_MS, /* the longest wait for a pod's owner; the API server waits 2 s for admission */
        SWEEP_MS = SECOND_MS,
        SWEEP_SOON_MS = 100,    /* between sweeps while an admission waits for a pod's owner */
        CONNECTIONS_SPARE = 64, /* room for new connections while displaced ones close */
        FULL_MS = 1,
        RETRY_AFTER_S = 2,
        CALLER_SHARE = 4, /* a caller holds at most this part of the bytes for bodies and answers: a quarter */
};

/* The step that a request has reached. */
enum http_request_step {
        STEP_NONE,    /* no request is under way */
        STEP_HEADERS, /* the headers have arrived and are not checked yet */
        STEP_VERDICT, /* the request waits for the API server's verdict on the caller */
        STEP_BODY,    /* the request is allowed, and its body may come */
        STEP_AWAY,    /* another thread works on the request */
        STEP_ANSWER,  /* the answer is made */
        STEP_SENDING,
};

/* A connection, and the HTTP request on it. */
struct http_request {
        TAILQ_ENTRY(http_request) link; /* in the listener's list idle or busy, longest first */
        struct rest_listener *listener;
        struct client_address *from;
        struct MHD_Connection *connection;
        int fd;
        bool busy;         /* a request, or a part of one, is under way */
        bool ended;        /* halflife shut the socket down, and MHD has not noticed yet */
        bool displaced;    /* the connection ends after its answer, to make room for another */
        bool unread;       /* the answer was made before all of the request was read */
        struct mono since; /* when the connection became busy or idle */
        uint64_t bytes;    /* received until the last sweep that found the connection idle; valid if bytes_known */
        bool bytes_known;

        enum http_request_step step;
        struct job *job;
        bool lent;              /* a worker has the job now */
        struct turns *waits_at; /* the queue in which the request waits for its turn; NULL: none */
        TAILQ_ENTRY(http_request) turns_link;
        size_t reviews_held; /* bytes of this review in the listener's reviews_held */
        size_t body_max;
        bool body_announced; /* the headers announce a body */
        size_t body_bytes;   /* the announced length; 1: announced without a length */
        bool admission;
        bool headers_only; /* MHD has not asked for the body yet */
        bool suspended;
        bool by_name;   /* the caller may not read all Recommendations, so halflife asks about the one of the path */
        bool for_names; /* the caller may list nodes; the question is whether an answer may name their workloads */
        struct auth_key key;
        struct auth_waiter waiter;
        enum auth_say say;
};

TAILQ_HEAD(http_request_list, http_request);

/* A worker thread for slow work, and the requests that wait for a turn at it: turns.h. */
struct turns {
        struct worker *worker;
        bool working;                      /* the thread has a job */
        struct http_request_list waiting;  /* oldest first */
        int waits;                         /* the number of requests that wait */
        struct recent_count worked_lately; /* microseconds that the thread worked, by client */
};

struct rest_listener {
        struct rest_listener_options o;
        struct snapshot_ref *views;
        struct MHD_Daemon *daemon;
        struct certificate *certificate; /* NULL: without TLS */
        struct auth *auth;
        struct turns renders;      /* renders manifests; many manifests take seconds */
        struct turns lists;        /* writes and compresses long answers */
        struct turns reviews_read; /* parses large AdmissionReviews */
        struct gzip gzip;
        pthread_t thread;
        bool running;
        bool ending;                             /* no request may be suspended any more: MHD could not stop */
        int wake;                                /* an eventfd; a thread that posts a message writes to it */
        struct pollfd polled[2 + LINGERING_MAX]; /* MHD's epoll descriptor, `wake`, and the sockets of `drain` */
        struct lingering_close drain;
        struct now now;
        struct mono swept;
        struct http_request_list idle, busy;
        struct map addresses; /* text -> struct client_address */
        int connections;
        bool full; /* MHD was full and may not watch for new connections yet: run MHD soon */
        struct job *spare;
        int spares;
        size_t bodies_held, reviews_held; /* bytes reserved, of o.bodies_max and REVIEWS_MAX */
        struct caller_shares shares;      /* each caller's part of bodies_held */
        int admissions_waiting;           /* admissions that wait for an owner */
        char *own_user;                   /* NULL: not known yet */
        struct admission_paths paths;
        uint64_t tickets;
        uint64_t id_base; /* where request ids start; random */
        char address[96];

        struct mailbox messages; /* from other threads; never closed */
        atomic_bool stopping;    /* the thread is to end */
        _Atomic uint64_t answers[6], shed, late, reviews, astray;
        _Atomic int64_t shown_connections;
};

/* connections.c */
void connections_notify(void *listener, struct MHD_Connection *c, void **socket_context,
                        enum MHD_ConnectionNotificationCode what);
bool connections_full(const struct rest_listener *d); /* MHD accepts no more connections */
void connections_busy(struct http_request *v);
void connections_idle(struct http_request *v);
void connections_sweep(struct rest_listener *d); /* ends requests and connections that took too long */

/* request.c */
void *http_request_begin(void *listener, const char *uri, struct MHD_Connection *c);
enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *c, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **state);
void http_request_end(void *listener, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why);

#endif
