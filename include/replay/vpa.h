/*
 * What the VerticalPodAutoscaler's recommender (version 1.8, with its defaults) would request: the policy `VPA` of a
 * replay.
 *
 * CPU is P90 of all samples. Memory is P90 of peaks, one for each 24 hours from the first sample on; a peak is dated at
 * its window's end and counts while the window is open. Both have a half-life of 24 hours. Amounts are cut, not rounded
 * up, to whole millicores and bytes; then come the margin of 15 %, cut again, and the floors of 25m and 250Mi.
 */
#ifndef HALFLIFE_REPLAY_VPA_H
#define HALFLIFE_REPLAY_VPA_H

#include "core/histogram.h"

struct vpa {
        struct histogram of[RESOURCES]; /* memory: the peaks of windows that have ended */
        int64_t window_end_ms;          /* end of the open window, exclusive; meaningless while peak is 0 */
        double peak;                    /* bytes: highest sample of the open window; 0: there was no memory sample */
};

void vpa_init(struct vpa *v);
/* Learn a sample, which must be later than all before it. value: cores, or bytes above 0. Returns 0, or ERR_NOSPACE
 * with *ret_cap, as histogram_add does. */
int vpa_add(struct vpa *v, enum resource r, double value, struct wall at, int *ret_cap);
/* Compute the request that VPA would set, in millicores or bytes. Returns false if there was no sample of the resource.
 */
bool vpa_target(const struct vpa *v, enum resource r, int64_t *ret);

#endif
