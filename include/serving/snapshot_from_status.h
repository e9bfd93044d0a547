/*
 * Makes a snapshot, or parts of one, from the objects in the cache: Recommendations, profiles, namespaces, autoscalers.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_FROM_STATUS_H
#define HALFLIFE_SERVING_SNAPSHOT_FROM_STATUS_H

#include "cache/cache.h"

/* Add parts of a snapshot. Add profiles first, because the rows of targets point to profiles. */
void snapshot_add_profiles(struct cache *w, struct snapshot *v);
void snapshot_add_namespaces(const struct cache *w, struct snapshot *v);
void snapshot_add_hpas(const struct cache *w, struct snapshot *v);
void snapshot_add_other_autoscalers(const struct cache *w, struct snapshot *v);
/* Add a row for each Recommendation, where there are no plans. */
void snapshot_add_recommendations(const struct cache *w, struct arena *scratch, struct snapshot *v);

struct snapshot_row_name {
        const char *ns, *group, *version, *kind, *name, *recommendation;
};
struct snapshot_target *snapshot_row_new(struct snapshot *v,
                                         const struct snapshot_row_name *n); /* in the view's arena, not added yet */
/* Fill in a row from a status; copies go into the view's arena. `gone`: the workload is deleted, but its last good
 * values are kept, so that a new workload of the same name gets them at once. */
void snapshot_row_fill(struct snapshot *v, const struct recommendation_status *s, bool gone,
                       struct snapshot_target *to);
/* Fill in and add a row from a Recommendation alone. */
void snapshot_add_published(struct snapshot *v, const struct published *p, struct snapshot_target *to, bool gone);

/* Make a whole snapshot from a cache of Recommendations, profiles, namespaces, LimitRanges and HPAs, without learned
 * data. The caller owns the one reference that is returned. */
struct snapshot *snapshot_from_status(struct cache *w, struct wall at);
/* Make a whole snapshot of the objects that a person may see. `unlisted`: why ClusterProfiles [0] and Profiles [1]
 * could not be listed; NULL: they were listed. Of a kind that was not listed, the snapshot has the profiles that
 * Recommendations name. */
struct snapshot *snapshot_from_shown(struct cache *w, const char *const unlisted[static 2], struct wall at);

#endif
