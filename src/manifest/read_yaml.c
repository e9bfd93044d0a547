#include <stdarg.h>
#include <stdio.h>
#include <yaml.h>

#include "base/map.h"
#include "document_private.h"

/* A collection whose end has not been read yet. */
struct frame {
        uint32_t node;
        uint32_t children; /* keys, values and items so far */
};

struct loader {
        struct doc *d;
        const struct part *part;
        struct err *err;
        yaml_parser_t parser;
        struct frame open[DOC_DEPTH_MAX];
        int depth, flow;
        struct map anchors; /* name -> struct anchor, which is in the arena */
        struct arena arena;
        bool ascii;             /* all text is ASCII, so a mark's character index is also its byte offset */
        size_t seen, seen_byte; /* the character index last asked for, and its byte offset */
        size_t last_end;        /* end of the last node read, without white space and comments after it */
        uint32_t root, templated;
        size_t failed_at;
};

struct anchor {
        uint32_t node;
};

/* --- places: libyaml counts characters --- */

static bool is_within(char c)
{
        return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t byte_of(struct loader *l, yaml_mark_t mark)
{
        if (l->ascii)
                return l->part->begin + mark.index;
        const char *text = l->d->text;
        size_t end = l->part->begin + l->part->len;
        for (; l->seen < mark.index && l->seen_byte < end; l->seen++)
                do
                        l->seen_byte++;
                while (l->seen_byte < end && is_within(text[l->seen_byte]));
        for (; l->seen > mark.index; l->seen--)
                do
                        l->seen_byte--;
                while (is_within(text[l->seen_byte]));
        return l->seen_byte;
}

static bool is_ascii(const char *p, size_t len)
{
        unsigned char all = 0;
        for (size_t i = 0; i < len; i++)
                all |= (unsigned char)p[i];
        return all < 0x80;
}

static int fail_mark(struct loader *l, yaml_mark_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail_mark(struct loader *l, yaml_mark_t at, const char *fmt, ...)
{
        char why[256];
        va_list args;
        va_start(args, fmt);
        vsnprintf(why, sizeof why, fmt, args);
        va_end(args);
        l->failed_at = byte_of(l, at);
        return err_set(l->err, ERR_INVALID, "line %zu, column %zu: %s", l->part->line + at.line, at.column + 1, why);
}

/* --- nodes --- */

static bool read_yaml_wants_key(const struct loader *l)
{
        if (l->depth == 0)
                return false;
        const struct frame *in = &l->open[l->depth - 1];
        return l->d->node[in->node].type == NODE_MAPPING && in->children % 2 == 0;
}

static uint32_t yaml_add(struct loader *l, const yaml_event_t *e, enum node_type type, enum node_style style,
                         unsigned flags)
{
        yaml_mark_t at = e->start_mark;
        struct node n = {.begin = (uint32_t)byte_of(l, at),
                         .line = l->part->line + (uint32_t)at.line,
                         .column = (uint32_t)at.column + 1,
                         .type = (uint8_t)type,
                         .style = (uint8_t)style,
                         .flags = (uint8_t)flags};
        n.end = n.begin;
        uint32_t node = node_add(l->d, n, l->err);
        if (node == DOC_NONE)
                return DOC_NONE;
        if (l->depth > 0)
                l->open[l->depth - 1].children++;
        else
                l->root = node;
        return node;
}

static void anchor_put(struct loader *l, const yaml_char_t *name, uint32_t node)
{
        if (!name)
                return;
        struct text key = text_of((const char *)name);
        struct anchor *a = map_get(&l->anchors, key);
        if (!a) {
                a = arena_new(&l->arena, sizeof *a);
                key.p = arena_text(&l->arena, key);
                map_put(&l->anchors, key, a);
        }
        a->node = node;
        l->d->node[node].flags |= NODE_ANCHORED;
}

static unsigned tag_flags(const yaml_char_t *tag)
{
        if (!tag)
                return 0;
        const char *s = (const char *)tag;
        return NODE_TAGGED | (strcmp(s, YAML_STR_TAG) == 0 || strcmp(s, "!") == 0 ? NODE_STRING : 0u);
}

/*
 * libyaml reports an empty value at the token before or after it. Place it after the last indicator instead (the colon
 * or dash that it belongs to), or where the last node ended.
 */
static size_t empty_begin(const struct loader *l, size_t at)
{
        const char *text = l->d->text;
        size_t found = l->last_end < at ? l->last_end : at;
        for (size_t i = found; i < at; i++) {
                if (text[i] == '#')
                        i = line_end(l->d, i);
                else if (!is_blank(text[i]) && !is_break(text[i]))
                        found = i + 1;
        }
        return found;
}

/* Where a literal's last line ends, without its break, and without blank lines unless they belong to the value. */
static size_t literal_end(const struct loader *l, const struct node *n, size_t end)
{
        const char *text = l->d->text;
        bool keeps = literal_keeps(l->d, n);
        for (;;) {
                size_t cut = end;
                if (cut > n->begin && text[cut - 1] == '\n')
                        cut--;
                if (cut > n->begin && text[cut - 1] == '\r')
                        cut--;
                if (cut == end)
                        return end;
                size_t blank = cut;
                while (blank > n->begin && is_blank(text[blank - 1]))
                        blank--;
                end = cut;
                if (keeps || blank == n->begin || !is_break(text[blank - 1]))
                        return end;
                end = blank;
        }
}

static enum node_style scalar_style(yaml_scalar_style_t style)
{
        return style == YAML_SINGLE_QUOTED_SCALAR_STYLE                                  ? STYLE_SINGLE
               : style == YAML_DOUBLE_QUOTED_SCALAR_STYLE                                ? STYLE_DOUBLE
               : style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE ? STYLE_LITERAL
                                                                                         : STYLE_PLAIN;
}

static int read_yaml_on_scalar(struct loader *l, const yaml_event_t *e)
{
        enum node_style style = scalar_style(e->data.scalar.style);
        unsigned flags = tag_flags(e->data.scalar.tag) |
                         (e->start_mark.line != e->end_mark.line || style == STYLE_LITERAL ? NODE_MULTILINE : 0u);
        uint32_t node = yaml_add(l, e, NODE_SCALAR, style, flags);
        if (node == DOC_NONE)
                return l->err->code;
        anchor_put(l, e->data.scalar.anchor, node);
        struct node *n = &l->d->node[node];
        size_t end = byte_of(l, e->end_mark);
        if (end == n->begin)
                end = n->begin = (uint32_t)empty_begin(l, n->begin);
        if (style == STYLE_LITERAL)
                end = literal_end(l, n, end);
        n->end = (uint32_t)end;
        l->last_end = end;
        unsigned quotes = style == STYLE_SINGLE || style == STYLE_DOUBLE;
        node_set_value(l->d, node, (struct text){(const char *)e->data.scalar.value, e->data.scalar.length},
                       n->begin + quotes, end >= quotes ? end - quotes : 0);
        return 0;
}

static int read_yaml_on_alias(struct loader *l, const yaml_event_t *e)
{
        struct text name = text_of((const char *)e->data.alias.anchor);
        const struct anchor *a = map_get(&l->anchors, name);
        if (!a)
                return fail_mark(l, e->start_mark, "alias '%.64s' has no anchor before it", name.p);
        if (l->d->node[a->node].flags & NODE_OPEN)
                return fail_mark(l, e->start_mark, "the value of anchor '%.64s' holds itself", name.p);
        uint32_t node = yaml_add(l, e, NODE_ALIAS, STYLE_PLAIN, 0);
        if (node == DOC_NONE)
                return l->err->code;
        l->d->node[a->node].flags |= NODE_SHARED;
        l->d->node[node].of = a->node;
        l->d->node[node].end = (uint32_t)byte_of(l, e->end_mark);
        l->last_end = l->d->node[node].end;
        return 0;
}

/* Whether a template begins at this event. To YAML "{{ x }}" is a mapping whose key is a mapping, which no manifest
 * means. */
static bool begins_template(const struct loader *l, const yaml_event_t *e, size_t begin)
{
        return e->type == YAML_MAPPING_START_EVENT && read_yaml_wants_key(l) && begin > l->part->begin &&
               l->d->text[begin - 1] == '{' && l->d->text[begin] == '{';
}

static int read_yaml_on_begin(struct loader *l, const yaml_event_t *e, enum node_type type, bool flow,
                              const yaml_char_t *anchor, const yaml_char_t *tag)
{
        if (l->depth == DOC_DEPTH_MAX)
                return fail_mark(l, e->start_mark, "values are nested more than %d deep", DOC_DEPTH_MAX);
        if (flow && l->flow == DOC_FLOW_MAX)
                return fail_mark(l, e->start_mark, "brackets are nested more than %d deep", DOC_FLOW_MAX);
        l->flow += flow;
        bool templated = begins_template(l, e, byte_of(l, e->start_mark));
        uint32_t node = yaml_add(l, e, type, flow ? STYLE_FLOW : STYLE_BLOCK, tag_flags(tag) | NODE_OPEN);
        if (node == DOC_NONE)
                return l->err->code;
        anchor_put(l, anchor, node);
        if (templated && l->templated == DOC_NONE)
                l->templated = node;
        l->last_end = l->d->node[node].begin;
        l->open[l->depth++] = (struct frame){.node = node};
        return 0;
}

static void read_yaml_on_end(struct loader *l, const yaml_event_t *e)
{
        struct node *n = &l->d->node[l->open[--l->depth].node];
        l->flow -= n->style == STYLE_FLOW;
        n->skip = (uint32_t)l->d->nodes;
        n->flags &= (uint8_t)~NODE_OPEN;
        n->end = (uint32_t)(n->style == STYLE_FLOW ? byte_of(l, e->end_mark) : l->last_end);
        l->last_end = n->end;
}

/* --- documents --- */

static void document_begin(struct loader *l)
{
        map_release(&l->anchors);
        arena_reset(&l->arena);
        l->root = l->templated = DOC_NONE;
        l->last_end = l->part->begin;
}

static int read_yaml_on_event(struct loader *l, const yaml_event_t *e, document_found *found)
{
        switch (e->type) {
        case YAML_DOCUMENT_START_EVENT:
                document_begin(l);
                return 0;
        case YAML_DOCUMENT_END_EVENT:
                return found(l->d, l->root, l->templated, l->err);
        case YAML_SCALAR_EVENT:
                return read_yaml_on_scalar(l, e);
        case YAML_ALIAS_EVENT:
                return read_yaml_on_alias(l, e);
        case YAML_MAPPING_START_EVENT:
                return read_yaml_on_begin(l, e, NODE_MAPPING, e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                                          e->data.mapping_start.anchor, e->data.mapping_start.tag);
        case YAML_SEQUENCE_START_EVENT:
                return read_yaml_on_begin(l, e, NODE_SEQUENCE, e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
                                          e->data.sequence_start.anchor, e->data.sequence_start.tag);
        case YAML_MAPPING_END_EVENT:
        case YAML_SEQUENCE_END_EVENT:
                read_yaml_on_end(l, e);
                return 0;
        default:
                return 0;
        }
}

/* libyaml's byte reader reports only an offset: count line and column up to it. */
static int reader_failed(struct loader *l)
{
        const char *text = l->d->text + l->part->begin;
        size_t offset = l->parser.problem_offset < l->part->len ? l->parser.problem_offset : l->part->len;
        yaml_mark_t at = {0};
        size_t line = 0;
        for (size_t i = 0; i < offset; i++) {
                at.index += !is_within(text[i]);
                if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == l->part->len || text[i + 1] != '\n'))) {
                        at.line++;
                        line = i + 1;
                }
        }
        for (size_t i = line; i < offset; i++)
                at.column += !is_within(text[i]);
        return fail_mark(l, at, "%s", l->parser.problem ? l->parser.problem : "it cannot be read");
}

