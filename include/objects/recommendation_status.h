/*
 * The status of a Recommendation. One struct serves for planning, writing, reading back, showing and serving it. Times
 * are wall clock ms, 0: none; the API holds whole seconds.
 *
 * Lists and texts are borrowed. In a planned status they belong to the plan and its target; in a status that was read,
 * to the given JSON and arena. The cache (cache/recommendation.h) and snapshots keep copies.
 */
#ifndef HALFLIFE_OBJECTS_RECOMMENDATION_STATUS_H
#define HALFLIFE_OBJECTS_RECOMMENDATION_STATUS_H

#include <jansson.h>

#include "base/mem.h"
#include "core/gates.h"
#include "core/guard_verdict.h"
#include "core/kind.h"
#include "core/limit_advice.h"
#include "core/vpa_policy.h"
#include "objects/json_writer.h"

/* Millicores or bytes; negative: none. */
typedef int64_t status_amount;
static inline status_amount status_amount_of(struct amount a)
{
        return a.set ? a.value : -1;
}
static inline struct amount amount_of_status(status_amount a)
{
        return a >= 0 ? (struct amount){true, a} : (struct amount){0};
}

/* One resource of a container or a pod. The API has the first six fields, `more` and `reason`. A planned status has all
 * fields. recommendation_status_read infers `applied`, `learned`, `early`, `read` and `heap_start` from the API's
 * fields, and leaves the others unset. */
struct status_numbers {
        status_amount original, current, model, target, lower, upper;
        status_amount applied; /* halflife's request in the template; with `at: Pod` in the newest pod; in mode InPlace
                                  the request set on pods */
        int64_t limit;         /* 0: none */
        uint8_t reason;        /* enum reason */
        uint8_t gate;          /* enum gate: the gate that holds the change; only in a planned status */
        bool learned : 1;      /* the target comes from measured usage, now or earlier */
        bool early : 1; /* the target is an early request (core/early_request.h); in a status that was read it may be a
                           static share of the original, where the profile asks for no early requests */
        bool by_kill : 1; /* the model comes from an out-of-memory kill, not from the percentile */
        bool more : 1; /* usage may be above the model, and by how much is not known, so the target is the original */
        bool read : 1; /* a container reads the request and would get another value from the target */
        uint32_t heap_start; /* memory, MiB, rounded up: the heap that the runtime begins with; 0: not given */
};

struct status_container {
        const char *name;
        uint8_t role,
                state; /* enum container_role, enum state; the API shows Held for each container of a held target */
        bool ignored;
        struct status_numbers of[RESOURCES];
};

