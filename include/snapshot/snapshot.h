/*
 * What others may read of us: immutable once published, and counted. The controller makes one after each pass and swaps
 * it in; whoever answers holds the one he began with, so that an answer is of one moment.
 *
 * Everything a view points to lies in its arena, is a constant, or is kept for it (snapshot_keep).
 */
#ifndef HALFLIFE_SNAPSHOT_SNAPSHOT_H
#define HALFLIFE_SNAPSHOT_SNAPSHOT_H

#include "base/clock.h"
#include "base/mem.h"
#include "core/profile.h"
#include "core/rules.h"

/* Millicores or bytes; negative: there is none. */
typedef int64_t snapshot_amount;
static inline snapshot_amount snapshot_amount_of(struct amount a)
{
        return a.set ? a.value : -1;
}
static inline struct amount amount_of_view(snapshot_amount a)
{
        return a >= 0 ? (struct amount){true, a} : (struct amount){0};
}

/* One resource of one container, as in a Recommendation's status. */
struct snapshot_numbers {
        snapshot_amount original, current, model, target, lower, upper;
        snapshot_amount
                applied; /* what stands in the template as ours (at Pod: in the newest pod; InPlace: what is set) */
        int64_t limit;   /* 0: none */
        uint8_t reason;  /* enum reason */
        bool learned;    /* the target stands on usage, now or once: it is a last good value */
        bool by_kill;    /* a kill, not the percentile, made the model */
};

struct snapshot_container {
        const char *name;
        uint8_t role, state; /* enum container_role, enum state */
        bool ignored;
        struct snapshot_numbers of[RESOURCES];
};

struct snapshot_condition {
        const char *type, *reason;
        bool status;
};

struct snapshot_profile {
        const char *ns; /* NULL: a ClusterProfile */
        const char *name;
        int64_t created_ms;
        bool canary_closed; /* all but the canaries among its workloads wait */
        bool unreadable;    /* spec is the last good one: nothing is changed by it */
        const struct profile_spec *spec;
};

/* What a namespace's ResourceQuota allows its pods to request, and what it counts. */
struct snapshot_quota {
        snapshot_amount hard, used; /* negative hard: it bounds nothing of it */
};

struct snapshot_target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of its Recommendation: with ns the key, and the order */
        const char *labels;         /* of the workload itself: "key\0value\0" of each */
        uint32_t labels_size;
        uint8_t state; /* enum state */
        bool contested, orphaned, apply_never;
        bool pod_asks[RESOURCES];               /* its pods ask for it as a whole (spec.resources) */
        bool other_autoscaler;                  /* one that sets requests itself has it for its target */
        bool in_place_only;                     /* a change of its template's requests would stick there */
        bool waits;                             /* for canaries of its profile */
        bool never_written;                     /* a namespace, or a pod of a workload: it is only recommended for */
        bool hpa_holds[RESOURCES];              /* an HPA that scales it by utilization would not go along */
        const char *hold;                       /* why a person holds it; NULL */
        const struct snapshot_profile *profile; /* NULL: orphaned */
        int64_t replicas, saving[RESOURCES];
        int64_t samples, since_ms, last_ms;
        int64_t applied_ms; /* our last change; 0: never */
        int confidence_percent;
        const struct snapshot_quota *quota; /* [RESOURCES], of a namespace; NULL: none */
        uint16_t containers, conditions;
        const struct snapshot_container *container;
        const struct snapshot_condition *condition;
};

/* What its history is kept for, by its kind. */
enum dimension snapshot_dimension(const struct snapshot_target *t);

struct snapshot_ns {
        const char *name;
        const char *labels; /* as a target's */
        uint32_t labels_size;
        bool system;      /* reached only by naming kubernetes.io/metadata.name */
        bool apply_never; /* its annotation halflife.dev/apply */
        struct amount default_request[RESOURCES], default_limit[RESOURCES];
        struct amount range_min[RESOURCES], range_ratio[RESOURCES], pod_min[RESOURCES], pod_ratio[RESOURCES];
};

/* An autoscaler by utilization: a workload that it names may not have been seen yet. */
struct snapshot_hpa {
        const char *ns, *group, *kind, *name; /* of its target */
        bool utilization[RESOURCES];
        bool retunes; /* nothing keeps its targets from being moved */
};

