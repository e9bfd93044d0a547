/*
 * Writes and reads the requests that halflife leaves to a VerticalPodAutoscaler: status.decision.otherAutoscaler.
 */
#include "status_json.h"

static void status_write_left_row(struct writer *w, struct text container, const bool sets[static RESOURCES])
{
        writer_open(w, NULL, '{');
        writer_text(w, "container", container);
        writer_open(w, "resources", '[');
        for (enum resource r = CPU; r < RESOURCES; r++)
                if (sets[r])
                        writer_text(w, NULL, text_of(resource_name(r)));
        writer_close(w, ']');
        writer_close(w, '}');
}

void status_write_left(struct writer *w, const struct vpa_policy *left)
{
        writer_open(w, "otherAutoscaler", '[');
        status_write_left_row(w, TEXT("*"), left->rest);
        for (int i = 0; i < left->rows; i++)
                status_write_left_row(w, left->row[i].container, left->row[i].sets);
        writer_close(w, ']');
}

struct vpa_policy *status_left_read(const json_t *list, struct arena *a)
{
        size_t at, count = json_array_size(list);
        json_t *item;
        if (count == 0 || count > VPA_POLICY_ROWS + 1)
                return NULL;
        struct vpa_policy *p = arena_new(a, sizeof *p + count * sizeof p->row[0]);
        vpa_policy_begin(p);
        json_array_foreach(list, at, item)
        {
                const json_t *of = json_object_get(item, "resources");
                const bool sets[RESOURCES] = {status_list_has(of, "cpu"), status_list_has(of, "memory")};
                vpa_policy_add(p, text_of(arena_text(a, text_of(status_string_at(item, "container")))), sets);
        }
        return p;
}
