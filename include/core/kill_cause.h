/*
 * What killed a container that its kubelet reports as OOMKilled, or a pod that its kubelet evicted for memory; and
 * whether the report can be believed. Learning, conditions, guard and fuse all use this one judgement.
 *
 * The reason OOMKilled alone proves little. On cgroup v1, one kill among the node's pods marks every container of the
 * node: whatever ends later, by itself or in a rollout, is reported as OOMKilled too. Amounts are bytes.
 */
#ifndef HALFLIFE_CORE_KILL_CAUSE_H
#define HALFLIFE_CORE_KILL_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/amount.h"

enum { KILL_EXIT_UNTOLD = -1, KILL_NOT_MEASURED = -1 };

enum kill_cause {
        KILL_NOT_BELIEVED, /* the container ended for another reason than memory */
        KILL_LIMIT,        /* the container reached its memory limit */
        KILL_ROOM,         /* memory ran out on the node, or in the cgroup that the node's pods share */
        KILL_UNKNOWN,      /* limit or room: the facts do not tell which */
        KILL_EVICTION,     /* the kubelet evicted the pod for lack of memory */
        KILL_CAUSES
};

struct kill_facts {
        bool evicted;      /* the pod was evicted for memory, and the eviction is blamed on this container */
        int64_t exit_code; /* the container's exit code; KILL_EXIT_UNTOLD: the status has none */
        bool deleting;     /* the pod is being deleted */
        bool by_kubelet; /* the kubelet killed the container for a probe, a hook or a resize, or ended the whole pod */
        struct amount limit; /* the container's memory limit; 0 means no limit */
        int64_t used;    /* bytes of the container's last sample before the kill; KILL_NOT_MEASURED: no fresh sample */
        bool node_short; /* an Event says that the node ran out of memory about the time of the kill */
        struct amount allocatable; /* memory that the node has for pods; unset: not known */
        int64_t others;            /* last samples before the kill of all other containers on the node, summed; or
                                      KILL_NOT_MEASURED */
};

/*
 * Is the report believed? Exit code 137, or no exit code in the status, is evidence, unless the pod is being deleted or
 * the kubelet had a reason of its own to kill. Without that evidence, only a fresh sample at 80 % of the limit or more
 * is evidence. A report with exit code 0 about a pod that is being deleted is never believed.
 *
 * What was the cause? A sample at 80 % of the limit or more: the limit. No limit: lack of room. Otherwise usage jumped
 * after the last sample, and an Event about the node's memory means lack of room. Without such an Event, limit + others
 * is compared with the node's allocatable memory. More: the container cannot have reached its limit, so lack of room
 * (also where the limit alone is more). Less: the container could reach it, so the limit. Closer than a twentieth of
 * the node's memory, or not measured: unknown.
 */
enum kill_cause kill_judge(const struct kill_facts *f);

const char *kill_cause_name(enum kill_cause c); /* "limit", "room", "unknown", "eviction"; for the log */

/* Whether a higher request might have prevented the kill. False for a container that its limit killed. */
static inline bool kill_tells_of_request(enum kill_cause c)
{
        return c == KILL_ROOM || c == KILL_UNKNOWN || c == KILL_EVICTION;
}

#endif
