/*
 * The files of the page: how large they are, that they make no markup of text and ask nobody else, and that they have
 * the program's own words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/mem.h"
#include "core/reasons.h"
#include "core/recommend.h"
#include "page/page.h"

enum { MOST_GZIPPED = 80 << 10 };

static char *text_of_file(const char *name)
{
        const struct page_file *f = page_find(text_of(name));
        assert_non_null(f);
        return mem_string_n(f->begin, page_text(f).len);
}

static void test_size(void **state)
{
        (void)state;
        size_t sum = 0;
        for (size_t i = 0; i < page_files_count; i++) {
                struct text t = page_text(&page_files[i]);
                uLong len = compressBound(t.len);
                AUTO(mem_free) void *out = mem_new(len);
                assert_int_equal(compress2(out, &len, (const void *)t.p, t.len, Z_BEST_SPEED), Z_OK);
                assert_true(t.len > 0);
                sum += len;
        }
        assert_in_range(sum, 1, MOST_GZIPPED);
}

static void test_names(void **state)
{
        (void)state;
        static const char *const none[] = {"index.html", ".",    "..",        "main.js/",
                                           "MAIN.JS",    "main", "%6dain.js", "/main.js"};
        for (size_t i = 0; i < page_files_count; i++)
                assert_ptr_equal(page_find(text_of(page_files[i].name)), &page_files[i]);
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
                assert_null(page_find(text_of(none[i])));
        assert_null(page_find((struct text){"main.js\0", 8}));
}

/* The policy would stop the browser; a line that needs one of these never works, so it is found here already. */
static void test_nothing_is_markup(void **state)
{
        (void)state;
        static const char *const never[] = {
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "Function(",
                "setHTML",   "style=",    "javascript:",        "localStorage",   "@import",   "url(",  "@font-face"};
        for (size_t i = 0; i < page_files_count; i++) {
                AUTO(mem_free) char *text = text_of_file(page_files[i].name);
                for (size_t n = 0; n < sizeof never / sizeof never[0]; n++)
                        if (strstr(text, never[n]))
                                fail_msg("%s has %s", page_files[i].name, never[n]);
                for (const char *at = text; (at = strstr(at, "://")); at++)
                        if (strncmp(at, "://www.w3.org/2000/svg", 22) != 0)
                                fail_msg("%s has an address: %.40s", page_files[i].name, at);
        }
}

/* Whatever a file imports, or the document names, is there. */
static void test_files_are_whole(void **state)
{
        (void)state;
        static const char *const before[] = {"from \"./", "\"ui/"};
        for (size_t i = 0; i < page_files_count; i++) {
                AUTO(mem_free) char *text = text_of_file(page_files[i].name);
                for (size_t b = 0; b < 2; b++)
                        for (const char *at = text; (at = strstr(at, before[b]));) {
                                at += strlen(before[b]);
                                if (!page_find((struct text){at, strcspn(at, "\"")}))
                                        fail_msg("%s names %.32s", page_files[i].name, at);
                        }
        }
}

static void test_words(void **state)
{
        (void)state;
        AUTO(mem_free) char *words = text_of_file("words.js");
        for (enum reason r = REASON_NONE + 1; r < REASONS; r++) {
                AUTO(mem_free) char *line = mem_printf("  %s: \"%s\",\n", reason_name(r), reason_meaning(r));
                if (!strstr(words, line))
                        fail_msg("src/page/words.js lacks: %s", line);
        }
        for (enum state s = 0; s < STATES; s++) {
                AUTO(mem_free) char *line = mem_printf("  %s: \"", state_name(s));
                assert_non_null(strstr(words, line));
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_nothing_is_markup),
                cmocka_unit_test(test_files_are_whole),
                cmocka_unit_test(test_words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
