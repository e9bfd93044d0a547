/*
 * Unified diffs: examples, and a property: applying the printed diff gives the other text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/diff.h"

static char *diff_of(struct text before, struct text after, bool colour)
{
        char *out = NULL;
        size_t len;
        FILE *f = open_memstream(&out, &len);
        diff_print(f, "x", before, after, colour);
        fclose(f);
        return out;
}

#define HEAD "--- x\n+++ x\n"

static const struct {
        const char *before, *after, *want;
} row[] = {
        {"", "", ""},
        {"a\nb\n", "a\nb\n", ""},
        {"a\nb\nc\n", "a\nx\nc\n", HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
        {"", "a\n", HEAD "@@ -0,0 +1 @@\n+a\n"},
        {"a\n", "", HEAD "@@ -1 +0,0 @@\n-a\n"},
        {"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nx\n5\n6\n", HEAD "@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+x\n 5\n 6\n"},
        {"a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
         HEAD "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n"},
        {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
         HEAD "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n"},
        {"a\nb", "a\nc",
         HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
        {"a\nb", "a\nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
        {"a\r\nb\r\n", "a\r\nc\r\n", HEAD "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"},
        {"metadata:\n  name: x\nspec:\n  template:\n    spec:\n",
         "metadata:\n  name: x\n  annotations:\nspec:\n  "
         "template:\n    spec:\n",
         HEAD "@@ -1,5 +1,6 @@\n metadata:\n   name: x\n+  annotations:\n spec:\n   template:\n     spec:\n"},
};

static void test_looks(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                char *got = diff_of(text_of(row[i].before), text_of(row[i].after), false);
                if (strcmp(got, row[i].want) != 0)
                        fail_msg("row %zu: wanted\n%s\ngot\n%s", i, row[i].want, got);
                free(got);
        }
}

static void test_colours(void **state)
{
        (void)state;
        char *got = diff_of(TEXT("a\n"), TEXT("b\n"), true);
        assert_string_equal(got, "\033[1m--- x\033[0m\n\033[1m+++ x\033[0m\n\033[36m@@ -1 +1 @@\033[0m\n\033[31m-a\033["
                                 "0m\n\033[32m+b\033[0m\n");
        free(got);
}

/* --- the property --- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(seed >> 33) % below;
}

static const char *line_end(const char *p, const char *end)
{
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        return nl ? nl + 1 : end;
}

/* Apply a diff to a text, checking all it says of it. false: it does not fit. */
static bool apply(struct text before, const char *diff, struct buf *out)
{
        const char *at = before.p, *end = before.p + before.len, *d = diff;
        size_t line = 0;
        if (*d)
                d += strlen(HEAD);
        while (*d) {
                size_t from, count = 1;
                int len = 0;
                if (sscanf(d, "@@ -%zu%n", &from, &len) < 1)
                        return false;
                if (d[len] == ',')
                        count = strtoul(d + len + 1, NULL, 10);
                for (; line < (count ? from - 1 : from); line++) {
                        const char *next = line_end(at, end);
                        buf_add(out, at, (size_t)(next - at));
                        at = next;
                }
                d = strchr(d, '\n') + 1;
                while (*d == ' ' || *d == '-' || *d == '+') {
                        const char *next = strchr(d, '\n') + 1;
                        bool open = *next == '\\';
                        size_t size = (size_t)(next - d) - 1 - open;
                        if (*d != '+' && (at + size > end || memcmp(at, d + 1, size) != 0))
                                return false;
                        if (*d != '-')
                                buf_add(out, d + 1, size);
                        if (*d != '+') {
                                at += size;
                                line++;
                        }
                        d = open ? strchr(next, '\n') + 1 : next;
                }
        }
        buf_add(out, at, (size_t)(end - at));
        return true;
}

static void any_text(struct buf *out, const struct buf *like)
{
        unsigned lines = draw(60);
        const char *p = like ? like->data : NULL, *end = like && p ? p + like->len : p;
        while (like ? p && p < end : lines-- > 0) {
                const char *next = like ? line_end(p, end) : NULL;
                unsigned what = like ? draw(12) : 0;
                if (what == 0)
                        buf_printf(out, "line %u\n", draw(8));
                if (like && what != 1)
                        buf_add(out, p, (size_t)(next - p));
                p = next;
        }
        if (out->len && draw(4) == 0)
                out->data[--out->len] = '\0';
}

static void test_what_is_printed_applies(void **state)
{
        (void)state;
        for (unsigned n = 1; n <= 5000; n++) {
                struct buf before, after, got;
                seed = n;
                buf_init(&before, 1 << 20);
                buf_init(&after, 1 << 20);
                buf_init(&got, 1 << 20);
                any_text(&before, NULL);
                any_text(&after, draw(10) ? &before : NULL);
                char *diff = diff_of(buf_text(&before), buf_text(&after), false);
                if (!apply(buf_text(&before), diff, &got) || !text_equal(buf_text(&got), buf_text(&after)))
                        fail_msg("%u:\n%s", n, diff);
                free(diff);
                buf_release(&before);
                buf_release(&after);
                buf_release(&got);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_looks),
                cmocka_unit_test(test_colours),
                cmocka_unit_test(test_what_is_printed_applies),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
