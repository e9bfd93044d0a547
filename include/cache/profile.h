/*
 * A ClusterProfile or Profile: its spec, the figures of its targets, and its status as last written.
 */
#ifndef HALFLIFE_CACHE_PROFILE_H
#define HALFLIFE_CACHE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "cache/budget_account.h"
#include "cache/profile_list.h"
#include "core/amount.h"
#include "core/canary_choice.h"
#include "objects/decode_profile.h"
#include "snapshot/snapshot.h"

struct cache;
struct cached_zone;
struct shared_profile_spec;
struct target;
struct watched_kind;
struct workload;

/* The canaries of a profile in one namespace. Each namespace tries changes by itself, so that a canary of one namespace
 * keeps no workload of another waiting. Only safety/canary_progress writes this struct. */
struct canary_group {
        const char *ns; /* interned, as the targets have it */
        struct canary_tally tally;
        bool closed;          /* the namespace's other workloads wait for its canaries */
        struct target *first; /* the group's target with the lowest canary rank; used within canary_settle */
};

/* A kind that a profile names. */
struct profile_kind {
        const char *key;                 /* "group/Kind"; interned */
        const struct watched_kind *kind; /* NULL: the namespace's profiles name too many other kinds before this one */
};

/* What the conditions in a profile's status say, for replicas: the verdicts of the halflife that holds the Lease. */
struct profile_told {
        bool fused;    /* the fuse of the cluster is blown */
        bool left_out; /* the profile is left out (left_out of struct profile) */
};

struct profile {
        char *key;      /* "ns/name", or "/name" of a ClusterProfile */
        const char *ns; /* interned; NULL: a ClusterProfile */
        const char *name;
        uint32_t epoch;
        bool going; /* the profile was deleted; used within profile_remove and profile_swept */
        int64_t created_ms, generation;
        struct profile_spec *spec; /* reference-counted, as snapshots keep it; empty if no spec could be read yet */
        struct shared_profile_spec *shared; /* the share that holds `spec`; NULL: no spec could be read yet */
        /* the profile's entry in the snapshot under construction; NULL: no spec could ever be read */
        const struct snapshot_profile *shown;
        bool left_out; /* the namespace has too many Profiles, so this one selects nothing (profile_bound.h) */
        bool valid;    /* `spec` was read from an object; if `error` is set, it is the last one that could be read */
        char *error;   /* why the present spec cannot be read, so that nothing is applied; NULL: it can */
        char *trouble; /* message about an unknown time zone, with the remedy; NULL: none */
        struct cached_zone *zone[PROFILE_WINDOWS]; /* the time zone of each maintenance window */
        /* The kinds that the profile names and that are not built in. While halflife does not watch one of them, it
         * applies nothing by this profile, because an owner of the profile's workloads may be of that kind. */
        struct profile_kind *named;
        int nameds;
        bool window_open;
        /* Numbers of targets, counted again in each settle and reconcile; overridden: those that another profile won.
         */
        int64_t matched, ready, applied, overridden;
        const struct profile *by; /* a profile that wins over this one for some workload; NULL: none */
        int64_t saving[RESOURCES];
        int64_t next_ready, next_applied, next_saving[RESOURCES]; /* the figures so far of the pass under way */
        struct budget_account budget; /* what counts against the profile's budget; only safety/budget writes it */
        struct map canary_groups;     /* struct canary_group by namespace: as of the last canary_settle */
        struct canary_tally canary;   /* progress of the profile's canary workloads: the sum of canary_groups */
        struct profile_told told;
        struct map fuses;      /* the profile's own blown fuses, struct profile_fuse by namespace (profile_fuse.h) */
        struct map fuses_told; /* the profile's own blown fuses, as its status reports them */
        bool canary_closed;    /* some workloads wait for canaries: as of the last canary_settle; on a replica: by the
                                  profile's status */
        /* The profile's status as last written: digests of its text and of the facts behind it; time and savings of the
         * write; since when its conditions are as they are, wall ms. */
        uint64_t written, written_facts;
        int64_t written_ms, saving_written[RESOURCES], ready_since_ms, degraded_since_ms;
        bool was_ready, was_degraded;
        bool busy;        /* a write of the status is under way */
        bool refused;     /* the API server refused the last write of the status */
        int64_t retry_ms; /* wall ms; the status is not written before this time */
};

