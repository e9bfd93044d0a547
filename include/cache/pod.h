/*
 * Pods: what they ask for, how their processes ended, and how far a resize of them is.
 */
#ifndef HALFLIFE_CACHE_POD_H
#define HALFLIFE_CACHE_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/keys.h"
#include "cache/labels.h"
#include "cache/node.h"
#include "core/raise.h"
#include "core/usage.h"
#include "core/utilization_basis.h"
#include "objects/decode.h"

struct cache;
struct history;
struct pod_more;
struct target;
struct workload;

/* A kill to be counted. */
struct pod_kill {
        int64_t number;            /* of its process: as many of the container had ended with it */
        int64_t told_before;       /* the newest end that was told of until then */
        int64_t at_ms, started_ms; /* when the process ended, and began; 0: that is not told */
        int64_t exit_code;
        bool latest; /* nothing was started after it */
        /* whether the kubelet killed it by itself: */
        bool asked, answered, by_kubelet;
        struct kill_known {
                bool looked; /* the rest is filled in, with what was known when the kill was seen first */
                bool deleting, node_short;
                int64_t used, others;
                struct amount allocatable;
        } known;
};

enum { POD_KILLS_MAX = 16 }; /* of a container, at once: more than can end while an answer is awaited */
/* In the order of their numbers. */
struct pod_kills {
        int count;
        struct pod_kill kill[];
};

/* How a container's processes ended; times in seconds since 1970. */
struct pod_ends {
        int64_t kills_counted;                  /* restart count of the newest kill counted; -1: none */
        int64_t told;                           /* the newest end that a status told of, as the kills are numbered */
        uint32_t restarts;                      /* by its last status */
        uint32_t node_restarts, node_restarted; /* so many because its node went down; the count that the last led to */
        uint32_t began_s;                       /* when the present process did; 0: that is not told */
        uint32_t stopped_s;                     /* since when no process of it runs; 1: that is not told; 0: one does */
        uint32_t evicted_s;                     /* when an Event says that its pod was evicted for it; 0: none does */
};

struct pod_container {
        const char *name; /* interned */
        struct history *history;
        struct sample_watermark watermark;
        struct packed_amount request[RESOURCES], limit[RESOURCES]; /* read by pod_request, pod_limit */
        int64_t last_memory;                                       /* bytes, the last sample */
        struct pod_kills *kills;                                   /* NULL: none that is not counted */
        struct pod_ends *ends;    /* NULL: its first process runs, as far as is told; read by pod_ended */
        uint8_t role;             /* enum container_role */
        bool restarts[RESOURCES]; /* a resize of it would restart the container */
        bool evicted : 1;         /* its pod was, for lack of memory, and this is put down to it */
        bool probed : 1;     /* the kubelet may kill it while its pod stays: a probe, a hook, a resize; a sidecar */
        bool has_status : 1; /* restarts was told */
        uint32_t sampled_s;  /* when last_memory was measured, since 1970; 0: never */
};

/* What is kept of a pod that runs under InPlace, once there is something to keep. */
struct resizing {
        char *message;     /* the kubelet's; NULL */
        int64_t set_ms;    /* the setting (deed.changed_ms) that the next four are about */
        bool left;         /* it stays as it is */
        char *refused;     /* why the last resize was; NULL: it was not */
        int failures;      /* refused in a row */
        struct mono again; /* no resize before that */
        int64_t raised_ms; /* when it was raised last; 0: never */
        struct raising {
                struct raise_stretch stretch;
                int64_t to;   /* it is to be raised to that; 0: it is not */
                int64_t used; /* by the last sample, millicores or bytes */
                bool sampled; /* false: no sample since the controller knows the pod */
        } raising[];          /* container by container, RESOURCES each */
};

/* What is kept of a pod whose utilization is told to autoscalers. */
struct pod_told {
        struct labels labels; /* where world.pod_labels wants them */
        int64_t cpu[];        /* container by container: nanocores of the last sample; -1: none yet */
};

struct pod {
        const char *ns, *name; /* name: the end of its key, which is behind the containers */
        uint8_t uid[UID_BYTES];
        uint8_t owner_uid[UID_BYTES]; /* of its controller owner; all zero: none */
        uint32_t epoch;
        uint16_t containers;    /* at most VIEW_CONTAINERS */
        bool stopped : 1;       /* its kubelet ended it as a whole */
        bool lacks_room : 1;    /* it waits for a node with room */
        bool probes_asked : 1;  /* whether the kubelet killed containers: the answer is under way */
        struct workload *owner; /* counted in children */
        struct target *target;
        struct pod *next_of_target;
        struct pod_more *more; /* pod_namespace_targets.h; NULL: most have none */
        int64_t created_ms;
        uint32_t started_s; /* since 1970, as the next two; 0: it does not tell. Read by pod_started_ms */
        uint32_t ended_s;   /* when the last process of its restarts ended; 0: it does not tell */
        struct node *node;  /* NULL: it is on none */
        struct pod *next_on_node, **on_node; /* on_node: what points to it */
        bool running : 1, finished : 1, gone : 1, node_pressure : 1, stored : 1;
        bool admitted : 1; /* came with requests of ours, and nobody was told yet */
        bool ours : 1;     /* its annotations record requests of ours */
        bool ready : 1;
        bool deleting : 1;
        bool canary : 1;         /* it comes first, while its target has a trial */
        uint8_t resize : 3;      /* enum resize_progress */
        uint8_t basis : 3;       /* enum basis: what its utilization is of */
        uint16_t restarts;       /* of its containers, in all, but for their node's; UINT16_MAX: that many or more */
        uint32_t ready_turned_s; /* since 1970: when it became ready, or ceased to be; 0: it does not tell */
        /* Its annotation original-resources (interned); NULL: none. */
        const char *original;
        struct pod_told *told;     /* NULL: nobody is told of it */
        struct resizing *resizing; /* NULL: nothing is kept */
        struct pod_container container[];
};

