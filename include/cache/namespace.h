/*
 * Namespaces, and their LimitRanges and ResourceQuotas, which limit requests.
 */
#ifndef HALFLIFE_CACHE_NAMESPACE_H
#define HALFLIFE_CACHE_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "cache/labels.h"
#include "cache/profile_bound.h"
#include "cache/profile_list.h"
#include "cache/watched_kind.h"
#include "core/amount.h"
#include "objects/decode.h"

struct cache;
struct target;

/* The default of the setting exempt-namespaces: cache.exempt_namespaces. */
#define NAMESPACES_EXEMPT "kube-system,kube-public,kube-node-lease"

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

/* The limits of a ResourceQuota, and how much of each is used. */
struct quota_facts {
        struct amount hard[QUOTA_COUNTS], used[QUOTA_COUNTS]; /* millicores, bytes or pods; `used` is set where `hard`
                                                                 is */
        unsigned scopes; /* enum quota_scope, or-ed; 0: the quota counts every pod */
        enum quota_classes classes;
        const char **class; /* names of the priority classes to which `classes` refers; interned */
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
        bool known; /* the API server has the namespace; else only objects in it were seen */
        bool used;  /* the cache has objects in the namespace: as of the last namespaces_sweep */
        bool going; /* the namespace is being deleted */
        /* exempt: halflife's own namespace, or one in the setting exempt-namespaces. labels_cut: the namespace has more
         * labels than are kept, so a selector could choose a wrong profile. apply_never: halflife changes nothing here,
         * because of one of these, or of the namespace's annotation. */
        bool exempt, apply_never, labels_cut;
        bool recount; /* which pods autoscalers count here may differ from the last cache_relink */
        bool scales;  /* an autoscaler here scales by utilization; valid while autoscaler_counts_settle runs */
        bool retunes; /* autoscalers' target percentages follow the requests of pods here: as of the last cache_relink
                       */
        struct backfill_refusal {
                struct mono until; /* halflife asks Prometheus for no back-fill until then */
                int times;         /* refusals by Prometheus in a row */
                bool told;         /* the log has reported the refusal */
                char *why;         /* why the last query of a back-fill failed; NULL: it did not */
        } refusal;
        struct labels labels;
        struct limit_range *ranges;
        struct quota *quotas; /* the namespace's ResourceQuotas, sorted by name */
        struct profile_list profiles;
        struct profile_subjects subjects[DIMENSIONS]; /* what its Profiles are compared with: as of the last settle */
        struct kind_share named;                      /* kinds that the namespace's Profiles name */
        struct kind_share recommended;                /* kinds that the namespace's Recommendations name */
        size_t command_bytes;                         /* bytes of kept annotation commands on its Recommendations */
        struct target *whole; /* target of dimension Namespace: as of the last settle; NULL: none */
        size_t gone_targets;  /* targets kept without their workload: as of the last cycle */
        bool gone_told;       /* the log has reported that gone_targets was above its bound */
};

/* Watches call the next functions with one object's JSON. The functions *_upsert return 0 or the error of decoding. */
int ns_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void ns_remove(struct cache *w, struct text json);
void ns_swept(struct cache *w, uint32_t epoch);
int range_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void range_remove(struct cache *w, struct text json);
void range_swept(struct cache *w, uint32_t epoch);
int quota_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void quota_remove(struct cache *w, struct text json);
void quota_swept(struct cache *w, uint32_t epoch);
/* Lookups of namespaces, and of the limits in them. */
struct ns *ns_get(struct cache *w, struct text name);              /* adds an unknown namespace */
const struct ns *ns_find(const struct cache *w, const char *name); /* never NULL: an unknown namespace is all zero */
/* Read the values of the namespace's LimitRanges into *ret; of several, the strictest. An unset value: no LimitRange
 * has it. */
void range_facts(const struct cache *w, const char *ns, struct range_facts *ret);
/* Have the next cache_relink find anew which pods the namespace's autoscalers count. */
void ns_recount(struct cache *w, const char *name);
void quotas_release(struct cache *w, struct ns *ns);
bool namespace_going(const struct cache *w, const char *name); /* whether the namespace is being deleted */
void namespaces_release(struct cache *w);
void namespaces_sweep(struct cache *w); /* free deleted namespaces once the cache has no object in them */
/* Note the outcome of the namespace's back-fill. ns_backfilled: it is done, and earlier refusals are forgotten. */
void ns_backfilled(struct ns *ns);
void ns_backfill_failed(struct ns *ns, const char *why);    /* `why` (copied) NULL: the last query was answered */
void ns_backfill_refused(struct ns *ns, struct mono until); /* Prometheus refused once more; no back-fill until then */
void ns_backfill_refusal_told(struct ns *ns);               /* the log has reported the refusal */

#endif
