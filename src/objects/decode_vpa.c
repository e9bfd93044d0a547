/*
 * Who else sets requests: VerticalPodAutoscalers.
 */
#include "decoder.h"

static void read_update_policy(struct decoder *d, struct vpa_view *v)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "updateMode"))
                        v->mode = json_text(&d->j, d->arena);
                else
                        json_skip(&d->j);
}

static void vpa_read_spec(struct decoder *d, struct vpa_view *v)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "targetRef"))
                        decoder_reference(d, &v->target);
                else if (text_is(key, "updatePolicy"))
                        read_update_policy(d, v);
                else
                        json_skip(&d->j);
}

int decode_vpa(struct text json, struct arena *a, struct vpa_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "spec"))
                        vpa_read_spec(&d, ret);
                else
                        json_skip(&d.j);
        return decoder_end(&d, "VerticalPodAutoscaler", &ret->meta, err);
}
