/*
 * Namespaces, and what bounds the requests in them: LimitRanges and ResourceQuotas.
 */
#ifndef HALFLIFE_CACHE_NAMESPACE_H
#define HALFLIFE_CACHE_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "cache/labels.h"
#include "core/amount.h"
#include "objects/decode.h"

struct cache;
struct target;

struct range_facts {
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], ratio[RESOURCES],
                pod_min[RESOURCES], pod_ratio[RESOURCES];
};

struct limit_range {
        struct limit_range *next;
        char *name;
        uint32_t epoch;
        struct range_facts says;
};

/* What a ResourceQuota allows and what is used of it. */
struct quota_facts {
        struct amount hard[QUOTA_COUNTS], used[QUOTA_COUNTS]; /* millicores, bytes, pods; used set where hard is */
        unsigned scopes;                                      /* enum quota_scope, or-ed; 0: it counts every pod */
        enum quota_classes classes;
        const char **class; /* priority classes; interned */
        int class_count;
};

struct quota {
        struct quota *next;
        char *name;
        uint32_t epoch;
        struct quota_facts says;
};

struct ns {
        const char *name; /* interned */
        uint32_t epoch;
        bool known; /* the API server has it; else only something in it was seen */
        bool used;  /* something in it is held: by the last namespaces_sweep */
        bool going; /* it is being deleted */
        bool apply_never;
        bool retunes; /* targets follow the requests of pods in it: by the last cache_relink */
        struct backfill_refusal {
                struct mono until; /* its histories from before are not asked for */
                int times;         /* so often in a row Prometheus would not tell them */
                bool told;
        } refusal;
        struct labels labels;
        struct limit_range *ranges;
        struct quota *quotas; /* by name */
        struct target *whole; /* of dimension Namespace, by the last settle; NULL: none */
};

/* Watches call these with one object's JSON. 0 or what decode said. */
int ns_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void ns_remove(struct cache *w, struct text json);
void ns_swept(struct cache *w, uint32_t epoch);
int range_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void range_remove(struct cache *w, struct text json);
void range_swept(struct cache *w, uint32_t epoch);
int quota_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void quota_remove(struct cache *w, struct text json);
void quota_swept(struct cache *w, uint32_t epoch);
/* Lookups. */
struct ns *ns_get(struct cache *w, struct text name); /* made when unknown */
/* What the namespace's LimitRanges say, the strictest of several. */
void range_facts(struct cache *w, const char *ns, struct range_facts *ret);
void quotas_release(struct cache *w, struct ns *ns);
bool namespace_going(const struct cache *w, const char *name); /* it is being deleted */
void namespaces_release(struct cache *w);
void namespaces_sweep(struct cache *w); /* those that are gone, once nothing of theirs is held */

#endif
