/*
 * GET …/changes: the latest changes to containers' requests, one by one, the newest first.
 */
#include "handlers.h"
#include "list_csv.h"
#include "list_query.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MOST = 500 };

struct changes_asked {
        struct text search; /* in lower case */
        bool by_kind, csv;
        enum change_kind kind;
        long limit, offset;
};

static int changes_read(struct ask *k, struct changes_asked *ret)
{
        struct text kind = k->query->value[PARAM_CHANGE];
        *ret = (struct changes_asked){.search = list_query_search(k)};
        ret->by_kind = kind.p != NULL;
        if (kind.p && !change_kind_find(kind, &ret->kind))
                return answer_bad_parameter(k->ret, "change",
                                            "change '%s' is not Applied, Raised, Deployed, Admitted, Guarded or "
                                            "Contested",
                                            kind.p);
        int rc = csv_asked(k, &ret->csv);
        if (rc == 0)
                rc = limit_asked(k, LIMIT_DEFAULT, LIMIT_MOST, &ret->limit);
        return rc == 0 ? offset_asked(k, &ret->offset) : rc;
}

static bool changes_wants(const struct ask *k, const struct changes_asked *q, const struct change *c)
{
        if ((*k->route->ns && strcmp(c->ns, k->route->ns) != 0) || (q->by_kind && c->kind != q->kind))
                return false;
        return !q->search.len || list_query_contains(c->name, q->search) || list_query_contains(c->ns, q->search) ||
               list_query_contains(c->object_kind, q->search);
}

/* --- as JSON --- */

static void changes_write_text(struct writer *w, const char *key, const char *text)
{
        if (*text)
                writer_text(w, key, text_of(text));
}

static void changes_write_one(struct writer *w, const struct change *c)
{
        writer_open(w, NULL, '{');
        writer_int(w, "id", c->id);
        writer_time(w, "time", c->at_ms);
        writer_text(w, "change", text_of(change_kind_name(c->kind)));
        writer_text(w, "namespace", text_of(c->ns));
        changes_write_text(w, "group", c->group);
        writer_text(w, "kind", text_of(c->object_kind));
        writer_text(w, "name", text_of(c->name));
        if (*c->container) {
                writer_text(w, "container", text_of(c->container));
                writer_text(w, "resource", text_of(resource_name(c->resource)));
                writer_amount(w, "from", c->resource, amount_of_status(c->from));
                writer_amount(w, "to", c->resource, amount_of_status(c->to));
        }
        changes_write_text(w, "mode", c->mode);
        changes_write_text(w, "by", c->by);
        changes_write_text(w, "reason", c->reason);
        changes_write_text(w, "words", c->words);
        writer_close(w, '}');
}

static void changes_answer_json(struct ask *k, const struct changes_asked *q)
{
        const struct change_table *t = k->v->changes;
        int64_t total = 0;
        struct writer w = answer_begin(k->ret);
        writer_open(&w, NULL, '{');
        writer_open(&w, "items", '[');
        for (size_t i = t ? t->rows : 0; i-- > 0;) {
                if (!changes_wants(k, q, &t->row[i]))
                        continue;
                if (total >= q->offset && total < q->offset + q->limit)
                        changes_write_one(&w, &t->row[i]);
                total++;
        }
        writer_close(&w, ']');
        writer_int(&w, "total", total);
        writer_close(&w, '}');
}

/* --- as CSV --- */

static void changes_csv_row(struct buf *b, const struct change *c)
{
        const bool part = *c->container;
        const char *const texts[] = {change_kind_name(c->kind), c->ns, c->object_kind, c->name, c->container};
        char time[WALL_TEXT_MAX];
        (void)buf_add_text(b, wall_print((struct wall){c->at_ms}, time));
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                (void)buf_add_text(b, ",");
                list_csv_text(b, texts[i]);
        }
        (void)buf_printf(b, ",%s", part ? resource_name(c->resource) : "");
        list_csv_amount(b, c->resource, part ? c->from : -1);
        list_csv_amount(b, c->resource, part ? c->to : -1);
        const char *const why[] = {c->mode, c->by, c->reason, c->words};
        for (size_t i = 0; i < sizeof why / sizeof why[0]; i++) {
                (void)buf_add_text(b, ",");
                list_csv_text(b, why[i]);
        }
        (void)buf_add_text(b, "\r\n");
}

static void changes_answer_csv(struct ask *k, const struct changes_asked *q)
{
        const struct change_table *t = k->v->changes;
        struct buf *b = &k->ret->body;
        answer_begin(k->ret);
        (void)buf_add_text(b, "time,change,namespace,kind,name,container,resource,from_cores_or_bytes,"
                              "to_cores_or_bytes,mode,by,reason,words\r\n");
        for (size_t i = t ? t->rows : 0; i-- > 0;)
                if (changes_wants(k, q, &t->row[i]))
                        changes_csv_row(b, &t->row[i]);
        list_csv_end(k->ret, "attachment; filename=\"halflife-changes.csv\"");
}

void answer_changes(struct ask *k)
{
        struct changes_asked q;
        if (changes_read(k, &q) < 0)
                return;
        if (q.csv)
                changes_answer_csv(k, &q);
        else
                changes_answer_json(k, &q);
}