static int read_yaml_parser_failed(struct loader *l)
{
        const yaml_parser_t *p = &l->parser;
        const char *what = p->problem ? p->problem : "it cannot be read";
        if (p->error == YAML_READER_ERROR)
                return reader_failed(l);
        size_t at = byte_of(l, p->problem_mark);
        if (p->error == YAML_SCANNER_ERROR && at < l->d->len && l->d->text[at] == '\t')
                return fail_mark(l, p->problem_mark, "a tab, where only spaces may indent");
        if (!p->context)
                return fail_mark(l, p->problem_mark, "%s", what);
        if (p->context_mark.line == p->problem_mark.line)
                return fail_mark(l, p->problem_mark, "%s %s", what, p->context);
        return fail_mark(l, p->problem_mark, "%s %s that begins in line %zu", what, p->context,
                         l->part->line + p->context_mark.line);
}

static int yaml_load_part(struct loader *l, document_found *found)
{
        for (;;) {
                yaml_event_t event;
                if (!yaml_parser_parse(&l->parser, &event))
                        return read_yaml_parser_failed(l);
                yaml_event_type_t type = event.type;
                int rc = read_yaml_on_event(l, &event, found);
                yaml_event_delete(&event);
                if (rc < 0 || type == YAML_STREAM_END_EVENT || type == YAML_NO_EVENT)
                        return rc;
        }
}

int yaml_load(struct doc *d, const struct part *part, document_found *found, size_t *ret_at, struct err *err)
{
        const char *text = d->text + part->begin;
        struct loader l = {.d = d,
                           .part = part,
                           .err = err,
                           .ascii = is_ascii(text, part->len),
                           .seen_byte = part->begin,
                           .failed_at = part->begin};
        if (!yaml_parser_initialize(&l.parser))
                return err_set(err, ERR_NOSPACE, "no memory for a YAML parser");
        yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&l.parser, (const unsigned char *)text, part->len);
        int rc = yaml_load_part(&l, found);
        yaml_parser_delete(&l.parser);
        map_release(&l.anchors);
        arena_release(&l.arena);
        *ret_at = l.failed_at;
        return rc;
}
