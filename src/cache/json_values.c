#include "cache/json_values.h"

void amount_put(json_t *to, const char *key, enum resource r, struct amount a)
{
        char text[QUANTITY_TEXT_MAX];
        if (a.set)
                json_object_set_new(to, key, json_string(amount_print(r, a.value, text)));
}

int64_t time_kept(const json_t *o, const char *key)
{
        static const int64_t most = INT64_C(253402300799999);
        int64_t ms = (int64_t)json_integer_value(json_object_get(o, key));
        return ms < 0 ? 0 : ms > most ? most : ms;
}
