/*
 * Find which autoscalers, in the rendered texts and in the cluster, will count pods of workloads that they do not
 * scale. As in the HPA controller, an autoscaler counts all pods of its namespace that match the selector of the
 * workload that it scales.
 */
#include "core/label_selector.h"
#include "render_private.h"

enum { REQUIREMENTS = 256, VALUES = 4096 };

/* The place of a workload's selector in the text. */
struct counting_place {
        const struct doc *d;
        uint32_t selector;
};

/* An autoscaler by utilization, with the selector of the workload that it scales. */
struct counting {
        struct counting *next; /* the next autoscaler of the same namespace */
        struct text key;       /* key of the workload that this autoscaler scales */
        const bool *utilization;
        struct selector asks; /* that workload's selector; count 0: not known */
        bool sought;          /* the texts were searched for the selector */
        bool unread;          /* the selector is too long to be read: any pod may count */
        bool of_cluster;      /* the autoscaler is the cluster's, and no text has the workload's selector */
};

void counting_add(struct scalers *s, struct text ns, struct text key, const bool *utilization,
                  const struct snapshot_hpa *h)
{
        struct counting *c = arena_new(&s->arena, sizeof *c);
        *c = (struct counting){.next = map_get(&s->counting, ns),
                               .key = key,
                               .utilization = utilization,
                               .unread = h && h->asks_unread,
                               .of_cluster = h != NULL};
        if (h && h->asks)
                c->asks = *h->asks;
        map_put(&s->counting, ns, c);
}

void counting_add_selector(struct scalers *s, const struct doc *d, const struct doc_object *o, struct text key)
{
        uint32_t selector = render_at(d, render_at(d, o->root, "spec"), "selector");
        if (selector == DOC_NONE)
                return;
        struct counting_place *to = arena_new(&s->arena, sizeof *to);
        *to = (struct counting_place){d, selector};
        map_put(&s->selector, key, to);
}

/* --- selectors --- */

static bool counting_read_values(struct scalers *s, const struct doc *d, uint32_t list, struct requirement *r)
{
        uint32_t *value = mem_new_array(VALUES, sizeof *value);
        int n = doc_items(d, list, VALUES, value, NULL);
        r->value = arena_new(&s->arena, (size_t)(n > 0 ? n : 1) * sizeof *r->value);
        for (int i = 0; i < n; i++)
                r->value[r->values++] = arena_text(&s->arena, doc_text(d, value[i]));
        mem_free(value);
        return n >= 0;
}

static bool counting_read_expression(struct scalers *s, const struct doc *d, uint32_t at, struct requirement *r)
{
        static const char *const names[RELATIONS] = {
                [OP_IN] = "In", [OP_NOT_IN] = "NotIn", [OP_EXISTS] = "Exists", [OP_DOES_NOT_EXIST] = "DoesNotExist"};
        struct text op = render_text(d, at, "operator");
        int i = 0;
        while (i < RELATIONS && !text_is(op, names[i]))
                i++;
        *r = (struct requirement){.key = arena_text(&s->arena, render_text(d, at, "key")),
                                  .op = i < RELATIONS ? (enum relation)i : OP_EXISTS};
        return i < RELATIONS && counting_read_values(s, d, render_at(d, at, "values"), r);
}

static void counting_read(struct scalers *s, const struct doc *d, uint32_t selector, struct counting *c)
{
        struct doc_member label[REQUIREMENTS];
        uint32_t expression[REQUIREMENTS];
        int labels = doc_members(d, render_at(d, selector, "matchLabels"), REQUIREMENTS, label, NULL);
        int expressions = doc_items(d, render_at(d, selector, "matchExpressions"), REQUIREMENTS, expression, NULL);
        c->unread = labels < 0 || expressions < 0;
        c->of_cluster = false;
        if (c->unread)
                return;
        c->asks.count = 0;
        c->asks.of = arena_new(&s->arena, (size_t)(labels + expressions + 1) * sizeof *c->asks.of);
        for (int i = 0; i < labels; i++) {
                char **value = arena_new(&s->arena, sizeof *value);
                *value = arena_text(&s->arena, doc_text(d, label[i].value));
                c->asks.of[c->asks.count++] = (struct requirement){
                        .key = arena_text(&s->arena, label[i].key), .op = OP_IN, .value = value, .values = 1};
        }
        for (int i = 0; i < expressions; i++)
                c->unread |= !counting_read_expression(s, d, expression[i], &c->asks.of[c->asks.count++]);
}

static void counting_seek(struct scalers *s, struct counting *c)
{
        const struct counting_place *at = c->sought ? NULL : map_get(&s->selector, c->key);
        c->sought = true;
        if (at)
                counting_read(s, at->d, at->selector, c);
}

/* --- matching --- */

static int64_t counting_cost(const struct counting *c, size_t labels)
{
        int64_t cost = 1;
        for (size_t i = 0; i < c->asks.count; i++)
                cost += (int64_t)(c->asks.of[i].values + labels);
        return cost;
}

static bool counting_counts(const struct counting *c, const struct label_pair *label, size_t labels)
{
        return c->unread || (c->asks.count > 0 && selector_match(&c->asks, label, labels));
}

static void counting_mark_both(const bool utilization[static RESOURCES], bool ret[static RESOURCES])
{
        for (enum resource r = CPU; r < RESOURCES; r++)
                ret[r] |= utilization[r];
}

void counting_mark(struct scalers *s, const struct text own[2], const struct label_pair *label, size_t labels,
                   struct deploy_subject *of)
{
        static const bool both[RESOURCES] = {true, true};
        for (struct counting *c = map_get(&s->counting, of->ns); c; c = c->next) {
                if (++s->compared > RENDER_COMPARES) {
                        counting_mark_both(both, of->hpa_of_other);
                        return;
                }
                bool its_own = text_equal(c->key, own[0]) || text_equal(c->key, own[1]);
                if (its_own || (!c->utilization[CPU] && !c->utilization[MEMORY]))
                        continue;
                counting_seek(s, c);
                s->compared += counting_cost(c, labels);
                if (counting_counts(c, label, labels))
                        counting_mark_both(c->utilization, c->of_cluster ? of->hpa_of_cluster : of->hpa_of_other);
        }
}
