/*
 * Events (events.k8s.io/v1) on objects. Repetitions of an event become one series. Memory and concurrent writes are
 * bounded. An event that cannot be written is dropped and counted.
 */
#ifndef HALFLIFE_KUBE_EVENT_H
#define HALFLIFE_KUBE_EVENT_H

#include "kube/client.h"

struct event_source;
/* instance: this process's name (pod name or host). At most 1000 different events are remembered, and at most 25 are
 * being written at once; more are dropped. */
struct event_source *event_source_new(struct client *c, const char *instance);
void event_source_free(struct event_source *s);

struct event {
        const char *api_version, *kind, *ns, *name, *uid; /* the object that the event regards; uid may be NULL */
        bool warning;
        const char *reason; /* CamelCase */
        const char *action; /* "Recommend", "Apply" */
        const char *note;   /* a text for people, cut to 1 kB */
};
/* Emit an event. The same event (object, reason, action, note) again within 6 min makes it a series. The second
 * emission patches the Event. Later ones are only counted, and the count is written every 30 min and at the end of the
 * series. */
void event_emit(struct event_source *s, const struct event *e, struct now now);
/* Write the counts of series that are over, and of long ones; to be called regularly (once a cycle). */
void event_tick(struct event_source *s, struct now now);
/* Is a write of an Event in progress? */
bool event_writing(const struct event_source *s);
uint64_t event_dropped(const struct event_source *s);

#endif
