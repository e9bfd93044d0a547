/*
 * Pods: their requests, how their processes ended, and the progress of resizes.
 */
#ifndef HALFLIFE_CACHE_POD_H
#define HALFLIFE_CACHE_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/labels.h"
#include "cache/node.h"
#include "cache/object_keys.h"
#include "core/raise_stretch.h"
#include "core/usage.h"
#include "core/utilization_basis.h"
#include "objects/decode.h"

struct cache;
struct history;
struct pod_more;
struct target;
struct workload;

/* An out-of-memory kill that is not counted yet. */
struct pod_kill {
        int64_t number; /* number of the killed process: how many processes of the container had ended, with this one */
        int64_t told_before;       /* number of the newest end that a status had reported before this kill */
        int64_t at_ms, started_ms; /* when the process ended, and began, wall ms; 0: not reported */
        int64_t exit_code;
        bool latest; /* the container has not started again since */
        /* Whether the kubelet itself killed the process, as for a failed probe. asked: halflife has requested the pod's
         * Events, which tell; answered: they came; by_kubelet: they say yes. */
        bool asked, answered, by_kubelet;
        struct kill_known {
                bool looked; /* the other fields are set, to what was known when halflife first saw the kill */
                bool deleting, node_short; /* the pod was being deleted; its node was short of memory */
                int64_t used, others; /* bytes used by the container; by all other containers on its node; -1: not known
                                       */
                struct amount allocatable; /* the node's memory for pods, bytes */
        } known;
};

enum { POD_KILLS_MAX = 16 }; /* uncounted kills of one container: more than can occur while an answer is awaited */
/* The uncounted kills of a container, ordered by number. */
struct pod_kills {
        int count;
        struct pod_kill kill[];
};

/* How a container's processes ended; times in seconds since 1970. */
struct pod_ends {
        int64_t kills_counted; /* number of the newest kill that halflife has counted; -1: none */
        int64_t counted_ms;    /* when halflife counted that kill, by its own clock, wall ms; 0: not known */
        int64_t told;          /* number of the newest end that a status reported, numbered as kills are */
        uint32_t restarts;     /* restart count in the last status, plus `base` */
        /* For restart counts that fall (restart_counts.c). base: added to each reported count. reported: the last
         * reported count. fell_from: the count before the fall. end_s: the newest end in any status, in seconds since
         * 1970. */
        uint32_t base, reported, fell_from, end_s;
        /* how many restarts a node shutdown caused; the restart count after the last of these restarts */
        uint32_t node_restarts, node_restarted;
        uint32_t began_s; /* when the present process began; 0: not reported */
        uint32_t
                stopped_s; /* since when the container has no process; 1: the time is not reported; 0: a process runs */
        uint32_t evicted_s; /* when, by an Event, the pod was evicted because of this container; 0: no such Event */
};

struct pod_container {
        const char *name; /* interned */
        struct history *history;
        struct sample_watermark watermark;
        struct packed_amount request[RESOURCES], limit[RESOURCES]; /* read by pod_request, pod_limit */
        int64_t last_memory;                                       /* bytes of memory used, by the last sample */
        struct pod_kills *kills;                                   /* uncounted kills; NULL: none */
        struct pod_ends *ends; /* read by pod_ended; NULL: no status reported that a process of the container ended, or
                                  began UINT16_MAX seconds or more after the pod */
        uint8_t role;          /* enum container_role */
        uint8_t restarts : 2;  /* bit r: the resizePolicy restarts the container when the request for resource r is
                                  resized */
        bool evicted : 1;      /* the pod was evicted for lack of memory, and this counts as a kill of this container */
        bool probed : 1;       /* the kubelet may itself kill the container while the pod stays: by a probe, hook or
                                  resize, or as a sidecar */
        bool has_status : 1;   /* a status reported the container's restarts */
        uint16_t began_after_s; /* when the container's present or last process began: 1 + seconds since the pod began;
                                   0: not reported; UINT16_MAX: so late or later, ends->began_s has the time */
        uint32_t sampled_s;     /* when last_memory was measured, since 1970; 0: never */
};

