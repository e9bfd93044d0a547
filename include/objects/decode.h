/*
 * Objects cut down to what halflife uses. A view points into the JSON it was read from or into the arena: keep neither
 * longer. Texts that were absent are {"", 0} (len 0). Quantities are parsed: CPU in millicores, memory in bytes,
 * rounded away from zero.
 */
#ifndef HALFLIFE_OBJECTS_DECODE_H
#define HALFLIFE_OBJECTS_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/kill_cause.h"
#include "core/resize.h"
#include "core/rules.h"
#include "objects/annotation_record.h"

#define ANNOTATION_APPLY "halflife.dev/apply"
#define ANNOTATION_FUSE  "halflife.dev/fuse" /* on our Lease: core/fuse.h */
#define ANNOTATION_HOLD  "halflife.dev/hold"
/* On a Recommendation: the one, of the same namespace, whose history is to go on here; and what became of it. */
#define ANNOTATION_ADOPT   "halflife.dev/adopt"
#define ANNOTATION_ADOPTED "halflife.dev/adopted"
/* Likewise: histories from elsewhere that are to be joined here, as lines of store/transfer.h; and what became of it.
 */
#define ANNOTATION_IMPORT   "halflife.dev/import"
#define ANNOTATION_IMPORTED "halflife.dev/imported"

enum {
        VIEW_NAME = 253 /* bytes */,
        VIEW_CONTAINERS = 64,
        VIEW_LABELS = 128,
        VIEW_METRICS = 32,
        VIEW_OWNERS = 64,
        UID_BYTES = 16
};

struct label {
        struct text key, value;
};

struct owner_ref {
        struct text api_version, kind, name, uid; /* kind "" : no controller owner */
};

/* Halflife's own annotations, from wherever they stand. */
struct our_annotations {
        struct text original, applied, basis, raised, apply, hold, targets, targets_applied;
};

struct object_view {
        struct text ns, name, uid, version; /* resourceVersion: opaque */
        bool unnamed;                       /* it has a generateName and no name yet: name is "" */
        int64_t generation;
        struct wall created, deleted; /* deleted ms 0: it lives */
        struct owner_ref owner;       /* the controller */
        struct our_annotations annotation;
        struct label *label; /* in the arena */
        int labels;
};

struct container_view {
        struct text name;
        enum container_role role; /* MAIN, SIDECAR (init with restartPolicy Always), INIT */
        struct amount request[RESOURCES], limit[RESOURCES];
        bool restarts[RESOURCES]; /* resizePolicy RestartContainer */
        bool probed; /* it has what may make the kubelet kill it while its pod stays: probes, a hook after its start */
};

/* How a process ended, by state or lastState. */
struct kill_view {
        bool seen;               /* for lack of memory, by its reason OOMKilled */
        bool lost;               /* the kubelet does not know how (ContainerStatusUnknown), and counted a restart */
        bool node_down;          /* its node went down under it, as containerd says: reason Unknown, code 255 */
        int64_t exit_code;       /* KILL_EXIT_UNTOLD: it has none */
        struct wall started, at; /* ms 0: it does not tell */
};

/* An eviction for lack of memory, of a pod that ran. Status has one of two witnesses: reason Evicted, or, where the
 * program ended with 0, condition DisruptionTarget alone. */
struct eviction_view {
        bool seen;
        bool by_condition;   /* DisruptionTarget tells its time */
        struct wall at;      /* ms 0: it does not tell */
        struct text message; /* the kubelet's */
};

struct container_status_view {
        struct text name;
        int64_t restarts; /* 0 to INT32_MAX, whatever is written */
        bool stopped;     /* its state is waiting or terminated */
        bool waits;       /* for its next process, as in a back-off: restarts counts that only once it is made */
        struct wall running_since;  /* ms 0: it does not run, or that is not told */
        struct kill_view now, last; /* state.terminated, lastState.terminated */
};

struct pod_view {
        struct object_view meta;
        struct text node;       /* "" : not scheduled yet */
        bool running, finished; /* phase Running; Succeeded or Failed */
        struct wall started;
        bool lacks_room;          /* condition PodScheduled: it waits for a node with CPU or memory for it */
        bool ready;               /* condition Ready */
        struct wall ready_turned; /* since when it says so; ms 0: it does not tell */
        bool node_pressure;       /* evicted or condition saying the node was short of memory */
        bool stopped;             /* its kubelet ended it as a whole: an eviction of any kind, its deadline */
        struct eviction_view eviction;
        struct amount pod_asks[RESOURCES]; /* as of a workload */
        enum resize_progress resize;       /* the kubelet's word on the spec's requests */
        struct text resize_message;
        struct container_view container[VIEW_CONTAINERS];
        int containers;
        struct container_status_view status[VIEW_CONTAINERS];
        int statuses;
};

