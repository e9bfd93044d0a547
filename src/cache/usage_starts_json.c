/*
 * {"cpu": {"at": ms, "weight": [bucket, weight, …], "above": [bucket, weight, …]}, "memory": …}, without weights of 0.
 */
#include "cache/usage_starts_json.h"

#include <string.h>

static json_t *weights_print(const float *w, int count)
{
        json_t *pairs = json_array();
        for (int i = 0; i < count; i++) {
                if (w[i] <= 0)
                        continue;
                json_array_append_new(pairs, json_integer(i));
                json_array_append_new(pairs, json_real((double)w[i]));
        }
        return pairs;
}

json_t *usage_starts_print(const struct usage_starts *s)
{
        json_t *o = json_object();
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (s->of[r].at_ms > 0)
                        json_object_set_new(o, resource_name(r),
                                            json_pack("{s:I, s:o, s:o}", "at", (json_int_t)s->of[r].at_ms, "weight",
                                                      weights_print(s->of[r].weight, START_BUCKETS), "above",
                                                      weights_print(s->of[r].above, START_AGES)));
        return o;
}

static bool weights_read(const json_t *pairs, float *w, int count)
{
        if (!json_is_array(pairs) || json_array_size(pairs) % 2 != 0)
                return false;
        for (size_t i = 0; i < json_array_size(pairs); i += 2) {
                const json_t *bucket = json_array_get(pairs, i), *weight = json_array_get(pairs, i + 1);
                json_int_t n = json_integer_value(bucket);
                if (!json_is_integer(bucket) || n < 0 || n >= count || !json_is_number(weight) ||
                    json_number_value(weight) < 0 || json_number_value(weight) > 1e30)
                        return false;
                w[n] = (float)json_number_value(weight);
        }
        return true;
}

bool usage_starts_read(const json_t *printed, struct usage_starts *ret)
{
        memset(ret, 0, sizeof *ret);
        if (!json_is_object(printed))
                return false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const json_t *of = json_object_get(printed, resource_name(r));
                if (!of)
                        continue;
                ret->of[r].at_ms = json_integer_value(json_object_get(of, "at"));
                if (!weights_read(json_object_get(of, "weight"), ret->of[r].weight, START_BUCKETS) ||
                    !weights_read(json_object_get(of, "above"), ret->of[r].above, START_AGES))
                        return false;
        }
        return usage_starts_hold(ret);
}
