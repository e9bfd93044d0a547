#include "document_private.h"

static const char bom[] = "\xef\xbb\xbf";

static size_t skip_bom(const char *text, size_t len, size_t at)
{
        return len - at >= 3 && memcmp(text + at, bom, 3) == 0 ? at + 3 : at;
}

/* Is the line a document marker: the three characters of `marker`, with nothing or white space behind them? */
static bool is_marker(const char *line, size_t len, const char *marker)
{
        return len >= 3 && memcmp(line, marker, 3) == 0 && (len == 3 || is_blank(line[3]) || is_break(line[3]));
}

/* Is the line blank, a comment or a directive? */
static bool split_is_idle(const char *line, size_t len)
{
        if (len > 0 && *line == '%')
                return true;
        while (len > 0 && (is_blank(*line) || is_break(*line))) {
                line++;
                len--;
        }
        return len == 0 || *line == '#';
}

/* Skip a byte order mark after the line "---", as concatenated files have it. libyaml would take it for indentation. */
static void skip_inner_bom(const char *text, struct part *part)
{
        size_t end = part->begin + part->len, at = part->begin + 3;
        if (!is_marker(text + part->begin, part->len, "---"))
                return;
        while (at < end && (is_blank(text[at]) || text[at] == '\r'))
                at++;
        if (at == end || text[at] != '\n' || skip_bom(text, end, at + 1) == at + 1)
                return;
        part->begin = skip_bom(text, end, at + 1);
        part->len = end - part->begin;
        part->line++;
}

/*
 * A part ends before a line "---" that follows content or another "---", and after a line "...". YAML ends the document
 * at these lines even within scalars and flow collections. Each part may begin with a byte order mark.
 */
bool part_next(const char *text, size_t len, struct part *part)
{
        size_t begin = part->begin + part->len, at = begin;
        struct part next = {.line = part->line ? part->line : 1, .empty = true};
        for (size_t i = part->begin; i < begin; i++)
                next.line += text[i] == '\n';
        if (begin == len)
                return false;
        for (bool content = false, ends = false; at < len && !ends;) {
                const char *newline = memchr(text + at, '\n', len - at);
                size_t behind = newline ? (size_t)(newline - text) + 1 : len, from = skip_bom(text, behind, at);
                const char *line = text + from;
                size_t line_len = behind - from;
                bool starts = is_marker(line, line_len, "---");
                ends = is_marker(line, line_len, "...");
                if (starts && content)
                        break;
                size_t marker = starts || ends ? 3 : 0;
                next.directives += line_len > 0 && *line == '%';
                next.empty = next.empty && split_is_idle(line + marker, line_len - marker) && !next.directives;
                content = content || starts || !split_is_idle(line, line_len);
                at = behind;
        }
        next.begin = skip_bom(text, at, begin);
        next.len = at - next.begin;
        skip_inner_bom(text, &next);
        *part = next;
        return true;
}

bool text_templated(struct text t)
{
        return memmem(t.p, t.len, "{{", 2) || memmem(t.p, t.len, "{%", 2);
}

bool part_templated(const char *text, const struct part *part)
{
        return text_templated((struct text){text + part->begin, part->len});
}
