/*
 * Reports for people: Events on workloads and nodes, and log lines about errors. The log reports each cause once,
 * however many objects it concerns; metrics and conditions report every object.
 */
#ifndef HALFLIFE_REPORT_REPORT_H
#define HALFLIFE_REPORT_REPORT_H

#include "cache/cache.h"
#include "kube/access.h"
#include "kube/client.h"
#include "net/loop.h"
#include "report/leadership.h"

struct report;
/* identity: the name of this process in Events. The caller keeps all arguments alive. */
struct report *report_new(struct loop *l, struct client *c, struct access *a, const struct leadership *leadership,
                          const char *identity);
void report_free(struct report *report); /* call it before the client is freed; NULL is allowed */
void report_tick(struct report *report); /* call it now and then: logs counts, and ends Event series */

void report_cycle_begins(struct report *report);
void report_cycle_ends(struct report *report);
uint64_t report_cycle(const struct report *report); /* number of the cycle under way */

/* --- Events (events.c, hot_nodes.c) --- */

void report_event(struct report *report, const struct target *t, bool warning, const char *reason, const char *note);
/* A deployed template has requests by halflife; they are logged as changes too. */
void report_deployed(struct report *report, struct cache *w, const struct target *t);
/* The same of new pods; nothing if there are none. */
void report_admitted(struct report *report, struct cache *w, struct target *t);
/* After a poll: an Event on each node that has become hot. percent: the setting. Returns how many nodes are hot. */
int64_t report_hot_nodes(struct report *report, const struct cache *w, int percent);
uint64_t report_events_dropped(const struct report *report);

/* --- refused writes (write_errors.c) --- */

struct refused { /* the object that was to be written; NULL: not known */
        const char *kind, *ns, *name, *recommendation;
};
/* The API server refused a write. */
void report_refusal(struct report *report, const struct refused *what, const struct err *err);

/* --- failing watches (watch_errors.c) --- */

enum { WATCHES_MAX = 64 };
struct watch_health {
        const char *what;          /* its name in messages: "deployments.apps" */
        struct informer *informer; /* NULL: the watch ended and the entry is free */
        struct err trouble;        /* why it fails; code 0: it works */
        bool named;                /* of a kind that only profiles name: only their conditions report its trouble */
        bool rule_missing;         /* it fails for lack of an RBAC rule */
        uint64_t cause;            /* digest of the cause of its trouble */
        uint64_t outage;           /* number of the log line that reported the failure; 0: none yet */
        int outage_size;           /* how many watches fail, or failed, in this outage */
        struct mono failing;       /* since when it fails */
};
/* Add a watch, at most WATCHES_MAX. The caller keeps it until report_free. */
void report_watch(struct report *report, struct watch_health *w);
void report_watch_fails(struct report *report, struct watch_health *w, const struct err *err); /* sets w->trouble */
void report_watch_works(struct report *report, struct watch_health *w);
/* has the log reported failing watches with this cause? */
bool report_outage_told(const struct report *report, const struct err *err);
/* The first failing watch, without those of kinds that only profiles name; NULL: all work. */
const struct watch_health *report_failing_watch(const struct report *report);
int report_failing_watches(const struct report *report);

/* --- the usage source (usage_source_away.c) --- */

struct usage_source_state {
        bool away;        /* the last poll failed as a whole */
        bool told;        /* the log has reported that */
        bool partial;     /* the last poll brought only a part of the usage, which the log has reported */
        char error[256];  /* why it is away */
        int64_t since_ms; /* since when it is away, wall ms */
};
const struct usage_source_state *report_usage_source(const struct report *report);
void report_usage_away(struct report *report, const char *error, const struct err *err);
void report_usage_back(struct report *report);
/* No workload needs usage any more, so whether it can be read is not known. */
void report_usage_unasked(struct report *report);
/* A poll ended. If the list broke off or took too long (err), the pods read so far count, and the others have a gap.
 * err code 0: all usage was read. */
void report_usage_partial(struct report *report, int64_t pods, const struct err *err);
/* On a replica: the data is as old as the API server's last answer, with the error since then. Logs nothing. */
void report_usage_stands(struct report *report, const char *error); /* NULL: the data is current */

#endif
