/*
 * The profiles of one namespace, or all ClusterProfiles, in the order in which they win (core/profile_spec.h).
 */
#ifndef HALFLIFE_CACHE_PROFILE_LIST_H
#define HALFLIFE_CACHE_PROFILE_LIST_H

#include <stddef.h>

struct profile;

struct profile_list {
        struct profile **of;
        size_t count, cap;
        size_t left_out; /* how many profiles, the last of the list, select nothing (profile_bound.h); 0 after a change
                            of the list */
};

/* The profile's rank must not change while it is in a list. */
void profile_list_add(struct profile_list *l, struct profile *p);
void profile_list_drop(struct profile_list *l, const struct profile *p); /* p must be in the list */
void profile_list_release(struct profile_list *l);

#endif
