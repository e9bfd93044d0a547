/*
 * The metrics that halflife exports, in one table from which docs/metrics.md is generated. Every label has a bounded
 * number of values: namespaces of the ledger end at LEDGER_TOTALS, pods of the two utilization metrics at 5000.
 */
#ifndef HALFLIFE_CONTROL_METRIC_TABLE_H
#define HALFLIFE_CONTROL_METRIC_TABLE_H

#include "http/prometheus_text.h"

enum metric_id {
        M_SAMPLES,
        M_UNKNOWN,
        M_UNREAD,
        M_ODD_CONTAINERS,
        M_UNREAD_OBJECTS,
        M_CYCLES,
        M_CYCLE_SECONDS,
        M_POLLS_FAILED,
        M_SOURCE_UP,
        M_BACKFILL_BUSY,
        M_BACKFILL_SLICES,
        M_BACKFILL_FAILURES,
        M_BACKFILL_POINTS,
        M_BACKFILL_UNMATCHED,
        M_BACKFILL_TARGETS,
        M_REQUESTS,
        M_TARGETS,
        M_GONE_TARGETS,
        M_GONE_DISPLACED,
        M_HELD,
        M_CONDITIONS,
        M_SAVING_CPU,
        M_SAVING_MEMORY,
        M_SAVED_CPU,
        M_SAVED_MEMORY,
        M_LEDGER_CPU,
        M_LEDGER_MEMORY,
        M_KILLS,
        M_KILLS_NOT_BELIEVED,
        M_APPLIED,
        M_RESIZES,
        M_RESIZES_REFUSED,
        M_RAISES,
        M_RETUNED,
        M_CONFLICTS,
        M_REVERTS,
        M_CHECKPOINT_SECONDS,
        M_CHECKPOINT_BYTES,
        M_CHECKPOINT_ERRORS,
        M_DATABASE_UP,
        M_FUSE_BLOWN,
        M_PROFILE_FUSES,
        M_PODS,
        M_NODES,
        M_HOT_NODES,
        M_NODE_SAMPLES,
        M_NODE_SAMPLES_UNKNOWN,
        M_HISTORIES,
        M_WRITE_QUEUE,
        M_LEADER,
        M_EVENTS_DROPPED,
        M_WATCHES_FAILING,
        M_KINDS_UNPLACED,
        M_HTTP_ANSWERS,
        M_HTTP_SHED,
        M_HTTP_TIMEOUTS,
        M_HTTP_ASTRAY,
        M_AUTH_REVIEWS,
        M_HTTP_CONNECTIONS,
        M_ADMISSIONS,
        M_OWNER_LOOKUPS,
        M_CERTIFICATE,
        M_POD_CPU,
        M_POD_MEMORY,
        M_PODS_LEFT_OUT,
        M_CUSTOM_ANSWERS,
        M_WATCHER_ANSWERS,
        M_MEMORY,
        METRICS
};

extern const struct metric metrics[METRICS];

#endif
