#include "document_private.h"

static const size_t BUF_MOST = SIZE_MAX / 4; /* bounded by the values given */

/* How new members are written, as those around them are. */
struct look {
        bool flow;
        bool lines, nested_lines; /* in flow: a member a line, also in mappings made within */
        struct spelling how;
        const char *colon, *comma;
        struct text eol;
        struct text margin, unit; /* what a line begins with, and what one level adds */
};

static struct text insert_spaces(struct edit *e, size_t count)
{
        char *p = arena_new(&e->scratch, count + 1);
        memset(p, ' ', count);
        return (struct text){p, count};
}

static struct look insert_deeper(struct edit *e, struct look look)
{
        if (look.flow && !look.lines)
                return look;
        size_t len = look.margin.len + look.unit.len;
        char *p = arena_new(&e->scratch, len + 1);
        memcpy(p, look.margin.p, look.margin.len);
        memcpy(p + look.margin.len, look.unit.p, look.unit.len);
        look.margin = (struct text){p, len};
        return look;
}

static void insert_put(struct buf *b, struct text t)
{
        if (t.len)
                buf_add(b, t.p, t.len);
}

static void spell_new(struct edit *e, struct buf *b, const struct doc_change *c, uint32_t neighbour,
                      const struct look *look)
{
        if (c->form == DOC_STRING)
                spell_string(b, c->value, STYLE_PLAIN, &look->how);
        else
                spell_quantity(b, e->d, c->value, neighbour, &look->how);
        e->altered++;
}

/* A line break and the members, each on its line; none behind the last. */
static void write_block(struct edit *e, struct buf *b, struct look look, struct change_set set, size_t depth,
                        uint32_t neighbour)
{
        for (size_t i = 0; i < set.count; i++) {
                bool first;
                struct change_set group = set_group(e, set, i, depth, &first);
                if (!first)
                        continue;
                insert_put(b, look.eol);
                insert_put(b, look.margin);
                spell_key(b, group.item[0]->path[depth].key, &look.how);
                buf_add_text(b, ":");
                if (group.item[0]->steps > depth + 1) {
                        write_block(e, b, insert_deeper(e, look), group, depth + 1, DOC_NONE);
                } else {
                        buf_add_text(b, " ");
                        spell_new(e, b, group.item[0], neighbour, &look);
                }
        }
}

static void write_braces(struct edit *e, struct buf *b, struct look look, struct change_set set, size_t depth);

/* Members with commas between, none before the first. */
static void write_flow(struct edit *e, struct buf *b, struct look look, struct change_set set, size_t depth,
                       uint32_t neighbour)
{
        for (size_t i = 0; i < set.count; i++) {
                bool first;
                struct change_set group = set_group(e, set, i, depth, &first);
                if (!first)
                        continue;
                if (i > 0)
                        buf_add_text(b, look.lines ? "," : look.comma);
                if (look.lines) {
                        insert_put(b, look.eol);
                        insert_put(b, look.margin);
                }
                spell_key(b, group.item[0]->path[depth].key, &look.how);
                buf_add_text(b, look.colon);
                if (group.item[0]->steps > depth + 1) {
                        struct look in = look;
                        in.lines = look.lines && look.nested_lines;
                        write_braces(e, b, in, group, depth + 1);
                } else {
                        spell_new(e, b, group.item[0], neighbour, &look);
                }
        }
}

/* look is that of the line on which the braces open. */
static void write_braces(struct edit *e, struct buf *b, struct look look, struct change_set set, size_t depth)
{
        buf_add_text(b, "{");
        write_flow(e, b, insert_deeper(e, look), set, depth, DOC_NONE);
        if (look.lines) {
                insert_put(b, look.eol);
                insert_put(b, look.margin);
        }
        buf_add_text(b, "}");
}

static bool holds_break(const struct doc *d, uint32_t node)
{
        const char *p = d->text + d->node[node].begin;
        size_t len = d->node[node].end - d->node[node].begin;
        return memchr(p, '\n', len) || memchr(p, '\r', len);
}

/* One level, by the margin of the closing brace. */
static struct text flow_unit(const struct doc *d, uint32_t mapping, struct text margin)
{
        struct text outer;
        if (line_begins(d, d->node[mapping].end - 1u, &outer) && outer.len < margin.len &&
            memcmp(outer.p, margin.p, outer.len) == 0)
                return (struct text){margin.p + outer.len, margin.len - outer.len};
        return margin.len && *margin.p == '\t' ? TEXT("\t") : TEXT("  ");
}

/* As the member of a flow mapping that begins with key is written. */
static struct look flow_look(const struct doc *d, uint32_t mapping, uint32_t key)
{
        const struct node *k = &d->node[key];
        struct look look = {.flow = true, .how = {k->flags & NODE_JSON, k->style == STYLE_DOUBLE}};
        size_t colon = colon_behind(d, key);
        bool tight = look.how.quoted && colon && !is_blank(d->text[colon]);
        bool first = key == mapping + 1;
        look.colon = tight ? ":" : ": ";
        look.comma = (first ? tight : !is_blank(d->text[k->begin - 1])) ? "," : ", ";
        look.lines = line_begins(d, k->begin, &look.margin) && d->node[mapping].line < k->line;
        if (look.lines) {
                look.eol = line_break(d, k->begin);
                look.unit = flow_unit(d, mapping, look.margin);
        }
        return look;
}

