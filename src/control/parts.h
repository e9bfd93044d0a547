/*
 * The parts of one controller. Each part's module makes and frees the part, controller.c connects the parts, and the
 * files of module control call them.
 */
#ifndef HALFLIFE_CONTROL_PARTS_H
#define HALFLIFE_CONTROL_PARTS_H

#include "apply/applier.h"
#include "base/log.h"
#include "cache/bookkeeping.h"
#include "cache/cache.h"
#include "cache/checkpointer.h"
#include "cache/clock_skew.h"
#include "control/controller.h"
#include "custom_metrics/custom_metrics_server.h"
#include "http/server.h"
#include "learn/learner.h"
#include "load_watcher/load_listener.h"
#include "notices/notices.h"
#include "safety/safety.h"
#include "serving/certificate_reader.h"
#include "serving/loop_calls.h"
#include "serving/snapshot_from_plans.h"
#include "serving/upstream.h"

/* How many Recommendations have a condition, by its type and reason (static strings of module plan). */
enum { CONDITION_COUNTS = 64 };
struct condition_count {
        const char *type, *reason;
        int64_t count;
};

/* The totals of the last pass over all targets, for metrics. cycle.c writes them; replica.c does in a replica. */
struct pass_state {
        bool synced;     /* every watch has had its first list */
        uint64_t cycles; /* finished cycles that polled usage; a pass that only decides again does not count */
        struct metric_seconds cycle_seconds;
        double last_cycle_seconds;
        int64_t by_state[STATES];                              /* number of Recommendations in each state */
        int64_t by_reason[REASONS];                            /* containers' resources whose change a reason holds */
        struct condition_count by_condition[CONDITION_COUNTS]; /* the first without a type ends the list */
        int64_t hot_nodes;                                     /* number of hot nodes, as of the last cycle */
        size_t gone_targets;         /* targets kept without their workload: as of the last cycle */
        int64_t saving[RESOURCES];   /* of all workloads, if every target value applied; millicores, bytes */
        int64_t in_force[RESOURCES]; /* what all workloads save now: originals - requests set; millicores, bytes */
};

struct parts {
        struct loop *loop;
        struct access *access;
        struct controller_options options;
        struct cache cache;
        struct pass_state pass;
        struct client *client;
        struct leadership *leadership;
        struct notices *notices;
        struct clock_skew *skew;
        struct bookkeeping *books; /* NULL in a replica */
        struct checkpointer *checkpointer;
        struct safety *safety;
        struct learner *learner;
        struct applier *applier;
        struct informers *informers;
        struct snapshot_writer *snapshots;
        struct telemetry *telemetry;
        struct cycle *cycle;                                 /* NULL in a replica */
        struct replica *replica;                             /* NULL unless this process is a replica */
        struct server *server;                               /* NULL: no setting says where to listen */
        struct loop_calls *calls;                            /* NULL without the server */
        struct upstream *upstream;                           /* NULL: not a replica, or no upstream was configured */
        struct custom_metrics_server *custom_metrics_server; /* NULL: custom metrics are not served */
        struct load_listener *load_listener;                 /* NULL: load-watcher's interface is not served */
        struct certificate_reader *certificate;              /* NULL: the certificate is in files, or there is none */
};

/* The parts, for benchmarks and tests that inspect them. */
struct parts *controller_parts(struct controller *c);

#endif
