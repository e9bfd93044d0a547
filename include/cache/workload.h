/* Workloads as watched: their containers' requests, labels, owners and the facts of their rollouts. */
#ifndef HALFLIFE_CACHE_WORKLOAD_H
#define HALFLIFE_CACHE_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/label_roles.h"
#include "cache/labels.h"
#include "cache/record_set.h"
#include "cache/request_readers.h"
#include "cache/runtime_heaps.h"
#include "cache/watched_kind.h"
#include "core/kind.h"
#include "core/quantity.h"
#include "core/rollout.h"
#include "objects/decode.h"

struct cache;
struct autoscaler;
struct other_autoscaler;
struct profile;
struct target;

struct container_spec {
        const char *name; /* interned */
        enum container_role role;
        struct amount request[RESOURCES], limit[RESOURCES];
};

struct foreign_owner {                   /* a manager, not halflife, that owns requests by server-side apply */
        const char *container, *manager; /* interned */
        bool of[RESOURCES];
};

struct controller_owner {
        const char *api_version, *kind, *name; /* interned; kind NULL: none */
        uint8_t uid[UID_BYTES];
};

/* The Rollouts (Argo) that run a workload's template in its place, by a workloadRef; taken together. */
struct rollout_ref {
        const struct watched_kind *kind; /* kind of these Rollouts; NULL: no Rollout refers to the workload */
        int64_t replicas;
        const char *blocked; /* a constant text: why the Rollouts cannot roll out a change now; NULL: they can */
        bool under_way, needs_person;
        uint64_t progress; /* sum of rollout_progress over the Rollouts */
};

/* Facts that few workloads have, so that most workloads need no memory for them. */
struct workload_more {
        struct amount pod_asks[RESOURCES]; /* pod-level requests (spec.resources of the pod) */
        struct request_readers readers;    /* readers of the containers' requests */
        struct runtime_heaps heaps;        /* heaps of the containers' runtimes */
        char *refused;                     /* why a ResourceQuota refuses the workload's new pods; NULL: none does */
        struct controller_owner refers;    /* the workload whose template this one runs, by name (workloadRef of a
                                              Rollout); kind NULL: this one has its own template */
        struct rollout_ref rollout_ref;    /* as of the last cache_relink */
        int64_t observed_referred;         /* generation of the referred workload that this one has observed */
        enum rollout_phase phase;          /* status.phase, for kinds that have one */
        struct label_roles_rest roles;     /* what `roles` of the workload cannot tell */
        bool suspended;                    /* the workload makes no pods (spec.suspend) */
        /* An autoscaler of another workload that counts this workload's pods, and compares their utilization of the
         * resource; NULL: none. As of the last cache_relink. */
        const struct autoscaler *counted_by[RESOURCES];
};

/* Why halflife applies nothing to a workload. LABELS: the workload or its template has more labels than are kept, so a
 * selector could choose a wrong profile. CONTAINERS, OWNERS: the workload has more containers, or more field managers
 * of requests, than are kept (decode.h). */
enum never { NEVER_UNSET, NEVER_BY_ANNOTATION, NEVER_BY_LABELS, NEVER_BY_CONTAINERS, NEVER_BY_OWNERS };
/* Any value of the annotation halflife.dev/apply counts as Never: when in doubt, halflife changes nothing. */
static inline enum never never_of(const struct object_view *meta, bool containers_cut, bool owners_cut)
{
        return meta->annotation.apply.len > 0 ? NEVER_BY_ANNOTATION
               : meta->labels_cut             ? NEVER_BY_LABELS
               : containers_cut               ? NEVER_BY_CONTAINERS
               : owners_cut                   ? NEVER_BY_OWNERS
                                              : NEVER_UNSET;
}

