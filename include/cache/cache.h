/*
 * What the controller knows of the cluster, cut down to what it uses. One loop thread owns it. Watches write it (by the
 * *_upsert, *_remove, *_swept functions); everything else reads it. It is level-triggered: links between its parts
 * (owner chains, profiles, targets) are made afresh by cache_relink once a cycle from what is there, so that no order
 * of events can leave them wrong.
 */
#ifndef HALFLIFE_CACHE_CACHE_H
#define HALFLIFE_CACHE_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cache/annotation_command.h"
#include "cache/imported.h"
#include "cache/profile.h"
#include "core/basis.h"
#include "core/guard.h"
#include "core/kind.h"
#include "core/quantity.h"
#include "core/raise.h"
#include "core/usage.h"
#include "kube/informer.h"
#include "objects/decode.h"
#include "objects/label_selector.h"
#include "objects/profile_read.h"
#include "snapshot/snapshot.h"
#include "store/store.h"

/* Labels in one block of memory. */
struct labels {
        struct label_pair *pair;
        size_t count;
};

struct range_facts {
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], ratio[RESOURCES],
                pod_min[RESOURCES], pod_ratio[RESOURCES];
};
struct limit_range {
        struct limit_range *next;
        char *name;
        uint32_t epoch;
        struct range_facts says;
};

/* What a ResourceQuota allows and what is used of it. */
struct quota_facts {
        struct amount hard[QUOTA_COUNTS], used[QUOTA_COUNTS]; /* millicores, bytes, pods; used set where hard is */
        unsigned scopes;                                      /* enum quota_scope, or-ed; 0: it counts every pod */
        enum quota_classes classes;
        const char **class; /* priority classes; interned */
        int class_count;
};
struct quota {
        struct quota *next;
        char *name;
        uint32_t epoch;
        struct quota_facts says;
};

struct ns {
        const char *name; /* interned */
        uint32_t epoch;
        bool known; /* the API server has it; else only something in it was seen */
        bool used;  /* something in it is held: by the last namespaces_sweep */
        bool going; /* it is being deleted */
        bool apply_never;
        bool retunes; /* targets follow the requests of pods in it: by the last cache_relink */
        struct backfill_refusal {
                struct mono until; /* its histories from before are not asked for */
                int times;         /* so often in a row Prometheus would not tell them */
                bool told;
        } refusal;
        struct labels labels;
        struct limit_range *ranges;
        struct quota *quotas; /* by name */
        struct target *whole; /* of dimension Namespace, by the last settle; NULL: none */
};

/* A kind that is watched: from the table of kinds, or named by a profile and found by discovery. */
struct watched_kind {
        struct watched_kind *next;
        const char *group, *version, *kind, *plural; /* interned */
        const char *template_path;
        unsigned flags; /* enum kind_flags */
        void *asking;   /* discovery is under way; NULL: it is not */
        struct mono asked;
        bool missing;  /* the server says that it has no such kind */
        bool vanished; /* its watch is told so (404): discovery is to say whether it went, or goes by another version */
        bool named;    /* by a profile: by the last watch_kinds */
        bool wanted;   /* to be watched: by the last watch_kinds */
        struct informer *informer;
};

struct container_spec {
        const char *name; /* interned */
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES];
};

/* Resources as one of our annotations records them. */
struct record_row {
        const char *container; /* interned */
        struct amount request[RESOURCES], limit[RESOURCES];
};
struct record_set {
        struct record_row *row;
        int rows;
        bool present;
        bool broken; /* there is one, and it cannot be read: what is ours and what the owner asked for is not known */
};

struct foreign_owner {                   /* of a request, by server-side apply */
        const char *container, *manager; /* interned */
        bool of[RESOURCES];
};

struct controller_owner {
        const char *api_version, *kind, *name; /* interned; kind NULL: none */
        uint8_t uid[UID_BYTES];
};

/* What the Rollouts say that run a workload's template in its place, by a workloadRef. */
struct stand_in {
        const struct watched_kind *kind; /* NULL: there are none */
        int64_t replicas;
        const char *blocked; /* why they cannot take a change, a constant; NULL: they can */
        bool under_way, needs_person;
};