/* Mappings made beside one that is on one line are on one too. */
static bool nests_lines(const struct doc *d, const struct look *look, uint32_t value)
{
        const struct node *n = &d->node[value];
        return look->lines && !(n->type == NODE_MAPPING && n->skip > value + 1 && !holds_break(d, value));
}

static int insert_flow(struct edit *e, struct spot at, uint32_t last, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, last);
        struct look look = flow_look(d, at.mapping, last);
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        look.nested_lines = nests_lines(d, &look, value);
        write_flow(e, &b, look, set, depth, value);
        size_t end = d->node[value].end, behind = end;
        while (behind < d->len && is_blank(d->text[behind]))
                behind++;
        bool comment = look.lines && behind < d->len && d->text[behind] == '#'; /* that stays on its line */
        splice_add(d, end, 0, space_behind(d, value));
        splice_add(d, end, 0, look.lines ? TEXT(",") : text_of(look.comma));
        splice_add(d, comment ? line_end(d, behind) : end, 0, buf_text(&b));
        return 0;
}

/* --- block --- */

/* Does the text end in a literal without a line break? One more line would add a break to its value. */
static bool ends_in_literal(const struct doc *d, uint32_t value)
{
        uint32_t leaf = node_next(d, value) - 1;
        return d->node[leaf].type == NODE_SCALAR && d->node[leaf].style == STYLE_LITERAL && d->node[leaf].end == d->len;
}

/* As the member of a block mapping that begins with key is written. */
static struct look block_look(struct edit *e, struct spot at, uint32_t key, size_t end)
{
        return (struct look){.how.quoted = e->d->node[key].style == STYLE_DOUBLE,
                             .eol = line_break(e->d, end),
                             .margin = insert_spaces(e, e->d->node[key].column - 1),
                             .unit = insert_spaces(e, (size_t)at.step)};
}

static void put_block(struct edit *e, const struct look *look, size_t end, struct change_set set, size_t depth,
                      uint32_t neighbour)
{
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        write_block(e, &b, *look, set, depth, neighbour);
        splice_add(e->d, end, 0, buf_text(&b));
}

static int insert_behind(struct edit *e, struct spot at, uint32_t last, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, last);
        if (!key_begins(d, last))
                return fail_at(d, last, e->err, "a key written like this (?) is not edited");
        if (ends_in_literal(d, value))
                return fail_at(d, last, e->err, "the text ends in a block of text without a line break: add one");
        size_t end = line_end(d, d->node[value].end);
        struct look look = block_look(e, at, last, end);
        put_block(e, &look, end, set, depth, value);
        return 0;
}

/*
 * People write `metadata` before `spec`. Where that has a line of its own, and no comment or blank line above that
 * belongs to it: the end of the line above, else 0.
 */
static size_t above_spec(const struct doc *d, uint32_t mapping, uint32_t *ret_spec)
{
        struct text margin;
        size_t end, begin;
        if (member_find(d, mapping, TEXT("spec"), ret_spec, NULL) < 0 || *ret_spec == DOC_NONE ||
            !line_begins(d, d->node[*ret_spec].begin, &margin) || margin.p == d->text || !is_break(margin.p[-1]))
                return 0;
        end = (size_t)(margin.p - d->text) - 1;
        end -= end > 0 && d->text[end] == '\n' && d->text[end - 1] == '\r';
        begin = end;
        while (begin > 0 && !is_break(d->text[begin - 1]))
                begin--;
        while (begin < end && is_blank(d->text[begin]))
                begin++;
        return begin < end && d->text[begin] != '#' ? end : 0;
}

static int insert_block(struct edit *e, struct spot at, uint32_t last, struct change_set set, size_t depth)
{
        uint32_t spec;
        size_t above = above_spec(e->d, at.mapping, &spec);
        struct change_set early = set_new(e, set.count), late = set_new(e, set.count);
        for (size_t i = 0; i < set.count; i++) {
                bool is_early = above && text_is(set.item[i]->path[depth].key, "metadata");
                struct change_set *to = is_early ? &early : &late;
                to->item[to->count++] = set.item[i];
        }
        if (early.count) {
                struct look look = block_look(e, at, spec, above);
                put_block(e, &look, above, early, depth, DOC_NONE);
        }
        return late.count ? insert_behind(e, at, last, late, depth) : 0;
}

int insert_members(struct edit *e, struct spot at, uint32_t last, struct change_set set, size_t depth)
{
        bool flow = e->d->node[at.mapping].style == STYLE_FLOW;
        return (flow ? insert_flow : insert_block)(e, at, last, set, depth);
}

