#include "list_query.h"

#include <stdlib.h>

#include "objects/label_selector.h"

/* --- keys of the order --- */

enum list_part { PART_ORIGINAL, PART_CURRENT, PART_TARGET };

struct list_row {
        const struct snapshot_target *target;
        const char *text; /* NULL: the number is the key */
        int64_t number;
        size_t at; /* index before sorting; decides between equal keys */
};

static int64_t list_pod_amount(const struct snapshot_target *t, enum resource r, enum list_part part)
{
        struct status_numbers pod[RESOURCES];
        status_pod_numbers(t->container, t->containers, pod);
        return part == PART_ORIGINAL ? pod[r].original : part == PART_CURRENT ? pod[r].current : pod[r].target;
}

#define LIST_AMOUNT(function, resource, part)                                                                          \
        static void function(const struct snapshot_target *t, struct list_row *ret)                                    \
        {                                                                                                              \
                ret->number = list_pod_amount(t, resource, part);                                                      \
        }
LIST_AMOUNT(list_cpu_original, CPU, PART_ORIGINAL)
LIST_AMOUNT(list_cpu_current, CPU, PART_CURRENT)
LIST_AMOUNT(list_cpu_target, CPU, PART_TARGET)
LIST_AMOUNT(list_memory_original, MEMORY, PART_ORIGINAL)
LIST_AMOUNT(list_memory_current, MEMORY, PART_CURRENT)
LIST_AMOUNT(list_memory_target, MEMORY, PART_TARGET)

static void list_cpu_saving(const struct snapshot_target *t, struct list_row *ret)
{
        ret->number = t->saving[CPU];
}

static void list_memory_saving(const struct snapshot_target *t, struct list_row *ret)
{
        ret->number = t->saving[MEMORY];
}

static void list_applied(const struct snapshot_target *t, struct list_row *ret)
{
        ret->number = t->applied_ms;
}

static void list_last_sample(const struct snapshot_target *t, struct list_row *ret)
{
        ret->number = t->last_ms;
}

static void list_state(const struct snapshot_target *t, struct list_row *ret)
{
        ret->number = t->state;
}

static void list_namespace(const struct snapshot_target *t, struct list_row *ret)
{
        ret->text = t->ns;
}

static void list_name(const struct snapshot_target *t, struct list_row *ret)
{
        ret->text = t->name;
}

static void list_key_kind(const struct snapshot_target *t, struct list_row *ret)
{
        ret->text = t->kind;
}

static void list_profile(const struct snapshot_target *t, struct list_row *ret)
{
        ret->text = t->profile ? t->profile->name : "";
}

static const struct {
        const char *name;
        void (*read)(const struct snapshot_target *t, struct list_row *ret);
} keys[] = {
        {"namespace", list_namespace},
        {"name", list_name},
        {"kind", list_key_kind},
        {"state", list_state},
        {"profile", list_profile},
        {"cpuOriginal", list_cpu_original},
        {"cpuCurrent", list_cpu_current},
        {"cpuTarget", list_cpu_target},
        {"cpuSaving", list_cpu_saving},
        {"memoryOriginal", list_memory_original},
        {"memoryCurrent", list_memory_current},
        {"memoryTarget", list_memory_target},
        {"memorySaving", list_memory_saving},
        {"applied", list_applied},
        {"lastSample", list_last_sample},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* --- reading the parameters --- */

static int list_read_state(struct ask *k, struct list_query *ret)
{
        struct text t = k->query->value[PARAM_STATE];
        if (!t.p)
                return 0;
        for (enum state s = 0; s < STATES; s++)
                if (text_is(t, state_name(s))) {
                        ret->by_state = true;
                        ret->state = s;
                        return 0;
                }
        return answer_bad_parameter(k->ret, "state", "state '%s' is not NoData, Learning, Ready, Stale or Held", t.p);
}

static int list_read_reason(struct ask *k, struct list_query *ret)
{
        struct text t = k->query->value[PARAM_REASON];
        if (!t.p)
                return 0;
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++)
                if (text_is(t, reason_name(r))) {
                        ret->by_reason = true;
                        ret->reason = r;
                        return 0;
                }
        return answer_bad_parameter(k->ret, "reason", "reason '%s' is none that a status has, such as Lowered", t.p);
}

static int list_read_sort(struct ask *k, struct list_query *ret)
{
        struct text t = k->query->value[PARAM_SORT];
        if (!t.p)
                return 0;
        ret->sorted = true;
        ret->descending = t.len && t.p[0] == '-';
        struct text name = ret->descending ? (struct text){t.p + 1, t.len - 1} : t;
        for (ret->key = 0; ret->key < KEYS; ret->key++)
                if (text_is(name, keys[ret->key].name))
                        return 0;
        return answer_bad_parameter(k->ret, "sort", "sort '%s' is no key of a list, such as name or -cpuSaving", t.p);
}