/* What few workloads have. */
struct workload_more {
        struct amount pod_asks[RESOURCES]; /* what its pods ask for as a whole (spec.resources) */
        char *refused;                     /* why new pods of it are refused by a quota; NULL */
        struct controller_owner refers;    /* whose template it runs (a Rollout's workloadRef), by name; kind NULL:
                                              its own */
        struct stand_in stand_in;          /* by the last cache_relink */
        int64_t observed_referred;
        const char *phase; /* interned; NULL: it tells none */
};

struct workload {
        struct watched_kind *kind;
        char *key; /* "ns/group/Kind/name"; name points into it */
        const char *ns, *name;
        struct workload_more *more; /* NULL: most have none; read by workload_more */
        struct share surge;         /* of a rollout; not set: its kind's default */
        const char *priority_class; /* of its pods; interned; NULL: none */
        uint8_t uid[UID_BYTES];
        char *uid_text; /* where its bytes do not say it; NULL: they do (workload_uid) */
        uint32_t epoch;
        int children;
        uint32_t events; /* so many has the watch brought of it */
        int64_t generation, created_ms;
        struct labels labels; /* the union with the template's: what selectors see */
        size_t own_labels;    /* so many of them, the first, are its own: copied to the Recommendation */
        struct controller_owner owner_ref;
        struct workload *owner; /* that one, or whom it refers to; linked by cache_relink; counted in children */
        struct container_spec *container;
        struct foreign_owner *foreign;
        int containers, foreigns;
        struct record_set original, applied;
        int64_t replicas;
        bool gone; /* kept while pods or workloads still point to it */
        bool apply_never, paused, on_delete, recreate, deadline_exceeded, in_place_only, needs_person;
        int64_t partition, observed_generation, updated, available, status_replicas;
        struct autoscaler *autoscaler; /* the first, by name, of those that scale it */
        const struct other_autoscaler
                *rival;          /* the first, by name, that sets the requests of it or of an owner; NULL: none */
        uint64_t digest;         /* of the template without requests and our annotations */
        struct profile *chosen;  /* by the last settle */
        struct profile *of_pods; /* the same, of dimension Pod */
        struct target *target;   /* its history and Recommendation; NULL: none */
        struct workload *next_gone;
};

/* A node as far as it matters to its pods. */
struct node {
        const char *name; /* interned */
        uint32_t epoch;
        bool known;        /* the watch has it; else only pods on it were seen */
        bool away;         /* NotReady or unreachable; or the watch had it, has it no more, and pods are on it still */
        struct pod *first; /* of the pods on it, by next_on_node; NULL: none */
        int64_t turned_ms; /* since when it is away, or is not; 0: it does not tell */
        struct amount allocatable; /* memory, bytes; unset: not known */
};

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

/* One metric of an autoscaler, as decode.h has it; index in its list is its place here. */
struct autoscaler_metric {
        enum metric_source source;
        enum resource resource;
        enum metric_target target;
        const char *container, *name; /* interned; NULL: none */
        int64_t percent;
        struct amount recorded, applied; /* by our annotations: the owner's target, and what we made of it */
};
/* An HPA, or a ScaledObject of KEDA, which makes an HPA of its own that nobody else writes. */
struct autoscaler_kind {
        const char *word; /* for people */
        const char *group, *version, *kind, *plural;
        bool triggers; /* its metrics are triggers */
};
extern const struct autoscaler_kind autoscaler_hpa, autoscaler_scaled_object;
struct autoscaler {
        const struct autoscaler_kind *kind;
        char *key;             /* "ns/name", or "ns/name/ScaledObject" */
        const char *ns, *name; /* name: interned */
        uint32_t epoch;
        uint32_t events;                        /* so many has the watch brought of it */
        const char *target_group, *target_kind; /* interned */
        char *target_name;
        struct controller_owner owner; /* who made it; kind NULL: nobody */
        const char *applier;           /* interned: who owns its metrics by server-side apply, not halflife; NULL */
        const char *writer;            /* interned: who wrote them last, not halflife; NULL */
        struct autoscaler_metric *metric;
        int metrics;
        int records; /* targets that its annotations of ours name */
        bool broken; /* one of those cannot be read */
        /* what the server said when we asked whether we may write it, or wrote it */
        bool permitted;
        char *denied; /* why not; NULL */
        int64_t denied_ms;
        struct workload *workload; /* what it scales; linked by autoscalers_settle */
        struct autoscaler *next;   /* of the workload, by name */
};

