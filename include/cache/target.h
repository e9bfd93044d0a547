/*
 * Targets: the histories of a workload, pod or namespace, what halflife did to it, and its published Recommendation.
 */
#ifndef HALFLIFE_CACHE_TARGET_H
#define HALFLIFE_CACHE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/imported_sources.h"
#include "cache/limit_harms.h"
#include "cache/pod.h"
#include "cache/profile.h"
#include "cache/recommendation.h"
#include "cache/record_set.h"
#include "cache/sample_refusals.h"
#include "cache/workload.h"
#include "core/usage.h"
#include "store/store.h"

struct cache;
struct guard_state;
struct oom_kill;
struct pod_canary;

/* The history of one container of a target. */
struct history {
        struct target *target;
        double cpu_weight; /* original CPU request in cores; 0: none */
        /* [RESOURCES]: the effective original requests, as of the last decision, if pods may be raised above their
         * requests; NULL: they are not raised. */
        struct amount *original;
        bool dirty;                        /* changed since the last checkpoint */
        bool counted;                      /* it has counted kills that are not stored yet */
        uint8_t jumped;                    /* cycles in a row with a newest sample ahead of both clocks */
        bool ignores_first;                /* the profile keeps its container's first minutes out of the target */
        struct usage usage;                /* the fields before it share a cache line, because every sample uses them */
        struct history *next;              /* next history of the target */
        const char *container;             /* interned */
        struct store_watermark *watermark; /* loaded from the store, until the pods are listed */
        size_t watermarks;
};

/* What halflife did to a target and saw others do to it; stored at once. Times are wall ms, 0: never. */
struct apply_state {
        int64_t changed_ms;            /* halflife's last change */
        uint64_t digest;               /* fingerprint of the template that halflife changed */
        char *containers;              /* JSON of status.applied.containers; NULL */
        struct record_set set;         /* the same, decoded; only if in_place */
        struct pod_canary *pod_canary; /* the pod canary under way; NULL: none, as always unless in_place */
        int64_t passed_ms;             /* canaries: since when the last change is in force; -1: not yet; 0: no canary */
        int64_t followed_ms;           /* when the other pods last got the canary pods' requests */
        bool in_place;                 /* `containers` was applied to pods (InPlace), not to the template */
        int resets;                    /* resets by somebody in a row, within the cooldown */
        int64_t reset_seen_ms;
        int64_t contested_ms;      /* end of the hold after a conflict; 0: no conflict */
        int64_t contest_step_ms;   /* 24 h, doubling to 168 h */
        char *contest;             /* text about the conflict; NULL: none */
        char *admitted;            /* what admission made of halflife's requests, in annotation format; NULL: nothing */
        struct record_set made;    /* the same, decoded */
        struct guard_state *guard; /* guard_state.h; NULL: no such state */
};

/* A counted kill, loaded from the store and kept until its pod is listed. */
struct loaded_kill {
        uint8_t uid[UID_BYTES];
        const char *container;   /* interned */
        int64_t restarts, at_ms; /* number of the kill; when it was counted */
};