/* The state of resizes of one pod, mode InPlace. */
struct resizing {
        char *message;     /* the kubelet's message about the resize; NULL: none */
        int64_t set_ms;    /* apply_state.changed_ms of the change that the next four fields are about */
        bool left;         /* halflife leaves the pod's requests as they are until the next change */
        char *refused;     /* why the API server refused the last resize; NULL: it did not. If `left`, no retry follows
                            */
        int failures;      /* refused resizes in a row */
        struct mono again; /* halflife does not resize the pod before that time */
        int64_t raised_ms; /* when halflife last raised the pod's requests, wall ms; 0: never */
        struct raising {
                struct raise_stretch stretch;
                int64_t to;   /* the request to raise to, millicores or bytes; 0: no raise */
                int64_t used; /* usage by the last sample, millicores or bytes */
                bool sampled; /* false: no sample came since halflife has known the pod */
        } raising[];          /* for each container, RESOURCES entries */
};

/* The facts of a pod that custom metrics report to autoscalers. */
struct pod_told {
        struct labels labels; /* the pod's labels, if cache.pod_labels is set */
        int64_t cpu[];        /* for each container: nanocores by the last sample; -1: none yet */
};

struct pod {
        const char *ns, *name; /* name points into the key, which follows the containers (pod_key) */
        uint8_t uid[UID_BYTES];
        uint8_t owner_uid[UID_BYTES]; /* UID of the pod's controller owner; all zero: it has none */
        uint32_t epoch;
        uint8_t containers;    /* number of containers, at most VIEW_CONTAINERS */
        bool stopped : 1;      /* the kubelet ended the whole pod */
        bool lacks_room : 1;   /* the pod waits for a node with room */
        bool probes_asked : 1; /* halflife has asked whether the kubelet killed its containers; no answer yet */
        bool labels_cut : 1, containers_cut : 1; /* the pod has more labels, or more containers, than are kept */
        uint16_t start_restarts; /* restarts that were reported while the pod had its originals for its start */
        struct workload *owner;  /* the controller owner, which counts the pod in `children`; NULL: none is known */
        struct target *target;
        struct pod *next_of_target;
        struct pod_more *more; /* pod_namespace_targets.h; NULL for most pods */
        int64_t created_ms;
        uint32_t started_s; /* when the kubelet took the pod, seconds since 1970; 0: not reported; read by
                               pod_started_ms */
        uint32_t
                ended_s; /* when the process before the pod's last restart ended, seconds since 1970; 0: not reported */
        struct node *node; /* NULL: the pod is not scheduled */
        LIST_ENTRY(pod) on_node;
        int64_t booked_ms; /* the ledger has the pod's bookings up to this monotonic time, in ms; 0: those that it has
                              of all pods (bookkeeping.h) */
        bool runs : 1;     /* the pod's phase is Running, also while the pod terminates */
        bool running : 1, finished : 1, gone : 1, node_pressure : 1, stored : 1;
        bool admitted : 1; /* the pod was created with requests by halflife, and no Event has reported that yet */
        bool ours : 1;     /* the pod's annotations record requests by halflife */
        bool ready : 1;
        bool deleting : 1;
        bool canary : 1;    /* this is a canary pod of its target's pod canary */
        uint8_t resize : 3; /* enum resize_progress */
        uint8_t basis : 3;  /* enum basis: the pod's utilization basis, request or limit */
        /* Restarts of the pod's containers, without those by node shutdowns and those in start_restarts; UINT16_MAX:
         * that many or more. */
        uint16_t restarts;
        uint32_t ready_turned_s; /* when the pod became ready or unready, since 1970; 0: not reported */
        /* CPU of all the pod's containers by the last measurement, in millicores, and the time of the measurement in
         * seconds since 1970; 0: none so far. Memory is in each container. */
        uint32_t cpu_milli, measured_s;
        /* The pod's annotation original-resources (interned); NULL: none. */
        const char *original;
        struct pod_told *told;     /* NULL: no custom metric needs these facts */
        struct resizing *resizing; /* NULL: halflife knows of no resize or raise of the pod */
        struct pod_container container[];
};

