#include <assert.h>

#include "document_private.h"

static bool is_among(uint32_t key, const uint32_t *gone, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (gone[i] == key)
                        return true;
        return false;
}

static int fail_comment(struct edit *e, uint32_t key)
{
        return fail_at(e->d, key, e->err, "a comment would be removed as well");
}

static bool holds_comment(const struct doc *d, size_t from, size_t to)
{
        return memchr(d->text + from, '#', to - from) != NULL;
}

static bool is_literal(const struct doc *d, uint32_t leaf)
{
        return d->node[leaf].type == NODE_SCALAR && d->node[leaf].style == STYLE_LITERAL;
}

/* --- flow --- */

/* Drop one member and the comma after it. `tail`: no member after this one stays, so the comma before the member goes
 * instead. */
static int drop_member(struct edit *e, uint32_t key, uint32_t before, bool tail)
{
        struct doc *d = e->d;
        uint32_t value = node_next(d, key), next = node_next(d, value);
        size_t from = tail ? d->node[before].end : d->node[key].begin;
        size_t to = tail ? d->node[value].end : d->node[next].begin;
        if (holds_comment(d, from, d->node[key].begin) || (!tail && holds_comment(d, d->node[value].end, to)))
                return fail_comment(e, key);
        splice_add(d, from, to - from, tail ? space_behind(d, before) : TEXT(""));
        return 0;
}

static int drop_members(struct edit *e, uint32_t mapping)
{
        struct doc *d = e->d;
        const struct node *n = &d->node[mapping];
        size_t from = n->begin + 1, to = n->end - 1;
        for (uint32_t key = mapping + 1; key < n->skip; key = node_next(d, node_next(d, key))) {
                if (holds_comment(d, from, d->node[key].begin))
                        return fail_comment(e, key);
                from = d->node[node_next(d, key)].end;
        }
        if (d->text[n->begin] != '{' || holds_comment(d, from, to))
                return fail_at(d, mapping, e->err, "a mapping in this notation cannot be emptied");
        splice_add(d, n->begin + 1, to - (n->begin + 1), TEXT(""));
        return 0;
}

static int remove_flow(struct edit *e, uint32_t mapping, const uint32_t *gone, size_t n)
{
        struct doc *d = e->d;
        uint32_t end = d->node[mapping].skip, last_kept = DOC_NONE, before = DOC_NONE;
        int rc = 0;
        for (uint32_t key = mapping + 1; key < end; key = node_next(d, node_next(d, key)))
                last_kept = is_among(key, gone, n) ? last_kept : key;
        e->altered += (int)n;
        if (last_kept == DOC_NONE)
                return drop_members(e, mapping);
        for (uint32_t key = mapping + 1; key < end && rc == 0; key = node_next(d, node_next(d, key))) {
                if (is_among(key, gone, n))
                        rc = drop_member(e, key, before, key > last_kept);
                before = node_next(d, key);
        }
        return rc;
}

/* --- block --- */

static bool is_blank_line(const struct doc *d, size_t at)
{
        while (at < d->len && is_blank(d->text[at]))
                at++;
        return at < d->len && is_break(d->text[at]);
}

/*
 * Would the removal of a member change a literal scalar before the member? An indented comment after the member would
 * then become part of the literal, and so would blank lines if the literal keeps trailing ones.
 */
static bool changes_literal(const struct doc *d, uint32_t key, size_t end)
{
        uint32_t before = key - 1;
        size_t at = line_next(d, end);
        if (!is_literal(d, before))
                return false;
        if (end == d->len || (literal_keeps(d, &d->node[before]) && is_blank_line(d, at)))
                return true;
        while (is_blank_line(d, at))
                at = line_next(d, line_end(d, at));
        bool indented = at < d->len && is_blank(d->text[at]);
        while (at < d->len && is_blank(d->text[at]))
                at++;
        return indented && at < d->len && d->text[at] == '#';
}

/*
 * Drop the lines from the one that begins at `from` to the one that holds `end`. The break before these lines goes, and
 * the last line's own break stays, so that new members inserted at that line's end still come before a break.
 */
static void drop_lines(struct edit *e, size_t from, size_t end)
{
        const char *text = e->d->text;
        size_t to = line_end(e->d, end);
        assert(from > 0 && is_break(text[from - 1]));
        from -= from > 1 && text[from - 1] == '\n' && text[from - 2] == '\r' ? 2 : 1;
        splice_add(e->d, from, to - from, TEXT(""));
}

