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
         * requests; NULL: pods are not raised. */
        struct amount *original;
        bool dirty;            /* the history changed since the last checkpoint */
        bool counted;          /* the history has counted kills that are not stored yet */
        uint8_t jumped;        /* cycles in a row with a newest sample ahead of both clocks */
        bool ignores_first;    /* the profile keeps the container's first minutes out of the target value */
        struct usage usage;    /* the fields before `usage` share a cache line, because every sample uses them */
        struct history *next;  /* next history of the target */
        const char *container; /* interned */
        struct store_watermark *watermark; /* watermarks loaded from the store, kept until the pods are listed */
        size_t watermarks;
};

/* What halflife did to a target and saw others do to it; stored at once. Times are wall ms, 0: never. */
struct apply_state {
        int64_t changed_ms;            /* when halflife last changed the target's requests */
        uint64_t digest;               /* fingerprint of the template that halflife changed */
        char *containers;              /* JSON of status.applied.containers: the requests last applied; NULL: none */
        struct record_set set;         /* the requests in `containers`, decoded; only if in_place */
        struct pod_canary *pod_canary; /* the pod canary under way; NULL: none, as always unless in_place */
        int64_t passed_ms;             /* canaries: since when the last change is in force; -1: not yet; 0: no canary */
        int64_t followed_ms;           /* when the other pods last got the canary pods' requests */
        bool in_place;                 /* `containers` was applied to pods (InPlace), not to the template */
        int resets;                    /* resets in a row within the cooldown: somebody restored an original request */
        int64_t reset_seen_ms;         /* when halflife saw the last reset */
        int64_t contested_ms;          /* end of the hold after a conflict; 0: no conflict */
        int64_t contest_step_ms;       /* length of the hold after a conflict: 24 h, doubling to 168 h */
        char *contest;                 /* text about the conflict; NULL: none */
        char *admitted;            /* requests that admission made of halflife's, in annotation format; NULL: none */
        struct record_set made;    /* the requests in `admitted`, decoded */
        struct guard_state *guard; /* guard_state.h; NULL: the target has no guard state */
};

/* A counted kill, loaded from the store and kept until its pod is listed. */
struct loaded_kill {
        uint8_t uid[UID_BYTES];
        const char *container;   /* interned */
        int64_t restarts, at_ms; /* number of the kill; when halflife counted it, wall ms */
};

struct target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of the target's Recommendation */
        struct workload *workload;  /* NULL: it is gone; the histories stay for a while (target_is_over) */
        struct workload *synthetic; /* the pod, namespace or node as a workload, owned; NULL: a real workload */
        struct profile *profile;    /* NULL: no profile selects the target */
        struct pod *pods;
        int64_t pod_count;
        struct history *histories;
        struct published *published; /* NULL: no Recommendation exists */
        /* A person's reason for a hold, as the Recommendation has it, or had it before somebody deleted it. The store
         * keeps the reason with the apply state, and a Recommendation made again gets it back. NULL: no hold. */
        char *hold;
        struct apply_state apply_state;
        struct loaded_kill *killed;
        int kills;
        int failures;                     /* failed API writes in a row; the next write waits for its back-off */
        int64_t gone_ms;                  /* when it lost its workload or profile, wall ms; 0: it has both */
        int64_t kill_ms;                  /* time of the newest kill, or eviction for memory, wall ms; 0: none */
        struct limit_harms *limit_harms;  /* limit_harms.h; NULL: no limit did harm */
        struct sample_refusals *refusals; /* sample_refusals.h; NULL: no refused sample was counted */
        int64_t deploys_ms; /* since when a new pod gets other requests than the template's at admission (OnDeploy at
                               Pod), by this process' decisions; 0: a new pod gets the template's */
        int64_t status_ms;  /* when the status of its Recommendation was last written */
        int64_t apply_state_generation; /* generation of the workload last compared with the apply state */
        uint8_t dimension;              /* enum dimension, by its kind */
        bool apply_state_dirty;         /* the apply state has changed and must be stored */
        bool backfilled;                /* the back-fill from Prometheus is done */
        bool starts_dropped;            /* what starts need did not fit the target's record when last written */
        bool busy;                      /* an API write about the target is under way */
        bool rolling;                   /* a rollout by halflife is not yet done */
        bool resizing;                  /* some pod is yet to be resized */
        bool canary;                    /* changed before its profile's other targets: as of the last canary_settle */
        bool waits;                     /* changes of this target wait for its profile's canaries */
        bool due;                       /* this is a canary that has to be lowered: as of the last decision */
        bool retuned;                   /* the workload is gone, and its autoscaler has percentages set by halflife */
        bool surplus;                   /* the namespace keeps too many gone targets: as of the last cycle */
        uint64_t admitted_digest;       /* digest of the admitted requests in the last Event; 0: no Event */
        char *denied;                   /* why the API server refused a write to the workload; NULL: it did not */
        struct imported *imported;      /* sources of the imported histories; NULL: none */
        char key[]; /* "ns/group/Kind/name", as of the workload; `name` points into it, `recommendation` behind it */
};

struct target *target_get(struct cache *w, struct text ns, struct text group, struct text kind,
                          struct text name);           /* an unknown target is made */
void history_free(struct cache *w, struct history *h); /* detach the history from its target first */
struct history *history_get(struct target *t, const char *container /* interned */,
                            const struct resource_policy policy[static RESOURCES]); /* an unknown history is made */
