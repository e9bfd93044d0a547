/*
 * A small cluster put straight into a cache: Deployment "web" in namespace "web", one container "app", its pods, and
 * Profile "team". Every function takes the object in, or replaces it; the caller settles. Failures abort the test.
 */
#ifndef HALFLIFE_TEST_SUPPORT_SHOP_H
#define HALFLIFE_TEST_SUPPORT_SHOP_H

#include "cache/cache.h"

/* spec: of the profile, as JSON. */
void shop_profile(struct cache *w, int generation, const char *spec);
/* resources: of the container, as JSON. Two replicas, rolled out. */
void shop_deployment(struct cache *w, const char *resources);
/* Pod "web-<number>" of the Deployment. restarts: its count; killed_ms: when the container before the present one ran
 * out of memory; 0: it did not. */
void shop_pod(struct cache *w, int number, int restarts, int64_t killed_ms);
struct target *shop_target(struct cache *w);

#endif
