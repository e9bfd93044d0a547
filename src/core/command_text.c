#include "command_text.h"

#include <string.h>

enum { READ_MAX = 256 * 1024 }; /* bound on bytes and variables looked at for one command, repeated ones included */

void command_text_begin(struct command_text *s, struct text t, size_t variables, bool shell)
{
        s->part[0] = (struct command_text_part){t, variables, shell};
        s->depth = 1;
        s->quoted = false;
}

/* The index of the last variable of that name among the first `before`. Returns the number of all variables where there
 * is none. */
static size_t command_text_find(struct command_text *s, struct text name, size_t before)
{
        s->read += before;
        for (size_t i = before; i > 0; i--)
                if (text_equal(s->of->variable[i - 1].name, name))
                        return i - 1;
        return s->of->variables;
}

/* Read a variable's value next, and then the rest of the present text. */
static void command_text_put_in(struct command_text *s, size_t variable)
{
        if (variable == s->of->variables || !s->of->variable[variable].known || s->depth == COMMAND_TEXT_DEPTH)
                s->incomplete = true;
        else
                s->part[s->depth++] = (struct command_text_part){s->of->variable[variable].value, variable, false};
}

bool command_text_begin_variable(struct command_text *s, struct text name)
{
        size_t found = command_text_find(s, name, s->of->variables);
        command_text_begin(s, TEXT(""), found, false);
        if (found == s->of->variables)
                return false;
        command_text_put_in(s, found);
        return true;
}

static bool part_next_is(const struct command_text_part *f, char c)
{
        return f->left.len > 1 && f->left.p[1] == c;
}

static void part_skip(struct command_text_part *f, size_t bytes)
{
        f->left = (struct text){f->left.p + bytes, f->left.len - bytes};
}

/* Put in the variable of $(NAME). Kubernetes leaves $(NAME) as it is where no variable has that name. */
static bool command_text_variable(struct command_text *s, struct command_text_part *f)
{
        if (!part_next_is(f, '('))
                return false;
        const char *end = memchr(f->left.p, ')', f->left.len);
        s->read += end ? (size_t)(end - f->left.p) : f->left.len;
        if (!end)
                return false;
        struct text name = {f->left.p + 2, (size_t)(end - f->left.p) - 2};
        size_t found = command_text_find(s, name, f->variables);
        if (found == s->of->variables)
                return false;
        part_skip(f, name.len + 3);
        command_text_put_in(s, found);
        return true;
}

static bool part_is_of_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Put in the variable of a shell's $NAME or ${NAME}. The value of any other expansion by the shell is not known. */
static bool command_text_shell_variable(struct command_text *s, struct command_text_part *f)
{
        bool braces = part_next_is(f, '{');
        size_t begin = 1 + braces, end = begin;
        while (end < f->left.len && part_is_of_name(f->left.p[end]))
                end++;
        if (end == begin || (braces && (end == f->left.len || f->left.p[end] != '}'))) {
                s->incomplete = true;
                return false;
        }
        struct text name = {f->left.p + begin, end - begin};
        part_skip(f, end + braces);
        command_text_put_in(s, command_text_find(s, name, s->of->variables));
        return true;
}

bool command_text_next(struct command_text *s, char *ret_c)
{
        while (s->depth > 0) {
                struct command_text_part *f = &s->part[s->depth - 1];
                if (f->left.len == 0) {
                        s->depth--;
                        continue;
                }
                if (s->read++ >= READ_MAX) {
                        s->incomplete = true;
                        return false;
                }
                char c = *f->left.p;
                if (c == '$' && command_text_variable(s, f))
                        continue;
                if (c == '$' && part_next_is(f, '$'))
                        part_skip(f, 1);
                else if (c == '$' && f->shell && !s->quoted && command_text_shell_variable(s, f))
                        continue;
                s->incomplete |= c == '`' && f->shell && !s->quoted;
                part_skip(f, 1);
                *ret_c = c;
                return true;
        }
        return false;
}