struct history *history_find(const struct target *t, const char *container);
void target_free(struct cache *w, struct target *t); /* frees its histories too, and unlinks all that points to it */
/* Whether what is learned of the target is a sum over all its pods (core/histogram.h). */
static inline bool target_is_sum(const struct target *t)
{
        return dimension_is_sum((enum dimension)t->dimension);
}
/* Whether the cache would have the target's workload if the workload existed. False until the first list of its kind is
 * complete. True for a kind that halflife will not watch, because no workload of that kind will arrive. */
bool target_is_seen(const struct cache *w, const struct target *t);
/*
 * Whether to forget a target without its workload or its profile (target_retention.c). Call only where target_is_seen.
 *
 * A target without its profile is kept for the retention time. A target without its workload is kept for 24 times as
 * long as it was watched, at least an hour; longer while a hold by the guard or after a conflict lasts; and for the
 * whole retention time, which is the most, where a person holds the target or halflife set requests on its pods. A
 * target of which nothing was learned and nothing changed goes at once. A target stays while an autoscaler of its gone
 * workload has target percentages that halflife set.
 */
bool target_is_over(const struct target *t, int64_t now_ms, int64_t retention_ms);
/* Call it once a cycle: bound the targets whose workload is gone to NAMESPACE_GONE_TARGETS in a namespace, and mark the
 * excess as over (surplus). Targets of dimension Pod go first, then those with the shortest retention; of equal ones,
 * those gone for longest. The bound is the number of Deployments in a namespace that Kubernetes is meant for. Returns
 * how many such targets all namespaces keep. */
enum { NAMESPACE_GONE_TARGETS = 2000 };
size_t targets_bound_gone(struct cache *w, int64_t now_ms, int64_t retention_ms);
/* Keep a copy of the requests that admission made of halflife's. `json`: in annotation format; NULL: none. */
void target_set_admitted(struct cache *w, struct target *t, const char *json);
/* Keep the requests that admission made of halflife's. `rows`: JSON of status.applied.admitted; NULL: none. */
void target_set_admitted_rows(struct cache *w, struct target *t, const char *rows);
/* Set the requests that were applied last, and end a pod canary. Takes over `containers`, the JSON of
 * status.applied.containers; NULL: none. in_place: they were applied to pods. */
void target_set_applied(struct cache *w, struct target *t, char *containers, bool in_place);
/* The requests that halflife set on running pods (mode InPlace) for a container; NULL: none. */
const struct record_row *target_setting(const struct target *t, const char *container);
/* Parts of cache_relink: targets_choose finds the targets and their profiles; targets_link gives each target its
 * Recommendation and its pods. */
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
void target_write_ended(struct target *t, bool failed); /* counts failed API writes in a row */
void target_set_rolling(struct target *t, bool rolling);
void target_set_resizing(struct target *t, bool resizing);
void target_set_canary(struct target *t, bool canary, bool waits);
void target_set_due(struct target *t, bool due);
void target_set_gone(struct target *t, int64_t at_ms);
void target_set_backfilled(struct target *t);
/* Have the target's record stored, because imported_add was called, or a history's starts changed. */
void target_record_changed(struct target *t);
/* Note whether what starts need was left out of the target's record. Returns true if it was, and was not the last time.
 */
bool target_starts_dropped(struct target *t, bool dropped);
void target_set_deploys(struct target *t, bool deploys,
                        struct wall now); /* `deploys`: new pods get other requests than the template's (deploys_ms) */
/* Set why the API server refuses a write to the target's workload (copied); NULL: it does not. Returns false if the
 * target has that reason already. */
bool target_set_denied(struct target *t, const char *why);
void target_set_published(struct target *t, struct published *p,
                          uint64_t labels); /* `labels`: digest of the labels that halflife wrote */
void target_status_written(struct target *t, struct wall at);
void target_admission_told(struct target *t, uint64_t digest); /* an Event reported admitted requests of this digest */
void target_template_compared(struct target *t);               /* the template was compared with the apply state */
void target_killed(struct cache *w, struct target *t, const struct oom_kill *k); /* keeps the newest kill's time */

/* --- histories, written by other modules (history_state.c) --- */

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

void history_set_cpu_weight(struct history *h, double cores); /* cores of the original request; 0: none */
/* Copy the effective original requests, [RESOURCES]; NULL: pods are not raised above their requests. */
void history_set_original(struct history *h, const struct amount *original);
void history_ran(struct history *h, int64_t started_ms); /* count one more run of a CronJob */
/* Take over a profile's ignoreFirst. If ignoreFirst is 0 for a resource, forget what was learned of the starts. */
void history_ignore_first(struct history *h, const struct resource_policy policy[static RESOURCES]);
/* Copy what the store has of the container's starts, and since when these were sampled live, wall ms; 0: not known. */
void history_take_starts(struct history *h, const struct usage_starts *starts, int64_t since_ms);
void history_start_sampled(struct history *h, struct wall at); /* a live sample of a start was taken at that time */
/* Time of the earliest sample taken live, of a start or not, wall ms; 0: none. */
int64_t history_live_since(const struct history *h);
/* Date samples of starts that are later than `at` to `at` (usage_pull_back_starts). */
void history_pull_back_starts(struct history *h, struct wall at);
struct history *history_detach(struct target *t);         /* take off the target's first history; NULL: none is left */
void history_attach(struct target *t, struct history *h); /* add the history as the target's last, to be stored */

#endif
