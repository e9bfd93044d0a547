#include "document_private.h"

size_t line_end(const struct doc *d, size_t at)
{
        while (at < d->len && !is_break(d->text[at]))
                at++;
        return at;
}

size_t line_next(const struct doc *d, size_t end)
{
        if (end < d->len && d->text[end] == '\r')
                end++;
        else if (end < d->len)
                return end + 1;
        return end < d->len && d->text[end] == '\n' ? end + 1 : end;
}

/* Is the place at the start of the text, after a line break, or after a byte order mark? */
static bool line_is_begun(const struct doc *d, size_t at)
{
        return at == 0 || is_break(d->text[at - 1]) || (at >= 3 && memcmp(d->text + at - 3, "\xef\xbb\xbf", 3) == 0);
}

bool line_begins(const struct doc *d, size_t at, struct text *ret_margin)
{
        size_t from = at;
        while (from > 0 && is_blank(d->text[from - 1]))
                from--;
        *ret_margin = (struct text){d->text + from, at - from};
        return line_is_begun(d, from);
}

bool key_begins(const struct doc *d, uint32_t key)
{
        size_t at = d->node[key].begin;
        if (colon_behind(d, key) == 0)
                return false;
        while (at > 0 && (d->text[at - 1] == ' ' || d->text[at - 1] == '-'))
                at--;
        return line_is_begun(d, at);
}

struct text line_break(const struct doc *d, size_t at)
{
        size_t end = line_end(d, at);
        if (end == d->len) {
                while (end > 0 && !is_break(d->text[end - 1]))
                        end--;
                if (end == 0)
                        return TEXT("\n");
                end -= end > 1 && d->text[end - 1] == '\n' && d->text[end - 2] == '\r' ? 2 : 1;
        }
        return (struct text){d->text + end, line_next(d, end) - end};
}

size_t colon_behind(const struct doc *d, uint32_t key)
{
        size_t at = d->node[key].end;
        while (at < d->len && is_blank(d->text[at]))
                at++;
        return at < d->len && d->text[at] == ':' ? at + 1 : 0;
}

bool literal_keeps(const struct doc *d, const struct node *n)
{
        size_t end = line_end(d, n->begin);
        return (n->flags & (NODE_ANCHORED | NODE_TAGGED)) || memchr(d->text + n->begin, '+', end - n->begin);
}
