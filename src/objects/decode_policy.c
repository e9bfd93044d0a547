/*
 * What else bounds a request: LimitRanges and ResourceQuotas.
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

/* --- ResourceQuota --- */

static const struct {
        const char *name;
        enum quota_count count;
        int digits;
} quota_names[] = {
        {"cpu", QUOTA_CPU, QUANTITY_MILLI},
        {"requests.cpu", QUOTA_CPU, QUANTITY_MILLI},
        {"memory", QUOTA_MEMORY, QUANTITY_WHOLE},
        {"requests.memory", QUOTA_MEMORY, QUANTITY_WHOLE},
        {"limits.cpu", QUOTA_LIMITS_CPU, QUANTITY_MILLI},
        {"limits.memory", QUOTA_LIMITS_MEMORY, QUANTITY_WHOLE},
        {"pods", QUOTA_PODS, QUANTITY_WHOLE},
        {"count/pods", QUOTA_PODS, QUANTITY_WHOLE},
};
enum { QUOTA_NAMES = sizeof quota_names / sizeof quota_names[0] };

/* Amounts by quota_names. */
struct quota_amounts {
        struct amount of[QUOTA_NAMES];
};

static void read_quota_amounts(struct decoder *d, const char *field, struct quota_amounts *ret)
{
        struct text key;
        DECODER_EACH (d, key) {
                int i = 0;
                while (i < QUOTA_NAMES && !text_is(key, quota_names[i].name))
                        i++;
                if (i == QUOTA_NAMES)
                        json_skip(&d->j);
                else
                        ret->of[i].set = decoder_quantity(d, field, quota_names[i].digits, &ret->of[i].value);
        }
}

static enum quota_scope scope_of(struct text name)
{
        return text_is(name, "Terminating")      ? QUOTA_TERMINATING
               : text_is(name, "NotTerminating") ? QUOTA_NOT_TERMINATING
               : text_is(name, "BestEffort")     ? QUOTA_BEST_EFFORT
               : text_is(name, "NotBestEffort")  ? QUOTA_NOT_BEST_EFFORT
               : text_is(name, "PriorityClass")  ? QUOTA_PRIORITY
                                                 : QUOTA_OTHER_SCOPE;
}

static enum quota_classes classes_of(struct text operator)
{
        return text_is(operator, "In")             ? QUOTA_CLASS_IN
               : text_is(operator, "NotIn")        ? QUOTA_CLASS_NOT_IN
               : text_is(operator, "DoesNotExist") ? QUOTA_CLASS_NONE
                                                   : QUOTA_CLASS_ANY;
}

/* {"scopeName":…,"operator":…,"values":[…]}: values are of priority classes alone. */
static void read_scope_expression(struct decoder *d, struct resource_quota_view *q)
{
        struct text key, name = {"", 0}, operator= {"", 0};
        bool again = q->scopes & QUOTA_PRIORITY;
        DECODER_EACH (d, key)
                if (text_is(key, "scopeName"))
                        name = json_text(&d->j, d->arena);
                else if (text_is(key, "operator"))
                        operator= json_text(&d->j, d->arena);
                else if (!text_is(key, "values"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (decoder_item(d, "values", q->class_count, VIEW_METRICS))
                                q->class[q->class_count++] = json_text(&d->j, d->arena);
        enum quota_scope scope = scope_of(name);
        q->scopes |= scope;
        if (scope != QUOTA_PRIORITY)
                return;
        q->classes = classes_of(operator);
        if (again) /* two on classes: which pods they leave is not followed */
                q->scopes |= QUOTA_UNSURE_SCOPE;
}

static void read_scope_selector(struct decoder *d, struct resource_quota_view *q)
{
        struct text key;
        DECODER_EACH (d, key)
                if (!text_is(key, "matchExpressions"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                read_scope_expression(d, q);
}

static void read_quota_spec(struct decoder *d, struct resource_quota_view *q, struct quota_amounts *hard)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "hard"))
                        read_quota_amounts(d, "hard", hard);
                else if (text_is(key, "scopeSelector"))
                        read_scope_selector(d, q);
                else if (!text_is(key, "scopes"))
                        json_skip(&d->j);
                else if (json_enter(&d->j, '['))
                        while (json_item(&d->j))
                                q->scopes |= scope_of(json_text(&d->j, d->arena));
}

static void read_quota_status(struct decoder *d, struct quota_amounts *hard, struct quota_amounts *used)
{
        struct text key;
        DECODER_EACH (d, key)
                if (text_is(key, "hard"))
                        read_quota_amounts(d, "hard", hard);
                else if (text_is(key, "used"))
                        read_quota_amounts(d, "used", used);
                else
                        json_skip(&d->j);
}

static void quota_keep(struct resource_quota_view *q, int name, struct amount hard, struct amount used)
{
        enum quota_count count = quota_names[name].count;
        struct amount *h = &q->hard[count], *u = &q->used[count];
        if (!hard.set || (h->set && (__int128)h->value - u->value <= (__int128)hard.value - used.value))
                return;
        *h = hard;
        *u = (struct amount){true, used.set ? used.value : 0};
}

int decode_resource_quota(struct text json, struct arena *a, struct resource_quota_view *ret, struct err *err)
{
        memset(ret, 0, sizeof *ret);
        struct quota_amounts asked = {0}, hard = {0}, used = {0};
        struct decoder d;
        struct text key;
        decoder_init(&d, json, a);
        DECODER_EACH (&d, key)
                if (text_is(key, "metadata"))
                        decoder_meta(&d, &ret->meta);
                else if (text_is(key, "spec"))
                        read_quota_spec(&d, ret, &asked);
                else if (text_is(key, "status"))
                        read_quota_status(&d, &hard, &used);
                else
                        json_skip(&d.j);
        for (int i = 0; i < QUOTA_NAMES; i++)
                quota_keep(ret, i, hard.of[i].set ? hard.of[i] : asked.of[i], used.of[i]);
        return decoder_end(&d, "ResourceQuota", &ret->meta, err);
}
