/*
 * Choose a container's usage at one time where the series of several cgroups give different values for it.
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

/* With more cgroups than CGROUPS_MOST, cgroup_choose takes the largest value and sets *ret_doubt. */
enum { CGROUPS_MOST = 32 };

/*
 * Choose among count >= 1 values with different ids. A cgroup with exactly one other directly within it is left out:
 * the inner one counts. A cgroup with several others directly within it counts for all of them. Of the cgroups that are
 * left, such as those before and after a restart, the largest value is chosen. *ret_doubt: the ids name different pods,
 * so some cgroups are not the container's; the choice is then the largest value of all.
 */
double cgroup_choose(const struct cgroup_value *c, size_t count, bool *ret_doubt);

#endif
