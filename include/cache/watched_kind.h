/*
 * The kinds of workloads that halflife watches or looks for: those built in, and those that profiles and
 * Recommendations name. Each namespace names a bounded number of kinds, and a kind that nobody names is forgotten.
 */
#ifndef HALFLIFE_CACHE_WATCHED_KIND_H
#define HALFLIFE_CACHE_WATCHED_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/kind_lookup.h"

struct cache;

/* How many kinds that are not built in may be named: by a namespace's Profiles, and by its Recommendations. All
 * ClusterProfiles together may name KINDS_OF_PROFILES as well. A Recommendation may outlive the profile that named its
 * kind, so KINDS_OF_RECOMMENDATIONS has room for the kinds that Profiles named and those that ClusterProfiles named. */
enum { KINDS_OF_PROFILES = 16, KINDS_OF_RECOMMENDATIONS = 2 * KINDS_OF_PROFILES };

/* A kind of workload: built in (core/kind.h), or named by a profile and found by discovery. */
struct watched_kind {
        struct watched_kind *next;
        const char *key;              /* "group/Kind"; interned */
        const char *group, *kind;     /* interned */
        const char *version, *plural; /* interned; NULL: not found yet */
        const char *template_path;
        unsigned flags;            /* enum kind_flags */
        struct kind_lookup lookup; /* the state of discovery, for a kind that not every cluster has */
        bool built_in;
        bool named;       /* the kind is in some kind_share: as of the last watched_kinds_settle */
        bool unplaced;    /* the API server has the kind, but other kinds have all watches */
        int rank;         /* the lowest place of a named kind in any kind_share; 0: a ClusterProfile names the kind */
        size_t workloads; /* workloads of this kind, and deleted ones that something still points to */
        struct informer *informer; /* NULL: the kind is not watched */
        const struct err *trouble; /* why the kind's watch fails, code 0: it works; valid while the kind is watched */
};

/* The kinds that one namespace's Profiles name, or one namespace's Recommendations, or all ClusterProfiles. */
struct kind_share {
        struct watched_kind **kind; /* the kinds, in the order in which they were named */
        int count;
        bool stale; /* the share's profiles may name other kinds than at the last watched_kinds_settle */
};
static inline void kind_share_release(struct kind_share *s)
{
        mem_free(s->kind);
        *s = (struct kind_share){0};
}

/* "group/Kind", interned; the caller gives the reference back with intern_drop. */
const char *watched_kind_key(struct cache *w, struct text group, struct text kind);
/* The kind of this group and name; NULL: the cache does not have it. */
struct watched_kind *watched_kind_find(const struct cache *w, struct text group, struct text kind);
/* Find a kind, or add it. The kind stays until watched_kinds_settle finds that nothing names or uses it. */
struct watched_kind *kind_watched(struct cache *w, struct text group, struct text kind);
/* Update which kinds are named, and forget the kinds that are neither named nor used. */
void watched_kinds_settle(struct cache *w);
void watched_kinds_release(struct cache *w);
size_t watched_kinds_unplaced(const struct cache *w); /* how many named kinds get no watch: others have all watches */
static inline bool watched_kind_is_wanted(const struct watched_kind *k)
{
        return k->built_in || k->named;
}
/* Does every API server have the kind? For any other kind halflife asks the discovery API. */
static inline bool watched_kind_is_standard(const struct watched_kind *k)
{
        return k->built_in && (strcmp(k->group, "apps") == 0 || strcmp(k->group, "batch") == 0);
}

/* --- written by other modules --- */

/* Set the informer that watches the kind, and where it reports why the watch fails; `in` NULL: the kind is not watched.
 */
void watched_kind_set_informer(struct watched_kind *k, struct informer *in, const struct err *trouble);
void watched_kind_set_unplaced(struct watched_kind *k, bool unplaced);
void watched_kind_set_version(struct cache *w, struct watched_kind *k, const char *version, const char *plural);

#endif