/* A VerticalPodAutoscaler that is not Off: it sets the requests of what it points to, so we do not. */
struct other_autoscaler {
        char *key; /* "ns/name" */
        const char *ns, *name;
        uint32_t epoch;
        const char *target_group, *target_kind, *mode; /* interned; mode "" where it says none */
        char *target_name;
};

/* status.guard, of one that is held by it. */
struct published_guard {
        enum guard_cause cause;
        int64_t fired_ms, until_ms;
        char *why;
};

struct published_condition {
        const char *type, *reason; /* interned */
        bool status;
        int64_t since_ms; /* lastTransitionTime */
};

/* status.quota: few have one. */
struct published_quota {
        struct amount hard[RESOURCES], used[RESOURCES];
};

/* A Recommendation as the API server has it. */
struct published_amount {
        const char *container; /* interned */
        enum state state;
        struct amount target[RESOURCES];
        bool learned[RESOURCES]; /* it was not just the owner's request of then */
        struct snapshot_numbers shown[RESOURCES];
};

struct published {
        char *key; /* "ns/name" */
        uint32_t epoch;
        enum state state;
        bool known;    /* seen by the watch, or written by us and not yet seen */
        bool in_place; /* what is applied is what pods are set to */
        int confidence_percent;
        int64_t generation;
        char *hold; /* why a person holds it; NULL */
        struct annotation_command *command[ANNOTATION_COMMANDS];
        uint64_t urgent;         /* digest of what is written at once (publish.h) */
        struct labels labels;    /* as the server has them */
        uint64_t labels_written; /* digest of those that we wrote last; 0: not in this life */
        struct published_condition *condition;
        struct published_amount *row;
        int conditions, rows;
        int64_t applied_ms; /* status.applied: what a lost database does not know any more; 0: none */
        char *applied;      /* its containers, as JSON */
        char *resting;      /* status.canary.rest, as JSON; NULL: no trial is under way */
        int64_t samples, since_ms, last_ms, saving[RESOURCES];
        struct published_quota *quota;                                              /* NULL: none */
        struct published_guard *guard;                                              /* NULL: none */
        struct target *target;                                                      /* linked by cache_relink */
        const char *profile_kind, *profile_name, *target_api_version, *target_kind; /* interned */
        char *target_name;
};

/* One container of a target: what was learned of it. */
struct history {
        struct target *target;
        double cpu_weight; /* original CPU request in cores; 0: none */
        /* [RESOURCES] of pods that are raised when they use more than they ask for: effective, as of the last decision;
         * NULL: they are not. */
        struct amount *original;
        bool dirty;                        /* since the last checkpoint */
        bool counted;                      /* holds kills that are not stored yet */
        uint8_t jumped;                    /* cycles in a row that its newest sample was ahead of every clock */
        struct usage usage;                /* what every sample touches stands before it, on one cache line */
        struct history *next;              /* of the target */
        const char *container;             /* interned */
        struct store_watermark *watermark; /* loaded, until the pods have come */
        size_t watermarks;
};

/* What the controller did to a target and saw done to it; stored at once. Times are wall ms, 0: never. */
struct apply_state {
        int64_t changed_ms;            /* our last change */
        uint64_t digest;               /* of the template we changed */
        char *containers;              /* JSON of status.applied.containers; NULL */
        struct record_set set;         /* the same, read; only where in_place */
        struct pod_canary *pod_canary; /* pod_canary.h; NULL: none is under way; only where in_place */
        int64_t stood_ms;              /* of canaries: since when the last change is in force; -1: not yet */
        int64_t followed_ms;           /* when what was tried on some pods was last set on the others */
        bool in_place;                 /* they are a setting that pods have or get, and no template */
        int resets;                    /* in a row, within cooldown */
        int64_t reset_seen_ms;
        int64_t contested_ms;      /* until then; 0: not contested */
        int64_t contest_step_ms;   /* 24 h, doubling to 168 h */
        char *contest;             /* who or what; NULL */
        char *admitted;            /* requests that admission made of ours, as our annotations record them; NULL */
        struct record_set made;    /* the same, read */
        struct guard_state *guard; /* guard_state.h; NULL: most have nothing to keep */
};

/* A kill that the store gave back, until its pod has come. */
struct loaded_kill {
        uint8_t uid[UID_BYTES];
        const char *container; /* interned */
        int64_t restarts;
};

