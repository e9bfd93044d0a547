/*
 * What a pod template (or a pod) deploys with, from a view: gathers the facts and asks core/advise. REST, render,
 * admission and the command line all come here.
 */
#ifndef HALFLIFE_DEPLOY_DEPLOY_H
#define HALFLIFE_DEPLOY_DEPLOY_H

#include "core/advise.h"
#include "core/original_request.h"
#include "objects/decode.h"
#include "snapshot/snapshot.h"

struct deploy_container {
        struct text name;
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES]; /* as its owner, or an answer of ours before, wrote them */
        /* what our annotations on the same object record (deploy_recall); all unset where it has none */
        struct amount applied[RESOURCES], recorded_original[RESOURCES], recorded_limit[RESOURCES];
        bool recorded;
};

/* A workload about to be deployed: known to the view or not. */
struct deploy_subject {
        struct text ns, group, kind, name;
        /* as the view has it: the profile it has counts, not what the labels select; NULL: looked up by name */
        const struct snapshot_target *known;
        const struct label_pair *label; /* the union of the workload's and its template's: the workload's first */
        size_t labels;
        bool apply_never;         /* its own annotation halflife.dev/apply: Never */
        bool hpa[RESOURCES];      /* an autoscaler in the same input scales it by utilization */
        bool other_autoscaler;    /* one in the same input sets its requests itself */
        bool in_place_only;       /* its strategy says so: a change of requests would stick */
        bool pod;                 /* a pod's requests are asked for: what sticks in its template does not there */
        bool pod_asks[RESOURCES]; /* the pod as a whole asks for it (spec.resources) */
        const struct deploy_container *container;
        size_t containers;
};

struct deploy_row {
        struct origin origin[RESOURCES];
        enum state state;
};

struct deploy_answer {
        const struct snapshot_profile *profile; /* NULL: none selects it, and nothing is changed */
        const struct snapshot_target *target;   /* NULL: nothing is known of it yet */
        enum state state;
        bool any;                     /* some request is ours: it is to be written and recorded */
        struct deploy_advice *advice; /* one a container, in their order */
        struct deploy_row *row;
};

/* Everything in *ret lies in the arena or the view. */
void deploy_answer(const struct snapshot *v, const struct deploy_subject *s, struct arena *a,
                   struct deploy_answer *ret);

/*
 * What the annotations of the object that is written record of its containers, into applied, recorded_… and
 * recorded. One without the other tells nothing. ERR_INVALID where one cannot be read: what is ours, and what the owner
 * asked for, is then not known, and nothing may be written.
 */
int deploy_recall(struct deploy_container *c, size_t containers, const struct our_annotations *notes, struct arena *a,
                  struct err *err);

/* The texts to record beside the requests written; NULL: none, where nothing is ours. In the arena. */
struct deploy_notes {
        const char *original, *applied, *basis;
};
struct deploy_notes deploy_record(const struct deploy_subject *s, const struct deploy_answer *d, struct arena *a);

/* The request to write: ours, or, where the original stands, as the owner had it (absent stays absent). */
struct amount deploy_request(const struct deploy_answer *d, size_t container, enum resource r);

#endif
