/* What render*.c share: look-ups in a document that treat errors as absence, the autoscalers that count for the
 * rendered texts, and the list of requests left unchanged. */
#ifndef HALFLIFE_DEPLOY_RENDER_PRIVATE_H
#define HALFLIFE_DEPLOY_RENDER_PRIVATE_H

#include "base/map.h"
#include "deploy/deploy_answer.h"
#include "deploy/render.h"
#include "manifest/document.h"

static inline uint32_t render_at(const struct doc *d, uint32_t mapping, const char *key)
{
        uint32_t at = DOC_NONE;
        return doc_find(d, mapping, text_of(key), &at, NULL) == 0 ? at : (uint32_t)DOC_NONE;
}

static inline struct text render_text(const struct doc *d, uint32_t mapping, const char *key)
{
        return doc_text(d, render_at(d, mapping, key));
}

/* What the autoscalers in the texts do to one workload, all of them taken together. */
struct scaler {
        bool utilization[RESOURCES];   /* some autoscaler scales by the utilization of this resource */
        bool sets_requests;            /* some VerticalPodAutoscaler sets requests of the workload */
        const struct vpa_policy *left; /* the requests that it sets; NULL: every request */
};
/* The autoscalers in the texts and those of the cluster, in maps by the key of a workload. */
struct scalers {           /* {0} is empty */
        struct map of;     /* the workload's "ns/group/kind/name/" -> struct scaler */
        struct map ran_by; /* key of a workload that a Rollout's workloadRef names -> struct text, the Rollout's key */
        struct map counting; /* a namespace -> struct counting: its autoscalers by utilization */
        struct map selector; /* a workload's key -> where its selector stands; only where there are autoscalers */
        int64_t compared;    /* comparisons of labels made so far */
        struct arena arena;
};
/* Bound on scalers.compared. Beyond it, autoscalers are taken to count the pods of every workload. */
enum { RENDER_COMPARES = 32 << 20 };
/* Add an object if it is an autoscaler, or a Rollout with a workloadRef; ignore others. */
void scalers_add(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns);
/* Call this after scalers_add for all texts: add the snapshot's autoscalers, of one namespace or (ns.len 0) of all. */
void scalers_add_of_cluster(struct scalers *s, const struct snapshot *v, struct text ns);
/* The autoscalers of a workload, else of the Rollout that runs the workload's template; NULL: none. */
const struct scaler *scalers_find(const struct scalers *s, struct text ns, struct text group, struct text kind,
                                  struct text name, struct arena *scratch);
/* Call this after all autoscalers are added: add a workload's selector, which says whose pods its autoscalers count. */
void scalers_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns);
/* Mark in `of` the resources for which autoscalers of other workloads count the pods of `of`. `label`: the labels of
 * these pods. */
void scalers_mark_counted(struct scalers *s, struct deploy_subject *of, const struct label_pair *label, size_t labels,
                          struct arena *scratch);
void scalers_release(struct scalers *s);

/* render_counts.c. counting_add: add an autoscaler that scales the workload with that key; `h`: the autoscaler as the
 * cluster has it, NULL for one in the texts. counting_add_selector: add a workload's selector. counting_mark: mark in
 * `of` the resources for which autoscalers count pods with these labels; autoscalers of the workloads `own` (that of
 * `of`, and a Rollout that runs its template) are left out. */
void counting_add(struct scalers *s, struct text ns, struct text key, const bool *utilization,
                  const struct snapshot_hpa *h);
void counting_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text key);
void counting_mark(struct scalers *s, const struct text own[2], const struct label_pair *label, size_t labels,
                   struct deploy_subject *of);

/*
 * render_left.c: list in `row` the requests that an answer leaves unchanged, with the reasons: requests of containers,
 * and of the pod as a whole (pod_asks). The list lives in the arena.
 */
void left_list(const struct deploy_subject *s, const struct deploy_answer *d, const struct amount *pod_asks,
               struct arena *a, struct render_row *row);

#endif
