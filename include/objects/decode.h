/*
 * Kubernetes objects decoded into views, which hold the fields that halflife uses. A view points into its JSON and into
 * the arena, so both must live as long as the view. Absent texts have len 0. Quantities are parsed: CPU in millicores,
 * memory in bytes, rounded away from zero.
 */
#ifndef HALFLIFE_OBJECTS_DECODE_H
#define HALFLIFE_OBJECTS_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"
#include "core/kill_cause.h"
#include "core/request_reading.h"
#include "core/resize_verdict.h"
#include "core/rules.h"
#include "core/runtime_heap.h"
#include "core/vpa_policy.h"
#include "objects/annotation_record.h"

#define ANNOTATION_APPLY "halflife.dev/apply"
/* On halflife's Lease: why the fuse is blown, or "reset <time>" once a person resets it (core/fuse_verdict.h). */
#define ANNOTATION_FUSE "halflife.dev/fuse"
#define ANNOTATION_HOLD "halflife.dev/hold"
/* An annotation on a pod that halflife creates by a dry run, to see whether the API server calls halflife's admission
 * webhook. The webhook changes the value from ASKED to ANSWERED. */
#define ANNOTATION_PROBE "halflife.dev/probe"
#define PROBE_ASKED      "asked"
#define PROBE_ANSWERED   "answered"
/* Annotations on a Recommendation. ADOPT names another Recommendation of the namespace, whose history the annotated one
 * shall continue. In ADOPTED halflife writes the result. */
#define ANNOTATION_ADOPT   "halflife.dev/adopt"
#define ANNOTATION_ADOPTED "halflife.dev/adopted"
/* Annotations on a Recommendation. IMPORT holds histories from another cluster or program, as lines of
 * store/transfer.h, which halflife shall merge into the Recommendation's. In IMPORTED halflife writes the result. */
#define ANNOTATION_IMPORT   "halflife.dev/import"
#define ANNOTATION_IMPORTED "halflife.dev/imported"

enum {
        VIEW_NAME = 253 /* bytes */,
        VIEW_CONTAINERS = 64,
        VIEW_LABELS = 256,
        VIEW_METRICS = 32,
        VIEW_OWNERS = 256,
        VIEW_TAINTS = 16,
        UID_BYTES = 16
};

struct label {
        struct text key, value;
};

struct owner_ref {
        struct text api_version, kind, name, uid; /* kind "": the object has no owner that is its controller */
};

/* The values of halflife's own annotations on an object or a pod template. */
struct our_annotations {
        struct text original, applied, basis, raised, apply, hold, probe, targets, targets_applied;
};

struct object_view {
        struct text ns, name, uid, version; /* version: the resourceVersion, an opaque text */
        bool unnamed;                       /* the object has a generateName and no name yet; name is "" */
        int64_t generation;
        struct wall created, deleted; /* deleted.ms 0: the object is not being deleted */
        struct owner_ref owner;       /* the owner that is the controller */
        struct our_annotations annotation;
        struct label *label; /* the first VIEW_LABELS labels in the order of the object; the array is in the arena */
        int labels;
        bool labels_cut; /* the object has more labels than `label` holds, so no selector may be judged by `label` */
};

struct container_view {
        struct text name;
        enum container_role role; /* MAIN, SIDECAR (init with restartPolicy Always), INIT */
        struct amount request[RESOURCES], limit[RESOURCES];
        struct request_reading read[RESOURCES]; /* the variable or file by which the container gets its request */
        struct text env, command, args;         /* raw JSON of the container's members */
        bool restarts[RESOURCES];               /* resizePolicy: a resize restarts the container */
        bool probed; /* the container has a liveness or startup probe or a postStart hook, so the kubelet may kill it
                        while the pod stays */
};

/* How a container's process ended, by state.terminated or lastState.terminated. */
struct kill_view {
        bool seen; /* a kill for lack of memory was seen: reason OOMKilled */
        bool lost; /* reason ContainerStatusUnknown: the kubelet lost the process's result, but counted a restart */
        bool node_down;          /* reason Unknown, exit code 255: containerd's sign that the node went down */
        int64_t exit_code;       /* KILL_EXIT_UNTOLD: the status gives none */
        struct wall started, at; /* start and end of the process; ms 0: not given */
};

/* The eviction of a running pod for lack of memory. The pod's status shows it by reason Evicted, or by the condition
 * DisruptionTarget alone when the program exited with 0. */
