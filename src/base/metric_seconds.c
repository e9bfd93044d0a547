#include "base/metric_seconds.h"

/* The bounds suit all durations from that of a checkpoint of a few rows to that of a cycle over a million
 * containers. */
const double metric_bounds[METRIC_BOUNDS] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};

void metric_observe(struct metric_seconds *s, double seconds)
{
        int i = 0;
        while (i < METRIC_BOUNDS && seconds > metric_bounds[i])
                i++;
        s->count[i]++;
        s->sum += seconds;
}
