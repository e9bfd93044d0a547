/*
 * What the door's parts share: door.c (the thread, the letters from others), visitors.c (who is connected, and for how
 * long he may be), visit.c (one request from its headers to its answer). All of it is the HTTP thread's, but for what
 * says otherwise.
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
enum visit_step {
        STEP_NONE,    /* none is under way */
        STEP_HEADERS, /* they are there, and to be looked at */
        STEP_VERDICT, /* waits for who he is */
        STEP_BODY,    /* may go on */
        STEP_AWAY,    /* another thread works on it */
        STEP_ANSWER,  /* there is one */
        STEP_SENDING,
};

/* A connection, and the request on it. */
struct visit {
        struct visit *before, *after; /* among the idle or the busy, the longest there first */
        struct door *door;
        struct MHD_Connection *connection;
        int fd;
        bool busy;         /* a request is under way, or some bytes of one */
        bool ended;        /* closed by us, and MHD is to see it */
        bool unread;       /* answered before all of the request was read */
        struct mono since; /* busy or idle */
        uint64_t bytes;    /* received, as seen while idle */
        bool bytes_known;

        enum visit_step step;
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

struct visits {
        struct visit *first, *last;
};

struct letter;
struct door {
        struct door_options o;
        struct slot *views;
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
        int wake;    /* written to by whoever leaves a letter */
        struct pollfd polled[2 + DRAIN_MAX]; /* MHD's descriptor, ours, and those drained */
        struct drain drain;
        struct now now;
        struct mono swept;
        struct visits idle, busy;
        int connections;
        struct job *spare;
        int spares;
        size_t bodies_held, reviews_held; /* bytes reserved, of the two MAX above */
        int admissions_waiting;           /* for an owner */
        char *own_user;                   /* NULL: not known yet */
        uint64_t tickets;
        uint64_t id_base; /* of request ids, drawn at the start */
        char address[96];

        pthread_mutex_t lock; /* of what follows: letters from other threads */
        struct letter *letter, **letter_end;
        bool stopping;
        _Atomic uint64_t answers[6], shed, late, reviews;
        _Atomic int64_t shown_connections;
};

/* visitors.c */
void visitors_notify(void *door, struct MHD_Connection *c, void **socket_context,
                     enum MHD_ConnectionNotificationCode what);
void visitors_busy(struct visit *v);
void visitors_idle(struct visit *v);
void visitors_sweep(struct door *d); /* whoever took too long */

/* visit.c */
void *visit_begin(void *door, const char *uri, struct MHD_Connection *c);
enum MHD_Result visit_handle(void *door, struct MHD_Connection *c, const char *url, const char *method,
                             const char *version, const char *upload, size_t *upload_size, void **state);
void visit_end(void *door, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why);
void visit_judged(struct visit *v, enum auth_say say); /* what auth says, after AUTH_SAYS_WAIT */
void visit_recalled(struct visit *v, struct learned_copy *copies, size_t count);
void visit_relayed(struct visit *v, const struct server_relayed *r); /* copies */
void visit_worked(struct visit *v);
bool visit_wants_owner(const struct visit *v);                          /* and waits for him */
void visit_found_owner(struct visit *v, struct admission_owner *owner); /* NULL: not found, or not in time */
void visit_give_up(struct visit *v, enum problem p, const char *why);   /* of one that waits for others */
void visit_late(struct visit *v);                                       /* 408, as far as it can be said */
void door_spare(struct door *d, struct job *j);

#endif