struct target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of its Recommendation */
        struct workload *workload;  /* NULL: it is gone; the histories stay for a while (target_is_over) */
        struct workload *synthetic; /* owned; the pod or namespace as a workload, for those dimensions; else NULL */
        struct profile *profile;    /* NULL: none selects it */
        struct pod *pods;
        int64_t pod_count;
        struct history *histories;
        struct published *published; /* NULL: no Recommendation exists */
        /* A person's reason for a hold, as the Recommendation has it, or had it before somebody deleted it. Stored with
         * the apply state, and given back with the Recommendation. NULL: no hold. */
        char *hold;
        struct apply_state apply_state;
        struct loaded_kill *killed;
        int kills;
        int failures;                     /* failed writes in a row; the next waits for its back-off */
        int64_t gone_ms;                  /* when it lost its workload or its profile; 0: it has both */
        int64_t kill_ms;                  /* the newest kill, or eviction for memory */
        struct limit_harms *limit_harms;  /* limit_harms.h; NULL: no limit did harm */
        struct sample_refusals *refusals; /* sample_refusals.h; NULL: none was counted */
        int64_t deploys_ms; /* since when a pod that is created gets other requests than the template's (OnDeploy at
                               Pod), by this process' decisions; 0: it does not */
        int64_t status_ms;  /* when the status of its Recommendation was last written */
        int64_t apply_state_generation; /* generation of the workload last compared with the apply state */
        uint8_t dimension;              /* enum dimension, by its kind */
        bool apply_state_dirty;         /* the apply state has changed and must be stored */
        bool backfilled;                /* the back-fill from Prometheus is done */
        bool starts_dropped;            /* what starts need did not fit its record when that was written last */
        bool busy;                      /* a write about it is under way */
        bool rolling;                   /* a rollout by halflife is not yet done */
        bool resizing;                  /* some pod is yet to be resized */
        bool canary;                    /* it is changed before others of its profile: as of the last canary_settle */
        bool waits;                     /* it waits for the canaries of its profile */
        bool due;                       /* a canary that has to be lowered: as of the last decision */
        bool retuned;                   /* an autoscaler without its workload has targets that halflife changed */
        bool surplus;                   /* its namespace keeps too many that are gone: as of the last cycle */
        uint64_t admitted_digest;       /* digest of the admitted requests in the last Event; 0: no Event */
        char *denied;                   /* why the API server refused a write to the workload; NULL: it did not */
        struct imported *imported;      /* the imported histories; NULL: none */
        char key[]; /* "ns/group/Kind/name", as for its workload; name and recommendation point behind it */
};

struct target *target_get(struct cache *w, struct text ns, struct text group, struct text kind,
                          struct text name);           /* made when unknown */
void history_free(struct cache *w, struct history *h); /* detach it from its target first */
struct history *history_get(struct target *t, const char *container /* interned */,
                            const struct resource_policy policy[static RESOURCES]); /* made when unknown */
struct history *history_find(const struct target *t, const char *container);
void target_free(struct cache *w, struct target *t); /* with its histories */
/* Whether what is learned of the target is a sum over all its pods (core/histogram.h). */
static inline bool target_is_sum(const struct target *t)
{
        return dimension_is_sum((enum dimension)t->dimension);
}
/* Whether the cache would have the target's workload if it existed. False until the kind's first list is complete. True
 * for a kind that halflife will not watch, because nothing more of it will arrive. */
bool target_is_seen(const struct cache *w, const struct target *t);
/*
 * Whether to forget a target without its workload or its profile (target_retention.c). Call only where target_is_seen.
 *
 * Without its profile it is kept for the retention time. Without its workload it is kept for 24 times as long as it was
 * watched, at least an hour, and at most the retention time; also for as long as a hold of the guard or after a
 * conflict lasts, and for the whole retention time where a person holds it or halflife set requests on its pods. Where
 * nothing was learned of it and nothing changed, it goes at once. While an autoscaler still has targets that halflife
 * changed, it stays.
 */
bool target_is_over(const struct target *t, int64_t now_ms, int64_t retention_ms);
/* Once a cycle: bound the targets whose workload is gone to NAMESPACE_GONE_TARGETS in a namespace, and mark the excess
 * as over. Pods go first, then the targets with the shortest retention; of equal ones, those gone for longest.
 * Kubernetes is meant for as many Deployments in a namespace. Returns how many all namespaces keep. */
enum { NAMESPACE_GONE_TARGETS = 2000 };
size_t targets_bound_gone(struct cache *w, int64_t now_ms, int64_t retention_ms);
/* Keep what admission made of halflife's requests (JSON in annotation format); NULL: nothing. */
void target_set_admitted(struct cache *w, struct target *t, const char *json);
/* The same from status.applied.admitted (JSON); NULL: nothing. */
void target_set_admitted_rows(struct cache *w, struct target *t, const char *rows);
/* Set what was applied last; takes over the JSON of status.applied.containers, NULL: nothing. in_place: applied to
 * pods. */
