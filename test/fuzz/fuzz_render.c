/*
 * doc: any bytes are read as documents or refused with the place; unedited they come out as they went in. Edited, they
 * read again as as many objects with what was set, and the same edits change nothing more; refused, every byte stays.
 */
#include <string.h>

#include "base/yaml.h"
#include "fuzz.h"
#include "manifest/document_private.h"

enum { OUT_MAX = 256 << 20, OBJECTS_MAX = 8 };

#define REQUESTS DOC_KEY("resources"), DOC_KEY("requests")

static const struct doc_step cpu[] = {DOC_KEY("spec"), DOC_KEY("containers"), DOC_ITEM(0), REQUESTS, DOC_KEY("cpu")};
static const struct doc_step memory[] = {DOC_KEY("spec"), DOC_KEY("containers"), DOC_ITEM(0), REQUESTS,
                                         DOC_KEY("memory")};
static const struct doc_step note[] = {DOC_KEY("metadata"), DOC_KEY("annotations"), DOC_KEY("halflife.dev/applied")};
static const struct doc_step first[] = {DOC_KEY("a"), DOC_KEY("b")};

#define PATH(p) .path = (p), .steps = sizeof(p) / sizeof *(p)

/* What a run asks of each object; an edit that is refused is tried alone by another. */
static const struct {
        struct doc_change change[4];
        size_t n;
} runs[] = {
        {{{PATH(cpu), DOC_QUANTITY, {"400m", 4}}, {PATH(memory), DOC_QUANTITY, {"1", 1}}}, 2},
        {{{PATH(note), DOC_STRING, {"{\"a\": 'b'}", 10}}}, 1},
        {{{PATH(note), DOC_REMOVE, {NULL, 0}}, {PATH(cpu), DOC_REMOVE, {NULL, 0}}}, 2},
        {{{PATH(first), DOC_STRING, {"x", 1}}}, 1},
        {{{PATH(first), DOC_REMOVE, {NULL, 0}}}, 1},
};

static void check_nodes(const struct doc *d)
{
        for (size_t i = 1; i < d->nodes; i++) {
                const struct node *n = &d->node[i];
                const char *text = d->text + n->begin;
                MUST(n->begin <= n->end && n->end <= d->len && n->line > 0 && n->column > 0);
                MUST(n->type == NODE_SCALAR || n->type == NODE_ALIAS || (n->skip > i && n->skip <= d->nodes));
                if (n->flags & (NODE_ANCHORED | NODE_TAGGED))
                        continue;
                MUST(n->style != STYLE_SINGLE || (*text == '\'' && d->text[n->end - 1] == '\''));
                MUST(n->style != STYLE_DOUBLE || (*text == '"' && d->text[n->end - 1] == '"'));
                MUST(n->style != STYLE_LITERAL || *text == '|' || *text == '>');
                MUST(n->type != NODE_ALIAS || (*text == '*' && n->of < i));
                MUST(n->style != STYLE_FLOW || *text == '{' || *text == '[' || n->type == NODE_MAPPING);
        }
}

/* A value that was set, found again. */
static void check_value(const struct doc *d, const struct doc_object *o, const struct doc_change *c)
{
        struct err err = {0};
        uint32_t at = o->root;
        for (size_t i = 0; i < c->steps; i++) {
                uint32_t items[1];
                if (c->path[i].key.p)
                        MUST(doc_find(d, at, c->path[i].key, &at, &err) == 0);
                else if (doc_items(d, at, 1, items, &err) != 0)
                        at = items[0];
        }
        if (c->form == DOC_REMOVE)
                MUST(at == DOC_NONE);
        else
                MUST(text_equal(doc_text(d, at), c->value) &&
                     (doc_type(d, at) == DOC_TEXT || (doc_type(d, at) == DOC_NUMBER && c->form == DOC_QUANTITY)));
}

static int edit(struct doc *d, size_t run, int *rc)
{
        int altered = 0;
        struct err err = {0};
        for (size_t i = 0; i < doc_count(d) && i < OBJECTS_MAX; i++) {
                rc[i] = doc_edit(d, i, runs[run].change, runs[run].n, &err);
                MUST(rc[i] >= 0 || (rc[i] == ERR_INVALID && err.text[0]));
                altered += rc[i] > 0 ? rc[i] : 0;
        }
        return altered;
}

static void check_written(const struct buf *out, size_t objects, size_t run, const int *rc)
{
        struct err err = {0};
        int again[OBJECTS_MAX];
        struct doc *d AUTO(doc_free) = doc_new(out->data, out->len, &err);
        MUST(d && doc_count(d) == objects);
        check_nodes(d);
        for (size_t i = 0; i < objects && i < OBJECTS_MAX; i++)
                for (size_t j = 0; j < runs[run].n && rc[i] > 0; j++)
                        check_value(d, doc_object(d, i), &runs[run].change[j]);
        MUST(edit(d, run, again) == 0 && !doc_changed(d));
        for (size_t i = 0; i < objects && i < OBJECTS_MAX; i++)
                MUST((rc[i] < 0) == (again[i] < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data;
        for (size_t run = 0; run < sizeof runs / sizeof *runs; run++) {
                struct err err = {0};
                int rc[OBJECTS_MAX];
                struct doc *d AUTO(doc_free) = doc_new(text, size, &err);
                MUST(d || (err.code < 0 && strncmp(err.text, "line ", 5) == 0));
                if (!d)
                        return 0;
                check_nodes(d);
                struct buf out __attribute__((cleanup(buf_release_auto)));
                buf_init(&out, OUT_MAX);
                int altered = edit(d, run, rc);
                MUST(doc_write(d, &out, &err) == 0 && (altered > 0) == doc_changed(d));
                if (altered == 0)
                        MUST(out.len == size && (size == 0 || memcmp(out.data, text, size) == 0));
                else
                        check_written(&out, doc_count(d), run, rc);
        }
        return 0;
}