struct eviction_view {
        bool seen;
        bool by_condition; /* `at` comes from the condition DisruptionTarget */
        /* time of the eviction; without by_condition the newest change of any condition; ms 0: not given */
        struct wall at;
        struct text message; /* the kubelet's message */
};

struct container_status_view {
        struct text name;
        int64_t restarts; /* restartCount, clamped to 0 to INT32_MAX */
        bool stopped;     /* the container's state is waiting or terminated */
        bool waits; /* the container waits for its next process, as in a back-off; restarts will count that process once
                       it exists */
        struct wall running_since;  /* ms 0: not running, or not given */
        struct kill_view now, last; /* state.terminated, lastState.terminated */
};

struct pod_view {
        struct object_view meta;
        struct text node;       /* "": not scheduled yet */
        bool running, finished; /* running: phase Running; finished: phase Succeeded or Failed */
        struct wall started;
        bool lacks_room;          /* condition PodScheduled: no node has enough free CPU or memory */
        bool ready;               /* condition Ready */
        struct wall ready_turned; /* last change of the condition Ready; ms 0: not given */
        bool node_pressure;       /* status or a condition reports that the node was short of memory */
        bool stopped;             /* the kubelet ended the whole pod: any eviction, its deadline, a node shutdown */
        struct eviction_view eviction;
        struct amount pod_asks[RESOURCES]; /* pod-level requests, as in workload_view */
        /* What the pod's RuntimeClass adds to the pod's own requests; unset: nothing. */
        struct amount overhead[RESOURCES];
        enum resize_progress resize; /* how far the kubelet has put the spec's requests into force */
        struct text resize_message;
        struct container_view container[VIEW_CONTAINERS];
        int containers;
        bool containers_cut; /* the pod has more containers than `container` holds: no decision may depend on all of
                                them */
        struct container_status_view status[VIEW_CONTAINERS];
        int statuses;
};

/* A field manager other than halflife that owns a container's requests by server-side apply (managedFields). */
struct field_owner {
        struct text container, manager;
        bool of[RESOURCES];
};

/* A number of pods, or a percentage of the replicas. */
struct share {
        bool set, percent;
        int64_t value;
};

struct workload_view {
        /* meta.labels_cut: the workload or its template has more labels than its array holds */
        struct object_view meta;
        struct our_annotations template_annotation;
        struct label *template_label;
        int template_labels;
        bool template_labels_cut;
        struct container_view container[VIEW_CONTAINERS];
        int containers;
        bool containers_cut; /* the template has more containers than `container` holds: no decision may depend on all
                                of them */
        /* pod-level resources (spec.resources): the request, or the limit where no container asks for the resource.
           Where set, scheduling and accounting ignore the containers' requests */
        struct amount pod_asks[RESOURCES];
        struct field_owner owner[VIEW_OWNERS];
        int owners;
        /* more owners exist than `owner` holds: a request without one there may have an owner */
        bool owners_cut;
        int64_t replicas; /* desired pods. DaemonSet: desiredNumberScheduled. Job: the lesser of parallelism (default
                             1) and completions. CronJob: pods of one of its Jobs */
        struct text selector;       /* raw JSON of spec.selector */
        struct text scale_selector; /* the selector of the scale subresource, which custom kinds keep as text in their
                                       status; "": none */
        /* Facts about a rollout. For kinds that have no rollouts, they show that none is running. */
        bool paused, on_delete, recreate, suspended;
        bool in_place_only; /* OpenKruise updates pods in place only: a template change that needs new pods would block
                               its rollout and all later ones */
        bool needs_person;  /* Argo: the rollout pauses at a step until a person continues it */
        int64_t partition;
        int64_t observed_generation, updated, available, status_replicas;
        bool deadline_exceeded;
        struct share surge; /* pods that a rollout adds to the running ones (maxSurge); not set: the kind's default */
        struct text priority_class;  /* priority class of the workload's pods */
        struct text replica_failure; /* the API server's reason for refusing new pods; "": none */
        struct text phase;           /* status.phase of an Argo Rollout, such as "Healthy"; "": none */
        struct owner_ref refers;     /* spec.workloadRef: the workload whose template an Argo Rollout runs; kind "": the
                                        Rollout's own */
        int64_t observed_referred;   /* generation of that workload that the rollout has observed; 0: not given */
};

