#include "core/pod.h"

static int64_t add(int64_t a, int64_t b)
{
        int64_t sum;
        return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

void pod_sum_add(struct pod_sum *s, enum container_role role, struct amount a)
{
        if (!a.set || role == ROLE_WHOLE)
                return;
        s->any = true;
        if (role != ROLE_INIT)
                s->together = add(s->together, a.value);
        else if (add(a.value, s->sidecars) > s->most_init)
                s->most_init = add(a.value, s->sidecars);
        if (role == ROLE_SIDECAR)
                s->sidecars = add(s->sidecars, a.value);
}

struct amount pod_sum_total(const struct pod_sum *s)
{
        return (struct amount){s->any, s->together > s->most_init ? s->together : s->most_init};
}
