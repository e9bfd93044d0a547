/*
 * The table of workload kinds: the only place that knows the names of a kind, where the kind's pod template is and what
 * halflife may do to it. A profile may name a kind that the table lacks: discovery then finds the kind, and its pod
 * template is taken to be at spec.template.
 */
#ifndef HALFLIFE_CORE_KIND_H
#define HALFLIFE_CORE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "core/policy.h"

enum kind_flags {
        KIND_DEFAULT = 1,      /* profiles that name no targets select the kind */
        KIND_UNOWNED_ONLY = 2, /* an object is a target only without a controller owner (ReplicaSet, Job) */
        KIND_IMMUTABLE = 4,    /* a patch of the template has no effect (Job, ReplicaSet): recommend only */
        KIND_BY_RUNS = 8, /* learning counts runs (CronJob); a patch takes effect at the next run, without a rollout */
        KIND_PHASED = 16, /* status.phase says how far a rollout is: Healthy when it is done (Argo Rollout) */
        KIND_TO_COMPLETION = 32, /* pods of the kind run to completion (Job, CronJob), so they need not become Ready */
};

struct kind {
        const char *group, *version, *kind, *plural, *singular, *short_name;
        const char *template_path; /* JSON pointer of the pod template */
        unsigned flags;
};

extern const struct kind kinds[];
extern const size_t kinds_count;
/* The table's row for a kind; group "" is core. NULL: the table has no such kind. */
const struct kind *kind_find(struct text group, struct text kind);
/* Whether an Argo Rollout can run the template of an object of the kind (spec.workloadRef), so that a change of that
 * template rolls out. True for Deployments only, although a Rollout may also refer to a ReplicaSet or a PodTemplate. A
 * change of a ReplicaSet has no effect where a Deployment owns it, and a PodTemplate is no workload. */
bool kind_runs_by_reference(struct text group, struct text kind);
/* The kind that a user names as for kubectl: kind, plural, singular or short name, in any case, with or without
 * ".group". Pods and namespaces are found as well. NULL: no kind has that name. */
const struct kind *kind_by_name(struct text name);

const char *dimension_name(enum dimension d); /* the dimension's name: "Workload", "Pod", "Namespace", "Node" */
extern const struct kind kind_of_dimension[DIMENSIONS]; /* rows of group ""; the row of Workload is empty */
/* The container name under which all containers of a pod, or all pods of a namespace or node, are counted together. No
 * real container can have this name. */
#define CONTAINER_WHOLE "*"
/* The dimension of a target of that kind: Pod, Namespace and Node have group ""; every other kind is a workload. */
enum dimension kind_dimension(struct text group, struct text kind);
/* Whether a target of dimension d is many pods together (Namespace, Node). For those halflife only recommends. */
static inline bool dimension_is_sum(enum dimension d)
{
        return d == DIMENSION_NAMESPACE || d == DIMENSION_NODE;
}
/* Whether a profile of the dimension selects the kind where the profile names no targets. Workload: the kinds with
 * KIND_DEFAULT. Pod: pods without owner, and pods of StatefulSets, because a new pod gets the old pod's name.
 * Namespace and Node: every kind. */
bool kind_is_default(enum dimension d, struct text group, struct text kind);

/* The group of an apiVersion: "apps" for "apps/v1", "" for "v1". The result points into api_version. */
struct text kind_group(struct text api_version);

/* metadata.name of a target's Recommendation: "<kind>-<name>" in lower case. Kinds outside core, apps and batch have
 * ".group" after the kind. A name over 253 bytes becomes its first 236 bytes, '-', and 16 hex digits of the SHA-256 of
 * the whole name. out holds KIND_NAME_MAX bytes. Returns out. */
enum { KIND_NAME_MAX = 254 };
char *kind_recommendation_name(struct text group, struct text kind, struct text name, char out[static KIND_NAME_MAX]);

#endif
