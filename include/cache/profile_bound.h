/*
 * How many Profiles of a namespace are in force. Choosing a Profile compares labels with selectors, and tenants decide
 * how many labels and selectors there are. So only the Profiles that come first are in force, as many as two bounds on
 * the comparisons allow. The other Profiles are left out, and select nothing.
 */
#ifndef HALFLIFE_CACHE_PROFILE_BOUND_H
#define HALFLIFE_CACHE_PROFILE_BOUND_H

#include <stddef.h>
#include <stdint.h>

struct cache;
struct profile_list;

/* The most comparisons of texts in choosing among one namespace's Profiles (profile_spec_cost). SUBJECT: for one
 * subject with PROFILE_SUBJECT_LABELS labels, as many as are read of a workload and its template. NAMESPACE: for all
 * subjects of a pass. */
enum { PROFILE_COMPARES_SUBJECT = 4 << 20, PROFILE_COMPARES_NAMESPACE = 32 << 20, PROFILE_SUBJECT_LABELS = 512 };

/* The workloads or pods that the Profiles of one dimension are compared with, and their labels together. */
struct profile_subjects {
        int64_t count, labels;
};

/* How many Profiles of a list, from its first, are within both bounds. `of`: the namespace's subjects in each
 * dimension, [DIMENSIONS]. */
size_t profile_list_within(const struct profile_list *l, const struct profile_subjects *of);
/* Find the Profiles that are left out, of all namespaces. */
void profile_bounds_settle(struct cache *w);
/* Find the Profiles that are left out on a replica, which knows no workloads and never relinks: by the bound for one
 * subject, and by the Profiles' statuses. From the first Profile whose status reports it as left out, all are left out.
 * If that Profile has since moved to the front, no Profile is in force until its status is written. */
void profile_bounds_follow(struct cache *w);

#endif
