/*
 * Dimensions beside Workload: targets that are a pod by its name (Pod) or a namespace as a whole (Namespace). To all
 * that decides and publishes such a target looks like a workload: its likeness, which a settle makes of the pod or the
 * namespace.
 *
 * Pod: whoever owns a pod of a StatefulSet-like kind (its pods are called as it is, with '-' and a number) is asked
 * about with the labels of a workload, and each of its pods is a target; a pod without owner is asked about with its
 * own labels. The history is of namespace and pod name, so it survives the pod; a sample is taken once because each is
 * later than the newest of the history. CONTAINER_WHOLE is the sum over the containers of one timestamp (one that does
 * not run uses nothing).
 *
 * Namespace: the namespace is chosen by its labels; what counts in it are the pods that the profile's selector and
 * targets select, by their topmost workload, or, where none is known, by their own labels. Its usage is summed once a
 * cycle (core/pod_aggregate.h), at the cycle's time; not at all in a cycle whose usage could not be read whole. Its one
 * container is CONTAINER_WHOLE.
 */
#ifndef HALFLIFE_CACHE_POD_NAMESPACE_TARGETS_H
#define HALFLIFE_CACHE_POD_NAMESPACE_TARGETS_H

#include "cache/cache.h"
#include "core/pod_aggregate.h"

/* What few pods have: those of other dimensions, and those that no kind we know of owns. */
struct pod_more {
        bool alone; /* nobody owns it: it has what follows */
        bool apply_never;
        struct labels labels;                /* also of one whose owner is of no kind we know of */
        struct record_set original, applied; /* by its annotations */
        struct target *single, *whole;       /* of dimension Pod, Namespace; NULL: none. By the last settle */
        struct together_sample newest;       /* where whole is set */
};

/* --- the cache (pod_namespace_targets.c) --- */

void dimension_init(struct cache *w);
void pod_more_read(struct cache *w, struct pod *p, const struct object_view *meta);
void pod_more_free(struct cache *w, struct pod *p);
/* Parts of cache_relink: targets and their profiles; then each pod to its targets. */
void dimension_settle(struct cache *w);
void dimension_link(struct pod *p);
void dimension_forget(struct cache *w, struct target *t); /* it is about to be freed */
/* May what is recommended for it be written? Of these dimensions only for a pod without owner, as it is admitted. */
bool dimension_writes(const struct target *t);
/* The first pod, in the order, of a namespace; that of another one, or the end, where it has none. */
size_t pods_from(const struct cache *w, const char *ns);

#endif
