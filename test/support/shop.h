/*
 * A small cluster put straight into a cache: Deployment "web" in namespace "web", one container "app", its pods, and
 * Profile "team". Every function takes the object in, or replaces it; the caller settles. Failures abort the test.
 */
#ifndef HALFLIFE_TEST_SUPPORT_SHOP_H
#define HALFLIFE_TEST_SUPPORT_SHOP_H

#include "cache/cache.h"

/* In the metadata of a pod of the Deployment, behind another member. */
#define SHOP_OWNED                                                                                                     \
        ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"          \
        "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]"

/* spec: of the profile, as JSON. */
void shop_profile(struct cache *w, int generation, const char *spec);
/* resources: of the container, as JSON. Two replicas, rolled out. */
void shop_deployment(struct cache *w, const char *resources);
/* Pod "web-<number>" of the Deployment. restarts: its count; killed_ms: when the container before the present one ran
 * out of memory; 0: it did not. */
void shop_pod(struct cache *w, int number, int restarts, int64_t killed_ms);
struct target *shop_target(struct cache *w);
/* Status of two replicas that have rolled out. */
#define SHOP_ROLLED_OUT "\"observedGeneration\":1,\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2"

/* Any workload. meta: more members of its metadata, NULL: none; spec, status: the inside of the objects, as JSON. */
struct shop_workload {
        const char *group, *kind, *ns, *name;
        int uid; /* its last digits */
        const char *meta, *spec, *status;
};
void shop_workload(struct cache *w, const struct shop_workload *wl);
/* HPA of this name in namespace "web", which scales a workload of group/v1. annotations, metrics: the inside of the
 * object and of the list, as JSON. */
struct shop_hpa {
        const char *name, *annotations, *group, *kind, *scales, *metrics;
};
void shop_hpa(struct cache *w, const struct shop_hpa *h);
/* Let a container (interned) learn so many samples, one a second from from_ms on, of 250m and 300Mi. Returns the
 * watermark of the last. */
struct sample_watermark shop_learn(struct target *t, const char *container, int64_t from_ms, int samples);

#endif