/* Has the pod its original requests while it starts (apply.startup)? Its annotations then record the originals alone.
 */
static inline bool pod_has_originals(const struct pod *p)
{
        return p->original && !p->ours;
}

/* Is the kubelet of the pod's node away? The pod's status is then out of date. */
static inline bool pod_is_unheard(const struct pod *p)
{
        return p->node && p->node->away;
}

int pod_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void pod_remove(struct cache *w, struct text json);
void pod_swept(struct cache *w, uint32_t epoch);
struct pod *pod_at(const struct cache *w, struct text ns, struct text name,
                   size_t *cursor);           /* `cursor`: the place in cache.order after the last found pod, 0 at the
                                                 beginning; returns NULL for an unknown pod */
struct resizing *pod_resizing(struct pod *p); /* a pod without a state of resizes gets an empty one */
void pod_set_raised(struct pod *p, struct text annotation); /* take the time of the last raise from annotation raised */
/* Set the pod's CPU use to the sum over its measured containers, and the time of the measurement. */
void pod_measured(struct pod *p, const struct pod_metrics_view *m);
static inline bool pod_is_measured(const struct pod *p, struct wall now, int64_t fresh_ms)
{
        int64_t age_ms = now.ms - (int64_t)p->measured_s * SECOND_MS;
        return p->measured_s && age_ms <= fresh_ms && age_ms >= -USAGE_FUTURE_MS;
}
/* The usage of the pod's containers together by the last measurement, in millicores or bytes. */
int64_t pod_used(const struct pod *p, enum resource r);
/* Keep a container's memory sample, taken at the time `at`. Does nothing if it has no memory, or 0. */
void pod_sampled(struct pod_container *c, struct wall at, const struct pod_metrics_container_view *v);
struct pod_told *pod_tell(struct pod *p);                                /* the pod's `told`, made where it is NULL */
void pod_remember(struct cache *w, struct pod *p, struct text original); /* keep annotation original-resources */
void pods_release(struct cache *w);
void pods_settle(struct cache *w);       /* bring cache.order up to date */
void pods_free_dropped(struct cache *w); /* free gone pods; call it after all that uses them, as counting kills */
/* The container's watermark, for usage_add, which moves it when it takes a sample. */
static inline struct sample_watermark *pod_watermark(struct pod_container *c)
{
        return &c->watermark;
}

static inline struct amount pod_request(const struct pod_container *c, enum resource r)
{
        return amount_unpack(c->request[r]);
}

static inline int64_t pod_started_ms(const struct pod *p)
{
        return (int64_t)p->started_s * SECOND_MS;
}

/* When the pod began to start, wall ms: when its kubelet took the pod, or when the latest container to restart began,
 * if that was later. */
int64_t pod_began_ms(const struct pod *p);

/* When the container's present process began, or its last one where none runs; if no status reported that, when its pod
 * began. Wall ms. */
int64_t pod_container_began_ms(const struct pod *p, const struct pod_container *c);

static inline bool pod_container_restarts(const struct pod_container *c, enum resource r)
{
        return c->restarts >> r & 1;
}

static inline struct pod_ends pod_ended(const struct pod_container *c)
{
        return c->ends ? *c->ends : (struct pod_ends){.kills_counted = -1};
}

static inline struct amount pod_limit(const struct pod_container *c, enum resource r)
{
        return amount_unpack(c->limit[r]);
}

/* Bytes by the last memory sample, if taken at most fresh_ms before `at`; -1: no such sample. */
static inline int64_t pod_memory_before(const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        int64_t sampled_ms = (int64_t)c->sampled_s * SECOND_MS;
        return sampled_ms && sampled_ms <= at.ms && at.ms - sampled_ms <= fresh_ms ? c->last_memory : -1;
}

/* The pod's key in cache.pods: "ns/name". */
static inline const char *pod_key(const struct pod *p)
{
        return (const char *)(p->container + p->containers);
}

/* --- written by other modules (pod_state.c) --- */

