/*
 * What a world tells a view.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_BUILD_H
#define HALFLIFE_SERVING_SNAPSHOT_BUILD_H

#include "cache/cache.h"

/* Parts. Profiles come first: rows of targets point to them. */
void snapshot_add_profiles(struct cache *w, struct snapshot *v);
void snapshot_add_namespaces(struct cache *w, struct snapshot *v);
void snapshot_add_hpas(struct cache *w, struct snapshot *v);
void snapshot_add_other_autoscalers(struct cache *w, struct snapshot *v);
/* A row for each Recommendation, where nothing else is known. */
void snapshot_add_recommendations(struct cache *w, struct arena *scratch, struct snapshot *v);

struct snapshot_row_name {
        const char *ns, *group, *version, *kind, *name, *recommendation;
};
struct snapshot_target *snapshot_row_new(struct snapshot *v,
                                         const struct snapshot_row_name *n); /* in the view's arena, not yet added */
/* Fill in and add a row from a Recommendation alone: of a workload that is gone, but not forgotten, and of any where
 * nothing else is known. */
void snapshot_add_published(struct snapshot *v, const struct published *p, struct snapshot_target *to, bool gone);

/* In the view's arena; NULL: there is none. */
const struct snapshot_quota *snapshot_quota_new(struct snapshot *v, const struct amount hard[static RESOURCES],
                                                const struct amount used[static RESOURCES]);

/* A whole view from a world that holds Recommendations, profiles, namespaces, LimitRanges and HPAs, and nothing that
 * was learned. With one reference. */
struct snapshot *snapshot_from_status(struct cache *w, struct wall at);

#endif
