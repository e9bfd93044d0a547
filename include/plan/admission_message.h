/*
 * The words about a request that admission changed after halflife wrote it, or while a pod was created.
 */
#ifndef HALFLIFE_PLAN_ADMISSION_MESSAGE_H
#define HALFLIFE_PLAN_ADMISSION_MESSAGE_H

#include "plan/plan.h"

/* A container's requests as halflife sent them, and as they came back. A resource without either is skipped. */
struct admission_answer {
        const char *container;
        struct amount sent[RESOURCES], got[RESOURCES], limit[RESOURCES];
};

/*
 * Describe the first request that was changed, and the rules that explain it: "cpu of 'app' changed to 50m by admission
 * (23m was sent), which rounds up to multiples of 50m or has a minimum of 50m". Returns false, with out "", where
 * nothing was changed. At most VIEW_CONTAINERS answers.
 */
bool admission_message(const struct admission_answer *answer, int answers, char out[static PLAN_WORDS]);

/*
 * The same for the newest pod, where it was created with other requests than halflife's admission gave it. false also
 * where the target is contested, and where halflife resizes running pods (InPlace, guarded).
 */
bool admission_message_of_pods(const struct plan *p, char out[static PLAN_WORDS]);

/*
 * That admission was not called: pods were created without halflife's requests for ten minutes and more, though they
 * should have got some (target.deploys_ms), and none with them. A pod created within a minute of that time is not
 * counted, because the servers that answer may not have known yet. Returns false, with out unset, otherwise.
 */
bool admission_message_unasked(const struct plan *p, char out[static PLAN_WORDS]);

#endif
