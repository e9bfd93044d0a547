#include "cache/profile_bound.h"

#include <string.h>

#include "cache/cache.h"
#include "cache/pod_namespace_targets.h"

/* --- counting the subjects of profiles --- */

static void profile_subjects_add(struct profile_subjects *of, int64_t times, size_t labels)
{
        of->count += times;
        of->labels += times * (int64_t)labels;
}

/* A workload whose template a Rollout runs is compared twice: by its own kind and by the Rollout's. */
static void profile_subjects_add_workload(struct cache *w, const struct workload *wl)
{
        struct profile_subjects *of = ns_get(w, text_of(wl->ns))->subjects;
        if (workload_is_link(wl))
                return;
        profile_subjects_add(&of[DIMENSION_WORKLOAD], workload_more(wl)->rollout_ref.kind ? 2 : 1, wl->labels.count);
        profile_subjects_add(&of[DIMENSION_POD], 1, wl->labels.count);
}

/* A pod without an owner is a subject in dimension Pod. Each pod is a subject in dimension Namespace, as a part of it.
 */
static void profile_subjects_add_pod(struct cache *w, const struct pod *p)
{
        struct profile_subjects *of = ns_get(w, text_of(p->ns))->subjects;
        const struct workload *top = workload_topmost(p->owner);
        size_t own = p->more ? p->more->labels.count : 0;
        if (p->more && p->more->alone)
                profile_subjects_add(&of[DIMENSION_POD], 1, own);
        profile_subjects_add(&of[DIMENSION_NAMESPACE], 1, top ? top->labels.count : own);
}

static bool profile_subjects_are_pods(const struct cache *w)
{
        const struct profile *p;
        for (size_t at = 0; (p = map_each(&w->profiles, &at));)
                if (p->ns && p->spec->dimension != DIMENSION_WORKLOAD)
                        return true;
        return false;
}

static void profile_subjects_count(struct cache *w)
{
        const struct workload *wl;
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                memset(ns->subjects, 0, sizeof ns->subjects);
        for (size_t at = 0; (wl = map_each(&w->workloads, &at));)
                profile_subjects_add_workload(w, wl);
        if (!profile_subjects_are_pods(w))
                return;
        for (size_t i = 0; i < w->ordered; i++)
                profile_subjects_add_pod(w, w->order[i]);
}

/* --- how many Profiles are within the bounds --- */

size_t profile_list_within(const struct profile_list *l, const struct profile_subjects *of)
{
        int64_t one = 0, all = 0;
        size_t within = 0;
        for (; within < l->count; within++) {
                const struct profile_spec *spec = l->of[within]->spec;
                const struct profile_cost cost = profile_spec_cost(spec);
                const struct profile_subjects *s = &of[spec->dimension];
                one += cost.subject + cost.label * PROFILE_SUBJECT_LABELS;
                all += cost.subject * s->count + cost.label * s->labels;
                if (one > PROFILE_COMPARES_SUBJECT || all > PROFILE_COMPARES_NAMESPACE)
                        break;
        }
        return within;
}

static void profile_list_cut(struct profile_list *l, size_t within)
{
        l->left_out = l->count - within;
        for (size_t i = 0; i < l->count; i++)
                l->of[i]->left_out = i >= within;
}

/* ClusterProfiles have no bound: a person who may write them could stop halflife anyway. */
void profile_bounds_settle(struct cache *w)
{
        struct ns *ns;
        if (w->profiles.count == w->of_cluster.count)
                return;
        profile_subjects_count(w);
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                profile_list_cut(&ns->profiles, profile_list_within(&ns->profiles, ns->subjects));
}

void profile_bounds_follow(struct cache *w)
{
        static const struct profile_subjects unknown[DIMENSIONS];
        struct ns *ns;
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));) {
                struct profile_list *l = &ns->profiles;
                size_t within = profile_list_within(l, unknown), told = 0;
                while (told < within && !l->of[told]->told.left_out)
                        told++;
                profile_list_cut(l, told);
        }
}
