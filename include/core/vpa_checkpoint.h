/*
 * Turns the history of a Vertical Pod Autoscaler (a VerticalPodAutoscalerCheckpoint, v3) into a history of halflife.
 * Both have the same 176 buckets: the first is 0.01 core or 1e7 bytes wide, each other 5 % wider than the one before.
 *
 * In a checkpoint, a CPU sample weighs the request in cores or, in newer versions of the autoscaler, 0.1; the
 * checkpoint does not say which. So halflife takes only the proportions of the buckets. Together they weigh as much as
 * the same number of halflife's samples would, evenly spread from the first to the last. Of memory, a checkpoint keeps
 * the peak of each 24 hours with weight 1, just as a memory window of 24 hours does.
 */
#ifndef HALFLIFE_CORE_VPA_CHECKPOINT_H
#define HALFLIFE_CORE_VPA_CHECKPOINT_H

#include "core/usage.h"

enum { VPA_WEIGHT_MOST = 10000 }; /* weight of a checkpoint's heaviest bucket; the others are in proportion */

struct vpa_histogram {
        struct wall reference;              /* referenceTimestamp: a sample of this time has its undecayed weight */
        double total;                       /* totalWeight: the weight of all buckets together, as of reference */
        uint16_t weight[HISTOGRAM_BUCKETS]; /* weights of the buckets, at most VPA_WEIGHT_MOST each */
};

struct vpa_checkpoint {
        struct vpa_histogram of[RESOURCES];
        struct wall first, last; /* times of the first and the last sample */
        int64_t samples;         /* number of CPU samples */
};

/*
 * Make a history from a checkpoint. A checkpoint has no half-lives, so the caller gives them. The memory window is a
 * day. cpu_weight is the weight of a CPU sample of the container in halflife (as in struct sample). The histograms'
 * weights are in room, which has to live as long as *ret.
 *
 * A checkpoint does not say how many minutes had samples. Their number is taken to be that of the samples, but at most
 * all minutes from the first sample to the last.
 *
 * Returns 0, or ERR_INVALID with *ret_why a constant text that says which field does not fit; *ret is untouched then. A
 * checkpoint in which nothing was learned is no error.
 */
int vpa_usage(const struct vpa_checkpoint *v, const int64_t half_life_ms[static RESOURCES], double cpu_weight,
              struct usage *ret, double room[static 2 * HISTOGRAM_BUCKETS], const char **ret_why);

#endif
