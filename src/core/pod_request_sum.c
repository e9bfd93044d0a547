#include "core/pod_request_sum.h"

static int64_t pod_amount_add(int64_t a, int64_t b)
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
                s->together = pod_amount_add(s->together, a.value);
        else if (pod_amount_add(a.value, s->sidecars) > s->most_init)
                s->most_init = pod_amount_add(a.value, s->sidecars);
        if (role == ROLE_SIDECAR)
                s->sidecars = pod_amount_add(s->sidecars, a.value);
}

struct amount pod_sum_total(const struct pod_sum *s)
{
        return (struct amount){s->any, s->together > s->most_init ? s->together : s->most_init};
}
