/*
 * Autoscalers of workloads (HPAs, KEDA's ScaledObjects), and VerticalPodAutoscalers, which set requests as halflife
 * does.
 */
#ifndef HALFLIFE_CACHE_AUTOSCALER_H
#define HALFLIFE_CACHE_AUTOSCALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/workload.h"
#include "core/amount.h"
#include "objects/decode.h"

struct cache;

/* One metric of an autoscaler (objects/decode.h), at the same index as in the object. */
struct autoscaler_metric {
        enum metric_source source;
        enum resource resource;
        enum metric_target target;
        const char *container, *name; /* interned; NULL: none */
        int64_t percent;
        /* utilization targets in percent by halflife's annotations: the owner's, and the one that halflife wrote */
        struct amount recorded, applied;
};

/* The kind of an autoscaler: HPA or ScaledObject. KEDA makes an HPA from a ScaledObject, and nobody else writes that
 * HPA. */
struct autoscaler_kind {
        const char *word; /* the kind's name in messages */
        const char *group, *version, *kind, *plural;
        bool triggers; /* the metrics of this kind are KEDA triggers */
};

/* How sure halflife is that an autoscaler counts other workloads' pods. PERHAPS: these pods have labels beyond those
 * that halflife keeps, so the selector may match. In the last two cases the autoscaler may count every workload of its
 * namespace, and `others` is 1. ANY: too many labels would have to be compared. UNREAD: the selector is longer than
 * halflife reads. */
enum counting { COUNTS_SURELY, COUNTS_PERHAPS, COUNTS_ANY, COUNTS_UNREAD };

extern const struct autoscaler_kind autoscaler_hpa, autoscaler_scaled_object;
struct autoscaler {
        const struct autoscaler_kind *kind;
        char *key;             /* of an HPA "ns/name", of a ScaledObject "ns/name/ScaledObject" */
        const char *ns, *name; /* `name` is interned */
        uint32_t epoch;
        uint32_t events;                        /* how many events of this object the watch has delivered */
        const char *target_group, *target_kind; /* interned */
        char *target_name;
        struct controller_owner owner; /* the autoscaler's controller owner; kind NULL: it has none */
        /* interned: the field manager, not halflife, that owns the metrics by server-side apply; NULL: none */
        const char *applier;
        const char *writer; /* interned: the field manager, not halflife, that wrote the metrics last; NULL: none */
        struct autoscaler_metric *metric;
        int metrics;
        int records; /* how many utilization targets halflife's annotations on the autoscaler have */
        bool broken; /* a halflife annotation on the autoscaler cannot be read */
        /* The API server's answer to halflife's last write, or dry run of a write, to the autoscaler. */
        bool permitted;
        char *denied;      /* why the API server refused the write; NULL: it did not */
        int64_t denied_ms; /* when the API server refused the write, wall ms */
        /* The other workloads whose pods the autoscaler counts by utilization; as of the last cache_relink. */
        uint32_t others;           /* how many other workloads have such pods */
        char *other;               /* the other workload first by key: "Deployment 'web'"; NULL: none, or any */
        enum counting counting;    /* how sure halflife is that the autoscaler counts these pods */
        struct workload *workload; /* the workload that the autoscaler scales; linked by autoscalers_settle */
        struct autoscaler *next;   /* next autoscaler of the same workload, by name */
};

/* A VerticalPodAutoscaler (VPA) that sets requests of a workload, so halflife does not set these. */
struct other_autoscaler {
        char *key; /* "ns/name" */
        const char *ns, *name;
        uint32_t epoch;
        int64_t created_ms;
        const char *target_group, *target_kind, *mode; /* interned; mode "": the VPA sets no updateMode */
        char *target_name;
        struct vpa_policy *policy; /* which requests the VPA sets; NULL: every request of every container */
};

int hpa_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
/* Update an autoscaler from the API server's answer to halflife's write. The answer counts only if the watch has
 * delivered no other event of it since `events`, the number when the write began. ERR_NOTFOUND: the autoscaler is gone.
 */
int autoscaler_answer(struct cache *w, const struct autoscaler_kind *k, struct text json, uint32_t events,
                      struct err *err);
void hpa_remove(struct cache *w, struct text json);
void hpa_swept(struct cache *w, uint32_t epoch);
int scaled_object_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void scaled_object_remove(struct cache *w, struct text json);
void scaled_object_swept(struct cache *w, uint32_t epoch);
int other_autoscaler_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
void other_autoscaler_remove(struct cache *w, struct text json);
void other_autoscaler_swept(struct cache *w, uint32_t epoch);
void other_autoscalers_relink(struct cache *w); /* link each VPA to its workloads; after workloads_settle */
void other_autoscalers_release(struct cache *w);
/* Does VPA `a` win over VPA `b` where both point to one workload? As in the VPA's own components, the older one wins,
 * and of equally old ones the first by name. */
bool other_autoscaler_wins(const struct other_autoscaler *a, const struct other_autoscaler *b);
/* autoscalers_settle links workloads and their autoscalers. autoscalers_forget unlinks the autoscalers of a workload
 * that is about to be freed. */
void autoscalers_settle(struct cache *w);
void autoscalers_forget(struct workload *wl);
void autoscalers_release(struct cache *w);
/* Find the other workloads whose pods each autoscaler counts, in namespaces where these may have changed; call it after
 * autoscalers_settle. A selector without a rare label is compared with all workloads of its namespace. Each namespace
 * has a bound on the comparisons of texts and the bytes of selectors read. Autoscalers beyond the bound, in the order
 * of their keys, are taken to count every workload of the namespace. */
enum { AUTOSCALER_COMPARES_NAMESPACE = 32 << 20 };
void autoscaler_counts_settle(struct cache *w);
/* The selector of the pods that the autoscaler counts, in the arena. NULL: halflife does not know the workload or its
 * selector. NULL and *ret_unread true: the selector is longer than AUTOSCALER_SELECTOR_BYTES or
 * AUTOSCALER_SELECTOR_LABELS; these bound it because each autoscaler gets a copy. */
enum { AUTOSCALER_SELECTOR_BYTES = 4096, AUTOSCALER_SELECTOR_LABELS = 64 };
const struct selector *autoscaler_selector(const struct cache *w, const struct autoscaler *s, struct arena *a,
                                           bool *ret_unread);
/* Whether `s` is an HPA that KEDA made from a watched ScaledObject. halflife then uses the ScaledObject instead. */
bool autoscaler_spoken_for(const struct cache *w, const struct autoscaler *s);
/* Does the autoscaler scale by the utilization of a resource, so that a lower request would make more pods? True also
 * where one of its metrics, which halflife does not understand, might do so. */
bool autoscaler_utilizes(const struct autoscaler *s, enum resource r);
/* Record the API server's answer to a write of the autoscaler: denied at a time, with the server's reason (copied); or
 * permitted. */
void autoscaler_denied(struct autoscaler *s, struct wall at, const char *why);
void autoscaler_permitted(struct autoscaler *s);
/* Does the metric compare a resource's utilization with a target percentage, which halflife can change? */
bool autoscaler_moves(const struct autoscaler_metric *m);

#endif
