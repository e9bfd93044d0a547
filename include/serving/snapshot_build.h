/*
 * What a world tells a view.
 */
#ifndef HALFLIFE_SERVING_SNAPSHOT_BUILD_H
#define HALFLIFE_SERVING_SNAPSHOT_BUILD_H

#include "cache/cache.h"

/* Parts. Profiles come first: rows of targets point to them. */
void show_profiles(struct world *w, struct view *v);
void show_namespaces(struct world *w, struct view *v);
void show_hpas(struct world *w, struct view *v);
void show_rivals(struct world *w, struct view *v);
/* A row for each Recommendation, where nothing else is known. */
void show_recommendations(struct world *w, struct arena *scratch, struct view *v);

struct show_name {
        const char *ns, *group, *version, *kind, *name, *recommendation;
};
struct view_target *show_row_new(struct view *v, const struct show_name *n); /* in the view's arena, not yet added */
/* Fill in and add a row from a Recommendation alone: of a workload that is gone, but not forgotten, and of any where
 * nothing else is known. */
void show_published(struct view *v, const struct published *p, struct view_target *to, bool gone);

/* In the view's arena; NULL: there is none. */
const struct view_quota *show_quota(struct view *v, const struct amount hard[static RESOURCES],
                                    const struct amount used[static RESOURCES]);

/* A whole view from a world that holds Recommendations, profiles, namespaces, LimitRanges and HPAs, and nothing that
 * was learned. With one reference. */
struct view *show_world(struct world *w, struct wall at);

#endif
