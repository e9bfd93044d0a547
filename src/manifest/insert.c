#include "document_private.h"

/* A buffer without a limit of its own: the caller's values bound its size. */
static const size_t BUF_MOST = SIZE_MAX / 4;

/* The layout of new members, taken from the members around them. */
struct look {
        bool flow;
        bool lines, nested_lines; /* flow only: each member on its own line; the same in new mappings within */
        struct quoting how;
        const char *colon, *comma;
        struct text eol;
        struct text margin, unit; /* the indentation of a line, and what one more level adds to it */
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

static void quote_new(struct edit *e, struct buf *b, const struct doc_change *c, uint32_t neighbour,
                      const struct look *look)
{
        if (c->form == DOC_STRING)
                quote_string(b, c->value, STYLE_PLAIN, &look->how);
        else
                quote_quantity(b, e->d, c->value, neighbour, &look->how);
        e->altered++;
}

/* Write members on lines of their own. A line break precedes each; none follows the last. */
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
                quote_key(b, group.item[0]->path[depth].key, &look.how);
                buf_add_text(b, ":");
                if (group.item[0]->steps > depth + 1) {
                        write_block(e, b, insert_deeper(e, look), group, depth + 1, DOC_NONE);
                } else {
                        buf_add_text(b, " ");
                        quote_new(e, b, group.item[0], neighbour, &look);
                }
        }
}

static void write_braces(struct edit *e, struct buf *b, struct look look, struct change_set set, size_t depth);

/* Write members separated by commas. */
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
                quote_key(b, group.item[0]->path[depth].key, &look.how);
                buf_add_text(b, look.colon);
                if (group.item[0]->steps > depth + 1) {
                        struct look in = look;
                        in.lines = look.lines && look.nested_lines;
                        write_braces(e, b, in, group, depth + 1);
                } else {
                        quote_new(e, b, group.item[0], neighbour, &look);
                }
        }
}

/* Write a new mapping in braces. `look` is the layout of the line with the opening brace. */
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

/* One level of indentation: what `margin` has beyond the margin of the closing brace, else a tab or two spaces. */
static struct text flow_unit(const struct doc *d, uint32_t mapping, struct text margin)
{
        struct text outer;
        if (line_begins(d, d->node[mapping].end - 1u, &outer) && outer.len < margin.len &&
            memcmp(outer.p, margin.p, outer.len) == 0)
                return (struct text){margin.p + outer.len, margin.len - outer.len};
        return margin.len && *margin.p == '\t' ? TEXT("\t") : TEXT("  ");
}

/* The layout of the member with this key in a flow mapping. */
static struct look flow_look(const struct doc *d, uint32_t mapping, uint32_t key)
{
        const struct node *k = &d->node[key];
        struct look look = {.flow = true, .how = {k->flags & NODE_JSON, k->style == STYLE_DOUBLE}};
        size_t colon = colon_behind(d, key);
        bool tight = look.how.quoted && colon && !is_blank(d->text[colon]) && !is_break(d->text[colon]);
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

/* Should new nested mappings take several lines? Not if the neighbouring mapping value is on a single line. */
static bool nests_lines(const struct doc *d, const struct look *look, uint32_t value)
{
        const struct node *n = &d->node[value];
        return look->lines && !(n->type == NODE_MAPPING && n->skip > value + 1 && !holds_break(d, value));
}

static int insert_flow(struct edit *e, struct insertion_point at, uint32_t last, struct change_set set, size_t depth)
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
        /* A comment stays on the line of its value, so new members go to the end of that line. */
        bool comment = look.lines && behind < d->len && d->text[behind] == '#';
        splice_add(d, end, 0, space_behind(d, value));
        splice_add(d, end, 0, look.lines ? TEXT(",") : text_of(look.comma));
        splice_add(d, comment ? line_end(d, behind) : end, 0, buf_text(&b));
        return 0;
}

/* --- block --- */

/* Does the text end in a literal scalar without a line break? A new line after the scalar would add a break to the
 * scalar's value. */
