/*
 * The parts of one controller. Each is made, and released, by its own module; controller.c wires them, and what is in
 * this folder passes them on.
 */
#ifndef HALFLIFE_CONTROL_PARTS_H
#define HALFLIFE_CONTROL_PARTS_H

#include "apply/applier.h"
#include "base/log.h"
#include "cache/cache.h"
#include "cache/checkpointer.h"
#include "cache/clock_skew.h"
#include "control/controller.h"
#include "custom_metrics/custom_metrics_server.h"
#include "http/server.h"
#include "learn/learner.h"
#include "report/report.h"
#include "safety/safety.h"
#include "serving/loop_calls.h"
#include "serving/snapshot_from_plans.h"
#include "serving/upstream.h"
#include "serving/webhook_certificate.h"

/* As of the last pass over all targets: for metrics. Written by cycle.c, or by replica.c. */
struct pass_state {
        bool synced;     /* everything was listed once */
        uint64_t cycles; /* that polled */
        struct metric_seconds cycle_seconds;
        double last_cycle_seconds;
        int64_t by_state[STATES], by_reason[REASONS];
        int64_t saving[RESOURCES], in_force[RESOURCES];
};

struct parts {
        struct loop *loop;
        struct access *access;
        struct controller_options options;
        struct cache cache;
        struct pass_state pass;
        struct client *client;
        struct leadership *leadership;
        struct report *report;
        struct clock_skew *skew;
        struct checkpointer *checkpointer;
        struct safety *safety;
        struct learner *learner;
        struct applier *applier;
        struct informers *informers;
        struct snapshot_writer *snapshots;
        struct telemetry *telemetry;
        struct cycle *cycle;                                 /* NULL: a replica */
        struct replica *replica;                             /* NULL: it learns */
        struct server *server;                               /* NULL: nothing is served */
        struct loop_calls *calls;                            /* with the server */
        struct upstream *upstream;                           /* of a replica; NULL: none is known */
        struct custom_metrics_server *custom_metrics_server; /* NULL: custom metrics are not served */
        struct webhook *webhook;                             /* NULL: the certificate is in files, or there is none */
};

/* For benches and tests, which look into them. */
struct parts *controller_parts(struct controller *c);

#endif
