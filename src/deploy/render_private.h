/* Look-ups in a document that treat errors as absence, and the autoscalers in the rendered texts. */
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

/* The autoscalers in the texts, by the workload they scale. */
struct scaler {
        bool utilization[RESOURCES];   /* some autoscaler scales by the utilization of this resource */
        bool sets_requests;            /* some VerticalPodAutoscaler sets the requests in left */
        const struct vpa_policy *left; /* NULL: every request */
};
struct scalers {           /* {0} is empty */
        struct map of;     /* the workload's "ns/group/kind/name/" -> struct scaler */
        struct map ran_by; /* key of a workload that a Rollout's workloadRef names -> struct text, the Rollout's key */
        struct map counting; /* a namespace -> struct counting: its autoscalers by utilization */
        struct map selector; /* a workload's key -> where its selector stands; only where there are autoscalers */
        int64_t compared;    /* comparisons of labels made so far */
        struct arena arena;
};
/* Bound on these comparisons. Beyond it, every workload is taken to be counted. */
enum { RENDER_COMPARES = 32 << 20 };
/* Add an object if it is an autoscaler, or a Rollout with a workloadRef; ignore others. */
void scalers_add(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns);
/* After the texts': add the autoscalers of the snapshot, of one namespace or (ns.len 0) of all. */
void scalers_add_of_cluster(struct scalers *s, const struct snapshot *v, struct text ns);
/* The autoscalers of a workload, or of the Rollout that runs its template; NULL: none. */
const struct scaler *scalers_find(const struct scalers *s, struct text ns, struct text group, struct text kind,
                                  struct text name, struct arena *scratch);
/* After all are added: add an object's selector, which says what pods autoscalers count. */
void scalers_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text default_ns);
/* Mark the resources for which autoscalers of other workloads count this workload's pods, which have these labels. */
void scalers_mark_counted(struct scalers *s, struct deploy_subject *of, const struct label_pair *label, size_t labels,
                          struct arena *scratch);
void scalers_release(struct scalers *s);

/* render_counts.c. counting_add: add an autoscaler of the workload with that key; h: as the cluster has it.
 * counting_add_selector: add a workload's selector. counting_mark: mark the resources for which they count pods with
 * these labels, except those of their own workloads. */
void counting_add(struct scalers *s, struct text ns, struct text key, const bool *utilization,
                  const struct snapshot_hpa *h);
void counting_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text key);
void counting_mark(struct scalers *s, const struct text own[2], const struct label_pair *label, size_t labels,
                   struct deploy_subject *of);

/*
 * render_left.c: list in the row the requests that an answer leaves unchanged, with the reasons: those of the
 * containers, and those of the pod as a whole. The list lives in the arena.
 */
void left_list(const struct deploy_subject *s, const struct deploy_answer *d, const struct amount *pod_asks,
               struct arena *a, struct render_row *row);

#endif
