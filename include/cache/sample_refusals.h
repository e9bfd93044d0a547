/*
 * Samples of a target that were refused lately, by cause, for the condition SamplesRefused of its Recommendation. Few
 * targets have any, so they are kept beside the target.
 */
#ifndef HALFLIFE_CACHE_SAMPLE_REFUSALS_H
#define HALFLIFE_CACHE_SAMPLE_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

struct pod;
struct target;

enum sample_refusal {
        REFUSED_FUTURE,    /* dated more than 5 min after both clocks */
        REFUSED_REORDERED, /* older than the sample accepted last */
        REFUSED_VALUE,     /* negative, not a number, or beyond what a container can use */
        REFUSED_MEMORY,    /* memory 0, in a container without any accepted memory sample */
        REFUSED_CONTAINER, /* a container without a name, with usage that cannot be read, or beyond VIEW_CONTAINERS */
        REFUSED_SHARED,    /* usage that cannot be told apart from that of another pod's container of the same names */
        SAMPLE_REFUSALS
};

struct sample_refusals {
        int64_t newest_ms, until_ms; /* when the newest sample was refused, and until when all count, wall ms */
        uint32_t count[SAMPLE_REFUSALS];
        char *pod; /* name and node of the pod of the first refused sample, quoted, for a message */
};

/* Count a refused sample of the pod `p`. All refusals so far then count for REFUSAL_INTERVALS times interval_ms; if no
 * sample is refused in that time, counting begins anew. */
enum { REFUSAL_INTERVALS = 10 };
void sample_refused(struct target *t, enum sample_refusal why, const struct pod *p, int64_t now_ms,
                    int64_t interval_ms);
/* The refusals that still count; NULL: none. */
const struct sample_refusals *sample_refusals_of(const struct target *t, int64_t now_ms);
void sample_refusals_forget(struct target *t);

#endif