/* Is there a comment on its own line? A comment on the line of a removed member may go with the member. */
static bool holds_comment_line(const struct doc *d, size_t from, size_t to)
{
        size_t end = line_end(d, from);
        return end < to && holds_comment(d, end, to);
}

/* Remove all members before `kept` from a mapping that does not begin on a line of its own, such as an item ("- a: 1").
 * The member `kept` moves to the place of the first. */
static int remove_first(struct edit *e, uint32_t mapping, uint32_t kept)
{
        struct doc *d = e->d;
        uint32_t first = mapping + 1;
        if (!key_begins(d, first) || !key_begins(d, kept))
                return fail_at(d, first, e->err, "a key in this notation cannot be removed");
        for (uint32_t key = first; key < kept;) {
                uint32_t value = node_next(d, key), next = node_next(d, value);
                if (holds_comment_line(d, d->node[value].end, d->node[next].begin))
                        return fail_comment(e, key);
                key = next;
        }
        splice_add(d, d->node[first].begin, d->node[kept].begin - d->node[first].begin, TEXT(""));
        return 0;
}

static int remove_lines(struct edit *e, uint32_t key, struct text margin)
{
        struct doc *d = e->d;
        size_t end = d->node[node_next(d, key)].end;
        if (!key_begins(d, key))
                return fail_at(d, key, e->err, "a key in this notation cannot be removed");
        if (changes_literal(d, key, line_end(d, end)))
                return fail_at(d, key, e->err, "the block of text before this key would change");
        drop_lines(e, d->node[key].begin - margin.len, end);
        return 0;
}

/* Does the place begin a line, with a line break before it? False on the first line and after a byte order mark. */
static bool follows_break(const struct doc *d, size_t at, struct text *ret_margin)
{
        return line_begins(d, at, ret_margin) && ret_margin->p > d->text && is_break(ret_margin->p[-1]);
}

static bool any_comment_line(const struct doc *d, uint32_t mapping)
{
        uint32_t end = d->node[mapping].skip;
        for (uint32_t key = mapping + 1; key < end;) {
                uint32_t value = node_next(d, key), next = node_next(d, value);
                if (next < end && holds_comment_line(d, d->node[value].end, d->node[next].begin))
                        return true;
                key = next;
        }
        return false;
}

/* Remove all members; the mapping stays as {}. */
static int remove_all_members(struct edit *e, uint32_t mapping, uint32_t owner)
{
        struct doc *d = e->d;
        size_t from = d->node[mapping].begin, end = d->node[mapping].end;
        struct text margin;
        size_t colon = owner ? colon_behind(d, owner) : 0;
        if ((d->node[mapping].flags & NODE_ANCHORED) || is_literal(d, d->node[mapping].skip - 1) ||
            (owner && (colon == 0 || !follows_break(d, from, &margin))))
                return fail_at(d, mapping, e->err, "a mapping in this notation cannot be emptied");
        if (any_comment_line(d, mapping))
                return fail_comment(e, mapping);
        if (!owner) {
                splice_add(d, from, end - from, TEXT("{}"));
                return 0;
        }
        splice_add(d, colon, 0, TEXT(" {}"));
        drop_lines(e, from - margin.len, end);
        return 0;
}

static int remove_block(struct edit *e, uint32_t mapping, uint32_t owner, const uint32_t *gone, size_t n)
{
        struct doc *d = e->d;
        uint32_t end = d->node[mapping].skip, key = mapping + 1;
        struct text margin;
        int rc = 0;
        e->altered += (int)n;
        while (key < end && is_among(key, gone, n))
                key = node_next(d, node_next(d, key));
        if (key == end)
                return remove_all_members(e, mapping, owner);
        if (follows_break(d, d->node[mapping].begin, &margin))
                key = mapping + 1;
        else if (key > mapping + 1)
                rc = remove_first(e, mapping, key);
        for (; key < end && rc == 0; key = node_next(d, node_next(d, key)))
                if (is_among(key, gone, n))
                        rc = follows_break(d, d->node[key].begin, &margin)
                                     ? remove_lines(e, key, margin)
                                     : fail_at(d, key, e->err, "a key in this notation cannot be removed");
        return rc;
}

int remove_members(struct edit *e, uint32_t mapping, uint32_t owner, const uint32_t *gone, size_t n)
{
        return e->d->node[mapping].style == STYLE_FLOW ? remove_flow(e, mapping, gone, n)
                                                       : remove_block(e, mapping, owner, gone, n);
}
