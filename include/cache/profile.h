/*
 * A ClusterProfile or Profile: what it asks for, what it comes to in the cluster, and what its status says by now.
 */
#ifndef HALFLIFE_CACHE_PROFILE_H
#define HALFLIFE_CACHE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time_zone.h"
#include "core/amount.h"
#include "core/canary.h"
#include "objects/profile_read.h"
#include "snapshot/snapshot.h"

struct cache;
struct target;
struct watched_kind;
struct workload;

struct profile {
        char *key;      /* "ns/name", or "/name" of a ClusterProfile */
        const char *ns; /* interned; NULL: a ClusterProfile */
        const char *name;
        uint32_t epoch;
        int64_t created_ms, generation;
        struct profile_spec *spec;            /* counted: views keep it; empty where none was readable yet */
        const struct snapshot_profile *shown; /* in the view that is being made; NULL: never readable */
        bool valid;    /* spec is one that could be read: the present one or, where error tells, the last good one */
        char *error;   /* why the present spec cannot be read: nothing is applied by it meanwhile; NULL */
        char *trouble; /* an unknown zone: what to do about it; NULL */
        struct zone *zone[PROFILE_WINDOWS];
        bool window_open;
        /* counted afresh each settle and reconcile */
        int64_t matched, ready, applied, overridden;
        const struct profile *by; /* a winner over it */
        int64_t saving[RESOURCES];
        int64_t next_ready, next_applied, next_saving[RESOURCES]; /* of the pass under way */
        int64_t rolling, spent_millicores;
        struct canary_tally canary; /* where it tries changes on some workloads first */
        bool fused;                 /* its status says that the fuse is blown */
        bool canary_closed;         /* the others wait: by the last canary_settle; of a replica: by its status */
        struct target *first;       /* of its targets the one with the lowest rank; within canary_settle */
        /* status: as written, and since when it says so */
        uint64_t written;
        int64_t written_ms, saving_written[RESOURCES], ready_since_ms, degraded_since_ms;
        bool was_ready, was_degraded;
        bool busy;        /* a write is under way */
        bool refused;     /* the last write was */
        int64_t retry_ms; /* no write before that */
};

int profile_upsert(struct cache *w, bool cluster, struct text json, uint32_t epoch, struct err *err);
void profile_remove(struct cache *w, bool cluster, struct text json);
void profile_swept(struct cache *w, bool cluster, uint32_t epoch);
void profiles_release(struct cache *w);
/* Profiles: the one that wins, counting those it beats; NULL: none matches. by: whoever runs the template in the place
 * of the workload asked about, which a profile may name as well; NULL: itself. */
void profiles_read_zones(struct cache *w); /* time zones afresh: tzdata may have come, or changed */
struct profile *profile_choose(struct cache *w, const struct profile_subject *s, const struct watched_kind *by,
                               bool count);
/* Which profiles' windows are open now. Once an hour, and after forget_zones, time zones are read afresh. */
void windows_settle(struct cache *w, struct now now);
void windows_forget_zones(struct cache *w, struct mono now);
/* A workload as one asked about; what is no target of its own has no labels. */
struct profile_subject profile_subject_of(struct cache *w, const struct workload *wl, enum dimension d);
/* Is the profile that its Recommendation names there, but not to be read? Then nothing is taken away meanwhile. */
bool profile_unread(const struct cache *w, const struct target *t);
/* One that cluster profiles reach only by its name. */
bool profile_system_namespace(const struct cache *w, const char *ns);
static inline const char *profile_kind(const struct profile *p)
{
        return p->ns ? "Profile" : "ClusterProfile";
}

#endif
