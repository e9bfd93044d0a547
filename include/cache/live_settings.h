/*
 * Settings that may change while halflife runs. The controller holds the only copy; other modules keep a pointer and
 * read it at each use.
 */
#ifndef HALFLIFE_CACHE_LIVE_SETTINGS_H
#define HALFLIFE_CACHE_LIVE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct live_settings {
        int64_t interval_ms, checkpoint_ms, status_ms, retention_ms;
        int api_rate; /* most requests a second to the API server */
        int api_concurrency;
        bool apply_never;
        int budget_workloads;      /* most workloads changing at once in the whole cluster; 0: no limit */
        int budget_cores_per_hour; /* most cores, times replicas, by which requests change in an hour; 0: no limit */
        int hot_percent;           /* percentage of a node's capacity above which one sample counts as hot */
        int fuse_guards;           /* changes that the guard may take back per hour; more blow the fuse; 0: no limit */
};

#endif