int profile_upsert(struct cache *w, bool cluster, struct text json, uint32_t epoch, struct err *err);
void profile_remove(struct cache *w, bool cluster, struct text json);
void profile_swept(struct cache *w, bool cluster, uint32_t epoch);
void profiles_release(struct cache *w);
void profiles_read_zones(struct cache *w); /* read all time zones again: tzdata may have been installed or changed */
/* The profile that wins for a subject; NULL: none matches. `by`: the kind that runs the subject's template in its
 * place, and which a profile may name as well; NULL: none. Profiles that match and lose get the winner as `by`, and one
 * more in `overridden`. Only Profiles of the subject's namespace and ClusterProfiles can win. If no Profile in force of
 * the namespace matches and some are left out (profile_bound.h), no profile wins: a left-out Profile may select the
 * subject, and a ClusterProfile must not override it. */
struct profile *profile_choose(struct cache *w, const struct profile_subject *s, const struct watched_kind *by);
/* Find out which profiles' maintenance windows are open. Reads all time zones again once an hour, and after
 * windows_forget_zones. */
void windows_settle(struct cache *w, struct now now);
void windows_forget_zones(struct cache *w, struct mono now);
/* A workload as the subject of profile_choose. A workload that is only a link (workload_is_link) has no labels. */
struct profile_subject profile_subject_of(struct cache *w, const struct workload *wl, enum dimension d);
/* Whether the profile that the target's Recommendation names exists but could never be read. Then the target keeps its
 * target values. */
bool profile_unread(const struct cache *w, const struct target *t);
/* Is `ns` a system namespace, which ClusterProfiles select only by its name? */
bool profile_system_namespace(const struct cache *w, const char *ns);
/* The kinds that the profile names and that halflife does not watch, for a message: the first few by name, and how many
 * more. The caller owns the text; NULL: there are none. As of the last watched_kinds_settle. */
char *profile_kinds_beyond(const struct profile *p);   /* kinds before which the profiles name too many others */
char *profile_kinds_unplaced(const struct profile *p); /* kinds without a watch, as other kinds have all watches */
bool profile_is_blind(const struct profile *p);        /* does the profile name a kind that is not watched? */
static inline const char *profile_kind_name(bool of_namespace)
{
        return of_namespace ? "Profile" : "ClusterProfile";
}
static inline const char *profile_kind(const struct profile *p)
{
        return profile_kind_name(p->ns != NULL);
}

/* --- written by other modules (profile_state.c) --- */

/* Count the profile's targets in a pass; the figures become valid at profile_count_end. */
void profile_count_begin(struct profile *p);
void profile_count(struct profile *p, bool ready, bool applied); /* count one more target of the profile */
void profile_count_saving(struct profile *p, enum resource r, int64_t saving);
void profile_count_end(struct profile *p);
void profile_set_shown(struct profile *p, const struct snapshot_profile *shown);
void profile_canary_begin(struct profile *p); /* drop all canary groups, so that no workload waits for canaries */
struct canary_group *
profile_canary_group(struct profile *p,
                     const char *ns /* interned */);     /* a namespace without canaries so far gets a group */
void profile_canary_end(struct profile *p, bool closed); /* sum up the canary groups; `closed`: some group is closed */
/* Set the conditions Ready and Degraded of the status; a condition that changes gets the time `at`. */
void profile_set_conditions(struct profile *p, bool ready, bool degraded, struct wall at);
void profile_set_busy(struct profile *p, bool busy);
/* The profile's status was written, with the present `saving`. `digest`: of the status; `facts`: digest of the facts
 * that the status came from. */
void profile_written(struct profile *p, uint64_t digest, uint64_t facts, struct wall at);
void profile_set_written_facts(struct profile *p, uint64_t facts); /* note that other facts gave the same status */
void profile_write_refused(struct profile *p, int64_t retry_ms);
void profile_forget_written(struct profile *p); /* have the status written again, even if it is the same */

#endif
