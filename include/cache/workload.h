/*
 * Workloads as the watches tell of them, and the kinds that are watched.
 */
#ifndef HALFLIFE_CACHE_WORKLOAD_H
#define HALFLIFE_CACHE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/labels.h"
#include "cache/record_set.h"
#include "core/kind.h"
#include "core/quantity.h"
#include "kube/informer.h"
#include "objects/decode.h"

struct cache;
struct autoscaler;
struct other_autoscaler;
struct profile;
struct target;

/* A kind that is watched: from the table of kinds, or named by a profile and found by discovery. */
struct watched_kind {
        struct watched_kind *next;
        const char *group, *version, *kind, *plural; /* interned */
        const char *template_path;
        unsigned flags; /* enum kind_flags */
        void *asking;   /* discovery is under way; NULL: it is not */
        struct mono asked;
        bool missing;  /* the server says that it has no such kind */
        bool vanished; /* its watch is told so (404): discovery is to say whether it went, or goes by another version */
        bool named;    /* by a profile: by the last watch_kinds */
        bool wanted;   /* to be watched: by the last watch_kinds */
        struct informer *informer;
};

struct container_spec {
        const char *name; /* interned */
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES];
};

struct foreign_owner {                   /* of a request, by server-side apply */
        const char *container, *manager; /* interned */
        bool of[RESOURCES];
};

struct controller_owner {
        const char *api_version, *kind, *name; /* interned; kind NULL: none */
        uint8_t uid[UID_BYTES];
};

/* What the Rollouts say that run a workload's template in its place, by a workloadRef. */
struct stand_in {
        const struct watched_kind *kind; /* NULL: there are none */
        int64_t replicas;
        const char *blocked; /* why they cannot take a change, a constant; NULL: they can */
        bool under_way, needs_person;
};

/* What few workloads have. */
struct workload_more {
        struct amount pod_asks[RESOURCES]; /* what its pods ask for as a whole (spec.resources) */
        char *refused;                     /* why new pods of it are refused by a quota; NULL */
        struct controller_owner refers;    /* whose template it runs (a Rollout's workloadRef), by name; kind NULL:
                                              its own */
        struct stand_in stand_in;          /* by the last cache_relink */
        int64_t observed_referred;
        const char *phase; /* interned; NULL: it tells none */
};

struct workload {
        struct watched_kind *kind;
        char *key; /* "ns/group/Kind/name"; name points into it */
        const char *ns, *name;
        struct workload_more *more; /* NULL: most have none; read by workload_more */
        struct share surge;         /* of a rollout; not set: its kind's default */
        const char *priority_class; /* of its pods; interned; NULL: none */
        uint8_t uid[UID_BYTES];
        char *uid_text; /* where its bytes do not say it; NULL: they do (workload_uid) */
        uint32_t epoch;
        int children;
        uint32_t events; /* so many has the watch brought of it */
        int64_t generation, created_ms;
        struct labels labels; /* the union with the template's: what selectors see */
        size_t own_labels;    /* so many of them, the first, are its own: copied to the Recommendation */
        struct controller_owner owner_ref;
        struct workload *owner; /* that one, or whom it refers to; linked by cache_relink; counted in children */
        struct container_spec *container;
        struct foreign_owner *foreign;
        int containers, foreigns;
        struct record_set original, applied;
        int64_t replicas;
        bool gone; /* kept while pods or workloads still point to it */
        bool apply_never, paused, on_delete, recreate, deadline_exceeded, in_place_only, needs_person;
        int64_t partition, observed_generation, updated, available, status_replicas;
        struct autoscaler *autoscaler; /* the first, by name, of those that scale it */
        const struct other_autoscaler
                *rival;          /* the first, by name, that sets the requests of it or of an owner; NULL: none */
        uint64_t digest;         /* of the template without requests and our annotations */
        struct profile *chosen;  /* by the last settle */
        struct profile *of_pods; /* the same, of dimension Pod */
        struct target *target;   /* its history and Recommendation; NULL: none */
        struct workload *next_gone;
};

int workload_upsert(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, struct err *err);
/*
 * The same by the answer to a request of ours that began when the watch had brought so many events of the object. An
 * answer may come after later events: it never takes the cache back to what was before them, and makes nothing that is
 * not there (ERR_NOTFOUND): the watch may have seen it go.
 */
int workload_answer(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, uint32_t events,
                    struct err *err);
void workload_remove(struct cache *w, struct watched_kind *k, struct text json);
void workload_swept(struct cache *w, struct watched_kind *k, uint32_t epoch);
void workload_forget(struct cache *w, const struct watched_kind *k); /* all of the kind: it is watched no longer */
struct workload *workload_find(struct cache *w, const char *group, const char *kind, const char *ns, const char *name);
char *workload_uid(const struct workload *wl);                 /* as the API server writes it; NULL: it has none */
struct workload_more *workload_more_made(struct workload *wl); /* the same */
/* An object named this controller owner: a link to another one is undone. */
void owner_unlink(struct workload **owner, const uint8_t uid[static UID_BYTES]);
/* Parts of cache_relink and cache_release. */
void workloads_settle(struct cache *w); /* owners */
void workloads_free_gone(struct cache *w);
void workloads_release(struct cache *w);
static inline struct labels workload_own_labels(const struct workload *wl)
{
        return (struct labels){wl->labels.pair, wl->own_labels};
}

/* What few have, to be read: nothing of it where there is none. */
static inline const struct workload_more *workload_more(const struct workload *wl)
{
        static const struct workload_more none;
        return wl->more ? wl->more : &none;
}

/* Never a target of its own: only a link between pods and whoever holds their template, so no more is kept of it. */
static inline bool workload_is_link(const struct workload *wl)
{
        return ((wl->kind->flags & KIND_UNOWNED_ONLY) && wl->owner_ref.kind) || workload_more(wl)->refers.kind;
}

/* Pods that are to run by its template, whoever runs them. */
static inline int64_t workload_replicas(const struct workload *wl)
{
        int64_t sum;
        return __builtin_add_overflow(wl->replicas, workload_more(wl)->stand_in.replicas, &sum) ? INT64_MAX : sum;
}

/* rollout.c: is a workload's rollout done, and that of those that stand in for it? */
bool rollout_done(const struct workload *wl);
/* Why a change may not roll out now, a constant; NULL: it may. named: the profile names its kind among its targets. */
const char *rollout_blocked(const struct workload *wl, bool named);
/* Another that runs its template says how it stands. */
void rollout_stand_in(struct workload *of, const struct workload *by);
/* A kind by group and kind; made (to be discovered) where it is not watched yet. */
struct watched_kind *kind_watched(struct cache *w, struct text group, struct text kind);
uint64_t template_fingerprint(struct text object, const char *template_path); /* template_fingerprint.c */

#endif