static bool ends_in_literal(const struct doc *d, uint32_t value)
{
        uint32_t leaf = node_next(d, value) - 1;
        return d->node[leaf].type == NODE_SCALAR && d->node[leaf].style == STYLE_LITERAL && d->node[leaf].end == d->len;
}

/* The layout of the member with this key in a block mapping. */
static struct look block_look(struct edit *e, struct insertion_point at, uint32_t key, size_t end)
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

/* The end of the last of the blank lines after `end` that has a tab; `end`: none has. New members go below such lines:
 * YAML reads the lines as part of a plain value above, but refuses them after a deeper line. */
static size_t behind_tabs(const struct doc *d, size_t end)
{
        size_t last = end;
        for (size_t begin = line_next(d, end); begin < d->len; begin = line_next(d, end)) {
                bool tab = false;
                end = line_end(d, begin);
                for (size_t i = begin; i < end; i++) {
                        if (!is_blank(d->text[i]))
                                return last;
                        tab |= d->text[i] == '\t';
                }
                if (tab)
                        last = end;
        }
        return last;
}

static int insert_behind(struct edit *e, struct insertion_point at, uint32_t last, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, last);
        if (!key_begins(d, last))
                return fail_at(d, last, e->err, "members cannot be added after a key in this notation");
        if (ends_in_literal(d, value))
                return fail_at(d, last, e->err, "the text ends in a block of text without a line break: add one");
        size_t end = behind_tabs(d, line_end(d, d->node[value].end));
        struct look look = block_look(e, at, last, end);
        put_block(e, &look, end, set, depth, value);
        return 0;
}

/*
 * The place for a new `metadata`, which people write before `spec`: the end of the line above `spec`. Returns 0 if
 * `spec` does not begin a line, or if the line above is blank or a comment, which may belong to `spec`.
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

static int insert_block(struct edit *e, struct insertion_point at, uint32_t last, struct change_set set, size_t depth)
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

int insert_members(struct edit *e, struct insertion_point at, uint32_t last, struct change_set set, size_t depth)
{
        bool flow = e->d->node[at.mapping].style == STYLE_FLOW;
        return (flow ? insert_flow : insert_block)(e, at, last, set, depth);
}

/* --- in an empty place --- */

/* Is the value empty, a word for null, or a pair of brackets with only white space between them? */
static bool is_hollow(const struct doc *d, uint32_t value)
{
        const struct node *n = &d->node[value];
        if (n->type == NODE_SCALAR)
                return true;
        for (size_t i = n->begin + 1; i + 1 < n->end; i++)
                if (!is_blank(d->text[i]) && !is_break(d->text[i]))
                        return false;
        return d->text[n->begin] == (n->type == NODE_MAPPING ? '{' : '[');
}

/* The indentation step from a block mapping to the first block mapping within it; at.step if it has none. */
static int step_within(const struct doc *d, struct insertion_point at)
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

/* Does only white space follow the place on its line? */
static bool line_ends(const struct doc *d, size_t at)
{
        while (at < d->len && is_blank(d->text[at]))
                at++;
        return at == d->len || is_break(d->text[at]);
}

/*
 * Find the text to drop with an empty value, without any comment. *ret_drop: the value with the blanks before it or, if
 * the value is alone on a line below its key, that line with the break before the line. False if the notation is
 * another one.
 */
static bool hollow_extent(const struct doc *d, uint32_t key, size_t colon, struct text *ret_drop)
{
        const struct node *n = &d->node[node_next(d, key)];
        size_t from = colon, to = n->end;
        struct text margin;
        if (to < d->len && !is_blank(d->text[to]) && !is_break(d->text[to]))
                return false;
        if (n->line != d->node[key].line) {
                if (!line_begins(d, n->begin, &margin))
                        return false;
                from = n->begin;
                if (line_ends(d, to)) {
                        from = (size_t)(margin.p - d->text);
                        from -= from > 1 && d->text[from - 1] == '\n' && d->text[from - 2] == '\r' ? 2 : 1;
                        to = line_end(d, to);
                } else {
                        while (is_blank(d->text[to]))
                                to++;
                }
        }
        *ret_drop = (struct text){d->text + from, to - from};
        return true;
}