struct target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of its Recommendation */
        struct workload *workload;  /* NULL: it is gone, what was learned stays for the retention time */
        struct workload *likeness;  /* of another dimension: the pod or the namespace as a workload, its own; NULL */
        struct profile *profile;    /* NULL: none selects it */
        struct pod *pods;
        int64_t pod_count;
        struct history *histories;
        struct published *published; /* NULL: no Recommendation exists */
        struct apply_state apply_state;
        struct loaded_kill *killed;
        int kills;
        int failures;                   /* writes refused in a row: the next waits for its back-off */
        int64_t gone_ms;                /* when its workload vanished or its profile was lost; 0: it lives */
        int64_t kill_ms;                /* newest kill, or eviction for memory */
        int64_t limit_ms;               /* newest of them that the limit was the cause of */
        const char *limit_of;           /* its container; interned; NULL: none */
        int64_t status_ms;              /* when its status was written last */
        int64_t apply_state_generation; /* of the template that the deed was compared with */
        uint8_t dimension;              /* enum dimension, by its kind */
        bool apply_state_dirty;         /* to be stored */
        bool backfilled;                /* what Prometheus knew of it from before was joined */
        bool busy;                      /* a write about it is under way */
        bool rolling;                   /* a rollout that we started is not yet done */
        bool resizing;                  /* some pod is yet to be resized */
        bool canary;                    /* it is changed before others of its profile: by the last canary_settle */
        bool waits;                     /* for those */
        bool due;                       /* a canary that is to be lowered: by the last decision */
        uint64_t admitted_digest;       /* of what its pods were admitted with, as told last; 0: nothing */
        char *denied;                   /* what the API server forbade to write into the workload; NULL */
        struct imported *imported;      /* of histories from elsewhere; NULL: none */
        char key[]; /* "ns/group/Kind/name", as its workload's; name and recommendation point behind it */
};

struct cache {
        struct intern *names;
        struct arena scratch; /* for one object being decoded */
        const char *field_manager;
        const char *own_ns;    /* halflife's own namespace: reached only by name */
        bool pod_labels;       /* somebody selects pods by their labels: they are kept; set before the first watch */
        struct map namespaces; /* name -> struct ns */
        struct map pods;       /* "ns/name" -> struct pod */
        struct pod **order;    /* pods by (ns, name), for walking beside the sorted metrics */
        size_t ordered, order_cap;
        struct pod **fresh; /* pods not yet in order */
        size_t freshes, fresh_cap;
        struct pod **dropped; /* pods gone, freed at the next settle */
        size_t droppeds, dropped_cap;
        struct watched_kind *kinds;
        struct map workloads;         /* key -> struct workload */
        struct map uids;              /* uid bytes -> struct workload */
        struct workload *gone;        /* workloads that vanished but are still pointed to */
        struct map autoscalers;       /* key -> struct autoscaler */
        struct map nodes;             /* name -> struct node */
        struct map node_oom_events;   /* node -> struct node_oom_event */
        struct map other_autoscalers; /* "ns/name" -> struct other_autoscaler */
        struct map profiles;          /* key -> struct profile */
        struct map published;         /* "ns/name" -> struct published */
        struct map targets;           /* key -> struct target */
        struct pod *killed;     /* the pod taken in last, where it tells of a kill that is not counted; else NULL */
        bool kills;             /* some pod may tell of one that is not counted */
        struct mono zones_read; /* when the profiles' time zones were read last */
        bool ns_gone;           /* something that held a namespace went: look for those to forget */
        bool changed;           /* links may be other than at the last settle */
        bool turned;            /* a pod began or ended to run where targets follow */
        enum resize_support { RESIZE_UNASKED, RESIZE_ABSENT, RESIZE_SERVED } resize; /* the server's pods/resize */

        /* of dimensions beside Workload (pod_namespace_targets.h) */
        size_t others;                            /* so many targets are */
        const char *whole;                        /* CONTAINER_WHOLE, interned */
        struct watched_kind likeness[DIMENSIONS]; /* their kinds; nobody watches them as workloads */
};

void cache_init(struct cache *w, const char *field_manager, const char *own_ns);
void cache_release(struct cache *w);

