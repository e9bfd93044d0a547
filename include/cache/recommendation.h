/*
 * Recommendations as they are in the API server.
 */
#ifndef HALFLIFE_CACHE_RECOMMENDATION_H
#define HALFLIFE_CACHE_RECOMMENDATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cache/annotation_command_read.h"
#include "cache/labels.h"
#include "cache/workload.h"
#include "objects/recommendation_status.h"

struct cache;
struct target;

struct published {
        char *key; /* "ns/name" */
        uint32_t epoch;
        bool of_profile; /* spec.profileRef names a Profile of the namespace; else a ClusterProfile */
        bool known; /* the watch has seen the Recommendation, or halflife wrote it and the watch has yet to see it */
        int64_t generation;
        char *hold; /* a person's reason for a hold; NULL: no hold */
        struct annotation_command *command[ANNOTATION_COMMANDS];
        uint64_t digest;         /* digest of its status (recommendation_status_digest) */
        struct labels labels;    /* the Recommendation's labels as in the API server */
        uint64_t labels_written; /* digest of the labels halflife wrote last; 0: none since it started */
        /* The status, owned by this struct, with names and reasons interned. Amounts of pods and messages of conditions
         * are not kept. */
        struct recommendation_status status;
        struct target *target; /* the Recommendation's target, linked by cache_relink; NULL: none */
        const char *profile_name, *target_api_version, *target_kind, *target_name; /* interned */
        const char *kind_key; /* "group/Kind" of its target, interned; NULL: the kind is built in, or no workload's */
};

int published_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void published_remove(struct cache *w, struct text json);
void published_swept(struct cache *w, uint32_t epoch);
struct published *published_get(struct cache *w,
                                struct text key); /* an unknown Recommendation is added, not yet `known` */
void published_set_status(struct cache *w, struct published *p, const json_t *status);
void published_release(struct cache *w);

/* halflife deleted the Recommendation, which counts as gone (not `known`) before the watch reports that. */
void published_deleted(struct published *p);

#endif