/* Replace an empty value by new members, below the value's comment. Blank lines with tabs are dropped: YAML accepts
 * them after a null, but refuses them after a mapping. */
static int fill_block(struct edit *e, struct insertion_point at, uint32_t key, size_t colon, struct change_set set,
                      size_t depth)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, key);
        struct text drop;
        if (!key_begins(d, key) || !hollow_extent(d, key, colon, &drop))
                return fail_at(d, value, e->err, "an empty value in this notation cannot be filled");
        size_t behind = d->node[value].end, end = line_end(d, behind), tabs = behind_tabs(d, end);
        struct look look = block_look(e, (struct insertion_point){at.mapping, step_within(d, at)}, key, behind);
        look = insert_deeper(e, look);
        if (drop.len)
                splice_add(d, (size_t)(drop.p - d->text), drop.len, TEXT(""));
        if (tabs > end)
                splice_add(d, end, tabs - end, TEXT(""));
        put_block(e, &look, tabs, set, depth, DOC_NONE);
        return 0;
}

static int fill_flow(struct edit *e, struct insertion_point at, uint32_t key, size_t colon, struct change_set set,
                     size_t depth)
{
        struct doc *d = e->d;
        const struct node *n = &d->node[node_next(d, key)];
        struct look look = flow_look(d, at.mapping, key);
        if (n->begin == n->end && n->begin != colon)
                return fail_at(d, key, e->err, "an empty value in this notation cannot be filled");
        look.nested_lines = look.lines;
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        if (n->begin == n->end)
                buf_add_text(&b, " ");
        write_braces(e, &b, look, set, depth);
        splice_add(d, n->begin, n->end - n->begin, buf_text(&b));
        return 0;
}

int insert_mapping(struct edit *e, struct insertion_point at, uint32_t key, struct change_set set, size_t depth)
{
        struct doc *d = e->d;
        size_t colon = colon_behind(d, key);
        if (colon == 0 || !is_hollow(d, node_next(d, key)))
                return fail_at(d, key, e->err, "an empty value in this notation cannot be filled");
        bool flow = d->node[at.mapping].style == STYLE_FLOW;
        return (flow ? fill_flow : fill_block)(e, at, key, colon, set, depth);
}

/* --- scalars --- */

/* Is the present value already the one that the change sets? */
static bool is_so(const struct doc *d, uint32_t value, const struct doc_change *c)
{
        enum doc_type type = doc_type(d, value);
        return (type == DOC_TEXT || (type == DOC_NUMBER && c->form == DOC_QUANTITY)) &&
               text_equal(doc_text(d, value), c->value);
}

static const char *why_not_replaced(const struct doc *d, const struct node *n)
{
        struct text raw = {d->text + n->begin, n->end - n->begin};
        return n->type != NODE_SCALAR                                   ? "a collection"
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
                return fail_at(d, value, e->err, "%s cannot be replaced", why);
        if (implicit && (key == DOC_NONE || colon_behind(d, key) != n->begin))
                return fail_at(d, value, e->err, "an empty value in this notation cannot be filled");
        struct quoting how = {.json = n->flags & NODE_JSON, .quoted = key && d->node[key].style == STYLE_DOUBLE};
        struct buf b __attribute__((cleanup(buf_release_auto)));
        buf_init(&b, BUF_MOST);
        if (implicit)
                buf_add_text(&b, " ");
        uint32_t model = doc_type(d, value) == DOC_NULL ? DOC_NONE : value;
        if (c->form == DOC_STRING)
                quote_string(&b, c->value, n->style, &how);
        else
                quote_quantity(&b, d, c->value, model, &how);
        splice_add(d, n->begin, n->end - n->begin, buf_text(&b));
        e->altered++;
        return 0;
}
