/*
 * The controller watches the cluster, polls usage every interval, learns from it, decides requests, publishes
 * Recommendations, applies changes and writes checkpoints. A process has one controller, on one loop.
 *
 * As a replica the controller only serves the Recommendations that another halflife publishes. A replica has no
 * database and no Lease, and writes no object of the API server.
 */
#ifndef HALFLIFE_CONTROL_CONTROLLER_H
#define HALFLIFE_CONTROL_CONTROLLER_H

#include <stdio.h>

#include "cache/live_settings.h"
#include "kube/access.h"
#include "learn/usage_from.h"
#include "net/loop.h"
#include "prometheus/prometheus.h"

struct controller_options {
        struct live_settings live;
        bool leader_elect;
        const char *ns; /* halflife's own namespace: it holds the Lease, and its workloads are never changed */
        const char *ownership_labels;  /* keys of labels that Recommendations do not copy, as core/ownership_label.h */
        const char *pool_label;        /* label of nodes whose value names a node's pool in reports; NULL: none */
        const char *report_label;      /* key of a label of workloads, by whose values the ledger books; NULL: none */
        const char *prices;            /* prices of pools as a text for prices_parse (ledger/prices.h); NULL: none */
        const char *exempt_namespaces; /* names with commas between, where no workload is changed; NULL: only ns */
        const char *lease_name;
        const char *identity;           /* unique name of this process in the Lease and in Events */
        const char *database;           /* path of the database file; NULL: learn in memory only */
        const char *listen;             /* address for health and metrics; NULL: not served */
        const char *listen_file;        /* file that the bound addresses are written to, one a line; NULL: none */
        const char *serve_listen;       /* address for the REST API and admission; NULL: not served */
        const char *tls_cert, *tls_key; /* PEM files; NULL with CERTIFICATE_FILES: serve_listen is without TLS */
        enum controller_certificate {
                CERTIFICATE_FILES,
                CERTIFICATE_SELF,
                CERTIFICATE_SECRET
        } certificate;                  /* source of the certificate of the REST and custom metrics listeners */
        const char *certificate_secret; /* name of the Secret with the certificate, see serving/certificate_reader.h */
        const char *custom_listen;      /* address for the custom metrics API; NULL: not served */
        const char *custom_service;     /* Service in ns that the APIServices of custom metrics have to name */
        const char *watcher_listen;     /* address for load-watcher's interface; NULL: not served */
        bool replica;
        const char *upstream_ca;    /* PEM, the CA that verifies upstream; NULL: halflife's own CA, else the system's */
        const char *upstream_url;   /* a replica asks this URL for histograms; NULL: histograms are not served */
        const char *token_audience; /* audience that callers' tokens must have; NULL: the API server's own */
        struct prometheus_options prometheus; /* url NULL: no Prometheus */
        enum usage_from usage_from;
        int64_t prometheus_history_ms; /* how far back histories are back-filled; 0: no back-fill */
        int64_t prometheus_step_ms;    /* between two points of a back-filled series */
        const char *user_agent;
};

struct controller;
/* The strings in the options belong to the caller and must stay valid until controller_free. ERR_CONFLICT: another
 * process holds the database, or another Service serves the custom metrics API. */
int controller_new(struct loop *l, struct access *a, const struct controller_options *o, struct controller **ret,
                   struct err *err);
/* Adopt the settings that may change at run time, after they were read again. */
void controller_reconfigure(struct controller *c, const struct live_settings *live);
/* Replace the CA that verifies upstream's certificate (PEM, copied). Without upstream, nothing happens. */
void controller_trust_upstream(struct controller *c, const char *ca_pem);
/* Finish the writes under way (for at most 8 s), give the Lease up, write a checkpoint, then stop the loop. */
void controller_stop(struct controller *c);
void controller_free(struct controller *c);

/* Print the table of all metrics for docs/metrics.md. */
void telemetry_print_markdown(FILE *to);

#endif
