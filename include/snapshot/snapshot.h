/*
 * A snapshot of the controller's state, for the threads that answer HTTP requests. It is immutable once published and
 * counts its references. The controller makes a snapshot after each pass and publishes it (snapshot_ref.h). A thread
 * keeps the same snapshot for its whole answer, so that the answer shows one moment.
 *
 * Everything that a snapshot points to lies in its arena, is a constant, or lives as long by snapshot_keep.
 */
#ifndef HALFLIFE_SNAPSHOT_SNAPSHOT_H
#define HALFLIFE_SNAPSHOT_SNAPSHOT_H

#include "base/clock.h"
#include "base/mem.h"
#include "core/profile_spec.h"
#include "objects/recommendation_status.h"
#include "snapshot/change_table.h"

struct snapshot_condition {
        const char *type, *reason;
        bool status;
};

struct snapshot_profile {
        const char *ns; /* NULL: a ClusterProfile */
        const char *name;
        int64_t created_ms;
        bool canary_closed;       /* only the profile's canary workloads are changed; its other workloads wait */
        const char *const *fused; /* namespaces for which the profile's fuse is blown; "": all of them; [fused_count] */
        size_t fused_count;
        bool left_out;   /* its namespace has too many Profiles: this Profile and those after it select nothing */
        bool unreadable; /* the current spec is invalid; spec is the last valid one and changes nothing */
        bool unseen;     /* only the profile's name is known, from Recommendations; spec has the defaults */
        const struct profile_spec *spec;
};

struct snapshot_target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of its Recommendation; (ns, recommendation) is the key */
        const char *labels;         /* of the workload object: "key\0value\0" for each label */
        uint32_t labels_size;
        uint8_t state; /* enum state */
        uint8_t mode;  /* the enum apply_mode in force; APPLY_MODES: no profile */
        struct status_decision decision;
        const struct vpa_policy *left; /* the requests that the decision's other_autoscaler sets; NULL: all of them */
        bool hpa_holds[RESOURCES];     /* an HPA scales the target by utilization, so its requests are not changed */
        const char *hold;              /* reason of a person's hold; NULL: no hold */
        const struct snapshot_profile *profile; /* NULL: no profile selects the target any more */
        int64_t replicas, saving[RESOURCES];
        int64_t samples, since_ms, last_ms;
        int64_t applied_ms;               /* when halflife last changed requests of the target; 0: never */
        const struct status_quota *quota; /* [RESOURCES], of a target that is a namespace; NULL: none */
        const struct status_node *node;   /* [RESOURCES], of a target that is a node; NULL: none */
        const status_amount
                *so_far; /* [RESOURCES]: a pod's target value if learning ended now; NULL: not known, or it ended */
        const struct status_limits *limits; /* limits that a person should set; NULL: no limit is advised */
        int16_t confidence_percent;
        uint16_t containers, conditions;
        const struct status_container *container;
        const struct snapshot_condition *condition;
};

/* The target's dimension (workload, pod, namespace or node), by its kind. */
enum dimension snapshot_dimension(const struct snapshot_target *t);

struct snapshot_ns {
        const char *name;
        const char *labels; /* "key\0value\0" for each label */
        uint32_t labels_size;
        bool system;      /* a system namespace: a selector must name kubernetes.io/metadata.name to select it */
        bool apply_never; /* the namespace is exempt, or its annotation halflife.dev/apply forbids changes */
        struct amount default_request[RESOURCES], default_limit[RESOURCES];
        struct amount range_min[RESOURCES], range_ratio[RESOURCES], pod_min[RESOURCES], pod_ratio[RESOURCES];
};

/* An autoscaler that scales a workload by utilization. The cache may not have that workload yet. */
struct snapshot_hpa {
        const char *ns, *group, *kind, *name; /* of the workload that the autoscaler scales */
        bool utilization[RESOURCES];          /* the autoscaler scales by the utilization of this resource */
        bool retunes;                         /* halflife may change the autoscaler's utilization targets */
        /* selects the pods whose utilization counts; NULL: the cache lacks the workload, or asks_unread */
        const struct selector *asks;
        bool asks_unread; /* the selector is too long to be read here, so any pod may count */
};

/* A pod whose utilization the custom metrics API serves to autoscalers, as its profile's apply.hpa is LimitBasis. */
struct snapshot_pod {
        const char *ns, *name;
        const char *labels; /* "key\0value\0" for each label, where an autoscaler selects by labels */
        uint32_t labels_size;
        int64_t at_ms;                        /* time of the sample */
        status_amount utilization[RESOURCES]; /* in thousandths of the limit, or of the original request */
};

/* The workload whose requests another autoscaler sets (a VerticalPodAutoscaler). The cache may not have it yet. */
struct snapshot_other_autoscaler {
        const char *ns, *group, *kind, *name;
        const struct vpa_policy *left; /* the requests that the other autoscaler sets; NULL: all of them */
};

