#include "page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file_read.h"
#include "base/mem.h"

char *page_read(const char *path)
{
        size_t len;
        struct err err = {0};
        char *text = file_read(path, 1 << 20, &len, &err);
        if (!text)
                fail_msg("%s", err.text);
        return text;
}

void page_paths(glob_t *ret)
{
        glob("*.md", 0, NULL, ret);
        glob("docs/*.md", GLOB_APPEND, NULL, ret);
        glob("docs/*/*.md", GLOB_APPEND, NULL, ret);
        assert_true(ret->gl_pathc > 0);
}

void page_each_command(const char *path, void (*each)(void *arg, const char *path, char *line), void *arg)
{
        AUTO(mem_free) char *text = page_read(path);
        bool shell = false, console = false;
        for (char *joined = text; (joined = strstr(joined, "\\\n"));)
                memcpy(joined, "  ", 2);
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
                if (strncmp(line, "```", 3) == 0) {
                        shell = strcmp(line, "```sh") == 0;
                        console = strcmp(line, "```console") == 0;
                } else if (shell || (console && strncmp(line, "$ ", 2) == 0)) {
                        each(arg, path, line + (console ? 2 : 0));
                }
}

char *page_print(void (*print)(FILE *to))
{
        char *text = NULL;
        size_t len = 0;
        FILE *to = open_memstream(&text, &len);
        print(to);
        assert_int_equal(fclose(to), 0);
        return text;
}

/* A line of its own: a comment of Markdown, or of roff. */
static char *page_mark(const char *path, const char *which, const char *name)
{
        const char *end = strrchr(path, '.');
        return mem_printf(end && strcmp(end, ".md") == 0 ? "<!-- %s %s -->\n" : ".\\\" %s %s\n", which, name);
}

static void page_find(const char *path, const char *text, const char *name, const char **ret_from, const char **ret_to)
{
        AUTO(mem_free) char *begin = page_mark(path, "begin", name), *end = page_mark(path, "end", name);
        const char *from = strstr(text, begin), *to = from ? strstr(from, end) : NULL;
        if (!to)
                fail_msg("%s has no block between '%.*s' and its end", path, (int)strcspn(begin, "\n"), begin);
        *ret_from = from + strlen(begin);
        *ret_to = to;
}

char *page_block(const char *path, const char *name)
{
        AUTO(mem_free) char *text = page_read(path);
        const char *from, *to;
        page_find(path, text, name, &from, &to);
        return mem_string_n(from, (size_t)(to - from));
}

bool page_is_to_be_written(void)
{
        const char *docs = getenv("DOCS");
        return docs && strcmp(docs, "write") == 0;
}

void page_write(const char *path, const char *text)
{
        FILE *out = fopen(path, "we");
        assert_non_null(out);
        fputs(text, out);
        assert_int_equal(fclose(out), 0);
}

static void page_write_block(const char *path, const char *name, const char *block)
{
        AUTO(mem_free) char *text = page_read(path);
        const char *from, *to;
        page_find(path, text, name, &from, &to);
        AUTO(mem_free) char *fresh = mem_printf("%.*s%s%s", (int)(from - text), text, block, to);
        page_write(path, fresh);
}

void page_check_block(const char *path, const char *name, void (*print)(FILE *to))
{
        char *want = page_print(print);
        if (page_is_to_be_written())
                page_write_block(path, name, want);
        AUTO(mem_free) char *got = page_block(path, name);
        if (strcmp(got, want) != 0)
                fail_msg("%s: %s are not as the program has them; `make docs` writes them:\n%s", path, name, want);
        free(want);
}

enum { YAML_WIDTH = 120 };

/* "enum: [A, B, …]" at the column, its further lines indented by two more than the line that it begins in. */
static void print_enum(FILE *to, int indent, int column, const char *(*name)(int i), int count)
{
        column += fprintf(to, "enum: [");
        for (int i = 0; i < count; i++) {
                const char *end = i < count - 1 ? "," : "]";
                int len = (int)strlen(name(i)) + 1;
                if (i > 0 && column + 1 + len > YAML_WIDTH)
                        column = fprintf(to, "\n%*s", indent + 2, "") - 1;
                else if (i > 0)
                        column += fprintf(to, " ");
                column += fprintf(to, "%s%s", name(i), end);
        }
}

int page_check_enums(const char *path, const char *(*name)(int i), int count)
{
        AUTO(mem_free) char *text = page_read(path), *begin = mem_printf("enum: [%s,", name(0));
        char *want = NULL;
        size_t size;
        int lists = 0;
        FILE *to = open_memstream(&want, &size);
        const char *rest = text;
        for (const char *at; (at = strstr(rest, begin)); lists++) {
                const char *line = at;
                while (line > text && line[-1] != '\n')
                        line--;
                fwrite(rest, 1, (size_t)(at - rest), to);
                print_enum(to, (int)strspn(line, " "), (int)(at - line), name, count);
                rest = strchr(at, ']') + 1;
        }
        fputs(rest, to);
        fclose(to);
        if (page_is_to_be_written())
                page_write(path, want);
        else if (strcmp(text, want) != 0)
                fail_msg("%s: the names that begin with %s are not those of the program; `make docs` writes them", path,
                         name(0));
        free(want);
        return lists;
}

/* Words in lines that are indented, each as long as it may be. */
static void print_folded(FILE *to, int indent, const char *text)
{
        int column = YAML_WIDTH;
        for (const char *word = text; *(word += strspn(word, " "));) {
                int len = (int)strcspn(word, " ");
                bool breaks = column + 1 + len > YAML_WIDTH;
                if (breaks)
                        fprintf(to, "%s%*s", word == text ? "" : "\n", indent, "");
                column = (breaks ? indent : column + fprintf(to, " ")) + fprintf(to, "%.*s", len, word);
                word += len;
        }
        fputs("\n", to);
}

/* The first line from here on that is indented by less. */
static const char *end_of_folded(const char *line, size_t indent)
{
        while (*line && strspn(line, " ") >= indent)
                line += strcspn(line, "\n") + 1;
        return line;
}

int page_check_texts(const char *path, const char *begins, void (*print)(FILE *to))
{
        AUTO(mem_free) char *text = page_read(path);
        static const char begin[] = ">-\n";
        char *want = NULL, *said = page_print(print);
        size_t size;
        int texts = 0;
        FILE *to = open_memstream(&want, &size);
        const char *rest = text;
        for (const char *at = text; (at = strstr(at, begin));) {
                at += strlen(begin);
                size_t indent = strspn(at, " ");
                if (strncmp(at + indent, begins, strlen(begins)) != 0)
                        continue;
                fwrite(rest, 1, (size_t)(at - rest), to);
                print_folded(to, (int)indent, said);
                rest = end_of_folded(at, indent);
                texts++;
        }
        fputs(rest, to);
        fclose(to);
        if (page_is_to_be_written())
                page_write(path, want);
        else if (strcmp(text, want) != 0)
                fail_msg("%s: the text that begins with '%s' is not the program's; `make docs` writes it", path,
                         begins);
        free(want);
        free(said);
        return texts;
}