static char list_lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

struct text list_query_search(struct ask *k)
{
        struct text search = k->query->value[PARAM_SEARCH];
        if (!search.len)
                return (struct text){0};
        char *lower = arena_text(k->a, search);
        for (size_t i = 0; i < search.len; i++)
                lower[i] = list_lower(lower[i]);
        return (struct text){lower, search.len};
}

int list_query_read(struct ask *k, struct list_query *ret)
{
        struct err err;
        *ret = (struct list_query){.condition = k->query->value[PARAM_CONDITION],
                                   .profile = k->query->value[PARAM_PROFILE]};
        if (selector_parse(k->query->value[PARAM_LABEL_SELECTOR], k->a, &ret->selector, &err) < 0)
                return answer_bad_parameter(k->ret, "labelSelector", "%s", err.text);
        ret->search = list_query_search(k);
        int rc = list_read_state(k, ret);
        if (rc == 0)
                rc = list_read_reason(k, ret);
        return rc == 0 ? list_read_sort(k, ret) : rc;
}

/* --- choosing --- */

bool list_query_contains(const char *text, struct text part)
{
        for (; *text; text++) {
                size_t i = 0;
                while (i < part.len && text[i] && list_lower(text[i]) == part.p[i])
                        i++;
                if (i == part.len)
                        return true;
        }
        return false;
}

static bool list_is_found(const struct list_query *q, const struct snapshot_target *t)
{
        return list_query_contains(t->name, q->search) || list_query_contains(t->ns, q->search) ||
               list_query_contains(t->kind, q->search) ||
               (t->profile && list_query_contains(t->profile->name, q->search));
}

static bool list_has_reason(const struct list_query *q, const struct snapshot_target *t)
{
        for (uint16_t i = 0; i < t->containers; i++)
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if (t->container[i].of[r].reason == q->reason)
                                return true;
        return false;
}

static bool list_has_condition(const struct list_query *q, const struct snapshot_target *t)
{
        for (uint16_t i = 0; i < t->conditions; i++)
                if (t->condition[i].status && text_is(q->condition, t->condition[i].type))
                        return true;
        return false;
}

bool list_query_wants(const struct list_query *q, const struct snapshot_target *t)
{
        struct label_pair label[VIEW_LABELS_MAX];
        if ((q->by_state && t->state != q->state) || (q->by_reason && !list_has_reason(q, t)) ||
            (q->condition.p && !list_has_condition(q, t)) || (q->search.len && !list_is_found(q, t)) ||
            (q->profile.p && (!t->profile || !text_is(q->profile, t->profile->name))))
                return false;
        size_t labels = q->selector ? snapshot_unpack_labels(t->labels, t->labels_size, label, VIEW_LABELS_MAX) : 0;
        return selector_match(q->selector, label, labels);
}

/* --- ordering --- */

static int list_compare(const void *left, const void *right)
{
        const struct list_row *a = left, *b = right;
        int way = a->text ? strcmp(a->text, b->text) : (a->number > b->number) - (a->number < b->number);
        return way ? way : (a->at > b->at) - (a->at < b->at);
}

static int list_compare_descending(const void *left, const void *right)
{
        const struct list_row *a = left, *b = right;
        int way = a->text ? strcmp(b->text, a->text) : (b->number > a->number) - (b->number < a->number);
        return way ? way : (a->at > b->at) - (a->at < b->at);
}

static void list_sort(struct ask *k, const struct list_query *q, const struct snapshot_target **target, size_t count)
{
        struct list_row *row = arena_new(k->a, (count ? count : 1) * sizeof *row);
        for (size_t i = 0; i < count; i++) {
                row[i] = (struct list_row){.target = target[i], .at = i};
                keys[q->key].read(target[i], &row[i]);
        }
        qsort(row, count, sizeof *row, q->descending ? list_compare_descending : list_compare);
        for (size_t i = 0; i < count; i++)
                target[i] = row[i].target;
}

const struct snapshot_target **list_query_targets(struct ask *k, const struct list_query *q, size_t *ret_count)
{
        const struct snapshot *v = k->v;
        size_t at = snapshot_after(v, text_of(k->route->ns), (struct text){"", 0}), end = at, count = 0;
        while (end < v->targets && (!*k->route->ns || strcmp(v->target[end]->ns, k->route->ns) == 0))
                end++;
        const struct snapshot_target **ret = arena_new(k->a, (end - at + 1) * sizeof *ret);
        for (; at < end; at++)
                if (list_query_wants(q, v->target[at]))
                        ret[count++] = v->target[at];
        if (q->sorted)
                list_sort(k, q, ret, count);
        *ret_count = count;
        return ret;
}
