/*
 * VerticalPodAutoscalers, which set requests as halflife does.
 */
#include "decoder.h"

static const struct decoder_field vpa_table[] = {
        {"metadata", decoder_meta, offsetof(struct vpa_view, meta)},
        {"spec.targetRef", decoder_reference, offsetof(struct vpa_view, target)},
        {"spec.updatePolicy.updateMode", decoder_field_text, offsetof(struct vpa_view, mode)},
        {0},
};

int decode_vpa(struct text json, struct arena *a, struct vpa_view *ret, struct err *err)
{
        static const struct decoder_kind kind = {"VerticalPodAutoscaler", sizeof *ret, vpa_table};
        return decoder_view(&kind, json, a, ret, NULL, err);
}