/* Who owns a container's request by server-side apply (managedFields, operation Apply, not halflife). */
struct field_owner {
        struct text container, manager;
        bool of[RESOURCES];
};

/* A count, or so many per cent of another. */
struct share {
        bool set, percent;
        int64_t value;
};

struct workload_view {
        struct object_view meta;
        struct our_annotations template_annotation;
        struct label *template_label;
        int template_labels;
        struct container_view container[VIEW_CONTAINERS];
        int containers;
        /* what the pod as a whole asks for (spec.resources): its request, or its limit where no container asks for the
           resource; where it is set, what containers ask for counts for nobody */
        struct amount pod_asks[RESOURCES];
        struct field_owner owner[VIEW_OWNERS];
        int owners;
        int64_t replicas;     /* wanted; DaemonSet: desiredNumberScheduled; Job: the lesser of parallelism (1) and
                                 completions; CronJob: those of its Jobs */
        struct text selector; /* raw JSON of spec.selector */
        /* a rollout's facts; kinds without them leave them calm */
        bool paused, on_delete, recreate, suspended;
        bool in_place_only; /* OpenKruise: a change that needs other pods sticks, and the next image behind it */
        bool needs_person;  /* Argo: its rollout stops at a step that only a person ends */
        int64_t partition;
        int64_t observed_generation, updated, available, status_replicas;
        bool deadline_exceeded;
        struct share surge; /* so many pods a rollout makes beside those that run; not set: its kind's default */
        struct text priority_class;  /* of its pods */
        struct text replica_failure; /* why pods of it are refused, in the API server's words; "" : they are not */
        struct text phase;           /* status.phase, as Argo's Rollouts tell it: "Healthy"; "" : none */
        struct owner_ref refers;     /* spec.workloadRef: whose template it runs, without a UID; kind "": its own */
        int64_t observed_referred;   /* the generation of that which it follows; 0: it does not say */
};

/* What a metric of an autoscaler goes by. OTHER: of no pod (Object, External). UNKNOWN: a type we have not heard of. */
enum metric_source { METRIC_RESOURCE, METRIC_CONTAINER, METRIC_PODS, METRIC_OTHER, METRIC_UNKNOWN };
enum metric_target { TARGET_UNKNOWN, TARGET_UTILIZATION, TARGET_AVERAGE_VALUE, TARGET_VALUE };
struct metric_view {
        enum metric_source source;
        enum resource resource; /* RESOURCES: neither CPU nor memory */
        struct text container;  /* of METRIC_CONTAINER */
        struct text name;       /* of METRIC_PODS */
        enum metric_target target;
        int64_t percent; /* of TARGET_UTILIZATION; 0: there is none to read */
};
struct autoscaler_view {
        struct object_view meta;
        struct owner_ref target;                 /* without a UID */
        struct metric_view metric[VIEW_METRICS]; /* as they stand in its list */
        int metrics;
        struct text applier; /* who owns the list by server-side apply (not halflife); "" : nobody */
        struct text writer;  /* who wrote it last, in whatever way (not halflife); "" : it is not told */
};

struct limit_range_view { /* of types Container and Pod; several items: the strictest */
        struct object_view meta;
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], max[RESOURCES],
                ratio[RESOURCES];                               /* ratio: thousandths */
        struct amount pod_min[RESOURCES], pod_ratio[RESOURCES]; /* of all containers together */
};

/* What a ResourceQuota counts of the pods of its namespace. */
enum quota_count { QUOTA_CPU, QUOTA_MEMORY, QUOTA_LIMITS_CPU, QUOTA_LIMITS_MEMORY, QUOTA_PODS, QUOTA_COUNTS };
/* Its scopes: pods that fall under one of them only. A pod falls under a quota that has several by all of them. */
enum quota_scope {
        QUOTA_TERMINATING = 1,     /* with an activeDeadlineSeconds */
        QUOTA_NOT_TERMINATING = 2, /* without */
        QUOTA_BEST_EFFORT = 4,     /* that ask for nothing and are limited in nothing */
        QUOTA_NOT_BEST_EFFORT = 8,
        QUOTA_PRIORITY = 16,     /* of some priority classes */
        QUOTA_OTHER_SCOPE = 32,  /* of cross-namespace affinity, or of a scope that is newer than this */
        QUOTA_UNSURE_SCOPE = 64, /* said in a way that cannot be followed: it may be any pod */
};
enum quota_classes { QUOTA_CLASS_ANY, QUOTA_CLASS_NONE, QUOTA_CLASS_IN, QUOTA_CLASS_NOT_IN };
struct resource_quota_view {
        struct object_view meta;
        /* millicores, bytes, pods; hard as it is enforced (of status, before there is one of spec); of a resource that
           is said twice (cpu, requests.cpu) the less that is left */
        struct amount hard[QUOTA_COUNTS], used[QUOTA_COUNTS];
        unsigned scopes;                 /* enum quota_scope, or-ed; 0: every pod */
        enum quota_classes classes;      /* QUOTA_PRIORITY: how the pod's class has to be of those below */
        struct text class[VIEW_METRICS]; /* names of priority classes */
        int class_count;
};

