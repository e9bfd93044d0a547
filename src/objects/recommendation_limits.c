/*
 * The limits that a status advises: status.containers[].limits.
 */
#include "status_json.h"

struct status_limits *status_limits_new(struct arena *a, size_t most)
{
        struct status_limits *l = NULL;
        return arena_new(a, sizeof *l + most * sizeof l->row[0]);
}

const struct status_limit *status_limit_find(const struct status_limits *limits, int container, enum resource r)
{
        for (int i = 0; limits && i < limits->rows; i++)
                if (limits->row[i].container == container && limits->row[i].resource == r)
                        return &limits->row[i];
        return NULL;
}

void status_write_limit(struct writer *w, const struct status_limit *l)
{
        enum resource r = (enum resource)l->resource;
        writer_amount(w, "current", r, amount_of_status(l->current));
        writer_amount(w, "advised", r, amount_of_status(l->advised));
        writer_text(w, "reason", text_of(limit_reason_name((enum limit_reason)l->reason)));
        writer_amount(w, "needed", r, amount_of_status(l->needed));
        writer_time(w, "time", l->at_ms);
        if (l->percent)
                writer_int(w, "throttledPercent", l->percent);
}

void status_write_limits(struct writer *w, const struct status_limits *limits, int container)
{
        bool any = false;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const struct status_limit *l = status_limit_find(limits, container, r);
                if (!l)
                        continue;
                if (!any)
                        writer_open(w, "limits", '{');
                any = true;
                writer_open(w, resource_name(r), '{');
                status_write_limit(w, l);
                writer_close(w, '}');
        }
        if (any)
                writer_close(w, '}');
}

/* --- reading --- */

static uint8_t status_percent_read(const json_t *object, const char *key)
{
        enum { MOST = 100 };
        json_int_t n = json_integer_value(json_object_get(object, key));
        return n > 0 && n <= MOST ? (uint8_t)n : 0;
}

/* Skips an entry without a known reason, `current` or `advised`, because a later version of halflife may write such
 * entries. */
static void status_limit_read(const json_t *limits, int container, enum resource r, struct status_limits *to)
{
        const json_t *from = json_object_get(limits, resource_name(r));
        enum limit_reason reason = limit_reason_find(status_string_at(from, "reason"));
        struct amount current = status_amount_read(from, r, "current"),
                      advised = status_amount_read(from, r, "advised");
        if (reason == LIMIT_FINE || !current.set || !advised.set)
                return;
        to->row[to->rows++] = (struct status_limit){
                .container = (uint8_t)container,
                .resource = (uint8_t)r,
                .reason = (uint8_t)reason,
                .current = status_amount_of(current),
                .advised = status_amount_of(advised),
                .needed = status_amount_of(status_amount_read(from, r, "needed")),
                .at_ms = status_time_read(from, "time"),
                .percent = status_percent_read(from, "throttledPercent"),
        };
}

void status_limits_read(const json_t *list, struct arena *a, struct recommendation_status *ret)
{
        size_t most = 0;
        for (int i = 0; i < ret->containers; i++)
                most += json_object_get(json_array_get(list, (size_t)i), "limits") ? RESOURCES : 0;
        if (most == 0)
                return;
        struct status_limits *to = status_limits_new(a, most);
        for (int i = 0; i < ret->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        status_limit_read(json_object_get(json_array_get(list, (size_t)i), "limits"), i, r, to);
        ret->limits = to->rows > 0 ? to : NULL;
}
