/*
 * Recommendations as the API server has them.
 */
#ifndef HALFLIFE_CACHE_RECOMMENDATION_H
#define HALFLIFE_CACHE_RECOMMENDATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cache/annotation_command.h"
#include "cache/labels.h"
#include "cache/workload.h"
#include "core/guard.h"
#include "snapshot/snapshot.h"

struct cache;
struct target;

/* status.guard, of one that is held by it. */
struct published_guard {
        enum guard_cause cause;
        int64_t fired_ms, until_ms;
        char *why;
};

struct published_condition {
        const char *type, *reason; /* interned */
        bool status;
        int64_t since_ms; /* lastTransitionTime */
};

/* status.quota: few have one. */
struct published_quota {
        struct amount hard[RESOURCES], used[RESOURCES];
};

/* A Recommendation as the API server has it. */
struct published_amount {
        const char *container; /* interned */
        enum state state;
        struct amount target[RESOURCES];
        bool learned[RESOURCES]; /* it was not just the owner's request of then */
        struct snapshot_numbers shown[RESOURCES];
};

struct published {
        char *key; /* "ns/name" */
        uint32_t epoch;
        enum state state;
        bool known;    /* seen by the watch, or written by us and not yet seen */
        bool in_place; /* what is applied is what pods are set to */
        int confidence_percent;
        int64_t generation;
        char *hold; /* why a person holds it; NULL */
        struct annotation_command *command[ANNOTATION_COMMANDS];
        uint64_t urgent;         /* digest of what is written at once (status_digest.h) */
        struct labels labels;    /* as the server has them */
        uint64_t labels_written; /* digest of those that we wrote last; 0: not in this life */
        struct published_condition *condition;
        struct published_amount *row;
        int conditions, rows;
        int64_t applied_ms; /* status.applied: what a lost database does not know any more; 0: none */
        char *applied;      /* its containers, as JSON */
        char *resting;      /* status.canary.rest, as JSON; NULL: no trial is under way */
        int64_t samples, since_ms, last_ms, saving[RESOURCES];
        struct published_quota *quota;                                              /* NULL: none */
        struct published_guard *guard;                                              /* NULL: none */
        struct target *target;                                                      /* linked by cache_relink */
        const char *profile_kind, *profile_name, *target_api_version, *target_kind; /* interned */
        char *target_name;
};

int published_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void published_remove(struct cache *w, struct text json);
void published_swept(struct cache *w, uint32_t epoch);
struct published *published_get(struct cache *w, struct text key); /* made when unknown */
void published_set_status(struct cache *w, struct published *p, const json_t *status);
/* Its reason tells of a container what a template would; a sidecar counts as any other. */
enum container_role published_role(const struct published *p, const struct published_amount *row);
void published_release(struct cache *w);

void published_deleted(struct published *p); /* by us: until the watch tells, it is as good as gone */

#endif
