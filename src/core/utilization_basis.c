#include "core/utilization_basis.h"

enum { NANO_OF_MILLI = 1000000, THOUSANDTHS = 1000 };

enum basis basis_read(struct text annotation)
{
        return text_is(annotation, "request") ? BASIS_IS_ORIGINAL : BASIS_IS_LIMIT;
}

static __int128 ceil_div(__int128 a, __int128 b)
{
        return (a + b - 1) / b;
}

struct amount basis_utilization(const struct basis_container *c, size_t containers, enum resource r, enum basis b)
{
        __int128 used = 0, measure = 0;
        for (size_t i = 0; i < containers; i++) {
                struct amount by = b == BASIS_IS_LIMIT ? c[i].limit[r] : c[i].original[r];
                if (c[i].role == ROLE_INIT)
                        continue;
                if (!c[i].sampled[r] || !by.set || by.value <= 0)
                        return (struct amount){0};
                used += c[i].used[r];
                measure += by.value;
        }
        if (measure == 0)
                return (struct amount){0};
        __int128 t = ceil_div(used * THOUSANDTHS, r == CPU ? measure * NANO_OF_MILLI : measure);
        return (struct amount){true, t > INT64_MAX ? INT64_MAX : (int64_t)t};
}

const char *custom_metric_name(enum resource r)
{
        return r == CPU ? "halflife_pod_cpu_utilization" : "halflife_pod_memory_utilization";
}