/* A VerticalPodAutoscaler, whatever its version. */
struct vpa_view {
        struct object_view meta;
        struct owner_ref target; /* without a UID */
        struct text mode;        /* updateMode; "" where it says none, which is not Off */
};

struct pod_metrics_container_view {
        struct text name;
        bool has[RESOURCES];
        int64_t cpu_nano, memory_bytes;
};
struct pod_metrics_view {
        struct text ns, name;
        struct wall at;
        struct pod_metrics_container_view container[VIEW_CONTAINERS];
        int containers;
};

/* Each reads one object. 0, or ERR_INVALID with what is wrong; the view is then not to be used. Unknown members are
 * skipped; what is over a VIEW_ bound is ERR_TOOBIG. */
int decode_object(struct text json, struct arena *a, struct object_view *ret, struct err *err); /* metadata only */
int decode_pod(struct text json, struct arena *a, struct pod_view *ret, struct err *err);
/* template_path: JSON pointer of the pod template ("/spec/template"). */
int decode_workload(struct text json, const char *template_path, const char *field_manager, struct arena *a,
                    struct workload_view *ret, struct err *err);
/* KEDA's: its triggers of cpu and memory are metrics like an HPA's, the others are METRIC_OTHER. */
int decode_scaled_object(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
                         struct err *err);
int decode_hpa(struct text json, const char *field_manager, struct arena *a, struct autoscaler_view *ret,
               struct err *err);
int decode_limit_range(struct text json, struct arena *a, struct limit_range_view *ret, struct err *err);
int decode_resource_quota(struct text json, struct arena *a, struct resource_quota_view *ret, struct err *err);
int decode_vpa(struct text json, struct arena *a, struct vpa_view *ret, struct err *err);
/* An Event (core/v1). */
struct event_view {
        struct object_view meta;
        struct text kind, ns, name, uid; /* of what it is about */
        struct text field;               /* of that: "spec.containers{app}" */
        struct text reason, message;
        struct wall at; /* the newest that it tells of; ms 0: none */
};
int decode_event(struct text json, struct arena *a, struct event_view *ret, struct err *err);

/* What a Node has for pods, and whether its kubelet is heard of. */
struct node_view {
        struct object_view meta;
        struct amount allocatable; /* memory, bytes */
        bool tells;                /* it has a condition Ready */
        bool ready;                /* and that is True */
        struct wall turned;        /* since when it says so; ms 0: it does not tell */
};
int decode_node(struct text json, struct arena *a, struct node_view *ret, struct err *err);

/* Does an eviction's message say that it was for lack of memory? */
bool decode_eviction_is_for_memory(struct text message);
/* The container that an eviction's message names as the furthest above its request, and what it used then (bytes).
 * false: it names none. */
bool decode_eviction(struct text message, struct text *ret_container, int64_t *ret_used);
int decode_pod_metrics(struct text json, struct arena *a, struct pod_metrics_view *ret, struct err *err);

/* One event of a watch. */
enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };
struct watch_event {
        enum watch_type type;
        struct text object;       /* as it came; of an ERROR: the Status */
        struct text version;      /* its metadata.resourceVersion */
        bool initial_end;         /* BOOKMARK: the initial events of a watch-list are over */
        int64_t code;             /* ERROR: the Status' code (410: expired) */
        struct text reason, text; /* ERROR: the Status' reason and message */
};
int decode_watch_event(struct text json, struct arena *a, struct watch_event *ret, struct err *err);

/* What a list says of itself, from its document without the items. */
struct list_view {
        struct text version, next; /* next: the continue token; "" : this was the last page */
};
int decode_list(struct text json, struct arena *a, struct list_view *ret, struct err *err);

/* An RFC 4122 text as 16 bytes; any other text: a hash of it. Never all zero. */
void uid_bytes(struct text uid, uint8_t out[static UID_BYTES]);

#endif
