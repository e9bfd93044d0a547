/*
 * The controller's parts. Each file below src/control owns one: watch.c (informers), cause.c, outage.c and refusal.c
 * (what the log tells of failures), ingest.c and scrape.c (usage), backfill.c (that of before), clocks.c (ours and the
 * server's), oom.c (kills), wish.c (what annotations on Recommendations ask for), adopt.c and import.c (which they
 * ask), persist.c (checkpoints), work.c (the queue of writes), publish.c (Recommendations), apply.c (templates),
 * resize.c and raise.c (running pods), retune.c (targets of autoscalers), deed.c and contest.c (what we did, and who
 * put it back), guard.c (changes that did harm), tell.c (Events), budget.c, standing.c (profiles' status), show.c (the
 * view for others), inquiry.c (what the server's threads ask of the loop), replica.c (the cycle of one who only
 * serves), telemetry.c (metrics), controller.c (the cycle that calls them).
 */
#ifndef HALFLIFE_CONTROL_PRIVATE_H
#define HALFLIFE_CONTROL_PRIVATE_H

#include "apply/applier.h"
#include "base/log.h"
#include "base/queue.h"
#include "cache/apply_state.h"
#include "cache/cache.h"
#include "cache/checkpointer.h"
#include "cache/clock_skew.h"
#include "cache/guard_state.h"
#include "cache/oom_kill.h"
#include "control/controller.h"
#include "custom_metrics/custom_metrics_server.h"
#include "http/prometheus_text.h"
#include "http/server.h"
#include "kube/lease.h"
#include "kube/metrics.h"
#include "kube/patch.h"
#include "learn/learner.h"
#include "plan/autoscaler_plan.h"
#include "plan/plan.h"
#include "report/report.h"
#include "safety/safety.h"
#include "serving/upstream.h"
#include "serving/webhook_certificate.h"
#include "store/store.h"
#include "store/transfer.h"

enum { DECIDE_SLICE = 512 };

struct watch {
        struct controller *controller;
        struct watch_health health;
        struct watched_kind *kind; /* of workloads */
        bool cluster;              /* of profiles */
        bool needed_to_apply;      /* without it nothing may be changed */
        bool hint;                 /* without it less is known, and nothing waits for long */
        bool guest;                /* of a kind that others install */
        bool anew;            /* of such a kind by another version than before: nothing is known until it is read */
        struct mono begun;    /* when its list was first asked for, at the start or anew */
        uint64_t unread_told; /* of its objects that cannot be read, so many were told of */
        struct mono unread_said;
};

/* A kind of others that is watched where its CRD is installed, whenever that is (watch.c has the table). */
enum { GUESTS = 2 };
struct guest {
        struct watch *watch; /* NULL: not installed, or not known yet */
        void *asking;        /* discovery is under way; NULL: it is not */
        bool known;          /* whether it is installed is */
        char *path;          /* what is watched */
        struct mono asked;
        bool removed; /* its CRD went, and all its objects with it */
        char trouble[ERR_TEXT_MAX];
};

enum { CODE_NONE, CODE_2XX, CODE_3XX, CODE_4XX, CODE_409, CODE_429, CODE_5XX, CODES };
enum { VERBS = 8 }; /* telemetry.c names them */

struct counters {
        uint64_t requests[VERBS][CODES];
        uint64_t cycles;
        struct metric_seconds cycle_seconds;
        double last_cycle_seconds;
};

enum cycle_stage { CYCLE_IDLE, CYCLE_POLLING, CYCLE_DECIDING, CYCLE_PACKING };

struct controller {
        struct loop *loop;
        struct access *access;
        struct client *client;
        struct controller_options options;
        struct cache cache;
        struct arena plans; /* of a replica: rows being read */

        struct watch watch[WATCHES_MAX];
        int watches;
        struct guest guest[GUESTS];
        bool watches_full;     /* a kind found no place; the log told it */
        uint64_t unread_ended; /* what watches that ended could not read */
        bool synced;           /* every watch that can be was whole once */

        /* the cycle */
        enum cycle_stage stage;
        struct loop_timer cycle_timer, nudge_timer, slice_timer, turn_timer;
        struct mono cycle_began, stop_began;
        bool nudged;     /* something changed since the last pass began */
        int64_t pass_ms; /* replica: no pass before so long after the last, so that the rest gets on */
        size_t decide_at;
        bool polled; /* this pass follows a poll */

        struct learner *learner;

        /* doing */
        struct applier *applier;
        struct safety *safety;
        struct lease *lease; /* NULL: no election */
        struct leadership *leadership;
        struct report *report;

        /* storing */
        struct clock_skew *skew;
        struct checkpointer *checkpointer;
        struct mono checkpointed;

        struct server *server;
        struct inquiries *inquiries;
        struct upstream *upstream;                           /* of a replica; NULL: none is known */
        struct custom_metrics_server *custom_metrics_server; /* NULL: custom metrics are not served */
        struct webhook *webhook;                             /* NULL: the certificate is in files, or there is none */
        struct snapshot *next_view;                          /* of the pass under way; NULL: nobody reads */
        struct counters count;
        /* as of the last decision over all targets */
        int64_t by_state[STATES], by_reason[REASONS];
        int64_t saving[RESOURCES], in_force[RESOURCES];
        int64_t next_state[STATES], next_reason[REASONS], next_saving[RESOURCES], next_in_force[RESOURCES];
};

/* watch.c */
void watch_start(struct controller *c);
void watch_kinds(struct controller *c);         /* watches the kinds that profiles name, and no others */
void watch_guests(struct controller *c);        /* watches what others have installed by now */
void watch_guests_forget(struct controller *c); /* after the client's end */
bool watch_synced(struct controller *c, char *ret_waiting, size_t size);
void watch_tell_late(const struct controller *c);    /* once synced: what was not waited for */
const char *watch_blind(const struct controller *c); /* what is needed to apply and cannot be seen; NULL */
void watch_stop(struct controller *c);

void watch_again(struct controller *c);            /* read everything again */
uint64_t watch_unread(const struct controller *c); /* objects and events that could not be read, so far */
void watch_tick(struct controller *c);             /* each cycle: says what cannot be read, once an hour a kind */

/* show.c: the view that a pass leaves for others */
void snapshot_begin(struct controller *c);
void snapshot_show_target(struct controller *c, const struct plan *p);
void snapshot_show_gone(struct controller *c, const struct target *t);
struct snapshot *snapshot_end(struct controller *c); /* the caller's */

/* inquiry.c: what the server's threads ask of the loop */
struct inquiries *inquiries_new(struct controller *c);
struct server_calls inquiries_calls(struct inquiries *all);
void inquiries_begin(struct inquiries *all); /* once the server is there */
uint64_t inquiries_admitted(const struct inquiries *all, enum admission_result r);
void inquiries_free(struct inquiries *all); /* after the server's end, before the client's */

/* telemetry.c */
void telemetry_observe(void *arg, const char *verb, const char *path, int status, int64_t took_ms, const char *id);
void telemetry_publish(struct controller *c);

#endif
