#include "base/json.h"

#include <assert.h>

#include "document_private.h"

struct loader {
        struct doc *d;
        struct err *err;
        struct json json;
        size_t at; /* the offset whose line and column are known */
        uint32_t line, column;
};

/* Advance line and column to an offset that is not before the last one. */
static void walk_to(struct loader *l, size_t to)
{
        const char *text = l->d->text;
        for (; l->at < to; l->at++) {
                char c = text[l->at];
                if (c == '\n' || (c == '\r' && (l->at + 1 == l->d->len || text[l->at + 1] != '\n'))) {
                        l->line++;
                        l->column = 1;
                } else if (((unsigned char)c & 0xc0) != 0x80) {
                        l->column++;
                }
        }
}

static size_t json_offset(const struct loader *l, const char *p)
{
        return (size_t)(p - l->d->text);
}

static uint32_t json_add(struct loader *l, const char *begin, const char *end, enum node_type type,
                         enum node_style style)
{
        walk_to(l, json_offset(l, begin));
        struct node n = {.begin = (uint32_t)json_offset(l, begin),
                         .end = (uint32_t)json_offset(l, end),
                         .line = l->line,
                         .column = l->column,
                         .type = (uint8_t)type,
                         .style = (uint8_t)style,
                         .flags = NODE_JSON};
        return node_add(l->d, n, l->err);
}

/* Add a string, key or value. The main JSON reader leaves the string undecoded, so a second reader decodes the
 * escapes. */
static bool json_add_string(struct loader *l, const char *begin, const char *end)
{
        uint32_t node = json_add(l, begin, end, NODE_SCALAR, STYLE_DOUBLE);
        if (node == DOC_NONE)
                return false;
        if (!memchr(begin, '\\', (size_t)(end - begin)))
                return true;
        struct json j;
        struct arena scratch = {0};
        json_init(&j, begin, (size_t)(end - begin));
        node_set_value(l->d, node, json_text(&j, &scratch), json_offset(l, begin) + 1, json_offset(l, end) - 1);
        arena_release(&scratch);
        return true;
}

static bool json_add_value(struct loader *l);

static bool add_collection(struct loader *l, char bracket)
{
        struct json *j = &l->json;
        uint32_t node = json_add(l, j->p, j->p + 1, bracket == '{' ? NODE_MAPPING : NODE_SEQUENCE, STYLE_FLOW);
        struct text key;
        if (node == DOC_NONE || !json_enter(j, bracket))
                return false;
        if (bracket == '{') {
                while (json_key(j, &key))
                        if (!json_add_string(l, key.p - 1, key.p + key.len + 1) || !json_add_value(l))
                                return false;
        } else {
                while (json_item(j))
                        if (!json_add_value(l))
                                return false;
        }
        l->d->node[node].skip = (uint32_t)l->d->nodes;
        l->d->node[node].end = (uint32_t)json_offset(l, j->p);
        return !j->error;
}

/* Recursive: the JSON reader's bound on nesting limits the depth. */
static bool json_add_value(struct loader *l)
{
        struct json *j = &l->json;
        char next = json_peek(j);
        if (next == '{' || next == '[')
                return add_collection(l, next);
        struct text raw = json_raw(j);
        if (j->error)
                return false;
        return next == '"' ? json_add_string(l, raw.p, raw.p + raw.len)
                           : json_add(l, raw.p, raw.p + raw.len, NODE_SCALAR, STYLE_PLAIN) != DOC_NONE;
}

/* The offset after leading white space and a "---" marker. */
static size_t content_begin(const struct doc *d, const struct part *part)
{
        size_t at = part->begin, end = part->begin + part->len;
        for (int marker = 0; marker < 2; marker++) {
                while (at < end && (is_blank(d->text[at]) || is_break(d->text[at])))
                        at++;
                if (marker == 0 && end - at > 3 && memcmp(d->text + at, "---", 3) == 0)
                        at += 3;
        }
        return at;
}

bool json_looks(const struct doc *d, const struct part *part)
{
        size_t at = content_begin(d, part);
        return at < part->begin + part->len && d->text[at] == '{';
}

static int json_load_part(struct loader *l, size_t end, document_found *found)
{
        const char *text = l->d->text;
        size_t at = l->at;
        while (at < end) {
                uint32_t root = (uint32_t)l->d->nodes;
                json_init(&l->json, text + at, end - at);
                if (!json_add_value(l)) {
                        walk_to(l, json_offset(l, l->json.p));
                        return l->json.error ? err_set(l->err, ERR_INVALID, "line %u, column %u: %s", l->line,
                                                       l->column, l->json.error)
                                             : l->err->code;
                }
                int rc = found(l->d, root, DOC_NONE, l->err);
                if (rc < 0)
                        return rc;
                at = json_offset(l, l->json.p);
                while (at < end && (is_blank(text[at]) || is_break(text[at])))
                        at++;
        }
        return 0;
}

int json_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err)
{
        struct loader l = {.d = d, .err = err, .at = part->begin, .line = part->line, .column = 1};
        size_t end = part->begin + part->len;
        walk_to(&l, content_begin(d, part));
        int rc = json_load_part(&l, end, found);
        *ret_at = l.json.p ? json_offset(&l, l.json.p) : part->begin;
        return rc;
}
