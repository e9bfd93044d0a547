/*
 * What else bounds a request: LimitRanges.
 */
#include "core/quantity.h"
#include "decoder.h"

/* One element of spec.limits. */
struct limit_item {
        bool of_container, of_pod;
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], max[RESOURCES],
                ratio[RESOURCES];
};

/* Ratios are quantities without a unit: "2", "1500m". */
static void read_ratios(struct decoder *d, struct amount ret[RESOURCES])
{
        struct text key;
        DECODER_EACH (d, key) {
                enum resource r = text_is(key, "cpu") ? CPU : text_is(key, "memory") ? MEMORY : RESOURCES;
                if (r == RESOURCES)
                        json_skip(&d->j);
                else
                        ret[r].set = decoder_quantity(d, "maxLimitRequestRatio", QUANTITY_MILLI, &ret[r].value);
        }
}

static void read_limit_item(struct decoder *d, struct limit_item *ret)
{
        struct text key, type = {"", 0};
        *ret = (struct limit_item){.of_container = false};
        DECODER_EACH (d, key)
                if (text_is(key, "type"))
                        type = json_text(&d->j, d->arena);
                else if (text_is(key, "defaultRequest"))
                        decoder_amounts(d, "defaultRequest", ret->default_request);
                else if (text_is(key, "default"))
                        decoder_amounts(d, "default", ret->default_limit);
                else if (text_is(key, "min"))
                        decoder_amounts(d, "min", ret->min);
                else if (text_is(key, "max"))
                        decoder_amounts(d, "max", ret->max);
                else if (text_is(key, "maxLimitRequestRatio"))
                        read_ratios(d, ret->ratio);
                else
                        json_skip(&d->j);
        ret->of_container = text_is(type, "Container");
        ret->of_pod = text_is(type, "Pod");
}

static void keep_last(struct amount *kept, struct amount seen)
{
        if (seen.set)
                *kept = seen;
}

static void keep_higher(struct amount *kept, struct amount seen)
{
        if (seen.set && (!kept->set || seen.value > kept->value))
                *kept = seen;
}

static void keep_lower(struct amount *kept, struct amount seen)
{
        if (seen.set && (!kept->set || seen.value < kept->value))
                *kept = seen;
}

/* Every item binds, so the strictest bound counts; of defaults the API server takes the last. */
static void limit_range_add(struct limit_range_view *l, const struct limit_item *i)
{
        for (int r = 0; i->of_container && r < RESOURCES; r++) {
                keep_last(&l->default_request[r], i->default_request[r]);
                keep_last(&l->default_limit[r], i->default_limit[r]);
                keep_higher(&l->min[r], i->min[r]);
                keep_lower(&l->max[r], i->max[r]);
                keep_lower(&l->ratio[r], i->ratio[r]);
        }
        for (int r = 0; i->of_pod && r < RESOURCES; r++) {
                keep_higher(&l->pod_min[r], i->min[r]);
                keep_lower(&l->pod_ratio[r], i->ratio[r]);
        }
}

static void read_limits(struct decoder *d, struct limit_range_view *l)
{
        struct limit_item item;
        struct text key;
        int count = 0;
        DECODER_EACH (d, key)
                if (!text_is(key, "limits"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (decoder_item(d, "limits", count++, VIEW_METRICS)) {
                                read_limit_item(d, &item);
                                limit_range_add(l, &item);
                        }
}

int decode_limit_range(struct text json, struct arena *a, struct limit_range_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "spec"))
                        read_limits(&d, ret);
                else
                        json_skip(&d.j);
        return decoder_end(&d, "LimitRange", &ret->meta, err);
}
