/*
 * The table of workload kinds: the one place that knows what a kind is called, where its pod template is and what may
 * be done to it. Kinds named in a profile that are not in it are taken to hold a pod template at spec.template (found
 * by discovery).
 */
#ifndef HALFLIFE_CORE_KIND_H
#define HALFLIFE_CORE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "core/policy.h"

enum kind_flags {
        KIND_DEFAULT = 1,      /* targeted when a profile names no targets */
        KIND_UNOWNED_ONLY = 2, /* a target only without a controller owner (ReplicaSet, Job) */
        KIND_IMMUTABLE = 4,    /* its template cannot be patched to any effect (Job, ReplicaSet): recommend only */
        KIND_BY_RUNS = 8,      /* ready after runs (CronJob); a patch takes effect at the next run, no rollout */
        KIND_PHASED = 16,      /* status.phase tells how far its rollout is: Healthy when it is done (Rollout) */
};

struct kind {
        const char *group, *version, *kind, *plural, *singular, *short_name;
        const char *template_path; /* JSON pointer of the pod template */
        unsigned flags;
};

extern const struct kind kinds[];
extern const size_t kinds_count;
/* The row of a group ("" is core) and kind; NULL: not in the table. */
const struct kind *kind_find(struct text group, struct text kind);
/* Can an Argo Rollout run the template of that kind in its place (workloadRef), so that a change made there rolls out?
 * It also takes a ReplicaSet's and a PodTemplate's: the one has no effect where a Deployment owns it, the other is no
 * workload. */
bool kind_runs_by_reference(struct text group, struct text kind);
/* What kubectl takes: kind, plural, singular, short name, each with ".group"; any case; pods and namespaces as well.
 * NULL: unknown. */
const struct kind *kind_by_name(struct text name);

const char *dimension_name(enum dimension d);           /* "Workload", "Pod", "Namespace" */
extern const struct kind kind_of_dimension[DIMENSIONS]; /* of group ""; Workload's is empty */
/* What all containers of a pod, or all pods of a namespace, go by together: no container can be called so. */
#define CONTAINER_WHOLE "*"
/* Of the Recommendation of such a kind: Pod and Namespace are of group "", every other kind is a workload. */
enum dimension kind_dimension(struct text group, struct text kind);
/* Is the kind meant where a profile of the dimension names no targets? Workload: those of KIND_DEFAULT. Pod: pods
 * without owner, and those of StatefulSets, whose names come back. Namespace: all. */
bool kind_is_default(enum dimension d, struct text group, struct text kind);

/* "apps" of "apps/v1", "" of "v1". Points into the text. */
struct text kind_group(struct text api_version);

/* metadata.name of a target's Recommendation: "<kind>-<name>", with ".group" behind kinds outside core, apps and batch;
 * at most 253 bytes, else 236 bytes, '-', 16 hex digits of the SHA-256 of the whole. out holds KIND_NAME_MAX bytes.
 * Returns out. */
enum { KIND_NAME_MAX = 254 };
char *kind_recommendation_name(struct text group, struct text kind, struct text name, char out[static KIND_NAME_MAX]);

#endif