/* Watches call these with one object's JSON. 0 or what decode said. */
int ns_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void ns_remove(struct cache *w, struct text json);
void ns_swept(struct cache *w, uint32_t epoch);
int range_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void range_remove(struct cache *w, struct text json);
void range_swept(struct cache *w, uint32_t epoch);
int quota_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void quota_remove(struct cache *w, struct text json);
void quota_swept(struct cache *w, uint32_t epoch);
int hpa_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
/* The same by the answer to a request of ours: see workload_answer. */
int autoscaler_answer(struct cache *w, const struct autoscaler_kind *k, struct text json, uint32_t events,
                      struct err *err);
void hpa_remove(struct cache *w, struct text json);
void hpa_swept(struct cache *w, uint32_t epoch);
int scaled_object_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void scaled_object_remove(struct cache *w, struct text json);
void scaled_object_swept(struct cache *w, uint32_t epoch);
/* latest: later times are of a clock that is wrong */
int node_oom_event_upsert(struct cache *w, struct wall latest, struct text json, uint32_t epoch, struct err *err);
void node_oom_event_remove(struct cache *w, struct text json); /* an Event that is over: what it told stands */
void node_oom_event_swept(struct cache *w, uint32_t epoch);
void node_oom_events_release(struct cache *w);
/* Was its node short of memory about then? */
bool node_oom_event_of(const struct cache *w, const struct pod *p, struct wall at);
int node_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void node_remove(struct cache *w, struct text json);
void node_swept(struct cache *w, uint32_t epoch);
void node_take(struct cache *w, struct pod *p, struct text name); /* a pod is on it; made when unknown */
void node_give(struct cache *w, struct pod *p);                   /* a pod goes; one of no node: nothing */
void nodes_release(struct cache *w);                              /* after the pods */
/*
 * Bytes that all containers of a node but one used together, by their last samples before that time and at most
 * fresh_ms older. -1: some of them were not measured.
 */
int64_t node_others_used(const struct node *n, const struct pod_container *but, struct wall at, int64_t fresh_ms);
/* The kubelet of a pod's node is away: what its status says is of before. */
static inline bool pod_is_unheard(const struct pod *p)
{
        return p->node && p->node->away;
}
/* An Event that a pod was evicted: believed once the pod has ended or is being deleted. */
int evicted_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void evicted_remove(struct cache *w, struct text json); /* what it told stands */
void evicted_swept(struct cache *w, uint32_t epoch);
int other_autoscaler_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void other_autoscaler_remove(struct cache *w, struct text json);
void other_autoscaler_swept(struct cache *w, uint32_t epoch);
int pod_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void pod_remove(struct cache *w, struct text json);
void pod_swept(struct cache *w, uint32_t epoch);
int workload_upsert(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, struct err *err);
/*
 * The same by the answer to a request of ours that began when the watch had brought so many events of the object. An
 * answer may come after later events: it never takes the cache back to what was before them, and makes nothing that is
 * not there (ERR_NOTFOUND): the watch may have seen it go.
 */
int workload_answer(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, uint32_t events,
                    struct err *err);
void workload_remove(struct cache *w, struct watched_kind *k, struct text json);
void workload_swept(struct cache *w, struct watched_kind *k, uint32_t epoch);
void workload_forget(struct cache *w, const struct watched_kind *k); /* all of the kind: it is watched no longer */
int profile_upsert(struct cache *w, bool cluster, struct text json, uint32_t epoch, struct err *err);
void profile_remove(struct cache *w, bool cluster, struct text json);
void profile_swept(struct cache *w, bool cluster, uint32_t epoch);
int published_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void published_remove(struct cache *w, struct text json);
void published_swept(struct cache *w, uint32_t epoch);

/* Make every link afresh: owners, profiles' choices, targets, pods of targets, kills. */
void cache_relink(struct cache *w, struct now now);

/* Lookups. */
struct ns *ns_get(struct cache *w, struct text name); /* made when unknown */
struct workload *workload_find(struct cache *w, const char *group, const char *kind, const char *ns, const char *name);
struct pod *pod_at(struct cache *w, struct text ns, struct text name,
                   size_t *cursor); /* beside the order; NULL: unknown */
struct target *target_get(struct cache *w, struct text ns, struct text group, struct text kind,
                          struct text name);           /* made when unknown */
void history_free(struct cache *w, struct history *h); /* off its target already */
struct history *history_get(struct target *t, const char *container /* interned */,
                            const struct resource_policy policy[static RESOURCES]); /* made when unknown */
