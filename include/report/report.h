/*
 * What people are told of the cluster's state: Events on workloads, and a log that tells a cause once however many
 * objects it meets. Metrics and conditions go on telling each.
 */
#ifndef HALFLIFE_REPORT_REPORT_H
#define HALFLIFE_REPORT_REPORT_H

#include "cache/cache.h"
#include "kube/access.h"
#include "kube/client.h"
#include "net/loop.h"
#include "report/leadership.h"

struct report;
/* identity: of this process, as Events name it. All is the caller's and stays. */
struct report *report_new(struct loop *l, struct client *c, struct access *a, const struct leadership *leadership,
                          const char *identity);
void report_free(struct report *report); /* before the client; NULL: nothing */
void report_tick(struct report *report); /* now and then: counts, and finishes series of Events */

void report_cycle_begins(struct report *report);
void report_cycle_ends(struct report *report);
uint64_t report_cycle(const struct report *report); /* the number of the one under way */

/* --- Events (events.c) --- */

void report_event(struct report *report, const struct target *t, bool warning, const char *reason, const char *note);
void report_deployed(struct report *report, const struct target *t); /* its template came with requests of ours */
void report_admitted(struct report *report, struct target *t);       /* pods that did, if any are new */
uint64_t report_events_dropped(const struct report *report);

/* --- writes that are refused (write_errors.c) --- */

struct refused { /* what was to be written; NULL where there is none */
        const char *kind, *ns, *name, *recommendation;
};
void report_refusal(struct report *report, const struct refused *what, const struct err *err);

/* --- watches that fail (watch_errors.c) --- */

enum { WATCHES_MAX = 64 };
struct watch_health {
        const char *what;           /* for people: "deployments.apps" */
        struct informer *informer;  /* NULL: it ended, the place is free */
        char trouble[ERR_TEXT_MAX]; /* "" : none */
        int trouble_code;
        bool rule_missing;   /* a rule of ours is */
        uint64_t cause;      /* of its trouble */
        uint64_t outage;     /* what the log told it as; 0: not yet */
        int outage_size;     /* so many watches fail, or failed, by it */
        struct mono failing; /* since */
};
/* One more place for a watch, the caller's; at most WATCHES_MAX. */
void report_watch(struct report *report, struct watch_health *w);
void report_watch_fails(struct report *report, struct watch_health *w, const struct err *err); /* sets its trouble */
void report_watch_works(struct report *report, struct watch_health *w);
bool report_outage_told(const struct report *report, const struct err *err); /* watches fail by it; the log says so */
/* The first of those that fail; NULL: all work. */
const struct watch_health *report_failing_watch(const struct report *report);
int report_failing_watches(const struct report *report);

/* --- the source of usage (usage_source.c) --- */

struct usage_source {
        bool away;       /* the last poll failed as a whole */
        bool told;       /* and the log has said so */
        bool partial;    /* the last poll brought less than all; the log told it */
        char error[256]; /* why it is away */
        int64_t since_ms;
};
const struct usage_source *report_usage_source(const struct report *report);
void report_usage_away(struct report *report, const char *error, const struct err *err);
void report_usage_back(struct report *report);
/* Nobody asks for usage any more: whether it could be read is not known. */
void report_usage_unasked(struct report *report);
/* What came before a list broke off, or its time was over, counts; the rest is a gap. err code 0: all came. */
void report_usage_partial(struct report *report, int64_t pods, const struct err *err);
/* The same, of a replica: what is shown is as old as the API server's last answer. The log is silent. */
void report_usage_stands(struct report *report, const char *error); /* NULL: it does not */

#endif