/* --- in an empty place --- */

/* Is it nothing, a word for null, or braces with white space alone within? */
static bool is_hollow(const struct doc *d, uint32_t value)
{
        const struct node *n = &d->node[value];
        if (n->type != NODE_MAPPING)
                return true;
        for (size_t i = n->begin + 1; i + 1 < n->end; i++)
                if (!is_blank(d->text[i]) && !is_break(d->text[i]))
                        return false;
        return d->text[n->begin] == '{';
}

/* The step from a block mapping to the ones in it, where it has one. */
static int step_within(const struct doc *d, struct spot at)
{
        uint32_t mapping = at.mapping;
        for (uint32_t key = mapping + 1; key < d->node[mapping].skip; key = node_next(d, node_next(d, key))) {
                uint32_t value = node_next(d, key);
                if (d->node[value].type == NODE_MAPPING && d->node[value].style == STYLE_BLOCK &&
                    d->node[value + 1].column > d->node[key].column)
                        return (int)(d->node[value + 1].column - d->node[key].column);
        }
        return at.step;
}

/* What stands behind the colon goes, a comment there stays, and the members follow on lines of their own. */
static int fill_block(struct edit *e, struct spot at, uint32_t key, size_t colon, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, key);
        size_t behind = d->node[value].end;
        bool apart = behind == d->len || is_blank(d->text[behind]) || is_break(d->text[behind]);
        if (d->node[value].line != d->node[key].line || !apart || !key_begins(d, key))
                return fail_at(d, value, e->err, "an empty value written like this is not filled");
        struct look look = block_look(e, (struct spot){at.mapping, step_within(d, at)}, key, behind);
        look = insert_deeper(e, look);
        if (behind > colon)
                splice_add(d, colon, behind - colon, TEXT(""));
        put_block(e, &look, line_end(d, behind), set, depth, DOC_NONE);
        return 0;
}

static int fill_flow(struct edit *e, struct spot at, uint32_t key, size_t colon, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        const struct node *n = &d->node[node_next(d, key)];
        struct look look = flow_look(d, at.mapping, key);
        if (n->begin == n->end && n->begin != colon)
                return fail_at(d, key, e->err, "an empty value written like this is not filled");
        look.nested_lines = look.lines;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        if (n->begin == n->end)
                buf_add_text(&b, " ");
        write_braces(e, &b, look, set, depth);
        splice_add(d, n->begin, n->end - n->begin, buf_text(&b));
        return 0;
}

int insert_mapping(struct edit *e, struct spot at, uint32_t key, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        size_t colon = colon_behind(d, key);
        if (colon == 0 || !is_hollow(d, node_next(d, key)))
                return fail_at(d, key, e->err, "an empty value written like this is not filled");
        bool flow = d->node[at.mapping].style == STYLE_FLOW;
        return (flow ? fill_flow : fill_block)(e, at, key, colon, set, depth);
}

/* --- scalars --- */

/* Is what stands there already what is wanted? */
static bool is_so(const struct doc *d, uint32_t value, const struct doc_change *c)
{
        enum doc_type type = doc_type(d, value);
        return (type == DOC_TEXT || (type == DOC_NUMBER && c->form == DOC_QUANTITY)) &&
               text_equal(doc_text(d, value), c->value);
}

static const char *why_not_replaced(const struct doc *d, const struct node *n)
{
        struct text raw = {d->text + n->begin, n->end - n->begin};
        return n->type != NODE_SCALAR                                   ? "a collection, where a text is expected"
               : n->flags & NODE_ANCHORED                               ? "a value with an anchor"
               : n->flags & NODE_MULTILINE                              ? "a text of several lines"
               : text_templated(raw) || memmem(raw.p, raw.len, "${", 2) ? "templated text"
                                                                        : NULL;
}

int replace_scalar(struct edit *e, uint32_t key, uint32_t value, const struct doc_change *c)
{
        struct doc *d = e->d;
        const struct node *n = &d->node[value];
        if (n->type == NODE_SCALAR && is_so(d, value, c))
                return 0;
        const char *why = why_not_replaced(d, n);
        bool implicit = n->begin == n->end;
        if (why)
                return fail_at(d, value, e->err, "%s is not replaced", why);
        if (implicit && (key == DOC_NONE || colon_behind(d, key) != n->begin))
                return fail_at(d, value, e->err, "an empty value written like this is not filled");
        struct spelling how = {.json = n->flags & NODE_JSON, .quoted = key && d->node[key].style == STYLE_DOUBLE};
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        if (implicit)
                buf_add_text(&b, " ");
        uint32_t model = doc_type(d, value) == DOC_NULL ? DOC_NONE : value;
        if (c->form == DOC_STRING)
                spell_string(&b, c->value, n->style, &how);
        else
                spell_quantity(&b, d, c->value, model, &how);
        splice_add(d, n->begin, n->end - n->begin, buf_text(&b));
        e->altered++;
        return 0;
}
