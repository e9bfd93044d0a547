/*
 * Targets: what was learned of a workload, what was done to it and what is published of it, all in one place.
 */
#ifndef HALFLIFE_CACHE_TARGET_H
#define HALFLIFE_CACHE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/imported.h"
#include "cache/pod.h"
#include "cache/profile.h"
#include "cache/recommendation.h"
#include "cache/record_set.h"
#include "cache/workload.h"
#include "core/usage.h"
#include "store/store.h"

struct cache;
struct guard_state;
struct oom_kill;
struct pod_canary;

/* One container of a target: what was learned of it. */
struct history {
        struct target *target;
        double cpu_weight; /* original CPU request in cores; 0: none */
        /* [RESOURCES] of pods that are raised when they use more than they ask for: effective, as of the last decision;
         * NULL: they are not. */
        struct amount *original;
        bool dirty;                        /* since the last checkpoint */
        bool counted;                      /* holds kills that are not stored yet */
        uint8_t jumped;                    /* cycles in a row that its newest sample was ahead of every clock */
        struct usage usage;                /* what every sample touches stands before it, on one cache line */
        struct history *next;              /* of the target */
        const char *container;             /* interned */
        struct store_watermark *watermark; /* loaded, until the pods have come */
        size_t watermarks;
};

/* What the controller did to a target and saw done to it; stored at once. Times are wall ms, 0: never. */
struct apply_state {
        int64_t changed_ms;            /* our last change */
        uint64_t digest;               /* of the template we changed */
        char *containers;              /* JSON of status.applied.containers; NULL */
        struct record_set set;         /* the same, read; only where in_place */
        struct pod_canary *pod_canary; /* pod_canary.h; NULL: none is under way; only where in_place */
        int64_t stood_ms;              /* of canaries: since when the last change is in force; -1: not yet */
        int64_t followed_ms;           /* when what was tried on some pods was last set on the others */
        bool in_place;                 /* they are a setting that pods have or get, and no template */
        int resets;                    /* in a row, within cooldown */
        int64_t reset_seen_ms;
        int64_t contested_ms;      /* until then; 0: not contested */
        int64_t contest_step_ms;   /* 24 h, doubling to 168 h */
        char *contest;             /* who or what; NULL */
        char *admitted;            /* requests that admission made of ours, as our annotations record them; NULL */
        struct record_set made;    /* the same, read */
        struct guard_state *guard; /* guard_state.h; NULL: most have nothing to keep */
};

/* A kill that the store gave back, until its pod has come. */
struct loaded_kill {
        uint8_t uid[UID_BYTES];
        const char *container; /* interned */
        int64_t restarts;
};

struct target {
        const char *ns, *group, *version, *kind, *name;
        const char *recommendation; /* metadata.name of its Recommendation */
        struct workload *workload;  /* NULL: it is gone, what was learned stays for the retention time */
        struct workload *likeness;  /* of another dimension: the pod or the namespace as a workload, its own; NULL */
        struct profile *profile;    /* NULL: none selects it */
        struct pod *pods;
        int64_t pod_count;
        struct history *histories;
        struct published *published; /* NULL: no Recommendation exists */
        struct apply_state apply_state;
        struct loaded_kill *killed;
        int kills;
        int failures;                   /* writes refused in a row: the next waits for its back-off */
        int64_t gone_ms;                /* when its workload vanished or its profile was lost; 0: it lives */
        int64_t kill_ms;                /* newest kill, or eviction for memory */
        int64_t limit_ms;               /* newest of them that the limit was the cause of */
        const char *limit_of;           /* its container; interned; NULL: none */
        int64_t status_ms;              /* when its status was written last */
        int64_t apply_state_generation; /* of the template that the deed was compared with */
        uint8_t dimension;              /* enum dimension, by its kind */
        bool apply_state_dirty;         /* to be stored */
        bool backfilled;                /* what Prometheus knew of it from before was joined */
        bool busy;                      /* a write about it is under way */
        bool rolling;                   /* a rollout that we started is not yet done */
        bool resizing;                  /* some pod is yet to be resized */
        bool canary;                    /* it is changed before others of its profile: by the last canary_settle */
        bool waits;                     /* for those */
        bool due;                       /* a canary that is to be lowered: by the last decision */
        uint64_t admitted_digest;       /* of what its pods were admitted with, as told last; 0: nothing */
        char *denied;                   /* what the API server forbade to write into the workload; NULL */
        struct imported *imported;      /* of histories from elsewhere; NULL: none */
        char key[]; /* "ns/group/Kind/name", as its workload's; name and recommendation point behind it */
};

struct target *target_get(struct cache *w, struct text ns, struct text group, struct text kind,
                          struct text name);           /* made when unknown */
void history_free(struct cache *w, struct history *h); /* off its target already */
struct history *history_get(struct target *t, const char *container /* interned */,
                            const struct resource_policy policy[static RESOURCES]); /* made when unknown */
struct history *history_find(const struct target *t, const char *container);
void target_free(struct cache *w, struct target *t); /* with all it learned */
/* Would its workload be known if it were there? Not while its kind is still to be listed; of a kind that nobody asks
 * for, what was seen is all that will be. */
bool target_is_seen(const struct cache *w, const struct target *t);
/* Remember what admission made of our requests (JSON as of our annotations); NULL: nothing. */
void target_set_admitted(struct cache *w, struct target *t, const char *json);
/* What was applied last (status.applied.containers; taken over, NULL: nothing): in a template, or set on pods. */
void target_set_applied(struct cache *w, struct target *t, char *containers, bool in_place);
/* What running pods of a container are set to; NULL: nothing of it is. */
const struct record_row *target_setting(const struct target *t, const char *container);
void targets_link(struct cache *w, struct now now); /* after all else is linked */
void targets_release(struct cache *w);
/* The next of a target's pods; one of dimension Pod has one. */
static inline struct pod *target_next_pod(const struct target *t, const struct pod *p)
{
        return t->dimension == DIMENSION_WORKLOAD ? p->next_of_target : NULL;
}

/* --- what others find out about it, and do to it (target_state.c) --- */

void target_set_busy(struct target *t, bool busy);
void target_write_ended(struct target *t, bool failed); /* counts failures in a row */
void target_set_rolling(struct target *t, bool rolling);
void target_set_resizing(struct target *t, bool resizing);
void target_set_canary(struct target *t, bool canary, bool waits);
void target_set_due(struct target *t, bool due);
void target_set_gone(struct target *t, int64_t at_ms);
void target_set_backfilled(struct target *t);
/* What the API server forbids to write into it; NULL: nothing. False: it is what it was. */
bool target_set_denied(struct target *t, const char *why);
void target_set_published(struct target *t, struct published *p,
                          uint64_t labels); /* labels: their digest, as written */
void target_status_written(struct target *t, struct wall at);
void target_admission_told(struct target *t, uint64_t digest); /* of what its pods were admitted with */
void target_template_compared(struct target *t);               /* with what we remember of it */
void target_killed(struct cache *w, struct target *t, const struct oom_kill *k); /* the newest counts */

#endif
