/*
 * Helpers for the JSON of a status. A member that is absent or of another type reads as empty. Below them are the
 * functions of recommendation_limits.c, recommendation_node.c and recommendation_left.c.
 */
#ifndef HALFLIFE_SRC_OBJECTS_STATUS_JSON_H
#define HALFLIFE_SRC_OBJECTS_STATUS_JSON_H

#include <string.h>

#include "objects/recommendation_status.h"

static inline const char *status_string_at(const json_t *object, const char *key)
{
        const char *s = json_string_value(json_object_get(object, key));
        return s ? s : "";
}

static inline struct amount status_amount_read(const json_t *object, enum resource r, const char *key)
{
        struct amount a = {0};
        (void)amount_parse(text_of(status_string_at(object, key)), r, &a);
        return a;
}

static inline int64_t status_time_read(const json_t *object, const char *key)
{
        const char *text = status_string_at(object, key);
        struct wall at = {0};
        (void)wall_parse(text, strlen(text), &at);
        return at.ms;
}

static inline bool status_list_has(const json_t *list, const char *word)
{
        for (size_t i = 0; i < json_array_size(list); i++) {
                const char *item = json_string_value(json_array_get(list, i));
                if (item && strcmp(item, word) == 0)
                        return true;
        }
        return false;
}

/* recommendation_limits.c: write the advised limits of one container; read those of all containers from the status'
 * list. */
void status_write_limits(struct writer *w, const struct status_limits *limits, int container);
void status_limits_read(const json_t *list, struct arena *a, struct recommendation_status *ret);

/* recommendation_node.c: read what a status says of a node. Returns an array [RESOURCES] in the arena; NULL: `node` is
 * NULL, because the target is no node. */
struct status_node *status_node_read(const json_t *node, struct arena *a);

/* recommendation_left.c: write and read the requests that another autoscaler sets; NULL: all. Reading also returns NULL
 * without a list, because the previous version wrote none. */
void status_write_left(struct writer *w, const struct vpa_policy *left);
struct vpa_policy *status_left_read(const json_t *list, struct arena *a);

#endif
