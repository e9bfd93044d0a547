/*
 * Whose a pod was, by its name alone: for series of pods that are gone, where nobody tells their owners any more.
 */
#ifndef HALFLIFE_CORE_PODNAME_H
#define HALFLIFE_CORE_PODNAME_H

#include <stdbool.h>

#include "base/text.h"

/* How controllers name their pods; <r>: of the alphabet bcdfghjklmnpqrstvwxz2456789 that generated names are drawn from
 * (apimachinery's util/rand). */
enum pod_naming {
        POD_BY_TEMPLATE, /* <name>-<r, 1 to 10>-<r, 5>: Deployment and whatever works by ReplicaSets */
        POD_BY_RUN,      /* <name>-<digits>-<r, 5>: CronJob */
        POD_BY_RANDOM,   /* <name>-<r, 5>: DaemonSet, ReplicaSet, Job, CloneSet */
        POD_BY_ORDINAL,  /* <name>-<digits>: StatefulSet */
        POD_NAMINGS
};

/* The name that the owner has if the pod is named in that way; {NULL, 0}: it is not. Points into the pod's name. A name
 * may fit several ways: the caller asks which of the owners there are. */
struct text pod_owner_name(struct text pod, enum pod_naming naming);

/* Does a kind name its pods in that way? A kind that is not known may in any. */
bool pod_naming_of(struct text kind, enum pod_naming naming);

#endif
