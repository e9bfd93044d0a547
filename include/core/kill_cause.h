/*
 * What killed a container that its kubelet reports as OOMKilled, or a pod that it evicted for memory; and whether the
 * report is to be believed. What is learned, conditions, guard and fuse all go by this one judgement.
 *
 * The reason alone proves little: on cgroup v1 one kill in the node's pods marks every container of the node, and
 * whatever ends later, by itself or by a rollout, is reported as OOMKilled too. Amounts are bytes.
 */
#ifndef HALFLIFE_CORE_KILL_CAUSE_H
#define HALFLIFE_CORE_KILL_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/amount.h"

enum { KILL_EXIT_UNTOLD = -1, KILL_NOT_MEASURED = -1 };

enum kill_cause {
        KILL_NOT_BELIEVED, /* it ended otherwise */
        KILL_LIMIT,        /* its memory limit */
        KILL_ROOM,         /* its node had no more room, or its pods together had none */
        KILL_UNKNOWN,      /* limit or room: nothing tells which */
        KILL_EVICTION,     /* its kubelet evicted the pod for lack of memory */
        KILL_CAUSES
};

struct kill_facts {
        bool evicted;      /* the pod was, for memory, and this container is what it is put down to */
        int64_t exit_code; /* KILL_EXIT_UNTOLD: the status has none */
        bool deleting;     /* the pod is being deleted */
        bool by_kubelet;   /* the kubelet killed it itself: for a probe, a hook, a resize; or it ended the whole pod */
        struct amount limit;       /* of memory; 0 is none */
        int64_t used;              /* by its last sample before; KILL_NOT_MEASURED: none that is fresh */
        bool node_short;           /* an Event says that its node ran out of memory about then */
        struct amount allocatable; /* of its node; unset: not known */
        int64_t others;            /* by the last samples before, all other containers of the node; KILL_NOT_MEASURED */
};

/*
 * Exit code 137 is evidence, unless the kubelet had a reason of its own to kill: then, as for any other exit code, only
 * a fresh sample at 80 % of the limit is. Exit code 0 of a pod that is being deleted is none.
 *
 * A kill at 80 % of the limit is the limit's; one without a limit is for lack of room. In between, where usage jumped
 * since the last sample, the node tells: beside what the others used, the container could have reached its limit (the
 * limit's), or never (room). Within a twentieth of the node it is not known, nor where the others were not measured.
 */
enum kill_cause kill_judge(const struct kill_facts *f);

const char *kill_cause_name(enum kill_cause c); /* "limit", "room", "unknown", "eviction"; for the log */

/* May what the container asks for have been the reason? Never of one whose limit killed it. */
static inline bool kill_tells_of_request(enum kill_cause c)
{
        return c == KILL_ROOM || c == KILL_UNKNOWN || c == KILL_EVICTION;
}

#endif
