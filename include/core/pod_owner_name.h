/*
 * The owner of a pod, found from the pod's name alone. Time series of deleted pods need this function: their owner
 * references are gone.
 */
#ifndef HALFLIFE_CORE_POD_OWNER_NAME_H
#define HALFLIFE_CORE_POD_OWNER_NAME_H

#include <stdbool.h>

#include "base/text.h"

/* How controllers name their pods. <r, n> stands for n characters of the alphabet bcdfghjklmnpqrstvwxz2456789, which
 * Kubernetes draws generated names from (apimachinery's util/rand). */
enum pod_naming {
        POD_BY_TEMPLATE, /* <name>-<r, 1 to 10>-<r, 5>: Deployment, Rollout: kinds with ReplicaSets */
        POD_BY_RUN,      /* <name>-<digits>-<r, 5>: CronJob */
        POD_BY_RANDOM,   /* <name>-<r, 5>: DaemonSet, ReplicaSet, Job, CloneSet */
        POD_BY_ORDINAL,  /* <name>-<digits>: StatefulSet */
        POD_NAMINGS
};

/* The owner's name, if the pod's name follows the naming; {NULL, 0}: the name does not. The result points into the
 * pod's name. A name may follow several namings: the caller checks which of the owners exist. */
struct text pod_owner_name(struct text pod, enum pod_naming naming);

/* Whether pods of a kind's objects are named by `naming`. True for every naming where the kind is not known. */
bool pod_naming_of(struct text kind, enum pod_naming naming);

#endif
