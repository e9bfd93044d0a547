/* Sets of labels that are kept once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "cache/labels.h"

static const struct label_pair web[] = {{TEXT("app"), TEXT("web")}, {TEXT("tier"), TEXT("")}};

static void test_equal_sets_are_one(void **state)
{
        struct map sets = {0};
        struct labels a = {0}, b = {0};
        (void)state;
        labels_set(&sets, &a, web, 2);
        labels_set(&sets, &b, (const struct label_pair[]){{TEXT("app"), TEXT("web")}, {TEXT("tier"), TEXT("")}}, 2);
        assert_ptr_equal(a.pair, b.pair);
        assert_int_equal(sets.count, 1);
        labels_release(&sets, &a);
        assert_null(a.pair);
        assert_true(text_is(b.pair[1].key, "tier")); /* it lives as long as one object has it */
        labels_set(&sets, &b, b.pair, 1);
        assert_int_equal(b.count, 1);
        assert_true(text_is(b.pair[0].value, "web"));
        labels_release(&sets, &b);
        assert_int_equal(sets.count, 0);
        map_release(&sets);
}

/* The texts of both sets run together to the same bytes. */
static void test_other_cuts_are_others(void **state)
{
        const struct label_pair cut[] = {{TEXT("app"), TEXT("we")}, {TEXT("btier"), TEXT("")}};
        const struct label_pair one[] = {{TEXT("appweb"), TEXT("tier")}};
        struct map sets = {0};
        struct labels a = {0}, b = {0}, c = {0};
        (void)state;
        labels_set(&sets, &a, web, 2);
        labels_set(&sets, &b, cut, 2);
        labels_set(&sets, &c, one, 1);
        assert_true(text_is(a.pair[0].value, "web"));
        assert_true(text_is(b.pair[0].value, "we"));
        assert_true(text_is(c.pair[0].key, "appweb"));
        labels_release(&sets, &a); /* b and c were never shared, and stay as they are */
        labels_set(&sets, &a, one, 1);
        assert_true(text_is(b.pair[1].key, "btier"));
        assert_true(text_is(a.pair[0].value, "tier"));
        labels_release(&sets, &a);
        labels_release(&sets, &b);
        labels_release(&sets, &c);
        assert_int_equal(sets.count, 0);
        map_release(&sets);
}

static void test_keep_says_whether_they_differ(void **state)
{
        struct map sets = {0};
        struct labels a = {0};
        (void)state;
        assert_false(labels_keep(&sets, &a, NULL, 0));
        assert_true(labels_keep(&sets, &a, web, 2));
        assert_false(labels_keep(&sets, &a, web, 2));
        assert_true(labels_keep(&sets, &a, web, 1));
        assert_true(labels_keep(&sets, &a, NULL, 0));
        assert_int_equal(sets.count, 0);
        map_release(&sets);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal_sets_are_one),
                                           cmocka_unit_test(test_other_cuts_are_others),
                                           cmocka_unit_test(test_keep_says_whether_they_differ)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
