/*
 * One container's usage at one time, told by several cgroups: which value is the container's.
 */
#ifndef HALFLIFE_SRC_PROMETHEUS_CGROUP_CHOICE_H
#define HALFLIFE_SRC_PROMETHEUS_CGROUP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct cgroup_value {
        struct text id; /* cAdvisor's label id, the path of the cgroup; "": the series has none */
        double value;
};

/* Of more cgroups than that, the choice is the largest value, in doubt. */
enum { CGROUPS_MOST = 32 };

/*
 * Choose among count >= 1 values with different ids. Of nested cgroups the innermost counts, but one with several of
 * the others directly within it stands for all of these. Of those that are left, such as the processes before and after
 * a restart, the largest counts. *ret_doubt: the ids name different pods, so that some are not the container's; the
 * choice is then the largest of all.
 */
double cgroup_choose(const struct cgroup_value *c, size_t count, bool *ret_doubt);

#endif