struct history *history_find(const struct target *t, const char *container);
void target_free(struct cache *w, struct target *t); /* with all it learned */
/* Would its workload be known if it were there? Not while its kind is still to be listed; of a kind that nobody asks
 * for, what was seen is all that will be. */
bool target_is_seen(const struct cache *w, const struct target *t);
/* Remember what admission made of our requests (JSON as of our annotations); NULL: nothing. */
void target_set_admitted(struct cache *w, struct target *t, const char *json);
/* What was applied last (status.applied.containers; taken over, NULL: nothing): in a template, or set on pods. */
void target_set_applied(struct cache *w, struct target *t, char *containers, bool in_place);
/* What running pods of a container are set to; NULL: nothing of it is. */
const struct record_row *target_setting(const struct target *t, const char *container);
struct resizing *pod_resizing(struct pod *p);               /* made when there is none */
void pod_set_raised(struct pod *p, struct text annotation); /* when it was raised, by its annotation raised */

/* One of our annotations, read; what cannot be is as good as absent. */
struct record_set record_set_read(struct cache *w, struct text annotation);
void record_set_release(struct cache *w, struct record_set *s);

bool pod_tells_of_kill(const struct pod *p); /* of one that is not counted */
void pod_sampled(struct pod_container *c, struct wall at, const struct pod_metrics_container_view *v); /* memory */
struct pod_ends *pod_ends(struct pod_container *c);                      /* made when there are none */
void pod_kills_forget(struct pod_container *c, int first);               /* so many are counted */
struct pod_told *pod_tell(struct pod *p);                                /* made where there is none */
void pod_remember(struct cache *w, struct pod *p, struct text original); /* its annotation original-resources */
char *workload_uid(const struct workload *wl);                 /* as the API server writes it; NULL: it has none */
struct workload_more *workload_more_made(struct workload *wl); /* the same */

/* What the namespace's LimitRanges say, the strictest of several. */
void range_facts(struct cache *w, const char *ns, struct range_facts *ret);
void quotas_release(struct cache *w, struct ns *ns);
struct published *published_get(struct cache *w, struct text key); /* made when unknown */
void published_set_status(struct cache *w, struct published *p, const json_t *status);
/* Its reason tells of a container what a template would; a sidecar counts as any other. */
enum container_role published_role(const struct published *p, const struct published_amount *row);

/* An object named this controller owner: a link to another one is undone. */
void owner_unlink(struct workload **owner, const uint8_t uid[static UID_BYTES]);

/* Parts of cache_relink and cache_release. */
void workloads_settle(struct cache *w);                        /* owners */
bool namespace_going(const struct cache *w, const char *name); /* it is being deleted */
void namespaces_sweep(struct cache *w);                        /* those that are gone, once nothing of theirs is held */
void workloads_free_gone(struct cache *w);
void pods_release(struct cache *w);
void workloads_release(struct cache *w);
void profiles_release(struct cache *w);
void published_release(struct cache *w);
void targets_release(struct cache *w);
void other_autoscalers_relink(struct cache *w); /* which workloads they are about; after workloads_settle */
void other_autoscalers_release(struct cache *w);
void pods_settle(struct cache *w);       /* the order */
void pods_free_dropped(struct cache *w); /* last */
/* Links workloads and what scales them; a workload goes. */
void autoscalers_settle(struct cache *w);
void autoscalers_forget(struct workload *wl);
void autoscalers_release(struct cache *w);
/* An HPA that KEDA made of a ScaledObject that is seen: that one speaks for it. */
bool autoscaler_spoken_for(const struct cache *w, const struct autoscaler *s);
/* Does it scale by the utilization of a resource, so that a lower request would make more pods? */
bool autoscaler_utilizes(const struct autoscaler *s, enum resource r);
/* Does it compare the utilization with a target that can be moved? */
bool autoscaler_moves(const struct autoscaler_metric *m);

/* Profiles: the one that wins, counting those it beats; NULL: none matches. by: whoever runs the template in the place
 * of the workload asked about, which a profile may name as well; NULL: itself. */
void profiles_read_zones(struct cache *w); /* time zones afresh: tzdata may have come, or changed */
struct profile *profile_choose(struct cache *w, const struct profile_subject *s, const struct watched_kind *by,
                               bool count);
