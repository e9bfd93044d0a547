#include "decoder.h"

static void node_read_condition(struct decoder *d, struct node_view *node)
{
        struct text key, type = {"", 0}, status = {"", 0};
        struct wall at = {0};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        type = json_text(&d->j, d->arena);
                else if (text_is(key, "status"))
                        status = json_text(&d->j, d->arena);
                else if (text_is(key, "lastTransitionTime"))
                        at = decoder_time(d, "lastTransitionTime");
                else
                        json_skip(&d->j);
        if (!text_is(type, "Ready"))
                return;
        node->tells = true;
        node->ready = text_is(status, "True"); /* Unknown: its kubelet is not heard of */
        node->turned = at;
}

static void node_read_status(struct decoder *d, struct node_view *node)
{
        struct amount allocatable[RESOURCES] = {0};
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "allocatable"))
                        decoder_amounts(d, "allocatable", allocatable);
                else if (!text_is(key, "conditions"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                node_read_condition(d, node);
        node->allocatable = allocatable[MEMORY];
}

int decode_node(struct text json, struct arena *a, struct node_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "status"))
                        node_read_status(&d, ret);
                else
                        json_skip(&d.j);
        return decoder_end(&d, "Node", &ret->meta, err);
}
