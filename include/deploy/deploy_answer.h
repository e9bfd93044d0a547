/*
 * Decide the requests that a pod template or a pod is deployed with: gather the facts from a snapshot, then ask
 * core/decide_requests. REST, render, admission and the command line all use this.
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
        /* values from halflife's annotations on the same object (deploy_recall); unset if it has none */
        struct amount applied[RESOURCES], recorded_original[RESOURCES], recorded_limit[RESOURCES];
        bool recorded;                          /* the annotations name this container */
        bool restarts[RESOURCES];               /* a resize of the resource would restart it (resizePolicy) */
        struct request_reading read[RESOURCES]; /* what of the same object reads its requests */
        struct runtime_heap heap;
};

/* A workload about to be deployed, whether the snapshot has it or not. */
struct deploy_subject {
        struct text ns, group, kind, name;
        /* the workload in the snapshot, whose profile then counts, and not the labels; NULL: it is looked up by name */
        const struct snapshot_target *known;
        const struct label_pair *label; /* labels of the workload, then those of its template */
        size_t labels;
        bool apply_never;               /* the workload has the annotation halflife.dev/apply: Never */
        bool hpa[RESOURCES];            /* an autoscaler in the same input scales the workload by utilization */
        bool hpa_of_other[RESOURCES];   /* an autoscaler of another workload counts this one's pods too */
        bool hpa_of_cluster[RESOURCES]; /* likewise, by the cluster's labels; counts where the snapshot lacks it */
        bool other_autoscaler;         /* an autoscaler in the same input sets the workload's requests: those in left */
        const struct vpa_policy *left; /* NULL: every request */
        bool in_place_only;       /* its update strategy is in-place only, which cannot change a template's requests */
        bool pod;                 /* the subject is a single new pod, so in_place_only does not matter */
        bool pod_asks[RESOURCES]; /* the pod as a whole requests the resource (spec.resources) */
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
        struct deploy_row *row;       /* likewise */
};

/* Everything that *ret points to belongs to the arena or the snapshot. */
void deploy_answer(const struct snapshot *v, const struct deploy_subject *s, struct arena *a,
                   struct deploy_answer *ret);

/*
 * Fill applied, recorded_… and recorded of the containers from halflife's annotations on the object. One of the two
 * annotations without the other counts as none. ERR_INVALID if one is unreadable. Halflife's values and the owner's
 * originals are then unknown, so nothing may be written.
 */
int deploy_recall(struct deploy_container *c, size_t containers, const struct our_annotations *notes, struct arena *a,
                  struct err *err);

/* The values of halflife's annotations, to be written together with the requests; NULL if no request is halflife's.
 * A pod that starts with its originals gets the record of the originals alone. They live in the arena. */
struct deploy_notes {
        const char *original, *applied, *basis;
};
struct deploy_notes deploy_record(const struct deploy_subject *s, const struct deploy_answer *d, struct arena *a);

/*
 * Let a new pod start with its originals, where its target's pods do (status.decision). Every request of the advice
 * must be one that a resize sets later. So no request may take the pod out of class Guaranteed, restart a container, or
 * be static under InPlace, which acts at a deploy only.
 */
void deploy_start_original(const struct deploy_subject *s, struct deploy_answer *d);

/* The request to write: halflife's, or else the owner's original (absent if the owner set none). */
struct amount deploy_request(const struct deploy_answer *d, size_t container, enum resource r);

#endif