/* Which profiles' windows are open now. Once an hour, and after forget_zones, time zones are read afresh. */
void windows_settle(struct cache *w, struct now now);
void windows_forget_zones(struct cache *w, struct mono now);
/* A workload as one asked about; what is no target of its own has no labels. */
struct profile_subject profile_subject_of(struct cache *w, const struct workload *wl, enum dimension d);
/* Is the profile that its Recommendation names there, but not to be read? Then nothing is taken away meanwhile. */
bool profile_unread(const struct cache *w, const struct target *t);
/* One that cluster profiles reach only by its name. */
bool profile_system_namespace(const struct cache *w, const char *ns);

static inline struct amount pod_request(const struct pod_container *c, enum resource r)
{
        return amount_unpack(c->request[r]);
}
/* A time as seconds since 1970; what lies before or beyond is as early or as late as can be. */
static inline uint32_t seconds_of(int64_t ms)
{
        return ms < 0 ? 0 : ms / SECOND_MS > UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / SECOND_MS);
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

/* The next of a target's pods; one of dimension Pod has one. */
static inline struct pod *target_next_pod(const struct target *t, const struct pod *p)
{
        return t->dimension == DIMENSION_WORKLOAD ? p->next_of_target : NULL;
}

static inline struct labels workload_own_labels(const struct workload *wl)
{
        return (struct labels){wl->labels.pair, wl->own_labels};
}

/* What few have, to be read: nothing of it where there is none. */
static inline const struct workload_more *workload_more(const struct workload *wl)
{
        static const struct workload_more none;
        return wl->more ? wl->more : &none;
}

/* Never a target of its own: only a link between pods and whoever holds their template, so no more is kept of it. */
static inline bool workload_is_link(const struct workload *wl)
{
        return ((wl->kind->flags & KIND_UNOWNED_ONLY) && wl->owner_ref.kind) || workload_more(wl)->refers.kind;
}

/* Pods that are to run by its template, whoever runs them. */
static inline int64_t workload_replicas(const struct workload *wl)
{
        int64_t sum;
        return __builtin_add_overflow(wl->replicas, workload_more(wl)->stand_in.replicas, &sum) ? INT64_MAX : sum;
}

/* rollout.c: is a workload's rollout done, and that of those that stand in for it? */
bool rollout_done(const struct workload *wl);
/* Why a change may not roll out now, a constant; NULL: it may. named: the profile names its kind among its targets. */
const char *rollout_blocked(const struct workload *wl, bool named);
/* Another that runs its template says how it stands. */
void rollout_stand_in(struct workload *of, const struct workload *by);

static inline const char *profile_kind(const struct profile *p)
{
        return p->ns ? "Profile" : "ClusterProfile";
}

/* A kind by group and kind; made (to be discovered) where it is not watched yet. */
struct watched_kind *kind_watched(struct cache *w, struct text group, struct text kind);

/* Small shared parts (cache.c). */
struct text key_of_object(struct cache *w, const struct object_view *view); /* "ns/name" in scratch */
/* The next value of a map, NULL at the end: for (size_t at = 0; (v = map_each(&m, &at));). The entry just seen may be
 * dropped. */
static inline void *map_each(const struct map *m, size_t *at)
{
        struct text key;
        void *value;
        return map_next(m, at, &key, &value) ? value : NULL;
}
static inline bool uid_none(const uint8_t uid[static UID_BYTES])
{
        static const uint8_t none[UID_BYTES];
        return memcmp(uid, none, UID_BYTES) == 0;
}
/* Put it into an object under a key, where there is one. */
void amount_put(json_t *to, const char *key, enum resource r, struct amount a);
/* A time as the store keeps it in JSON, wall ms; 0: there is none, or one before 1970. At most the year 9999. */
int64_t time_kept(const json_t *o, const char *key);
/* Sums of what a cluster asks for: held within what the type can say. */
static inline int64_t add_saturated(int64_t a, int64_t b)
{
        int64_t sum;
        return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}
void labels_set(struct labels *l, const struct label_pair *pair, size_t count);
void labels_release(struct labels *l);
void key_split(struct text api_version, struct text *ret_group, struct text *ret_version);
uint64_t digest_bytes(uint64_t seed, const void *p, size_t len);
uint64_t template_fingerprint(struct text object, const char *template_path); /* template_fingerprint.c */

#endif
