/*
 * What a profile says of CPU and memory: spec.resources, and spec.containers[].resources for one container.
 */
#include <stddef.h>

#include "core/quantity.h"
#include "profile_fields.h"

#define POLICY(member) offsetof(struct resource_policy, member)
#define CPU_CURE       "an amount of CPU in cores or whole millicores, below 100000 cores, such as 250m or \"1.5\""
#define MEMORY_CURE    "an amount of memory in bytes, at most 1P, such as 64Mi or 1Gi (m means thousandths, write Mi)"
#define CPU_MOST       INT64_C(99999999)
#define MEMORY_MOST    INT64_C(1000000000000000)

/* The fields that both resources have. */
/* clang-format off */
#define RESOURCE_FIELDS                                                                                                \
        FIELD("enabled", field_bool, POLICY(enabled), 0, 0, BOOL_CURE),                                                \
        FIELD("percentile", field_percentile, POLICY(percentile), 50, 100, "a whole number from 50 to 100"),           \
        FIELD("multiplier", field_factor, POLICY(multiplier), 100, 100000,                                             \
              "a decimal in quotes from 0.1 to 100" FACTOR_CURE),                                                      \
        FIELD("halfLife", field_duration, POLICY(half_life_ms), MINUTES(1), HOURS(720),                                \
              "a duration from 1m to 720h" DURATION_CURE),                                                             \
        FIELD("ignoreFirst", field_duration, POLICY(ignore_first_ms), 0, HOURS(1),                                     \
              "a duration from 0s to 1h" DURATION_CURE)
/* clang-format on */

static const struct field cpu_field[] = {
        RESOURCE_FIELDS,
        FIELD("roundTo", field_cpu, POLICY(round_to), 1, CPU_MOST, CPU_CURE "; above 0"),
        FIELD("min", field_cpu, POLICY(min), 0, CPU_MOST, CPU_CURE "; 0 is no minimum"),
        FIELD("max", field_cpu, POLICY(max), 1, CPU_MOST, CPU_CURE "; leave it out for no maximum"),
        {0},
};

static const struct field memory_field[] = {
        RESOURCE_FIELDS,
        FIELD("roundTo", field_memory, POLICY(round_to), 1, MEMORY_MOST, MEMORY_CURE "; above 0"),
        FIELD("min", field_memory, POLICY(min), 0, MEMORY_MOST, MEMORY_CURE "; 0 is no minimum"),
        FIELD("max", field_memory, POLICY(max), 1, MEMORY_MOST, MEMORY_CURE "; leave it out for no maximum"),
        FIELD("window", field_duration_or_zero, POLICY(window_ms), MINUTES(1), HOURS(720),
              "0s (every sample counts) or a duration from 1m to 720h" DURATION_CURE),
        FIELD("oomHold", field_duration, POLICY(oom_hold_ms), 0, HOURS(8760),
              "a duration from 0s to 8760h" DURATION_CURE),
        FIELD("oomBump", field_factor, POLICY(oom_bump), 1000, 10000, "a decimal in quotes from 1 to 10" FACTOR_CURE),
        FIELD("weeklyPeak", field_bool, POLICY(weekly_peak), 0, 0, BOOL_CURE),
        {0},
};

static int check_min_max(const struct resource_policy *p, char *print(int64_t, char *), struct err *err)
{
        char min[QUANTITY_TEXT_MAX], max[QUANTITY_TEXT_MAX];
        if (p->max == 0 || p->min <= p->max)
                return 0;
        return err_set(err, ERR_INVALID, "min (%s) is above max (%s): lower min or raise max", print(p->min, min),
                       print(p->max, max));
}

static int read_cpu_policy(const struct field *f, const json_t *v, void *at, struct err *err)
{
        (void)f;
        int rc = field_object(cpu_field, v, at, err);
        return rc < 0 ? rc : check_min_max(at, quantity_print_cpu, err);
}

static int read_memory_policy(const struct field *f, const json_t *v, void *at, struct err *err)
{
        (void)f;
        int rc = field_object(memory_field, v, at, err);
        return rc < 0 ? rc : check_min_max(at, quantity_print_memory, err);
}

int profile_read_resources(const struct field *f, const json_t *v, void *at, struct err *err)
{
        static const struct field table[] = {
                FIELD("cpu", read_cpu_policy, CPU * sizeof(struct resource_policy), 0, 0, NULL),
                FIELD("memory", read_memory_policy, MEMORY * sizeof(struct resource_policy), 0, 0, NULL),
                {0},
        };
        (void)f;
        return field_object(table, v, at, err);
}
