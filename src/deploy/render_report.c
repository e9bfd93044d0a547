/* The report on a rendered text as JSON. */
#include "base/utf8.h"
#include "deploy/render.h"
#include "objects/json_writer.h"

enum { NAME_MOST = 253, DETAIL_MOST = 1024, LEFT_MOST = 256, ROW_MOST = 1 << 20 };

static void write_name(struct writer *w, const char *key, struct text t)
{
        if (t.len)
                writer_text(w, key, (struct text){t.p, utf8_cut(t.p, t.len, NAME_MOST)});
}

static void write_change(struct writer *w, const struct render_change *c)
{
        writer_open(w, NULL, '{');
        write_name(w, "container", c->container);
        writer_text(w, "resource", text_of(resource_name(c->resource)));
        writer_amount(w, "from", c->resource, c->from);
        writer_amount(w, "to", c->resource, c->to);
        writer_text(w, "reason", text_of(reason_name(c->reason)));
        writer_close(w, '}');
}

static void write_detail(struct writer *w, const char *detail, size_t most)
{
        writer_text(w, "detail", (struct text){detail, utf8_cut(detail, strlen(detail), most)});
}

static void write_left(struct writer *w, const struct render_left *left)
{
        writer_open(w, NULL, '{');
        write_name(w, "container", left->container);
        writer_text(w, "resource", text_of(resource_name(left->resource)));
        writer_amount(w, "request", left->resource, left->request);
        writer_text(w, "reason", text_of(left->reason));
        write_detail(w, left->detail, LEFT_MOST);
        writer_close(w, '}');
}

static void write_row(struct writer *w, const struct render_row *row)
{
        writer_open(w, NULL, '{');
        writer_int(w, "line", row->line);
        write_name(w, "kind", row->kind);
        write_name(w, "namespace", row->ns);
        write_name(w, "name", row->name);
        if (row->reason) {
                writer_text(w, "reason", text_of(row->reason));
                write_detail(w, row->detail, DETAIL_MOST);
        } else {
                writer_open(w, "changes", '[');
                for (size_t i = 0; i < row->changes; i++)
                        write_change(w, &row->change[i]);
                writer_close(w, ']');
        }
        if (row->lefts) {
                writer_open(w, "left", '[');
                for (size_t i = 0; i < row->lefts; i++)
                        write_left(w, &row->left[i]);
                writer_close(w, ']');
        }
        writer_close(w, '}');
}

int render_report(const struct render *r, size_t input, struct buf *out, struct err *err)
{
        struct writer w = {.b = out};
        size_t count;
        const struct render_row *row = render_rows(r, &count);
        writer_open(&w, NULL, '[');
        for (size_t i = 0; i < count && row[i].input <= input; i++) {
                if (row[i].input != input)
                        continue;
                if (out->len > RENDER_REPORT_MAX - ROW_MOST)
                        return err_set(err, ERR_TOOBIG,
                                       "the list of changes exceeds %d MiB: send fewer documents at once",
                                       RENDER_REPORT_MAX >> 20);
                write_row(&w, &row[i]);
        }
        writer_close(&w, ']');
        return 0;
}
