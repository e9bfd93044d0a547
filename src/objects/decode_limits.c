/*
 * Objects of a namespace that bound requests: LimitRanges and ResourceQuotas.
 */
#include <limits.h>

#include "core/quantity.h"
#include "decoder.h"

/* One element of a LimitRange's spec.limits. */
struct limit_item {
        struct text type;
        struct amount default_request[RESOURCES], default_limit[RESOURCES], min[RESOURCES], max[RESOURCES],
                ratio[RESOURCES];
};

/* Ratios are quantities without a unit: "2", "1500m". */
static void read_ratios(struct decoder *d, void *to)
{
        struct amount *ret = to;
        struct text key;
        DECODER_EACH (d, key) {
                enum resource r = text_is(key, "cpu") ? CPU : text_is(key, "memory") ? MEMORY : RESOURCES;
                if (r == RESOURCES)
                        json_skip(&d->j);
                else
                        ret[r].set = decoder_quantity(d, d->path, QUANTITY_MILLI, &ret[r].value);
        }
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

/* The API server enforces every item of a LimitRange, so the strictest bound counts. Of several defaults the API server
 * uses the last. */
static void limit_range_add(struct limit_range_view *l, const struct limit_item *i)
{
        bool of_container = text_is(i->type, "Container"), of_pod = text_is(i->type, "Pod");
        for (int r = 0; of_container && r < RESOURCES; r++) {
                keep_last(&l->default_request[r], i->default_request[r]);
                keep_last(&l->default_limit[r], i->default_limit[r]);
                keep_higher(&l->min[r], i->min[r]);
                keep_lower(&l->max[r], i->max[r]);
                keep_lower(&l->ratio[r], i->ratio[r]);
        }
        for (int r = 0; of_pod && r < RESOURCES; r++) {
                keep_higher(&l->pod_min[r], i->min[r]);
                keep_lower(&l->pod_ratio[r], i->ratio[r]);
        }
}

#define IN_ITEM(member) offsetof(struct limit_item, member)
static void read_limits(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"type", decoder_field_text, IN_ITEM(type)},
                {"defaultRequest", decoder_field_amounts, IN_ITEM(default_request)},
                {"default", decoder_field_amounts, IN_ITEM(default_limit)},
                {"min", decoder_field_amounts, IN_ITEM(min)},
                {"max", decoder_field_amounts, IN_ITEM(max)},
                {"maxLimitRequestRatio", read_ratios, IN_ITEM(ratio)},
                {0},
        };
        if (json_enter(&d->j, '['))
                /* The loop keeps no item, so the number of items needs no bound. */
                for (int count = 0; decoder_item_cut(d, "limits", count, INT_MAX, NULL); count++) {
                        struct limit_item item = {.type = {"", 0}};
                        decoder_fields(d, table, &item);
                        limit_range_add(to, &item);
                }
}

int decode_limit_range(struct text json, struct arena *a, struct limit_range_view *ret, struct err *err)
{
        static const struct decoder_field table[] = {
                {"metadata", decoder_meta, offsetof(struct limit_range_view, meta)},
                {"spec.limits", read_limits, 0},
                {0},
        };
        static const struct decoder_kind kind = {"LimitRange", sizeof *ret, table};
        return decoder_view(&kind, json, a, ret, NULL, err);
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

/* One amount for each row of quota_names. */
struct quota_amounts {
        struct amount of[QUOTA_NAMES];
};

/* Reads `hard` or `used` of a ResourceQuota. */
static void read_quota_amounts(struct decoder *d, void *to)
{
        struct quota_amounts *ret = to;
        const char *field = decoder_field_name(d);
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

/* One element of spec.scopeSelector.matchExpressions. Only the scope PriorityClass has values. */
struct scope_expression {
        struct text name, operator;
        struct resource_quota_view *quota;
};

static void read_scope_values(struct decoder *d, void *to)
{
        struct resource_quota_view *q = ((struct scope_expression *)to)->quota;
        if (json_enter(&d->j, '['))
                while (json_item(&d->j)) {
                        if (q->class_count < VIEW_METRICS) {
                                q->class[q->class_count++] = json_text(&d->j, d->arena);
                                continue;
                        }
                        q->scopes |= QUOTA_UNSURE_SCOPE;
                        json_skip(&d->j);
                }
}

static void quota_add_scope(struct resource_quota_view *q, const struct scope_expression *e)
{
        bool again = q->scopes & QUOTA_PRIORITY;
        enum quota_scope scope = scope_of(e->name);
        q->scopes |= scope;
        if (scope != QUOTA_PRIORITY)
                return;
        q->classes = classes_of(e->operator);
        if (again) /* halflife does not combine two expressions on priority classes */
                q->scopes |= QUOTA_UNSURE_SCOPE;
}

static void read_scope_expressions(struct decoder *d, void *to)
{
        static const struct decoder_field table[] = {
                {"scopeName", decoder_field_text, offsetof(struct scope_expression, name)},
                {"operator", decoder_field_text, offsetof(struct scope_expression, operator)},
                {"values", read_scope_values, 0},
                {0},
        };
        if (json_enter(&d->j, '['))
                while (json_item(&d->j)) {
                        struct scope_expression e = {{"", 0}, {"", 0}, to};
                        decoder_fields(d, table, &e);
                        quota_add_scope(to, &e);
                }
}

static void read_scopes(struct decoder *d, void *to)
{
        struct resource_quota_view *q = to;
        if (json_enter(&d->j, '['))
                while (json_item(&d->j))
                        q->scopes |= scope_of(json_text(&d->j, d->arena));
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

/* The fields of a quota, before quota_keep picks the amounts that count. */
struct quota_reader {
        struct resource_quota_view view;
        struct quota_amounts asked, hard, used;
};

int decode_resource_quota(struct text json, struct arena *a, struct resource_quota_view *ret, struct err *err)
{
        static const struct decoder_field table[] = {
                {"metadata", decoder_meta, offsetof(struct quota_reader, view.meta)},
                {"spec.hard", read_quota_amounts, offsetof(struct quota_reader, asked)},
                {"spec.scopeSelector.matchExpressions", read_scope_expressions, offsetof(struct quota_reader, view)},
                {"spec.scopes", read_scopes, offsetof(struct quota_reader, view)},
                {"status.hard", read_quota_amounts, offsetof(struct quota_reader, hard)},
                {"status.used", read_quota_amounts, offsetof(struct quota_reader, used)},
                {0},
        };
        static const struct decoder_kind kind = {"ResourceQuota", sizeof(struct quota_reader), table};
        struct quota_reader r;
        int rc = decoder_view(&kind, json, a, &r, NULL, err);
        for (int i = 0; i < QUOTA_NAMES; i++)
                quota_keep(&r.view, i, r.hard.of[i].set ? r.hard.of[i] : r.asked.of[i], r.used.of[i]);
        *ret = r.view;
        return rc;
}