/* What an autoscaler's metric measures. OTHER: something other than pods (Object, External). UNKNOWN: a type that
 * halflife does not know. */
enum metric_source { METRIC_RESOURCE, METRIC_CONTAINER, METRIC_PODS, METRIC_OTHER, METRIC_UNKNOWN };
enum metric_target { TARGET_UNKNOWN, TARGET_UTILIZATION, TARGET_AVERAGE_VALUE, TARGET_VALUE };
struct metric_view {
        enum metric_source source;
        enum resource resource; /* RESOURCES: neither CPU nor memory */
        struct text container;  /* for METRIC_CONTAINER */
        struct text name;       /* for METRIC_PODS */
        enum metric_target target;
        int64_t percent; /* for TARGET_UTILIZATION; 0: not readable */
};
struct autoscaler_view {
        struct object_view meta;
        struct owner_ref target;                     /* the scaled workload, without a UID */
        struct metric_view metric[VIEW_METRICS + 1]; /* in the order of the object's list */
        int metrics; /* VIEW_METRICS + 1: the object has more; the last one is METRIC_UNKNOWN and stands for the rest */
        struct text applier;
        /* The manager other than halflife that owns the list of metrics by server-side apply; "": none. */
        struct text writer; /* manager other than halflife that owns the list of metrics in any way; of several the last
                               one in managedFields; "": none */
};

struct limit_range_view { /* the items of types Container and Pod merged: of several bounds on one resource, the
                             strictest counts */
        struct object_view meta;
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], max[RESOURCES],
                ratio[RESOURCES];                               /* ratio: maxLimitRequestRatio in thousandths */
        struct amount pod_min[RESOURCES], pod_ratio[RESOURCES]; /* bounds on the sum of a pod's containers */
};

/* What a ResourceQuota counts about the pods of its namespace. */
enum quota_count { QUOTA_CPU, QUOTA_MEMORY, QUOTA_LIMITS_CPU, QUOTA_LIMITS_MEMORY, QUOTA_PODS, QUOTA_COUNTS };
/* The scopes of a ResourceQuota. The quota counts only pods that match all of its scopes. */
enum quota_scope {
        QUOTA_TERMINATING = 1,     /* pods with an activeDeadlineSeconds */
        QUOTA_NOT_TERMINATING = 2, /* pods without an activeDeadlineSeconds */
        QUOTA_BEST_EFFORT = 4,     /* pods without any request or limit */
        QUOTA_NOT_BEST_EFFORT = 8,
        QUOTA_PRIORITY = 16,     /* pods of certain priority classes */
        QUOTA_OTHER_SCOPE = 32,  /* cross-namespace affinity, or a scope that halflife does not know */
        QUOTA_UNSURE_SCOPE = 64, /* the scope is too complex to evaluate: the quota may match any pod */
};
enum quota_classes { QUOTA_CLASS_ANY, QUOTA_CLASS_NONE, QUOTA_CLASS_IN, QUOTA_CLASS_NOT_IN };
struct resource_quota_view {
        struct object_view meta;
        /* Millicores, bytes or pods. hard comes from status, which is what the API server enforces, else from spec. Of
           a resource given twice (cpu, requests.cpu), the entry that leaves less counts. */
        struct amount hard[QUOTA_COUNTS], used[QUOTA_COUNTS];
        unsigned scopes; /* enum quota_scope, or-ed; 0: every pod */
        /* For QUOTA_PRIORITY: how a pod's priority class must relate to the names in `class`. */
        enum quota_classes classes;
        struct text class[VIEW_METRICS]; /* priority classes; QUOTA_UNSURE_SCOPE: the quota has more */
        int class_count;
};

/* A VerticalPodAutoscaler, whatever its version. */
struct vpa_view {
        struct object_view meta;
        struct owner_ref target; /* the scaled workload, without a UID */
        struct text mode;        /* updateMode; "": absent, which does not mean Off */
        bool sets; /* the VerticalPodAutoscaler sets requests: neither its mode nor all its policies are Off */
        /* Which requests the VerticalPodAutoscaler sets; NULL: every request of every container. */
        struct vpa_policy *policy;
};

