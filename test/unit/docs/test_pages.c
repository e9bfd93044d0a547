/*
 * Pages for people say what is there: links lead somewhere; the commands, options, make targets and files that they
 * name exist; command lines are taken by the command; lines fit.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/page.h"
#include "base/mem.h"
#include "cli/commands.h"

enum { README_MOST = 10240, COLUMNS_MOST = 120, PAGES_MOST = 128 };

#define SMALL "abcdefghijklmnopqrstuvwxyz"

static struct page {
        const char *path;
        char *text;
        char *prose; /* the same with all that is in fenced blocks as blanks */
} pages[PAGES_MOST];
static size_t pages_count;
static glob_t found;

/* The line after a line, or the end. */
static char *next_line(char *line)
{
        line += strcspn(line, "\n");
        return line + (*line == '\n');
}

static void blank_blocks(char *text)
{
        bool in_block = false;
        for (char *line = text; *line; line = next_line(line)) {
                bool fence = strncmp(line, "```", 3) == 0;
                in_block ^= fence;
                if (in_block || fence)
                        memset(line, ' ', strcspn(line, "\n"));
        }
}

static int load(void **state)
{
        (void)state;
        page_paths(&found);
        assert_in_range(found.gl_pathc, 1, PAGES_MOST);
        for (pages_count = 0; pages_count < found.gl_pathc; pages_count++) {
                struct page *p = &pages[pages_count];
                *p = (struct page){found.gl_pathv[pages_count], page_read(found.gl_pathv[pages_count]), NULL};
                p->prose = mem_string(p->text);
                blank_blocks(p->prose);
        }
        return 0;
}

static int unload(void **state)
{
        (void)state;
        for (size_t i = 0; i < pages_count; i++) {
                mem_free(pages[i].text);
                mem_free(pages[i].prose);
        }
        globfree(&found);
        return 0;
}

static bool is_of(const char *set, char c)
{
        return c && strchr(set, c);
}

/* --- size --- */

static void test_readme_is_short(void **state)
{
        (void)state;
        AUTO(mem_free) char *text = page_read("README.md");
        assert_in_range(strlen(text), 1, README_MOST);
        assert_true(strstr(text, "make demo") && strstr(text, "make test"));
}

/* Tables that were wide before there was this bound. */
static bool is_wide(const char *path)
{
        static const char *const wide[] = {"CHANGELOG.md", "docs/glossary.md", "docs/internals/store-format.md"};
        for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
                if (strcmp(path, wide[i]) == 0)
                        return true;
        return false;
}

/* A row of a table that the program writes may be wider: it is one line. */
static void check_lines(struct page *p)
{
        bool written = false;
        int number = 1;
        for (char *line = p->text; *line; line = next_line(line), number++) {
                int columns = 0;
                for (const char *c = line; *c && *c != '\n'; c++)
                        columns += (*c & 0xC0) != 0x80;
                written = (written || strncmp(line, "<!-- begin ", 11) == 0) && strncmp(line, "<!-- end ", 9) != 0;
                if (!written && columns > COLUMNS_MOST && !is_wide(p->path))
                        fail_msg("%s:%d has %d columns, more than %d", p->path, number, columns, COLUMNS_MOST);
        }
}

static void test_lines_fit(void **state)
{
        (void)state;
        for (size_t i = 0; i < pages_count; i++)
                check_lines(&pages[i]);
}

/* A bar in a cell would shift those behind it. */
static void test_tables(void **state)
{
        (void)state;
        for (size_t i = 0; i < pages_count; i++) {
                int columns = 0;
                for (char *line = pages[i].prose; *line; line = next_line(line)) {
                        int bars = 0;
                        for (const char *c = line; *line == '|' && *c != '\n'; c++)
                                bars += *c == '|' && c[-1] != '\\';
                        if (columns && bars && bars != columns)
                                fail_msg("%s: not %d bars in %.*s", pages[i].path, columns, (int)strcspn(line, "\n"),
                                         line);
                        columns = bars;
                }
        }
}

/* --- links --- */

