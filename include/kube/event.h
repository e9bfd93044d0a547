/*
 * Events (events.k8s.io/v1) on objects: said once, aggregated after; bounded; a failure to write one is counted, never
 * retried for ever.
 */
#ifndef HALFLIFE_KUBE_EVENT_H
#define HALFLIFE_KUBE_EVENT_H

#include "kube/client.h"

struct event_source;
/* instance: this process's name (pod name or host). At most 1000 kinds of event are remembered and 25 wait to be
 * written. */
struct event_source *event_source_new(struct client *c, const char *instance);
void event_source_free(struct event_source *s);

struct event {
        const char *api_version, *kind, *ns, *name, *uid; /* regarding; uid may be NULL */
        bool warning;
        const char *reason; /* CamelCase */
        const char *action; /* "Recommend", "Apply" */
        const char *note;   /* at most 1 kB, cut */
};
/* The same (object, reason, note) again within 6 min becomes a series: the second patches it, later ones only count,
 * refreshed each 30 min. */
void event_emit(struct event_source *s, const struct event *e, struct now now);
/* Called now and then (once a cycle): finishes series, refreshes long ones. */
void event_tick(struct event_source *s, struct now now);
/* A write is under way. */
bool event_writing(const struct event_source *s);
uint64_t event_dropped(const struct event_source *s);

#endif
