/* Lists that come in pages: those that end are read, however odd; those that do not are given up early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kube/list_bound.h"

enum { PAGES = 4096 };

static int list_bound_token(struct list_bound *b, int token, int64_t remaining, int64_t items, struct err *err)
{
        char text[16];
        int len = token < 0 ? 0 : snprintf(text, sizeof text, "%d", token);
        return list_bound_page(b, (struct text){text, (size_t)len}, remaining, items, err);
}

/* A cycle of any length, after any number of other tokens, is found within three times both. */
static void a_token_that_comes_again_is_found(void **state)
{
        (void)state;
        for (int before = 0; before < 70; before++)
                for (int turn = 1; turn < 70; turn++) {
                        struct list_bound b = {0};
                        struct err err = {0};
                        int page = 0;
                        while (list_bound_token(&b, page < before ? page : before + (page - before) % turn, 0, 1,
                                                &err) == 0)
                                page++;
                        if (page < before + turn || page > 3 * (before + turn) || err.code != ERR_INVALID)
                                fail_msg("%d and then %d in turn: page %d: %s", before, turn, page, err.text);
                }
}

static void lists_that_end_are_read(void **state)
{
        (void)state;
        static const struct {
                int pages;
                int64_t remaining, items;
        } row[] = {
                {0, 0, 0},         /* one page */
                {99, 0, 0},        /* a server that filters what it read */
                {99, 9, 1},        /* more than the first page told */
                {PAGES - 1, 0, 1}, /* short pages */
                {PAGES - 1, INT64_MAX, 500},
                {PAGES - 1, INT64_MAX / 10, 500},
                {PAGES - 1, -1, 500},
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct list_bound b = {0};
                struct err err = {0};
                for (int page = 0; page <= row[i].pages; page++)
                        if (list_bound_token(&b, page < row[i].pages ? page : -1, row[i].remaining, row[i].items,
                                             &err) < 0)
                                fail_msg("row %zu, page %d: %s", i, page, err.text);
        }
}

/* An object ends a row of empty pages. */
static void empty_pages_count_in_a_row(void **state)
{
        (void)state;
        struct list_bound b = {0};
        struct err err = {0};
        int page = 0;
        for (; page < 1000; page++)
                assert_int_equal(list_bound_token(&b, page, 0, page % 99 == 0, &err), 0);
        while (list_bound_token(&b, page, 0, 0, &err) == 0)
                page++;
        assert_in_range(page, 1000, 1099);
        assert_non_null(strstr(err.text, "100 pages in a row"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_token_that_comes_again_is_found),
                cmocka_unit_test(lists_that_end_are_read),
                cmocka_unit_test(empty_pages_count_in_a_row),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
