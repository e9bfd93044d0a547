/*
 * Messages about a CPU or memory request that admission changed: after halflife wrote the request, or while a pod was
 * created.
 */
#ifndef HALFLIFE_PLAN_ADMISSION_MESSAGE_H
#define HALFLIFE_PLAN_ADMISSION_MESSAGE_H

#include "plan/plan.h"

/* A container's CPU and memory requests: as halflife sent them, and as the API server stored them. A resource for which
 * both amounts are unset is skipped. */
struct admission_answer {
        const char *container;
        struct amount sent[RESOURCES], got[RESOURCES], limit[RESOURCES];
};

/*
 * Describe the first request that was changed, and the rules that explain the change: "cpu of 'app' changed to 50m by
 * admission (23m was sent), which rounds up to multiples of 50m or has a minimum of 50m". Returns false, with `out` "",
 * if no request was changed. answers: at most VIEW_CONTAINERS.
 */
bool admission_message(const struct admission_answer *answer, int answers, char out[static PLAN_WORDS]);

/*
 * Describe the first request in which the newest pod differs from what halflife's admission gave it when it was
 * created. Returns false, with `out` "", if no request differs, if the target is contested, and where halflife resizes
 * running pods (InPlace, guarded).
 */
bool admission_message_of_pods(const struct plan *p, char out[static PLAN_WORDS]);

/*
 * Report that the API server does not call halflife's admission: for ten minutes or more, pods were created without
 * halflife's requests though they should have got some (target.deploys_ms), and no pod with them. Pods of the first
 * minute after target.deploys_ms do not count, because the replicas that answer may not have known yet. Returns false,
 * with `out` unset, if there is nothing to report.
 */
bool admission_message_unasked(const struct plan *p, char out[static PLAN_WORDS]);

#endif