void target_set_applied(struct cache *w, struct target *t, char *containers, bool in_place);
/* The requests that halflife set on running pods for a container; NULL: none. */
const struct record_row *target_setting(const struct target *t, const char *container);
/* Last parts of linking: find the targets and their profiles, then give each its Recommendation and its pods. */
void targets_choose(struct cache *w);
void targets_link(struct cache *w, struct now now);
void targets_release(struct cache *w);
/* The next of a target's pods; a target of dimension Pod has only one. */
static inline struct pod *target_next_pod(const struct target *t, const struct pod *p)
{
        return t->dimension == DIMENSION_WORKLOAD ? p->next_of_target : NULL;
}

/* --- written by other modules (target_state.c) --- */

void target_set_busy(struct target *t, bool busy);
void target_write_ended(struct target *t, bool failed); /* counts failures in a row */
void target_set_rolling(struct target *t, bool rolling);
void target_set_resizing(struct target *t, bool resizing);
void target_set_canary(struct target *t, bool canary, bool waits);
void target_set_due(struct target *t, bool due);
void target_set_gone(struct target *t, int64_t at_ms);
void target_set_backfilled(struct target *t);
/* imported_add was called, or a history's starts changed: store the record. */
void target_record_changed(struct target *t);
/* Whether what starts need was left out of the record that is written. Returns whether that is new. */
bool target_starts_dropped(struct target *t, bool dropped);
void target_set_deploys(struct target *t, bool deploys, struct wall now); /* as of the last decision */
/* Set why the API server refuses a write to it; NULL: it does not. Returns false if nothing changed. */
bool target_set_denied(struct target *t, const char *why);
void target_set_published(struct target *t, struct published *p,
                          uint64_t labels); /* labels: digest of the written labels */
void target_status_written(struct target *t, struct wall at);
void target_admission_told(struct target *t, uint64_t digest); /* an Event reported requests with this digest */
void target_template_compared(struct target *t);               /* the template was compared with the apply state */
void target_killed(struct cache *w, struct target *t, const struct oom_kill *k); /* keeps the newest kill */

/* --- the same for a history (history_state.c) --- */

/* For the module learn, which adds samples by usage_* and then calls history_learned. No other part of a history is
 * written from outside. */
static inline struct usage *history_usage(struct history *h)
{
        return &h->usage;
}

/* Mark the history for the next checkpoint. */
static inline void history_learned(struct history *h)
{
        h->dirty = true;
}

void history_set_cpu_weight(struct history *h, double cores); /* 0: no original request */
/* [RESOURCES]; NULL: pods are not raised */
void history_set_original(struct history *h, const struct amount *original);
void history_ran(struct history *h, int64_t started_ms); /* a CronJob's Job: one more run */
/* Take over a profile's ignoreFirst. If it is 0 for a resource, forget what that resource's starts taught. */
void history_ignore_first(struct history *h, const struct resource_policy policy[static RESOURCES]);
/* Take over starts from the store, and since when they were learned live; 0: not known. A copy of them. */
void history_take_starts(struct history *h, const struct usage_starts *starts, int64_t since_ms);
void history_start_sampled(struct history *h, struct wall at); /* a live sample of a start was taken */
/* The earliest sample taken live, of a start or not; 0: none. */
int64_t history_live_since(const struct history *h);
/* Where samples of starts are later than at, date them to at (usage_pull_back_starts). */
void history_pull_back_starts(struct history *h, struct wall at);
struct history *history_detach(struct target *t);         /* take off the first history; NULL: none is left */
void history_attach(struct target *t, struct history *h); /* add it at the end, to be stored */

#endif
