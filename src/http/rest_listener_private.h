/*
 * What the listener's parts share: rest_listener.c (the thread, the messages from others), connections.c (who is
 * connected, and for how long), request.c (one request from its headers to its answer). All of it is the HTTP thread's,
 * but for what says otherwise.
 */
#ifndef HALFLIFE_HTTP_REST_LISTENER_PRIVATE_H
#define HALFLIFE_HTTP_REST_LISTENER_PRIVATE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "auth.h"
#include "http/tls_certificate.h"
#include "job.h"
#include "lingering_close.h"
#include "rest_listener.h"
#include "worker.h"

enum {
        RENDER_BODY_MAX = 16 << 20,
        ADMISSION_BODY_MAX = 3 << 20,
        BODY_SMALL = 64 << 10,  /* a larger review takes up to a second: others do not wait for it */
        BODIES_MAX = 128 << 20, /* of all requests but admission under way, and their answers */
        REVIEWS_MAX = 64 << 20, /* of all admissions under way */
        URI_MAX = 8 << 10,
        CONNECTION_MEMORY = 16 << 10,
        QUEUE_MAX = 64,
        OWNER_MS = SECOND_MS, /* the API server waits for admission for 2 s */
        SWEEP_MS = SECOND_MS,
        SWEEP_SOON_MS = 100, /* while an admission waits */
        RETRY_AFTER_S = 2,
};

/* How far a request is. */
enum http_request_step {
        STEP_NONE,    /* none is under way */
        STEP_HEADERS, /* they are there, and to be looked at */
        STEP_VERDICT, /* waits for who he is */
        STEP_BODY,    /* may go on */
        STEP_AWAY,    /* another thread works on it */
        STEP_ANSWER,  /* there is one */
        STEP_SENDING,
};

/* A connection, and the request on it. */
struct http_request {
        struct http_request *before, *after; /* among the idle or the busy, the longest there first */
        struct rest_listener *listener;
        struct MHD_Connection *connection;
        int fd;
        bool busy;         /* a request is under way, or some bytes of one */
        bool ended;        /* closed by us, and MHD is to see it */
        bool unread;       /* answered before all of the request was read */
        struct mono since; /* busy or idle */
        uint64_t bytes;    /* received, as seen while idle */
        bool bytes_known;

        enum http_request_step step;
        struct job *job;
        bool lent; /* the job is the worker's now */
        size_t body_max;
        bool body_announced; /* by the headers */
        bool admission;
        bool headers_only; /* MHD has not asked for the body yet */
        bool suspended;
        bool by_name; /* he may not read all: is it this one? */
        struct auth_key key;
        struct auth_waiter waiter;
        enum auth_say say;
};

struct http_request_list {
        struct http_request *first, *last;
};

struct message;
struct rest_listener {
        struct rest_listener_options o;
        struct snapshot_ref *views;
        struct MHD_Daemon *daemon;
        struct certificate *certificate; /* NULL: without TLS */
        struct auth *auth;
        struct worker *renderer; /* of manifests: seconds, where they are many */
        struct worker *lister;   /* of what is long: milliseconds, and more to pack */
        struct worker *admitter; /* of large AdmissionReviews */
        struct gzip gzip;
        pthread_t thread;
        bool running;
        bool ending; /* nobody is to wait any more: MHD cannot be stopped while a connection is suspended */
        int wake;    /* written to by whoever leaves a message */
        struct pollfd polled[2 + LINGERING_MAX]; /* MHD's descriptor, ours, and those drained */
        struct lingering_close drain;
        struct now now;
        struct mono swept;
        struct http_request_list idle, busy;
        int connections;
        struct job *spare;
        int spares;
        size_t bodies_held, reviews_held; /* bytes reserved, of the two MAX above */
        int admissions_waiting;           /* for an owner */
        char *own_user;                   /* NULL: not known yet */
        uint64_t tickets;
        uint64_t id_base; /* of request ids, drawn at the start */
        char address[96];

        pthread_mutex_t lock; /* of what follows: messages from other threads */
        struct message *message, **message_end;
        bool stopping;
        _Atomic uint64_t answers[6], shed, late, reviews;
        _Atomic int64_t shown_connections;
};

/* connections.c */
void connections_notify(void *listener, struct MHD_Connection *c, void **socket_context,
                        enum MHD_ConnectionNotificationCode what);
void connections_busy(struct http_request *v);
void connections_idle(struct http_request *v);
void connections_sweep(struct rest_listener *d); /* whoever took too long */

/* request.c */
void *http_request_begin(void *listener, const char *uri, struct MHD_Connection *c);
enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *c, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **state);
void http_request_end(void *listener, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why);
void http_request_judged(struct http_request *v, enum auth_say say); /* what auth says, after AUTH_SAYS_WAIT */
void http_request_recalled(struct http_request *v, struct learned_copy *copies, size_t count);
void http_request_relayed(struct http_request *v, const struct server_relayed *r); /* copies */
void http_request_worked(struct http_request *v);
bool http_request_wants_owner(const struct http_request *v); /* and waits for him */
void http_request_found_owner(struct http_request *v,
                              struct admission_owner *owner); /* NULL: not found, or not in time */
void http_request_give_up(struct http_request *v, enum problem p, const char *why); /* of one that waits for others */
void http_request_late(struct http_request *v);                                     /* 408, as far as it can be said */
void job_recycle(struct rest_listener *d, struct job *j);

#endif
