/*
 * Which requests a VerticalPodAutoscaler sets, by its resourcePolicy.containerPolicies, read as its own updater and
 * admission controller read them.
 */
#ifndef HALFLIFE_CORE_VPA_POLICY_H
#define HALFLIFE_CORE_VPA_POLICY_H

#include "base/text.h"
#include "core/amount.h"

/* The most policies that are read of a VPA. A VPA with more counts as one that sets everything. */
enum { VPA_POLICY_ROWS = 256 };

struct vpa_policy_row {
        struct text container;
        bool sets[RESOURCES];
};
struct vpa_policy {
        bool rest[RESOURCES]; /* whether the VPA sets the request of containers without a row */
        int rows;
        struct vpa_policy_row row[]; /* no two rows name the same container */
};

/* Make p the policy of a VPA that has no containerPolicies: it sets everything. */
void vpa_policy_begin(struct vpa_policy *p);
/* Add the next of the VPA's policies; p has room for one row more. Of several policies for one container the first
 * counts; of several for "*" the last. */
void vpa_policy_add(struct vpa_policy *p, struct text container, const bool sets[static RESOURCES]);
/* Drop the rows whose settings equal `rest`. Returns whether the VPA sets anything at all. */
bool vpa_policy_settle(struct vpa_policy *p);

/* Whether the VPA sets every request of every container. p NULL: true. */
bool vpa_policy_sets_all(const struct vpa_policy *p);
bool vpa_policy_sets(const struct vpa_policy *p, struct text container, enum resource r);
bool vpa_policy_equal(const struct vpa_policy *a, const struct vpa_policy *b); /* with rows in the same order */

/* vpa_policy_size: the bytes that a copy needs, names included. vpa_policy_copy: a copy in that many bytes at `to`,
 * which points to nothing outside of them. */
size_t vpa_policy_size(const struct vpa_policy *p);
struct vpa_policy *vpa_policy_copy(const struct vpa_policy *p, void *to);

#endif