/* As GitHub makes it: small letters, digits, '-' and '_', and '-' for each blank. */
static bool is_anchor_of(const char *title, const char *anchor)
{
        for (; *title && *title != '\n'; title++) {
                char c = *title == ' ' ? '-' : (char)tolower((unsigned char)*title);
                if (!is_of(SMALL "0123456789-_", c))
                        continue;
                if (c != *anchor++)
                        return false;
        }
        return *anchor == '\0';
}

static bool has_anchor(char *prose, const char *anchor)
{
        for (char *line = prose; *line; line = next_line(line))
                if (*line == '#' && is_anchor_of(line + strspn(line, "#") + 1, anchor))
                        return true;
        return false;
}

static void check_link(const struct page *from, const char *link)
{
        size_t folder = strrchr(from->path, '/') ? (size_t)(strrchr(from->path, '/') - from->path) + 1 : 0;
        size_t len = strcspn(link, "#");
        AUTO(mem_free)
        char *path = len ? mem_printf("%.*s%.*s", (int)folder, from->path, (int)len, link) : mem_string(from->path);
        if (access(path, F_OK) != 0)
                fail_msg("%s: '%s' leads nowhere", from->path, link);
        if (!link[len])
                return;
        AUTO(mem_free) char *prose = page_read(path);
        blank_blocks(prose);
        if (!has_anchor(prose, link + len + 1))
                fail_msg("%s: '%s' names no heading", from->path, link);
}

static void test_links(void **state)
{
        (void)state;
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                for (const char *p = pages[i].prose; (p = strstr(p, "](")); seen++) {
                        AUTO(mem_free) char *link = mem_string_n(p + 2, strcspn(p + 2, ")"));
                        if (strncmp(link, "https://", 8) != 0)
                                check_link(&pages[i], link);
                        p += 2;
                }
        assert_true(seen > 20);
}

/* --- commands --- */

static bool is_option(const char *name)
{
        for (size_t i = 0; i < commands_count; i++) {
                int count = 0;
                const struct option_spec *spec = command_options(commands[i], &count);
                for (int k = 0; k < count; k++)
                        if (strcmp(spec[k].name, name) == 0)
                                return true;
        }
        return strcmp(name, "help") == 0;
}

/* Of kubectl, curl and helm. */
static bool is_of_others(const char *name)
{
        static const char *const others[] = {"connect-to", "group",          "max-old-space-size",
                                             "role",       "take-ownership", "type"};
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                if (strcmp(others[i], name) == 0)
                        return true;
        return false;
}

/* In sentences; what stands in blocks is parsed whole. */
static void test_options(void **state)
{
        (void)state;
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                for (char *p = pages[i].prose; (p = strstr(p, "--"));) {
                        bool begins = p > pages[i].prose && is_of(" `(\n", p[-1]);
                        p += 2;
                        size_t len = strspn(p, SMALL "-");
                        if (!begins || len == 0 || p[0] == '-' || p[len] == '>')
                                continue;
                        AUTO(mem_free) char *name = mem_string_n(p, len);
                        if (!is_option(name) && !is_of_others(name))
                                fail_msg("%s: no command has --%s", pages[i].path, name);
                        seen++;
                }
        assert_true(seen > 20);
}

/* The words of one call of halflife, its own name left out. */
static void check_call(const char *path, char *call)
{
        enum { WORDS_MOST = 32, OPTIONS_MOST = 128 };
        char *words[WORDS_MOST];
        int count = 0, specs = 0;
        for (char *word; count < WORDS_MOST && (word = strsep(&call, " "));) {
                if (!*word)
                        continue;
                size_t quoted = is_of("'\"", word[0]) && word[0] == word[strlen(word) - 1];
                word[strlen(word) - quoted] = '\0';
                words[count++] = word + quoted;
        }
        const struct command *c = command_find(words[0]);
        if (!c)
                fail_msg("%s: halflife has no command '%s'", path, words[0]);
        const struct option_spec *spec = command_options(c, &specs);
        assert_in_range(specs, 0, OPTIONS_MOST);
        static struct option_given given[OPTIONS_MOST];
        struct option_words left;
        struct err err = {0};
        if (options_parse(spec, specs, count, words, given, &left, &err) < 0)
                fail_msg("%s: halflife %s: %s", path, words[0], err.text);
}