/* A pod whose utilization an autoscaler may go by: its profile's apply.hpa is LimitBasis. */
struct snapshot_pod {
        const char *ns, *name;
        const char *labels; /* as a target's; where somebody selects by them */
        uint32_t labels_size;
        int64_t at_ms;                          /* when it was sampled */
        snapshot_amount utilization[RESOURCES]; /* thousandths of its limit, or of the original request */
};

/* What an autoscaler that sets requests itself points to: it may not have been seen yet. */
struct snapshot_other_autoscaler {
        const char *ns, *group, *kind, *name;
};

struct snapshot {
        int refs;
        struct arena arena;
        struct wall at;
        bool ready;
        const char *waiting_for; /* what keeps it from being ready; NULL */
        const char *metrics;     /* Prometheus' text; NULL: none yet */
        size_t metrics_len;
        bool apply_never;         /* the setting */
        bool fuse_blown;          /* too many changes went wrong: nothing new is given */
        const char *source_error; /* why the API server cannot be asked; NULL: it can */
        int64_t source_since_ms;
        const struct snapshot_target **target; /* by (ns, recommendation) */
        size_t targets;
        const struct snapshot_profile **profile; /* the one that wins first */
        size_t profiles;
        const struct snapshot_ns **ns; /* by name */
        size_t namespaces;
        const struct snapshot_hpa *hpa; /* in any order: there are few */
        size_t hpas;
        const struct snapshot_pod *pod; /* by (ns, name) */
        size_t pods;
        const struct snapshot_other_autoscaler *rival; /* in any order */
        size_t other_autoscalers;
        struct snapshot_kept *kept;
        const char **names;                          /* those copied lately, by their hash; NULL once it is finished */
        const struct snapshot_condition *conditions; /* those of the target before */
        size_t conditions_count;
};

/* Making one: fill it in, in any order, everything in its arena, then snapshot_finish puts things in their order. */
struct snapshot *snapshot_new(void); /* with one reference */
void snapshot_add_target(struct snapshot *v, const struct snapshot_target *t);
void snapshot_add_profile(struct snapshot *v, const struct snapshot_profile *p);
void snapshot_add_ns(struct snapshot *v, const struct snapshot_ns *ns);
/* drop(p) is called with the last reference, by whichever thread gives it up. */
void snapshot_keep(struct snapshot *v, void *p, void (*drop)(void *p));
void snapshot_finish(struct snapshot *v);
/* A name that occurs often (a namespace, a kind, a container): a copy in the arena, mostly one for all. NULL gives
 * NULL. */
const char *snapshot_name(struct snapshot *v, const char *name);
/* A copy in the arena, one for all that come one after another and are the same. Texts are compared by address: they
 * are constants, or of snapshot_name. */
const struct snapshot_condition *snapshot_conditions(struct snapshot *v, const struct snapshot_condition *c,
                                                     size_t count);
/* Labels as a view keeps them. Copies into the arena. */
const char *snapshot_labels(struct snapshot *v, const struct label_pair *label, size_t labels, uint32_t *ret_size);

struct snapshot *snapshot_hold(struct snapshot *v);
void snapshot_drop(struct snapshot *v); /* NULL is fine */

/* NULL: unknown. */
const struct snapshot_target *snapshot_find(const struct snapshot *v, struct text ns, struct text group,
                                            struct text kind, struct text name);
const struct snapshot_ns *snapshot_find_ns(const struct snapshot *v, struct text ns);
/* The first target behind (ns, recommendation), for pages; ns "" and recommendation "" is the beginning. */
size_t snapshot_after(const struct snapshot *v, struct text ns, struct text recommendation);
/* Unpacks at most max labels, which point into the view. Returns how many. */
enum { VIEW_LABELS_MAX = 256 };
size_t snapshot_unpack_labels(const char *labels, uint32_t size, struct label_pair *ret, size_t max);
/* The profile that a workload with these labels gets, or a pod without owner, or a namespace, each by those of its
 * dimension; NULL: none selects it. */
const struct snapshot_profile *snapshot_choose(const struct snapshot *v, struct text ns, struct text group,
                                               struct text kind, const struct label_pair *label, size_t labels);

#endif
