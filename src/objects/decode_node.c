#include "decoder.h"

static void node_read_allocatable(struct decoder *d, void *to)
{
        struct amount allocatable[RESOURCES] = {0};
        decoder_amounts(d, "allocatable", allocatable);
        *(struct amount *)to = allocatable[MEMORY];
}

struct node_condition {
        struct text type, status;
        struct wall at;
};

static void node_read_conditions(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"type", decoder_field_text, offsetof(struct node_condition, type)},
                {"status", decoder_field_text, offsetof(struct node_condition, status)},
                {"lastTransitionTime", decoder_field_time, offsetof(struct node_condition, at)},
                {0},
        };
        struct node_view *node = to;
        if (json_enter(&d->j, '['))
                while (json_item(&d->j)) {
                        struct node_condition c = {{"", 0}, {"", 0}, {0}};
                        decoder_fields(d, table, &c);
                        if (!text_is(c.type, "Ready"))
                                continue;
                        node->tells = true;
                        node->ready = text_is(c.status, "True"); /* Unknown: the kubelet does not report */
                        node->turned = c.at;
                }
}

static const struct decoder_field node_table[] = {
        {"metadata", decoder_meta, offsetof(struct node_view, meta)},
        {"status.allocatable", node_read_allocatable, offsetof(struct node_view, allocatable)},
        {"status.conditions", node_read_conditions, 0},
        {0},
};

int decode_node(struct text json, struct arena *a, struct node_view *ret, struct err *err)
{
        static const struct decoder_kind kind = {"Node", sizeof *ret, node_table};
        return decoder_view(&kind, json, a, ret, NULL, err);
}
