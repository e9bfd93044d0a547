/*
 * The profiles of a scan: those of the options, or the defaults of a ClusterProfile, adapted to a scan.
 */
#ifndef HALFLIFE_SCAN_SCAN_PROFILES_H
#define HALFLIFE_SCAN_SCAN_PROFILES_H

#include "cache/cache.h"
#include "scan/cluster_scan.h"

/*
 * Put the profiles into the cache:
 * - without any given, the defaults of a ClusterProfile, with memory, for namespace o->ns or all;
 * - apply.mode Recommend becomes OnDeploy;
 * - a workload must have o->labels too;
 * - without a Prometheus, minHistory is 0 and memory is left out.
 * Returns 0, or ERR_INVALID with the profile's name.
 */
int scan_profiles_take(struct cache *w, const struct cluster_scan_options *o, struct err *err);

#endif
