#ifndef HALFLIFE_REPORT_REPORT_PRIVATE_H
#define HALFLIFE_REPORT_REPORT_PRIVATE_H

#include "base/log.h"
#include "kube/event.h"
#include "report/report.h"

enum { REFUSALS_MAX = 32 };

/* A cause that writes are refused for. */
struct refusal {
        uint64_t cause, count; /* count 0: a free place */
        struct mono first, last, told;
        bool said;
        char text[256];
};

struct report {
        struct loop *loop;
        struct access *access;
        const struct leadership *leadership;
        struct event_source *events;
        uint64_t cycle;
        bool cycle_ended; /* one has */
        struct refusal refusal[REFUSALS_MAX];
        struct watch_health *watch[WATCHES_MAX];
        int watches;
        struct loop_timer outage_timer;
        uint64_t outages; /* told so far */
        struct usage_source source;
};

void refusal_tick(struct report *report); /* now and then: counts */

#endif
