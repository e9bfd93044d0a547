#include "decoder.h"

static void node_read_taint(struct decoder *d, struct taint_view *ret)
{
        static const struct decoder_field table[] = {
                {"key", decoder_field_text, offsetof(struct taint_view, key)},
                {"value", decoder_field_text, offsetof(struct taint_view, value)},
                {"effect", decoder_field_text, offsetof(struct taint_view, effect)},
                {0},
        };
        *ret = (struct taint_view){{"", 0}, {"", 0}, {"", 0}};
        decoder_fields(d, table, ret);
}

static void node_read_taints(struct decoder *d, void *to)
{
        struct node_view *node = to;
        if (!json_enter(&d->j, '['))
                return;
        while (decoder_item_cut(d, "taints", node->taints, VIEW_TAINTS, &node->taints_cut))
                node_read_taint(d, &node->taint[node->taints++]);
}

static void node_read_flag(struct decoder *d, void *to)
{
        *(bool *)to = json_bool(&d->j);
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
                        /* Unknown, when the kubelet does not report, counts as not ready. */
                        node->ready = text_is(c.status, "True");
                        node->turned = c.at;
                }
}

static const struct decoder_field node_table[] = {
        {"metadata", decoder_meta, offsetof(struct node_view, meta)},
        {"spec.unschedulable", node_read_flag, offsetof(struct node_view, unschedulable)},
        {"spec.taints", node_read_taints, 0},
        {"status.capacity", decoder_field_amounts, offsetof(struct node_view, capacity)},
        {"status.allocatable", decoder_field_amounts, offsetof(struct node_view, allocatable)},
        {"status.conditions", node_read_conditions, 0},
        {0},
};

int decode_node(struct text json, struct arena *a, struct node_view *ret, struct err *err)
{
        static const struct decoder_kind kind = {"Node", sizeof *ret, node_table};
        return decoder_view(&kind, json, a, ret, NULL, err);
}