/* The kubelet of a pod's node is away: what its status says is of before. */
static inline bool pod_is_unheard(const struct pod *p)
{
        return p->node && p->node->away;
}

/* An Event that a pod was evicted: believed once the pod has ended or is being deleted. */
int evicted_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void evicted_remove(struct cache *w, struct text json); /* what it told stands */
void evicted_swept(struct cache *w, uint32_t epoch);
int pod_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void pod_remove(struct cache *w, struct text json);
void pod_swept(struct cache *w, uint32_t epoch);
struct pod *pod_at(struct cache *w, struct text ns, struct text name,
                   size_t *cursor);                         /* beside the order; NULL: unknown */
struct resizing *pod_resizing(struct pod *p);               /* made when there is none */
void pod_set_raised(struct pod *p, struct text annotation); /* when it was raised, by its annotation raised */
bool pod_tells_of_kill(const struct pod *p);                /* of one that is not counted */
void pod_sampled(struct pod_container *c, struct wall at, const struct pod_metrics_container_view *v); /* memory */
struct pod_ends *pod_ends(struct pod_container *c);                      /* made when there are none */
void pod_kills_forget(struct pod_container *c, int first);               /* so many are counted */
struct pod_told *pod_tell(struct pod *p);                                /* made where there is none */
void pod_remember(struct cache *w, struct pod *p, struct text original); /* its annotation original-resources */
void pods_release(struct cache *w);
void pods_settle(struct cache *w);       /* the order */
void pods_free_dropped(struct cache *w); /* last */
static inline struct amount pod_request(const struct pod_container *c, enum resource r)
{
        return amount_unpack(c->request[r]);
}

static inline int64_t pod_started_ms(const struct pod *p)
{
        return (int64_t)p->started_s * SECOND_MS;
}

static inline struct pod_ends pod_ended(const struct pod_container *c)
{
        return c->ends ? *c->ends : (struct pod_ends){.kills_counted = -1};
}

static inline struct amount pod_limit(const struct pod_container *c, enum resource r)
{
        return amount_unpack(c->limit[r]);
}

/* The last sample of memory that was taken before, and at most fresh_ms before, that time; -1: none was. */
static inline int64_t pod_memory_before(const struct pod_container *c, struct wall at, int64_t fresh_ms)
{
        int64_t sampled_ms = (int64_t)c->sampled_s * SECOND_MS;
        return sampled_ms && sampled_ms <= at.ms && at.ms - sampled_ms <= fresh_ms ? c->last_memory : -1;
}

/* "ns/name" */
static inline const char *pod_key(const struct pod *p)
{
        return (const char *)(p->container + p->containers);
}

/* --- what others find out about it, and do to it (pod_state.c) --- */

void pod_admission_told(struct pod *p);
void pod_set_probes_asked(struct pod *p, bool asked);
void pod_kills_asked(struct pod *p); /* whether the kubelet killed: of those that are known by now */
void pod_kills_answered(struct pod *p);
void pod_kill_is_kubelets(struct pod_kill *k);
void pod_kill_date(struct pod_kill *k, int64_t at_ms); /* where it does not tell */
void pod_kill_know(struct pod_kill *k, const struct kill_known *known);
void pod_kill_counted(struct pod_container *c, int64_t number);
void pod_history(struct pod_container *c, struct history *h);
void pod_cpu_told(struct pod *p, const struct pod_container *c, int64_t nanocores);
struct resizing *pod_resizing_for(struct pod *p, int64_t set_ms); /* what is kept, begun anew for another setting */
void resizing_done(struct pod *p, bool left);                     /* left: it stays as it is until the next setting */
void resizing_raised(struct pod *p);                              /* nothing of it is to be raised any more */
void resizing_failed(struct resizing *kept);
void resizing_refused(struct resizing *kept, struct mono again, const char *why);
void pod_resize_after(struct pod *p, struct mono again);
void pod_set_requests(struct pod *p, const struct pod_view *v); /* as the server has it now */

#endif
