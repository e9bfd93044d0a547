/*
 * Notices for people: Events on workloads and nodes, and log lines about errors. The log reports each cause once,
 * however many objects it concerns; metrics and conditions report every object.
 */
#ifndef HALFLIFE_NOTICES_NOTICES_H
#define HALFLIFE_NOTICES_NOTICES_H

#include "cache/cache.h"
#include "kube/access.h"
#include "kube/client.h"
#include "kube/leadership.h"
#include "net/loop.h"

struct notices;
/* identity: the name of this process in Events. The caller keeps all arguments alive until notices_free. */
struct notices *notices_new(struct loop *l, struct client *c, struct access *a, const struct leadership *leadership,
                            const char *identity);
void notices_free(struct notices *notices); /* call it before the client is freed; NULL is allowed */
void notices_tick(struct notices *notices); /* call now and then: logs counts of refusals, ends Event series */

void notice_cycle_begins(struct notices *notices);
void notice_cycle_ends(struct notices *notices);
uint64_t notice_cycle(const struct notices *notices); /* number of the present cycle, from 1; 0: before the first */

/* --- Events (events.c, hot_nodes.c) --- */

void notice_event(struct notices *notices, const struct target *t, bool warning, const char *reason, const char *note);
/* Emit an Event about the requests by halflife in a deployed template, and log them as changes. */
void notice_deployed(struct notices *notices, struct cache *w, const struct target *t);
/* Emit an Event about the requests that halflife's admission gave new pods, and log them as changes. Does nothing
 * without new pods. */
void notice_admitted(struct notices *notices, struct cache *w, struct target *t);
/* Call after a poll of the nodes: emits an Event on each node that has become hot. percent: the setting
 * node-hot-percent. Returns how many nodes are hot. */
int64_t notice_hot_nodes(struct notices *notices, const struct cache *w, int percent);
uint64_t notice_events_dropped(const struct notices *notices);

/* --- refused writes (write_errors.c) --- */

struct refused { /* the object that was to be written; a member NULL: not known */
        const char *kind, *ns, *name, *recommendation;
};
/* Log that the API server refused a write: one line for each cause. */
void notice_refusal(struct notices *notices, const struct refused *what, const struct err *err);

/* --- failing watches (watch_errors.c) --- */

enum { WATCHES_MAX = 64 };
struct watch_health {
        const char *what;          /* the watch's name in messages: "deployments.apps" */
        struct informer *informer; /* NULL: the watch ended and the entry is free */
        struct err trouble;        /* why the watch fails; code 0: it works */
        bool named;                /* its kind is named only by profiles: only their conditions report its trouble */
        bool rule_missing;         /* the watch fails for lack of an RBAC rule */
        uint64_t cause;            /* digest of the cause of the trouble */
        uint64_t outage;           /* number of the outage, and of its log line; 0: no line has reported the failure */
        int outage_size;           /* how many watches fail, or failed, in this outage */
        struct mono failing;       /* since when the watch fails */
};
/* Add a watch, at most WATCHES_MAX. The caller keeps it until notices_free. */
void notice_watch(struct notices *notices, struct watch_health *w);
void notice_watch_fails(struct notices *notices, struct watch_health *w, const struct err *err); /* sets w->trouble */
void notice_watch_works(struct notices *notices, struct watch_health *w);
/* Has the log reported watches that fail by the same cause as err? */
bool notice_outage_told(const struct notices *notices, const struct err *err);
/* The first failing watch, but for watches of kinds that only profiles name; NULL: all work. */
const struct watch_health *notice_failing_watch(const struct notices *notices);
int notice_failing_watches(const struct notices *notices);

/* --- the usage source (usage_source_away.c) --- */

struct usage_source_state {
        bool away;        /* the last poll of usage failed as a whole */
        bool told;        /* the log has reported that usage cannot be read */
        bool partial;     /* the last poll brought only a part of the usage, which the log has reported */
        char error[256];  /* why usage cannot be read */
        int64_t since_ms; /* since when usage cannot be read, wall ms */
};
const struct usage_source_state *notice_usage_source(const struct notices *notices);
void notice_usage_away(struct notices *notices, const char *error, const struct err *err);
void notice_usage_back(struct notices *notices);
/* Call when no workload needs usage any more: whether usage can be read is then not known. */
void notice_usage_unasked(struct notices *notices);
/* Call when a poll has ended. If the list broke off or took too long (err), the pods read so far count, and all other
 * pods have a gap. err code 0: all usage was read. */
void notice_usage_partial(struct notices *notices, int64_t pods, const struct err *err);
/* On a replica: note that the data is as old as the API server's last answer, because of this error since. Logs
 * nothing. */
void notice_usage_stands(struct notices *notices, const char *error); /* error NULL: the data is current */

#endif
