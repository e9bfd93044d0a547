/*
 * What the Vertical Pod Autoscaler has learned of a container (its VerticalPodAutoscalerCheckpoint, v3) as a history of
 * ours. Its buckets are ours: 0.01 core or 1e7 bytes first, each 5 % wider than the one before, 176 of them. Its CPU
 * samples weigh the request in cores or, of late, 0.1 each, which a checkpoint does not tell: so its proportions are
 * taken, and all weighs what as many samples of ours would, evenly spread from the first to the last. Of memory it
 * keeps the peak of each 24 hours, weighing 1, which is what a memory window of that length keeps.
 */
#ifndef HALFLIFE_CORE_VPA_H
#define HALFLIFE_CORE_VPA_H

#include "core/usage.h"

enum { VPA_WEIGHT_MOST = 10000 }; /* of the heaviest bucket of a checkpoint; the others are in proportion */

struct vpa_histogram {
        struct wall reference; /* the time at which a sample weighs what it weighs; any half-life's multiple */
        double total;          /* what all buckets weigh together, as of reference */
        uint16_t weight[HISTOGRAM_BUCKETS]; /* at most VPA_WEIGHT_MOST each */
};

struct vpa_checkpoint {
        struct vpa_histogram of[RESOURCES];
        struct wall first, last; /* samples */
        int64_t samples;         /* of CPU */
};

/*
 * As a history with these half-lives (a checkpoint does not tell them) and a memory window of a day; cpu_weight is what
 * a CPU sample of the container weighs here (as in struct sample). Lends from room. How many minutes had samples is not
 * known: as many as there are samples, at most all from the first to the last. Returns 0, or ERR_INVALID with *ret_why
 * what does not fit; *ret is untouched then. Nothing learned is no error.
 */
int vpa_usage(const struct vpa_checkpoint *v, const int64_t half_life_ms[static RESOURCES], double cpu_weight,
              struct usage *ret, double room[static 2 * HISTOGRAM_BUCKETS], const char **ret_why);

#endif