void pod_admission_told(struct pod *p);
void pod_set_canary(struct pod *p, bool first); /* `first`: the pod is a canary pod of its target's pod canary */
void pod_set_probes_asked(struct pod *p, bool asked);
void pod_kills_asked(struct pod *p); /* mark all known kills of the pod as asked (struct pod_kill) */
void pod_kills_answered(struct pod *p);
void pod_kill_is_kubelets(struct pod_kill *k);
void pod_kill_date(struct pod_kill *k, int64_t at_ms); /* set the time of a kill whose status had none */
void pod_kill_know(struct pod_kill *k, const struct kill_known *known);
void pod_history(struct pod_container *c, struct history *h);
void pod_cpu_told(struct pod *p, const struct pod_container *c, int64_t nanocores);
/* The pod's state of resizes; a state that is not yet about the change made at set_ms is made or reset. */
struct resizing *pod_resizing_for(struct pod *p, int64_t set_ms);
/* A resize ended. `left`: halflife leaves the pod as it is until it next changes the target's requests. */
void resizing_done(struct pod *p, bool left);
void resizing_raised(struct pod *p); /* forget the requests to raise to, because the raise is done */
void resizing_invalid(struct pod *p,
                      const char *why); /* no resize can succeed: leave the pod as it is, and keep why for the status */
void resizing_failed(struct resizing *kept);
void resizing_refused(struct resizing *kept, struct mono again, const char *why);
void pod_resize_after(struct pod *p, struct mono again);
void raising_sampled(struct raising *r, const struct raise_facts *facts); /* decide on a raise by a new sample */
/* Book in the ledger what the pod has asked for up to now. Call it before anything about the pod's requests changes. */
void pod_changes(struct cache *w, struct pod *p);
void pod_set_requests(struct pod *p, const struct pod_view *v); /* take the requests that the API server has now */

/* --- kills and evictions (pod_kills.c) --- */

struct pod_ends *pod_ends(struct pod_container *c);        /* the container's `ends`, made where they are NULL */
bool pod_tells_of_kill(const struct pod *p);               /* has the pod a kill that is not counted yet? */
void pod_kills_forget(struct pod_container *c, int first); /* drop the `first` oldest kills, which are counted */
void pod_kill_counted(struct pod_container *c, int64_t number,
                      int64_t at_ms); /* at_ms: when halflife counted the kill */
/* The restart count of a status, less one if the last restart is false: the kubelet counts a restart when it lost track
 * of a process, as after an eviction. */
uint32_t pod_kills_restarts(const struct container_status_view *s);
/* Add the kills that a container's status reports. */
void pod_kills_read(struct pod_container *c, const struct container_status_view *s);
/* Note an eviction that a pod's status reports; if it reports none and the pod has ended or is being deleted, those
 * that Events reported. */
void pod_kills_read_eviction(struct pod *p, const struct eviction_view *v);
/* Count the evictions that Events reported about a pod that has ended or is being deleted. */
void pod_kills_believe_events(struct pod *p);
/* Set w->killed to the pod, and w->kills, where the pod has kills that are not counted; else set w->killed to NULL. */
void pod_kills_tell(struct cache *w, struct pod *p);
/* Take an Event that a pod was evicted. The eviction counts only once the pod has ended or is being deleted. */
int evicted_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
/* Does nothing: the eviction happened, even when the Event is gone. */
void evicted_remove(struct cache *w, struct text json);
void evicted_swept(struct cache *w, uint32_t epoch);

/* --- restart counts that go back (restart_counts.c) --- */

/* Raise the restart counts in the status `v` that fell, so that they go on from the counts before. Call it before the
 * pod takes the status. */
void restart_counts_continue(struct pod *p, struct pod_view *v);
/* Keep the restart count and newest end of the status `s`, with which the next status is compared. */
void restart_count_keep(struct pod_ends *e, const struct container_status_view *s);
/* Add `by` to the numbers of a container's uncounted kills, and to all restart counts that it reports from now on. */
void pod_kills_continue(struct pod_container *c, int64_t by);

#endif
