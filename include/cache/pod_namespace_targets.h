/*
 * Targets of the dimensions Pod (a pod by its name) and Namespace (a namespace as a whole). dimension_settle makes a
 * synthetic workload of the pod or namespace, so that deciding and publishing treat such a target like a workload.
 *
 * Pod: profiles select the pods of a StatefulSet-like workload by the workload's labels. The names of such pods are the
 * workload's name, '-' and a number. A pod without an owner is selected by its own labels. Each selected pod is a
 * target. The target's history goes by namespace and pod name, so it survives the pod. A sample older than the
 * history's newest is skipped, so that no sample counts twice. The container CONTAINER_WHOLE stands for the sum of the
 * pod's containers at one timestamp; a container that does not run uses nothing.
 *
 * Namespace: profiles select the namespace by its labels. The pods that count in the namespace are those that the
 * profile's selector and targets select, by their topmost workload or, if that is unknown, by their own labels. Usage
 * is summed once a cycle (core/pod_aggregate.h), at the cycle's time, and skipped in a cycle whose usage could only be
 * read in part. The target's only container is CONTAINER_WHOLE.
 */
#ifndef HALFLIFE_CACHE_POD_NAMESPACE_TARGETS_H
#define HALFLIFE_CACHE_POD_NAMESPACE_TARGETS_H

#include "cache/cache.h"
#include "core/pod_aggregate.h"

/* Facts that few pods need: pods of Pod or Namespace targets, pods without an owner of a known kind, and pods with
 * pod-level requests (spec.resources) or an overhead. */
struct pod_more {
        struct amount asks[RESOURCES];     /* pod-level requests, as workload_more.pod_asks; unset: only containers have
                                              requests */
        struct amount overhead[RESOURCES]; /* spec.overhead, which the pod's RuntimeClass sets; unset: none */
        bool alone;                        /* the pod has no owner: the next four fields are set */
        enum never apply_never;
        struct labels labels;                /* also set for a pod whose owner's kind is unknown */
        struct record_set original, applied; /* halflife's annotation records on the pod */
        struct request_readers readers;      /* of a pod that once had no owner; they never change */
        struct runtime_heaps heaps;          /* of a pod that once had no owner; they never change */
        struct record_set born; /* the requests that halflife set at admission, by the pod's annotation, if the pod had
                                   others when it was first seen; no rows: it had these requests */
        struct target *single, *whole; /* the pod's target of dimension Pod, and of dimension Namespace; NULL: none. As
                                          of the last settle */
        struct pod_aggregate_sample newest; /* the pod's newest sum of usage, where `whole` is not NULL */
};

/* --- the cache (pod_namespace_targets.c) --- */

void dimension_init(struct cache *w);
void pod_more_read(struct cache *w, struct pod *p, const struct pod_view *v);
void pod_more_free(struct cache *w, struct pod *p);
/* Set pod_more.born: compare the requests of a pod seen for the first time with those that its annotations record. */
void pod_born_read(struct cache *w, struct pod *p, const struct pod_view *v);
/* Parts of cache_relink: dimension_settle finds the targets and their profiles; dimension_link links a pod to its
 * targets. */
void dimension_settle(struct cache *w);
void dimension_link(struct pod *p);
void dimension_forget(struct cache *w, struct target *t); /* drop all that points to `t`, which is about to be freed */
/* The target of dimension `d` for an object. `by`: the profile that selects the object, in which case an unknown target
 * is made; NULL: no profile does. Returns NULL if no profile does and no such target is kept. */
struct target *dimension_chosen(struct cache *w, const char *ns, enum dimension d, const char *name,
                                struct profile *by);
struct workload *dimension_synthetic(struct cache *w,
                                     struct target *t); /* the target's synthetic workload, made where it has none */
/* May halflife write the target values into requests? True for workloads, and for pods without an owner, which get them
 * at admission. */
bool dimension_writes(const struct target *t);
/* What the pod takes of its node, and of a ResourceQuota. `containers`: what its containers request together. A
 * pod-level request counts in place of that sum; the overhead is added. Unset: nothing is requested. */
struct amount pod_takes(const struct pod *p, enum resource r, struct amount containers);
struct amount pod_overhead(const struct pod *p, enum resource r); /* unset: none, or `p` is NULL */
/* Keep the newest sum of the pod's usage, which goes into the sum of its namespace. */
void pod_summed(struct pod *p, const struct pod_aggregate_sample *sum);
/* The index in cache.order where a namespace's pods begin, or would begin if it had some. */
size_t pods_from(const struct cache *w, const char *ns);

#endif
