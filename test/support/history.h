/*
 * Histories that go from one workload of namespace shop to another: Deployments that the test API server counts usage
 * of, and what a database has of them. Failures abort the test.
 */
#ifndef HALFLIFE_TEST_SUPPORT_HISTORY_H
#define HALFLIFE_TEST_SUPPORT_HISTORY_H

#include "halflife.h"

/* A Profile of those that are labelled by=NAME: it changes nothing, and recommends at once. */
void history_profile(struct fake *f, const char *name, const char *half_life);
/* One replica, container "app" that asks for 2 cores and 4Gi and uses 120m and 200Mi. */
void history_deployment(struct fake *f, const char *name, const char *by);
void history_deployment_without_pods(struct fake *f, const char *name, const char *by); /* the same with no replica */
/* Wait until there is an object at the path, or none any more. */
void history_await(struct fake *f, struct halflife *h, const char *path, bool there);
/* How many samples the database has of a Deployment; 0: none. */
long long history_stored(const char *database, const char *name);

#endif
