/*
 * GET …/summary: sums over the workloads, by namespace, by profile, or by the value of a label.
 */
#include <stdlib.h>

#include "list_query.h"
#include "objects/label_selector.h"
#include "target_sums.h"

enum { ROWS_MOST = 1000 };

struct summary_row {
        const char *name; /* "": the row of workloads without the label or a profile */
        struct target_sums sums;
};

struct summary {
        enum { BY_NAMESPACE, BY_PROFILE, BY_LABEL } by;
        struct text label; /* BY_LABEL: the label's key */
};

static int summary_read(struct ask *k, struct summary *ret)
{
        struct text t = k->query->value[PARAM_BY];
        static const char label[] = "label:";
        *ret = (struct summary){BY_NAMESPACE, {"", 0}};
        if (!t.p || text_is(t, "namespace"))
                return 0;
        if (text_is(t, "profile")) {
                ret->by = BY_PROFILE;
                return 0;
        }
        if (t.len >= sizeof label && memcmp(t.p, label, sizeof label - 1) == 0) {
                *ret = (struct summary){BY_LABEL, {t.p + sizeof label - 1, t.len - (sizeof label - 1)}};
                return 0;
        }
        return answer_bad_parameter(k->ret, "by", "by '%s' is neither namespace, profile nor label:KEY", t.p);
}

static const char *summary_name_of(const struct summary *s, const struct snapshot_target *t)
{
        struct label_pair label[VIEW_LABELS_MAX];
        if (s->by == BY_NAMESPACE)
                return t->ns;
        if (s->by == BY_PROFILE)
                return t->profile ? t->profile->name : "";
        size_t labels = snapshot_unpack_labels(t->labels, t->labels_size, label, VIEW_LABELS_MAX);
        for (size_t i = 0; i < labels; i++)
                if (text_equal(label[i].key, s->label))
                        return label[i].value.p; /* NUL-terminated in the snapshot */
        return "";
}

struct summary_named {
        const char *name;
        const struct snapshot_target *target;
};

static int summary_compare_names(const void *left, const void *right)
{
        const struct summary_named *a = left, *b = right;
        return strcmp(a->name, b->name);
}

/* Order rows by the CPU that their targets save over the originals, most first, then by name. */
static int summary_compare_rows(const void *left, const void *right)
{
        const struct target_sums *a = &((const struct summary_row *)left)->sums,
                                 *b = &((const struct summary_row *)right)->sums;
        int64_t first = a->original[CPU] - a->target[CPU], second = b->original[CPU] - b->target[CPU];
        int way = (second > first) - (second < first);
        return way ? way : strcmp(((const struct summary_row *)left)->name, ((const struct summary_row *)right)->name);
}

static struct summary_row *summary_rows(struct ask *k, const struct summary *s,
                                        const struct snapshot_target *const *target, size_t count, size_t *ret_rows)
{
        struct summary_named *named = arena_new(k->a, (count ? count : 1) * sizeof *named);
        size_t taken = 0, rows = 0;
        for (size_t i = 0; i < count; i++)
                if (target_sums_takes(target[i]))
                        named[taken++] = (struct summary_named){summary_name_of(s, target[i]), target[i]};
        if (s->by != BY_NAMESPACE) /* the snapshot is sorted by namespace already */
                qsort(named, taken, sizeof *named, summary_compare_names);
        for (size_t i = 0; i < taken; i++)
                rows += i == 0 || strcmp(named[i].name, named[i - 1].name) != 0;
        struct summary_row *row = arena_new(k->a, (rows + 1) * sizeof *row);
        *ret_rows = rows;
        rows = 0;
        for (size_t i = 0; i < taken; i++) {
                rows += i == 0 || strcmp(named[i].name, named[i - 1].name) != 0;
                row[rows - 1].name = named[i].name;
                target_sums_add(&row[rows - 1].sums, named[i].target);
        }
        qsort(row, rows, sizeof *row, summary_compare_rows);
        return row;
}

void answer_summary(struct ask *k)
{
        struct list_query q;
        struct summary s;
        size_t count, rows;
        struct target_sums total = {0};
        if (list_query_read(k, &q) < 0 || summary_read(k, &s) < 0)
                return;
        const struct snapshot_target **target = list_query_targets(k, &q, &count);
        struct summary_row *row = summary_rows(k, &s, target, count, &rows);
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        writer_open(&w, "rows", '[');
        for (size_t i = 0; i < rows; i++) {
                target_sums_merge(&total, &row[i].sums);
                if (i >= ROWS_MOST)
                        continue;
                writer_open(&w, NULL, '{');
                writer_text(&w, "name", text_of(row[i].name));
                target_sums_write(&w, &row[i].sums);
                writer_close(&w, '}');
        }
        writer_close(&w, ']');
        if (rows > ROWS_MOST)
                writer_int(&w, "left", (int64_t)(rows - ROWS_MOST));
        writer_open(&w, "total", '{');
        target_sums_write(&w, &total);
        writer_close(&w, '}');
        writer_bool(&w, "fuseBlown", k->v->fuse_blown);
        writer_bool(&w, "applyNever", k->v->apply_never);
        writer_close(&w, '}');
}
