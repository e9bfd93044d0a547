#include "cache/label_roles.h"

#include <jansson.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/yaml.h"
#include "objects/label_selector.h"

MEM_AUTO(selector_free, struct selector *)

enum { BITS = 32, SELECTOR_TEXT_MAX = 4 << 20 }; /* more bytes than any object has, and so any selector */

/* --- labels and selectors as bits --- */

/* The bit of a label of the workload; 0: the workload lacks the label, or has it with another value, or beyond the last
 * bit. */
static uint32_t bit_of(const struct labels *labels, struct text key, struct text value)
{
        for (size_t i = 0; i < labels->count && i < BITS; i++)
                if (text_equal(labels->pair[i].key, key))
                        return text_equal(labels->pair[i].value, value) ? UINT32_C(1) << i : 0;
        return 0;
}

static bool carried_as_bits(const struct workload_view *v, const struct labels *labels, uint32_t *ret)
{
        uint32_t bits = 0;
        for (int i = 0; i < v->template_labels; i++) {
                uint32_t bit = bit_of(labels, v->template_label[i].key, v->template_label[i].value);
                if (!bit)
                        return false;
                bits |= bit;
        }
        *ret = bits;
        return true;
}

/* Express a selector as bits. Returns false unless it asks only for labels that the template gives the pods, as apps/v1
 * demands. */
static bool selected_as_bits(const struct selector *s, const struct labels *labels, uint32_t carried, uint32_t *ret)
{
        uint32_t bits = 0;
        for (size_t i = 0; i < s->count; i++) {
                const struct requirement *r = &s->of[i];
                bool plain = r->op == OP_IN && r->values == 1;
                uint32_t bit = plain ? bit_of(labels, text_of(r->key), text_of(r->value[0])) & carried : 0;
                if (!bit)
                        return false;
                bits |= bit;
        }
        *ret = bits;
        return true;
}

/* --- selectors as text --- */

static void print_requirement(struct buf *b, const struct requirement *r)
{
        static const char *const relation[RELATIONS] = {
                [OP_IN] = " in (", [OP_NOT_IN] = " notin (", [OP_EXISTS] = "", [OP_DOES_NOT_EXIST] = ""};
        buf_printf(b, "%s%s%s", r->op == OP_DOES_NOT_EXIST ? "!" : "", r->key, relation[r->op]);
        for (size_t i = 0; i < r->values; i++)
                buf_printf(b, "%s%s", i ? "," : "", r->value[i]);
        if (r->op == OP_IN || r->op == OP_NOT_IN)
                buf_add_text(b, ")");
}

static char *label_roles_print(const struct selector *s)
{
        AUTO(buf_release) struct buf b;
        buf_init(&b, SELECTOR_TEXT_MAX);
        for (size_t i = 0; i < s->count; i++) {
                if (i)
                        buf_add_text(&b, ",");
                print_requirement(&b, &s->of[i]);
        }
        return buf_steal(&b);
}

/* --- reading a workload's label roles --- */

static void set_selector(const struct selector *s, const struct labels *labels, struct label_roles *to,
                         struct label_roles_rest *rest)
{
        if (s && !selected_as_bits(s, labels, to->carried, &to->selected))
                rest->selector = label_roles_print(s);
}

/* Where the status has the scale subresource's selector, as in custom kinds, that selector counts; else the spec's. An
 * unreadable or empty selector counts as none, because an autoscaler refuses it. */
static void label_roles_read_selector(const struct workload_view *v, const struct labels *labels, struct arena *a,
                                      struct label_roles *to, struct label_roles_rest *rest)
{
        if (v->scale_selector.len) {
                struct selector *s = NULL;
                int rc = selector_parse(v->scale_selector, a, &s, NULL);
                rest->selector_unread = rc == ERR_TOOBIG;
                if (rc == 0)
                        set_selector(s, labels, to, rest);
                return;
        }
        AUTO(json_decref) json_t *json = v->selector.len ? json_loadb(v->selector.p, v->selector.len, 0, NULL) : NULL;
        AUTO(selector_free) struct selector *s = NULL;
        int rc = json ? selector_read(json, &selector_of_others, &s, NULL) : 0;
        rest->selector_unread = rc == ERR_TOOBIG;
        if (rc == 0)
                set_selector(s, labels, to, rest);
}

void label_roles_read(const struct workload_view *v, const struct labels *labels, struct map *sets, struct arena *a,
                      struct label_roles *ret, struct label_roles_rest *ret_rest)
{
        if (!carried_as_bits(v, labels, &ret->carried)) {
                struct label_pair *pair = arena_new(a, sizeof *pair * (size_t)v->template_labels);
                for (int i = 0; i < v->template_labels; i++)
                        pair[i] = (struct label_pair){v->template_label[i].key, v->template_label[i].value};
                labels_set(sets, &ret_rest->labels, pair, (size_t)v->template_labels);
        }
        ret_rest->labels_cut = v->template_labels_cut;
        label_roles_read_selector(v, labels, a, ret, ret_rest);
}

void label_roles_release(struct map *sets, struct label_roles_rest *r)
{
        labels_release(sets, &r->labels);
        mem_free(r->selector);
        r->selector = NULL;
}

/* --- all labels and the selector, from bits or text --- */

static struct labels labels_of_bits(const struct labels *labels, uint32_t bits, struct arena *a)
{
        struct label_pair *pair = arena_new(a, ((size_t)__builtin_popcount(bits) + 1) * sizeof *pair);
        size_t count = 0;
        for (size_t i = 0; i < labels->count && i < BITS; i++)
                if (bits & UINT32_C(1) << i)
                        pair[count++] = labels->pair[i];
        return (struct labels){pair, count};
}

struct labels label_roles_of_pods(const struct labels *labels, const struct label_roles *s,
                                  const struct label_roles_rest *r, struct arena *a)
{
        return r->labels.count ? r->labels : labels_of_bits(labels, s->carried, a);
}

struct selector *label_roles_selector(const struct labels *labels, const struct label_roles *s,
                                      const struct label_roles_rest *r, struct arena *a)
{
        struct selector *to = NULL;
        if (r->selector) {
                (void)selector_parse(text_of(r->selector), a, &to, NULL);
                return to;
        }
        struct labels asked = labels_of_bits(labels, s->selected, a);
        to = arena_new(a, sizeof *to);
        to->of = arena_new(a, (asked.count + 1) * sizeof *to->of);
        for (size_t i = 0; i < asked.count; i++) {
                char **value = arena_new(a, sizeof *value);
                *value = arena_text(a, asked.pair[i].value);
                to->of[to->count++] = (struct requirement){
                        .key = arena_text(a, asked.pair[i].key), .op = OP_IN, .value = value, .values = 1};
        }
        return to->count ? to : NULL;
}