/* The calls of halflife within a line of shell. */
static void check_command(void *seen, const char *path, char *line)
{
        static const char name[] = "halflife ";
        for (char *p = line; (p = strstr(p, name));) {
                bool begins = p == line || (is_of(" $(/", p[-1]) && (p - line < 3 || strncmp(p - 3, "-n ", 3) != 0));
                p += sizeof name - 1;
                if (!begins || !is_of(SMALL, *p))
                        continue;
                AUTO(mem_free) char *call = mem_string_n(p, strcspn(p, "|;&>)"));
                check_call(path, call);
                ++*(int *)seen;
        }
}

static void test_calls(void **state)
{
        (void)state;
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                page_each_command(pages[i].path, check_command, &seen);
        assert_true(seen > 20);
}

/* "`make NAME…": a target of the Makefile. */
static void test_make(void **state)
{
        (void)state;
        AUTO(mem_free) char *makefile = page_read("Makefile");
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                for (const char *p = pages[i].text; (p = strstr(p, "make "));) {
                        bool code = p > pages[i].text && is_of("`\n", p[-1]);
                        p += strlen("make ");
                        size_t len = strspn(p, SMALL "0123456789-");
                        if (!code || len == 0 || is_of("_=", p[len]))
                                continue;
                        AUTO(mem_free) char *rule = mem_printf("\n%.*s:", (int)len, p);
                        if (!strstr(makefile, rule))
                                fail_msg("%s: there is no `make %.*s`", pages[i].path, (int)len, p);
                        seen++;
                }
        assert_true(seen > 10);
}

/* --- files --- */

static bool is_there(const char *top, const char *file)
{
        static const char *const ends[] = {"", ".c", ".h", ".def"};
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
                AUTO(mem_free) char *path = mem_printf("%s/%s%s", top, file, ends[i]);
                if (access(path, F_OK) == 0)
                        return true;
        }
        return false;
}

/* "`MODULE/FILE`", as the pages for developers call src/MODULE/FILE.c or its header. */
static void test_files_of_modules(void **state)
{
        (void)state;
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                for (const char *p = pages[i].text; (p = strchr(p, '`')); p++) {
                        size_t module = strspn(p + 1, SMALL "_"), len = strspn(p + 1, SMALL "_/");
                        AUTO(mem_free) char *file = mem_string_n(p + 1, len);
                        AUTO(mem_free) char *folder = mem_string_n(file, module);
                        if (module == 0 || file[module] != '/' || p[1 + len] != '`' || !is_there("src", folder))
                                continue;
                        if (!is_there("src", file) && !is_there("include", file))
                                fail_msg("%s: there is neither src/%s nor include/%s", pages[i].path, file, file);
                        seen++;
                }
        assert_true(seen > 10);
}

static void test_paths(void **state)
{
        static const char *const folders[] = {"manifests/", "test/", "crds/", "bench/", "include/",
                                              "src/",       ".ci/",  "docs/", "man/"};
        (void)state;
        int seen = 0;
        for (size_t i = 0; i < pages_count; i++)
                for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++)
                        for (char *p = pages[i].text; (p = strstr(p, folders[k])); p += strlen(folders[k])) {
                                if (p > pages[i].text && !is_of(" `(\n", p[-1]))
                                        continue;
                                AUTO(mem_free) char *path = mem_string_n(p, strspn(p, SMALL "0123456789-_./"));
                                path[strlen(path) - (path[strlen(path) - 1] == '.')] = '\0';
                                bool part = is_of("*<{", p[strlen(path)]) || isupper((unsigned char)p[strlen(path)]);
                                if (!part && access(path, F_OK) != 0)
                                        fail_msg("%s: there is no %s", pages[i].path, path);
                                seen++;
                        }
        assert_true(seen > 10);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_readme_is_short),
                cmocka_unit_test(test_lines_fit),
                cmocka_unit_test(test_tables),
                cmocka_unit_test(test_links),
                cmocka_unit_test(test_options),
                cmocka_unit_test(test_calls),
                cmocka_unit_test(test_make),
                cmocka_unit_test(test_files_of_modules),
                cmocka_unit_test(test_paths),
        };
        return cmocka_run_group_tests_name("pages", tests, load, unload);
}
