#ifndef HALFLIFE_NOTICES_NOTICES_PRIVATE_H
#define HALFLIFE_NOTICES_NOTICES_PRIVATE_H

#include "base/log.h"
#include "kube/event.h"
#include "notices/notices.h"

enum { REFUSALS_MAX = 32 };

/* A cause of refused writes. first, last: the times of the first and last refusal. told: when the log last had a line
 * about it. */
struct refusal {
        uint64_t cause, count; /* count: refused writes; 0: a free entry */
        struct mono first, last, told;
        bool said; /* the log has reported this cause */
        char text[256];
};

struct notices {
        struct loop *loop;
        struct access *access;
        const struct leadership *leadership;
        struct event_source *events;
        uint64_t cycle;
        bool cycle_ended; /* at least one cycle has ended since this process started */
        struct refusal refusal[REFUSALS_MAX];
        struct watch_health *watch[WATCHES_MAX];
        int watches;
        struct loop_timer outage_timer;
        uint64_t outages; /* how many outages the log has reported */
        struct usage_source_state source;
};

void refusal_tick(struct notices *notices); /* call it now and then: logs how many writes were refused */

#endif