struct workload {
        struct watched_kind *kind;
        char *key; /* "ns/group/Kind/name"; name points into it */
        const char *ns, *name;
        struct workload_more *more; /* facts that few workloads have, read by workload_more; NULL: none */
        struct share surge;         /* maxSurge; unset: the kind's default */
        const char *priority_class; /* priority class of the workload's pods; interned; NULL: none */
        uint8_t uid[UID_BYTES];
        char *uid_text; /* the workload's UID, where `uid` cannot hold its text; else NULL (workload_uid) */
        uint32_t epoch;
        int children;    /* workloads and pods whose `owner` points here */
        uint32_t events; /* how many events of this object the watch has delivered */
        int64_t generation, created_ms;
        struct labels labels;     /* the workload's own labels and its template's: selectors see both */
        struct label_roles roles; /* roles of these labels */
        struct controller_owner owner_ref;
        /* The object that owner_ref names, or the workload that this one refers to; linked by cache_relink, and counted
         * in the owner's `children`. NULL: none is known. */
        struct workload *owner;
        struct container_spec *container;
        struct foreign_owner *foreign;
        int containers, foreigns;
        struct record_set original, applied;
        int64_t replicas;
        bool gone; /* deleted, but kept while pods or workloads still point to it */
        enum never apply_never;
        bool paused, on_delete, recreate, deadline_exceeded, in_place_only, needs_person;
        int64_t partition, observed_generation, updated, available, status_replicas;
        struct autoscaler *autoscaler; /* the first by name of the autoscalers that scale the workload; NULL: none */
        const struct other_autoscaler *other_autoscaler; /* the VPA of the workload, else of its nearest owner with one;
                                                            of several, the one that wins; NULL: none */
        uint64_t digest;                                 /* template fingerprint */
        struct profile *chosen;  /* the profile that selects the workload, as of the last settle;
                                    NULL: none */
        struct profile *of_pods; /* the profile that selects its pods, in dimension Pod, as of the last settle; NULL:
                                    none */
        struct target *target;   /* the workload's target; NULL: none */
        struct workload *next_gone;
};

int workload_upsert(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, struct err *err);
/*
 * Update a workload from the API server's answer to a write by halflife. `events`: how many events of the object the
 * watch had delivered when the write began. If the watch has delivered more since, the cache may be newer than the
 * answer: only an answer with a newer generation then counts. An unknown workload gives ERR_NOTFOUND and is not added,
 * because the watch may have seen its deletion already.
 */
int workload_answer(struct cache *w, struct watched_kind *k, struct text json, uint32_t epoch, uint32_t events,
                    struct err *err);
void workload_remove(struct cache *w, struct watched_kind *k, struct text json);
void workload_swept(struct cache *w, struct watched_kind *k, uint32_t epoch);
/* Drop all workloads of a kind that is no longer watched. */
void workload_forget(struct cache *w, const struct watched_kind *k);
struct workload *workload_find(const struct cache *w, const char *group, const char *kind, const char *ns,
                               const char *name);
/* The workload's UID as the API server writes it, freed by the caller; NULL: it has none. */
char *workload_uid(const struct workload *wl);
struct workload_more *workload_more_made(struct workload *wl); /* wl->more, made when NULL */
/* An object now names the owner with this UID: if *owner has another UID, unlink it, and set *owner to NULL. */
void owner_unlink(struct workload **owner, const uint8_t uid[static UID_BYTES]);
/* Parts of cache_relink and cache_release. */
void workloads_settle(struct cache *w); /* link workloads and pods to their owners */
void workloads_free_gone(struct cache *w);
void workloads_release(struct cache *w);
static inline struct labels workload_own_labels(const struct workload *wl)
{
        return (struct labels){wl->labels.pair, wl->roles.own};
}

/* The facts that few workloads have, for reading; all zero where the workload has none. */
static inline const struct workload_more *workload_more(const struct workload *wl)
{
        static const struct workload_more none;
        return wl->more ? wl->more : &none;
}

/* The topmost of the workload's owners below the first that is gone, or the workload itself; NULL: the workload is
 * gone, or `wl` is NULL. */
static inline const struct workload *workload_topmost(const struct workload *wl)
{
        if (!wl || wl->gone)
                return NULL;
        while (wl->owner && !wl->owner->gone)
                wl = wl->owner;
        return wl;
}

/* Is the workload only a link between pods and the object with their template, and never a target? Then little of the
 * workload is kept. */
static inline bool workload_is_link(const struct workload *wl)
{
        return ((wl->kind->flags & KIND_UNOWNED_ONLY) && wl->owner_ref.kind) || workload_more(wl)->refers.kind;
}

/* The desired pods of the workload's template: its own replicas and those of Rollouts that refer to it. */
static inline int64_t workload_replicas(const struct workload *wl)
{
        int64_t sum;
        return __builtin_add_overflow(wl->replicas, workload_more(wl)->rollout_ref.replicas, &sum) ? INT64_MAX : sum;
}

/* --- rollouts (workload_rollout.c) --- */

/* Are the workload's own rollout, and the rollouts of Rollouts that refer to the workload, done? */
bool rollout_done(const struct workload *wl);
/* A digest of the figures of the workload's rollout, which changes as the rollout goes on. */
uint64_t rollout_progress(const struct workload *wl);
/* A constant text: why the workload may not roll out a change now; NULL: it may. `named`: its profile's targets name
 * the workload's kind. */
const char *rollout_blocked(const struct workload *wl, bool named);
/* Add to the workload `of` the state of a Rollout `by`, which runs the template of `of`. */
void rollout_ref_of(struct workload *of, const struct workload *by);
uint64_t template_fingerprint(struct text object, const char *template_path); /* see template_fingerprint.c */

#endif