/* A count as the status keeps it: 0 to UINT32_MAX. */
static inline uint32_t status_count_of(int64_t n)
{
        return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* An amount as heap_start keeps it: in MiB, rounded up. */
static inline uint32_t status_heap_start(struct amount a)
{
        enum { MEBIBYTE_BITS = 20 };
        int64_t mi = a.set ? (a.value >> MEBIBYTE_BITS) + (a.value % (1 << MEBIBYTE_BITS) != 0) : 0;
        return mi > UINT32_MAX ? UINT32_MAX : (uint32_t)mi;
}
static inline struct amount amount_of_heap_start(uint32_t mi)
{
        return (struct amount){mi > 0, (int64_t)mi << 20};
}

/* What a namespace's ResourceQuota lets its pods request in all, and how much of it is used. */
struct status_quota {
        status_amount hard, used; /* negative hard: the quota does not bound this resource */
};

/* A node, as dimension Node reports it. */
struct status_node {
        status_amount capacity, allocatable; /* negative: not known */
        /* Sums of the requests of the node's pods: as the owners set them, and as they are now. */
        status_amount original, requested;
        status_amount peak;  /* learned peak of the summed usage of the node's pods; negative: not known yet */
        int16_t packing;     /* requested as a share of allocatable in per cent; negative: not known */
        int16_t utilization; /* the node's mean usage in a quarter of an hour as a share of its capacity, in per cent;
                                negative: not known */
};

/* The limits that are advised. Few targets have any, so they are one list beside the containers. */
struct status_limits {
        int rows;
        struct status_limit {
                uint8_t container;     /* index in the status' containers */
                uint8_t resource;      /* enum resource */
                uint8_t reason;        /* enum limit_reason; not LIMIT_FINE */
                uint8_t percent;       /* LIMIT_THROTTLED: share of periods that were throttled; else 0 */
                status_amount current; /* the present limit */
                status_amount advised; /* the limit to set by hand */
                status_amount needed;  /* LIMIT_KILLED: the limit that the kill asks for; else negative */
                int64_t at_ms;         /* LIMIT_KILLED: time of the kill; else 0 */
        } row[];
};

struct status_guard {
        enum guard_cause cause;
        int64_t fired_ms, until_ms;
        char *message; /* NULL: none */
};

struct status_condition {
        const char *type, *reason;
        const char *message; /* NULL: not kept */
        uint32_t since_s;    /* lastTransitionTime, in seconds since 1970 */
        bool status;
};

/* The facts by which a replica decides deploys, because it knows only Recommendations (status.decision). Conditions
 * give people, and replicas of the previous version, the same facts. */
struct status_decision {
        bool contested, orphaned;
        bool opted_out;        /* the annotation halflife.dev/apply forbids changes */
        bool other_autoscaler; /* a VerticalPodAutoscaler sets requests of the target: those in the status' `left` */
        bool in_place_only;    /* a change of the template's requests would block its rollout (OpenKruise) */
        bool waits;            /* the target waits for the canaries of its profile */
        bool profile_fused;    /* the fuse of its profile is blown for its namespace */
        bool never_written;    /* the target is a namespace, or a pod of a workload: halflife only recommends */
        bool starts_original;  /* new pods start with their originals, and are resized once they have started */
        bool hpa_shared[RESOURCES]; /* an autoscaler by utilization of the resource counts pods of several workloads */
        bool pod_asks[RESOURCES];   /* pods request the resource at pod level (spec.resources) */
};

/* The API's name of fact `i`, one of status_decision's yes-or-no facts in the order of the CRD's enum; NULL: `i` is
 * past the last. */
const char *status_fact_name(int i);

struct recommendation_status {
        uint8_t state; /* enum state */
        bool former;   /* read in the previous version's format: must be written again */
        struct status_decision decision;
        uint8_t applied_mode; /* enum apply_mode of the last change; APPLY_RECOMMEND: not known */
        uint8_t mode; /* enum apply_mode: the profile's mode as in force for this target; APPLY_MODES: no profile */
        int16_t confidence_percent;
        uint8_t containers, conditions; /* numbers of rows; containers: those of the template and of the newest pod, at
                                           most VIEW_CONTAINERS each */
        uint32_t kills;                 /* all out-of-memory kills and evictions for memory so far */
        int64_t samples, since_ms, last_ms; /* since_ms: first sample; last_ms: newest sample */
        int64_t last_kill_ms;               /* time of the newest of `kills` */
        int64_t saving[RESOURCES];
        struct status_container *container;
        struct status_condition *condition;
        struct status_numbers *pod; /* [RESOURCES]; NULL: not known */
        struct status_quota *quota; /* [RESOURCES]; NULL: none */
        struct status_node *node;   /* [RESOURCES]; NULL: the target is no node */
        status_amount *so_far; /* [RESOURCES]: a pod's target if learning ended now; NULL: not known, or it has ended */
        struct status_limits *limits; /* NULL: none is advised */
        struct status_guard *guard;   /* NULL: none */
        struct vpa_policy *left; /* the requests that the other autoscaler sets, if decision.other_autoscaler; NULL:
                                    every request */
        int64_t applied_ms;      /* when halflife last changed requests of the target */
        char *applied;           /* halflife's requests in force (status.applied.containers), as compact JSON with
                                    sorted keys, so that equal values give equal texts; NULL: none */
        char *admitted;    /* the template's requests where admission changed those of halflife, in the same form: all
                              requests of each such container; NULL: admission changed none */
        int64_t passed_ms; /* the time since which the canary's first pods have the requests of `applied`; negative:
                              they do not have them yet */
        char *rest;        /* requests of the pods outside the canary, in the same form; NULL: no canary is running */
};

/* Write the status' fields into the open JSON object. */
void recommendation_status_write(struct writer *w, const struct recommendation_status *s);

/* Read a status from the API. A missing field, or a field of the wrong type, counts as absent; status NULL is an empty
 * status. At most VIEW_CONTAINERS containers and VIEW_METRICS conditions are read. The previous version wrote no
 * `decision`: the facts then come from the conditions, never_written also from `d`, the target's dimension. */
void recommendation_status_read(const json_t *status, enum dimension d, struct arena *a,
                                struct recommendation_status *ret);

/* A digest of the fields whose change is written at once: states, decision, conditions without times, applied values,
 * originals, current requests, advised limits, quotas and kills. For a node, whose requests change with every pod that
 * comes or goes, the digest takes the node's size in place of requests. A planned status and the same status read back
 * have the same digest. */
uint64_t recommendation_status_digest(const struct recommendation_status *s);

/* The state that the API shows for a container: Held for every container of a target whose own state, `whole`, is
 * Held. */
enum state status_container_state(enum state whole, const struct status_container *c);

/* An empty list in the arena, with room for `most` rows. */
struct status_limits *status_limits_new(struct arena *a, size_t most);
/* The limit advised for the resource of the container with this index; NULL: none. `limits` NULL: no limit is
 * advised. */
const struct status_limit *status_limit_find(const struct status_limits *limits, int container, enum resource r);

/* Parts of the status, for the REST API. `at` is the index of the container; `limits` NULL: no limit is advised. */
void status_write_container(struct writer *w, enum state whole, const struct status_container *c,
                            const struct status_limits *limits, int at);
/* Write the members of an advised limit into the open object. */
void status_write_limit(struct writer *w, const struct status_limit *l);
void status_write_resources(struct writer *w, const char *key, const struct status_numbers of[static RESOURCES]);
void status_write_mode(struct writer *w, uint8_t mode);
void status_write_so_far(struct writer *w, const status_amount so_far[static RESOURCES]);
void status_write_saving(struct writer *w, const int64_t saving[static RESOURCES]);
void status_write_quota(struct writer *w, const struct status_quota quota[static RESOURCES]);
void status_write_node(struct writer *w, const struct status_node node[static RESOURCES]);
void status_write_condition(struct writer *w, const struct status_condition *c);
/* A pod's values for the first six fields, summed over its containers by Kubernetes' rules. */
void status_pod_numbers(const struct status_container *c, size_t count, struct status_numbers ret[static RESOURCES]);

#endif
