/*
 * What scales workloads (HPAs, ScaledObjects of KEDA), and what sets their requests beside us (VPAs).
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

/* One metric of an autoscaler, as decode.h has it; index in its list is its place here. */
struct autoscaler_metric {
        enum metric_source source;
        enum resource resource;
        enum metric_target target;
        const char *container, *name; /* interned; NULL: none */
        int64_t percent;
        struct amount recorded, applied; /* by our annotations: the owner's target, and what we made of it */
};

/* An HPA, or a ScaledObject of KEDA, which makes an HPA of its own that nobody else writes. */
struct autoscaler_kind {
        const char *word; /* for people */
        const char *group, *version, *kind, *plural;
        bool triggers; /* its metrics are triggers */
};

extern const struct autoscaler_kind autoscaler_hpa, autoscaler_scaled_object;
struct autoscaler {
        const struct autoscaler_kind *kind;
        char *key;             /* "ns/name", or "ns/name/ScaledObject" */
        const char *ns, *name; /* name: interned */
        uint32_t epoch;
        uint32_t events;                        /* so many has the watch brought of it */
        const char *target_group, *target_kind; /* interned */
        char *target_name;
        struct controller_owner owner; /* who made it; kind NULL: nobody */
        const char *applier;           /* interned: who owns its metrics by server-side apply, not halflife; NULL */
        const char *writer;            /* interned: who wrote them last, not halflife; NULL */
        struct autoscaler_metric *metric;
        int metrics;
        int records; /* targets that its annotations of ours name */
        bool broken; /* one of those cannot be read */
        /* what the server said when we asked whether we may write it, or wrote it */
        bool permitted;
        char *denied; /* why not; NULL */
        int64_t denied_ms;
        struct workload *workload; /* what it scales; linked by autoscalers_settle */
        struct autoscaler *next;   /* of the workload, by name */
};

/* A VerticalPodAutoscaler that is not Off: it sets the requests of what it points to, so we do not. */
struct other_autoscaler {
        char *key; /* "ns/name" */
        const char *ns, *name;
        uint32_t epoch;
        const char *target_group, *target_kind, *mode; /* interned; mode "" where it says none */
        char *target_name;
};

int hpa_upsert(struct cache *w, struct text json, uint32_t epoch, struct err *err);
/* The same by the answer to a request of ours: see workload_answer. */
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
void other_autoscalers_relink(struct cache *w); /* which workloads they are about; after workloads_settle */
void other_autoscalers_release(struct cache *w);
/* Links workloads and what scales them; a workload goes. */
void autoscalers_settle(struct cache *w);
void autoscalers_forget(struct workload *wl);
void autoscalers_release(struct cache *w);
/* An HPA that KEDA made of a ScaledObject that is seen: that one speaks for it. */
bool autoscaler_spoken_for(const struct cache *w, const struct autoscaler *s);
/* Does it scale by the utilization of a resource, so that a lower request would make more pods? */
bool autoscaler_utilizes(const struct autoscaler *s, enum resource r);
/* What the server said of a change of ours; at: when. */
void autoscaler_denied(struct autoscaler *s, struct wall at, const char *why);
void autoscaler_permitted(struct autoscaler *s);
/* Does it compare the utilization with a target that can be moved? */
bool autoscaler_moves(const struct autoscaler_metric *m);

#endif