struct pod_metrics_container_view {
        struct text name;
        bool has[RESOURCES];
        int64_t cpu_nano, memory_bytes;
        bool doubtful; /* the container's usage cannot be told from another container's, so `has` is false */
};
struct pod_metrics_view {
        struct text ns, name;
        struct wall at;
        struct pod_metrics_container_view container[VIEW_CONTAINERS];
        int containers;
        int odd; /* containers left out: without a name, named POD (the pause container), with unreadable usage, or with
                    the name of another one (the largest usage counts) */
        bool lacks; /* a container other than the pause container was left out or is beyond VIEW_CONTAINERS, so a sum
                       over `container` would be too small; metrics without a readable time have no containers */
};

/* Each decode_ function reads one object. It returns 0, ERR_INVALID (malformed) or ERR_TOOBIG (over a VIEW_ bound),
 * with the reason in err. After a failure the view must not be used. Unknown members are skipped. Lists are cut at
 * their bound, and where a decision needs the whole list, the view says so. So only a name that is too long gives
 * ERR_TOOBIG. */
int decode_object(struct text json, struct arena *a, struct object_view *ret, struct err *err); /* metadata only */
int decode_pod(struct text json, struct arena *a, struct pod_view *ret, struct err *err);
/* What bounds the heap of a container's runtime; {0}: the container's view shows no bound. */
void decode_runtime_heap(const struct container_view *c, struct arena *a, struct runtime_heap *ret);
/* template_path: JSON pointer of the pod template ("/spec/template"). */
int decode_workload(struct text json, const char *template_path, const char *field_manager, struct arena *a,
                    struct workload_view *ret, struct err *err);
/* A KEDA ScaledObject. Its cpu and memory triggers become metrics like those of an HPA; other triggers are
 * METRIC_OTHER. */
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
        struct text kind, ns, name, uid;     /* the object that the Event is about */
        struct text field;                   /* part of that object: "spec.containers{app}" */
        struct text reporter, reporter_host; /* the component that wrote the Event, as the component names itself, and
                                                the component's node */
        struct text reason, message;
        struct wall at; /* the newest time in the Event; ms 0: none */
};
int decode_event(struct text json, struct arena *a, struct event_view *ret, struct err *err);

/* A Node: its size, what it has for pods, and whether its kubelet still reports. */
struct taint_view {
        struct text key, value, effect; /* value "": none */
};
struct node_view {
        struct object_view meta;
        struct amount capacity[RESOURCES], allocatable[RESOURCES];
        bool tells;         /* the Node has a condition Ready */
        bool ready;         /* that condition is True */
        struct wall turned; /* last change of that condition; ms 0: not given */
        bool unschedulable; /* cordoned */
        struct taint_view taint[VIEW_TAINTS];
        int taints;
        bool taints_cut; /* the Node has more taints */
};
int decode_node(struct text json, struct arena *a, struct node_view *ret, struct err *err);

/* Whether the kubelet's message about an eviction gives lack of memory as the reason. */
bool decode_eviction_is_for_memory(struct text message);
/* The container that an eviction's message shows furthest above its memory request, and its usage in bytes. false: the
 * message names no container. */
bool decode_eviction(struct text message, struct text *ret_container, int64_t *ret_used);
int decode_pod_metrics(struct text json, struct arena *a, struct pod_metrics_view *ret, struct err *err);

/* NodeMetrics. has is false for a value that is missing or unreadable. */
struct node_metrics_view {
        struct text name;
        struct wall at;
        bool has[RESOURCES];
        int64_t cpu_nano, memory_bytes;
};
int decode_node_metrics(struct text json, struct arena *a, struct node_metrics_view *ret, struct err *err);

/* One event of a watch. */
enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };
struct watch_event {
        enum watch_type type;
        struct text object;       /* raw JSON; ERROR: a Status object */
        struct text version;      /* metadata.resourceVersion of the object */
        bool initial_end;         /* BOOKMARK: the initial events of a watch-list have ended */
        int64_t code;             /* ERROR: code of the Status (410: expired) */
        struct text reason, text; /* ERROR: reason and message of the Status */
};
int decode_watch_event(struct text json, struct arena *a, struct watch_event *ret, struct err *err);

/* A list's own metadata, from its document without the items (stream_envelope). */
struct list_view {
        struct text version, next; /* next: the continue token; "": this was the last page */
        int64_t remaining; /* number of objects on further pages, as the server estimates; 0: the server does not say */
};
int decode_list(struct text json, struct arena *a, struct list_view *ret, struct err *err);

/* A UID as 16 bytes: the value of an RFC 4122 text, or a hash of any other text. Never all zero. */
void uid_bytes(struct text uid, uint8_t out[static UID_BYTES]);

#endif
