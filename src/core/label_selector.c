#include "core/label_selector.h"

/* The value of a label; NULL: there is no such label. Of equal keys the first counts: callers list a workload's labels
 * before its template's. */
static const struct text *find_label(const struct label_pair *label, size_t labels, struct text key)
{
        for (size_t i = 0; i < labels; i++)
                if (text_equal(label[i].key, key))
                        return &label[i].value;
        return NULL;
}

static bool has_value(const struct requirement *r, struct text value)
{
        for (size_t i = 0; i < r->values; i++)
                if (text_is(value, r->value[i]))
                        return true;
        return false;
}

static bool selector_meets(const struct requirement *r, const struct text *value)
{
        switch (r->op) {
        case OP_IN:
                return value && has_value(r, *value);
        case OP_NOT_IN:
                return !value || !has_value(r, *value);
        case OP_EXISTS:
                return value != NULL;
        default:
                return value == NULL;
        }
}

bool selector_match(const struct selector *s, const struct label_pair *label, size_t labels)
{
        for (size_t i = 0; s && i < s->count; i++)
                if (!selector_meets(&s->of[i], find_label(label, labels, text_of(s->of[i].key))))
                        return false;
        return true;
}

bool selector_may_match(const struct selector *s, const struct label_pair *label, size_t labels)
{
        for (size_t i = 0; s && i < s->count; i++) {
                const struct text *value = find_label(label, labels, text_of(s->of[i].key));
                if (value && !selector_meets(&s->of[i], value))
                        return false;
        }
        return true;
}

bool selector_names(const struct selector *s, struct text key, struct text value)
{
        for (size_t i = 0; s && i < s->count; i++)
                if (s->of[i].op == OP_IN && text_is(key, s->of[i].key) && has_value(&s->of[i], value))
                        return true;
        return false;
}