struct snapshot {
        int refs;
        struct arena arena;
        struct wall at;
        bool ready;
        const char *waiting_for; /* what must happen before halflife is ready; NULL: halflife is ready */
        const char *metrics;     /* the metrics in Prometheus' text format; NULL: none yet */
        size_t metrics_len;
        bool apply_never;         /* halflife's own setting apply: never */
        bool fuse_blown;          /* the cluster's fuse is blown: no request may be lowered */
        const char *source_error; /* why the usage source (of a replica: the API server) is away; NULL: it answers */
        int64_t source_since_ms;  /* since when it is away, wall ms */
        const struct snapshot_target **target; /* by (ns, recommendation) */
        size_t targets;
        const struct snapshot_profile **profile; /* by ns, ClusterProfiles last; then in the order in which they win */
        size_t profiles;
        const char *unlisted[2];       /* why ClusterProfiles [0], Profiles [1] could not be listed; NULL: they were */
        const struct snapshot_ns **ns; /* by name */
        size_t namespaces;
        const struct snapshot_hpa *hpa; /* unsorted: there are few */
        size_t hpas;
        const struct snapshot_pod *pod; /* by (ns, name) */
        size_t pods;
        const struct snapshot_other_autoscaler *other_autoscaler; /* unsorted */
        size_t other_autoscalers;
        struct change_table *changes; /* what the halflife that learns has logged; NULL: nothing */
        struct snapshot_kept *kept;
        const char **names;                          /* names copied last, by hash; NULL after snapshot_finish */
        const struct snapshot_condition *conditions; /* conditions copied last */
        size_t conditions_count;
};

/* To make a snapshot, add its targets, profiles and namespaces in any order, with all their memory in its arena.
 * snapshot_finish then sorts them. */
struct snapshot *snapshot_new(void); /* the caller owns its one reference */
void snapshot_add_target(struct snapshot *v, const struct snapshot_target *t);
void snapshot_add_profile(struct snapshot *v, const struct snapshot_profile *p);
void snapshot_add_ns(struct snapshot *v, const struct snapshot_ns *ns);
/* Make `p` live as long as the snapshot. The thread that drops the last reference calls drop(p). */
void snapshot_keep(struct snapshot *v, void *p, void (*drop)(void *p));
void snapshot_finish(struct snapshot *v);
/* A copy of a frequent name (a namespace, a kind, a container) in the arena. Equal names mostly share one copy. NULL
 * returns NULL. */
const char *snapshot_name(struct snapshot *v, const char *name);
/* A copy of a target's conditions in the arena. Consecutive targets with the same conditions share one copy. Texts are
 * compared by address: they must be constants or results of snapshot_name. */
const struct snapshot_condition *snapshot_conditions(struct snapshot *v, const struct snapshot_condition *c,
                                                     size_t count);
/* A copy of a policy in the snapshot's arena; NULL returns NULL. */
const struct vpa_policy *snapshot_vpa_policy(struct snapshot *v, const struct vpa_policy *p);
/* Copy labels into the snapshot's arena, packed as "key\0value\0" for each; *ret_size is their length in bytes. */
const char *snapshot_labels(struct snapshot *v, const struct label_pair *label, size_t labels, uint32_t *ret_size);

struct snapshot *snapshot_hold(struct snapshot *v);
void snapshot_drop(struct snapshot *v); /* accepts NULL */

/* The target whose object has that group, kind and name, and the namespace `ns`; NULL: unknown. */
const struct snapshot_target *snapshot_find(const struct snapshot *v, struct text ns, struct text group,
                                            struct text kind, struct text name);
const struct snapshot_ns *snapshot_find_ns(const struct snapshot *v, struct text ns);
/* The index of the first target after the key (ns, recommendation), to continue a list. Both "": the first target. */
size_t snapshot_after(const struct snapshot *v, struct text ns, struct text recommendation);
/* Unpack at most `max` labels; their texts point into the snapshot. Returns how many were unpacked. */
enum { VIEW_LABELS_MAX = 512 };
size_t snapshot_unpack_labels(const char *labels, uint32_t size, struct label_pair *ret, size_t max);
/* The Profiles of a namespace, or with `ns` {NULL, 0} the ClusterProfiles, stand together in v->profile. Returns how
 * many they are; *ret_first is the index of the first. */
size_t snapshot_profiles_of(const struct snapshot *v, struct text ns, size_t *ret_first);
/* The profile that selects a workload, a pod without owner, or a namespace with these labels. Only profiles of that
 * object's dimension count, and the first in their order wins. NULL: no profile selects the object, or a Profile that
 * is left out may. */
const struct snapshot_profile *snapshot_choose(const struct snapshot *v, struct text ns, struct text group,
                                               struct text kind, const struct label_pair *label, size_t labels);

#endif
