#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/label_selector.h"

#define WORD(s) ((char *)(uintptr_t)(s))

/* app In (web, api), tier NotIn (db), owner Exists, canary DoesNotExist: one of them at a time. */
static void test_relations(void **state)
{
        (void)state;
        static const struct {
                enum relation op;
                const char *value; /* of the label; NULL: it is not there */
                bool want;
        } row[] = {
                {OP_IN, "web", true},           {OP_IN, "api", true},     {OP_IN, "db", false},
                {OP_IN, "we", false},           {OP_IN, "", false},       {OP_IN, NULL, false},
                {OP_NOT_IN, "web", false},      {OP_NOT_IN, "db", true},  {OP_NOT_IN, NULL, true},
                {OP_EXISTS, "", true},          {OP_EXISTS, NULL, false}, {OP_DOES_NOT_EXIST, NULL, true},
                {OP_DOES_NOT_EXIST, "", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                bool listed = row[i].op == OP_IN || row[i].op == OP_NOT_IN;
                struct selector s = {
                        .of = (struct requirement[]){{WORD("app"), row[i].op, (char *[]){WORD("web"), WORD("api")},
                                                      listed ? 2 : 0}},
                        .count = 1};
                struct label_pair label[] = {{TEXT("tier"), TEXT("web")}, {TEXT("app"), text_of(row[i].value)}};
                if (selector_match(&s, label, row[i].value ? 2 : 1) != row[i].want)
                        fail_msg("row %zu", i);
        }
}

static void test_every_requirement_counts(void **state)
{
        (void)state;
        struct selector s = {
                .of = (struct requirement[]){{WORD("a"), OP_EXISTS, NULL, 0}, {WORD("b"), OP_EXISTS, NULL, 0}},
                .count = 2};
        struct label_pair label[] = {{TEXT("a"), TEXT("")}, {TEXT("b"), TEXT("")}};
        assert_true(selector_match(&s, label, 2));
        assert_false(selector_match(&s, label, 1));
        assert_false(selector_match(&s, label + 1, 1));
        assert_true(selector_match(NULL, NULL, 0));
}

/* Labels that are not known may still be there: only what a known one breaks is out. */
static void test_what_may_match(void **state)
{
        (void)state;
        static const struct {
                const char *a, *b; /* NULL: not known */
                bool want;
        } row[] = {{NULL, NULL, true}, {"x", NULL, true}, {"y", NULL, false}, {NULL, "x", true},
                   {NULL, "y", false}, {"x", "x", true},  {"x", "y", false},  {"y", "x", false}};
        struct requirement *of = malloc(2 * sizeof *of); /* what is beyond is noticed */
        of[0] = (struct requirement){WORD("a"), OP_IN, (char *[]){WORD("x")}, 1};
        of[1] = (struct requirement){WORD("b"), OP_IN, (char *[]){WORD("x")}, 1};
        struct selector s = {.of = of, .count = 2};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct label_pair label[2];
                size_t n = 0;
                if (row[i].a)
                        label[n++] = (struct label_pair){TEXT("a"), text_of(row[i].a)};
                if (row[i].b)
                        label[n++] = (struct label_pair){TEXT("b"), text_of(row[i].b)};
                if (selector_may_match(&s, label, n) != row[i].want)
                        fail_msg("row %zu", i);
        }
        s.count = 0;
        assert_true(selector_may_match(&s, NULL, 0));
        assert_true(selector_may_match(NULL, NULL, 0));
        free(of);
}

static void test_first_of_two_counts(void **state)
{
        (void)state;
        struct selector s = {.of = (struct requirement[]){{WORD("app"), OP_IN, (char *[]){WORD("web")}, 1}},
                             .count = 1};
        struct label_pair label[] = {{TEXT("app"), TEXT("web")}, {TEXT("app"), TEXT("db")}, {TEXT("app"), TEXT("web")}};
        assert_true(selector_match(&s, label, 2));
        assert_false(selector_match(&s, label + 1, 2));
}

static void test_names(void **state)
{
        (void)state;
        struct selector s = {
                .of = (struct requirement[]){{WORD("x"), OP_EXISTS, NULL, 0},
                                             {WORD("ns"), OP_IN, (char *[]){WORD("kube-system"), WORD("shop")}, 2},
                                             {WORD("y"), OP_NOT_IN, (char *[]){WORD("shop")}, 1}},
                .count = 3};
        assert_true(selector_names(&s, TEXT("ns"), TEXT("shop")));
        assert_false(selector_names(&s, TEXT("ns"), TEXT("other")));
        assert_false(selector_names(&s, TEXT("y"), TEXT("shop")));
        assert_false(selector_names(&s, TEXT("x"), TEXT("")));
        assert_false(selector_names(NULL, TEXT("ns"), TEXT("shop")));
        s.of[0] = s.of[1];
        s.count = 1;
        assert_true(selector_names(&s, TEXT("ns"), TEXT("shop")));
        s.count = 0;
        assert_false(selector_names(&s, TEXT("ns"), TEXT("shop")));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_relations),      cmocka_unit_test(test_every_requirement_counts),
                cmocka_unit_test(test_what_may_match), cmocka_unit_test(test_first_of_two_counts),
                cmocka_unit_test(test_names),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
