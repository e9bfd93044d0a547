/*
 * The controller: watches, polls usage every interval, learns, decides, publishes, applies, checkpoints. One per
 * process, on one loop. As a replica it only serves: from the Recommendations that another one publishes, without
 * database, Lease or a write to anything but its certificate.
 */
#ifndef HALFLIFE_CONTROL_CONTROLLER_H
#define HALFLIFE_CONTROL_CONTROLLER_H

#include <stdio.h>

#include "cache/live_settings.h"
#include "kube/access.h"
#include "net/loop.h"
#include "prometheus/prometheus.h"

struct controller_options {
        struct live_settings live;
        bool leader_elect;
        const char *ns; /* halflife's own namespace: its Lease is there, and it is exempt */
        const char *lease_name;
        const char *identity;           /* unique */
        const char *database;           /* NULL: learn in memory only */
        const char *listen;             /* of health and metrics; NULL: none */
        const char *listen_file;        /* the addresses bound are written there, a line each; NULL */
        const char *serve_listen;       /* of the REST API and admission; NULL: none */
        const char *tls_cert, *tls_key; /* files; NULL: serve_listen is without TLS */
        enum controller_certificate {
                CERTIFICATE_FILES,
                CERTIFICATE_SELF,
                CERTIFICATE_SECRET
        } certificate; /* where the door's is from */
        const char *certificate_secret, *certificate_services,
                *webhook_configuration; /* see serving/webhook_certificate.h */
        const char *custom_listen;      /* of the API of custom metrics; NULL: none */
        const char *custom_service;     /* in ns: whom its APIServices have to name */
        bool replica;
        const char *upstream_ca;              /* PEM; NULL: who vouches for our own certificate, or the system's */
        const char *upstream_url;             /* of a replica: who knows histograms; NULL: nobody */
        const char *token_audience;           /* of callers; NULL: the API server's own */
        struct prometheus_options prometheus; /* url NULL: none */
        bool usage_from_prometheus;           /* each cycle, in place of metrics-server */
        int64_t prometheus_history_ms;        /* how far back histories of before are loaded; 0: not at all */
        int64_t prometheus_step_ms;           /* between their points */
        const char *user_agent;
};

struct controller;
/* Strings of options are the caller's and stay until controller_free. ERR_CONFLICT: another process holds the database,
 * or custom metrics belong to another service. */
int controller_new(struct loop *l, struct access *a, const struct controller_options *o, struct controller **ret,
                   struct err *err);
/* Settings re-read: those that can change while running do. */
void controller_reconfigure(struct controller *c, const struct live_settings *live);
/* Of a replica: who vouches for the learner's certificate from now on (PEM, copied). */
void controller_trust_upstream(struct controller *c, const char *ca_pem);
/* Finish the patch in hand, checkpoint, give the Lease up, then stop the loop. */
void controller_stop(struct controller *c);
void controller_free(struct controller *c);

/* The metrics' table of the README, in Markdown. */
void telemetry_print_markdown(FILE *to);

#endif
