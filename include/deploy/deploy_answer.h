/*
 * Decide the CPU and memory requests that a pod template or a pod is deployed with: gather the facts from a snapshot,
 * then ask core/decide_requests. REST, render, admission and the command line all use this.
 */
#ifndef HALFLIFE_DEPLOY_DEPLOY_ANSWER_H
#define HALFLIFE_DEPLOY_DEPLOY_ANSWER_H

#include "core/decide_requests.h"
#include "core/original_request.h"
#include "core/request_reading.h"
#include "core/runtime_heap.h"
#include "objects/decode.h"
#include "snapshot/snapshot.h"

struct deploy_container {
        struct text name;
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES]; /* in the object now, set by its owner or by halflife */
        /* values from halflife's annotations on the same object (deploy_recall); unset if there are none */
        struct amount applied[RESOURCES], recorded_original[RESOURCES], recorded_limit[RESOURCES];
        bool recorded;                          /* the annotations name this container */
        bool restarts[RESOURCES];               /* a resize of the resource would restart it (resizePolicy) */
        struct request_reading read[RESOURCES]; /* the variable or file by which a container gets this request */
        struct runtime_heap heap;
};

/* A workload about to be deployed, whether the snapshot has it or not. */
struct deploy_subject {
        struct text ns, group, kind, name;
        /* the workload in the snapshot: its profile there counts, whatever the labels; NULL: look it up by name */
        const struct snapshot_target *known;
        const struct label_pair *label; /* labels of the workload, then those of its template */
        size_t labels;
        bool apply_never;               /* the workload has the annotation halflife.dev/apply: Never */
        bool hpa[RESOURCES];            /* an autoscaler in the same input scales the workload by utilization */
        bool hpa_of_other[RESOURCES];   /* an autoscaler of another workload counts this one's pods too */
        bool hpa_of_cluster[RESOURCES]; /* as hpa_of_other, from the cluster; used if the snapshot lacks the workload */
        bool other_autoscaler;          /* another autoscaler in the same input sets requests of the workload */
        const struct vpa_policy *left;  /* the requests that the other autoscaler sets; NULL: every request */
        bool in_place_only;             /* the workload's update strategy is in-place only, so its template must stay */
        bool pod;                       /* the subject is a single new pod, so in_place_only does not matter */
        bool pod_asks[RESOURCES];       /* the pod as a whole requests the resource (spec.resources) */
        const struct deploy_container *container;
        size_t containers;
};

struct deploy_row {
        struct original_request origin[RESOURCES];
        enum state state;
};

struct deploy_answer {
        const struct snapshot_profile *profile; /* NULL: no profile selects the workload, so nothing changes */
        const struct snapshot_target *target;   /* NULL: the snapshot does not have the workload */
        enum state state;
        bool starts_original;         /* the pod starts with its originals, and is resized to the advice later */
        bool any;                     /* at least one request is halflife's, to be written and recorded */
        struct deploy_advice *advice; /* one for each container, in the subject's order */
        struct deploy_row *row;       /* one for each container, in the subject's order */
};

/* Everything that *ret points to belongs to the arena or the snapshot. */
void deploy_answer(const struct snapshot *v, const struct deploy_subject *s, struct arena *a,
                   struct deploy_answer *ret);

/*
 * Fill applied, recorded_… and recorded of the containers from halflife's two annotations on the object. One of the
 * annotations without the other counts as none. Returns 0, or ERR_INVALID if an annotation is unreadable: halflife's
 * values and the owner's originals are then unknown, so nothing may be written.
 */
int deploy_recall(struct deploy_container *c, size_t containers, const struct our_annotations *notes, struct arena *a,
                  struct err *err);

/* The values of halflife's annotations, to be written together with the requests; all NULL if no request is halflife's.
 * `applied` is also NULL for a pod that starts with its originals. The texts live in the arena. */
struct deploy_notes {
        const char *original, *applied, *basis;
};
struct deploy_notes deploy_record(const struct deploy_subject *s, const struct deploy_answer *d, struct arena *a);

/*
 * Set starts_original, so that a new pod starts with its originals, if the pods of its target do (status.decision). It
 * stays false unless a resize can set every request of the advice later. So no request may take the pod out of class
 * Guaranteed, restart a container, or be static under InPlace, where static requests are set only at a deploy.
 */
void deploy_start_original(const struct deploy_subject *s, struct deploy_answer *d);

/* The request to write into a container: halflife's, or else the owner's original (unset if the owner set none). */
struct amount deploy_request(const struct deploy_answer *d, size_t container, enum resource r);

#endif
