/*
 * Settings that may change while halflife runs. The controller holds the one copy; others keep a pointer to it and read
 * it where it counts.
 */
#ifndef HALFLIFE_CACHE_LIVE_SETTINGS_H
#define HALFLIFE_CACHE_LIVE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct live_settings {
        int64_t interval_ms, checkpoint_ms, status_ms, retention_ms;
        double api_rate; /* requests a second */
        int api_concurrency;
        bool apply_never;
        int budget_workloads;          /* of the whole cluster, at once; 0: no bound */
        int64_t budget_cores_per_hour; /* millicores; 0: no bound */
        int fuse_guards;               /* more within an hour stop all applying until a person resets it; 0: never */
};

#endif
