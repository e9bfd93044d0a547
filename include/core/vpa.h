/*
 * What the Vertical Pod Autoscaler has learned of a container (its VerticalPodAutoscalerCheckpoint, v3) as a history of
 * ours. Its buckets are ours (0.01 core or 1e7 bytes first, each 5 % wider than the one before, 176 of them), its CPU
 * weights as well (the request in cores, at least 0.1, a sample a minute). Of memory it keeps the peak of each 24
 * hours, which is what a memory window of that length keeps.
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
 * As a history with these half-lives (a checkpoint does not tell them) and a memory window of a day; lends from room.
 * How many minutes had samples is not known: as many as there are samples, at most all from the first to the last.
 * Returns 0, or ERR_INVALID with *ret_why what does not fit; *ret is untouched then. Nothing learned is no error.
 */
int vpa_usage(const struct vpa_checkpoint *v, const int64_t half_life_ms[static RESOURCES], struct usage *ret,
              double room[static 2 * HISTOGRAM_BUCKETS], const char **ret_why);

#endif
