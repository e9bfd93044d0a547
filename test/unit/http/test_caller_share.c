/* Who is one caller, and what it may hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/caller_share.h"

/* Two tokens, whose claims are base64url: are they of one caller? */
static void test_who_is_one_caller(void **state)
{
        (void)state;
/* {"iss":"k8s","sub":"system:serviceaccount:mallory:a"}, …:mallory:b, …:shop:a, and the first by "iss":"idp" */
#define MALLORY_A "h.eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bWFsbG9yeTphIn0.s1"
#define MALLORY_B "h.eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bWFsbG9yeTpiIn0.s2"
#define SHOP_A    "h.eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6c2hvcDphIn0.s3"
#define IDP       "h.eyJpc3MiOiJpZHAiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bWFsbG9yeTphIn0.s4"
        static const struct {
                const char *a, *b;
                bool same;
        } row[] = {
                {MALLORY_A, MALLORY_A, true}, {MALLORY_A, MALLORY_B, true}, {MALLORY_A, SHOP_A, false},
                {MALLORY_A, IDP, false},      {"opaque", "opaque", true},   {"opaque", "opaque2", false},
                {"a.b.c", "a.b.d", false},    {"a.", "a..", false},         {"", "", true},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct caller_shares s = {.most = 1};
                struct caller *a = caller_take(&s, text_of(row[i].a)), *b = caller_take(&s, text_of(row[i].b));
                if ((a == b) != row[i].same)
                        fail_msg("row %zu", i);
                caller_shares_release(&s);
        }
}

static void test_what_it_may_hold(void **state)
{
        (void)state;
        struct caller_shares s = {.most = 100};
        struct caller *first = caller_take(&s, TEXT("a"));
        assert_true(caller_may_hold(&s, first, 1000)); /* the only request of its caller */
        first->held = 60;
        struct caller *second = caller_take(&s, TEXT("a")), *other = caller_take(&s, TEXT("b"));
        assert_ptr_equal(first, second);
        assert_true(caller_may_hold(&s, second, 40));
        assert_false(caller_may_hold(&s, second, 41));
        assert_true(caller_may_hold(&s, other, 100));
        caller_give(&s, second, 60);
        assert_int_equal(first->held, 0);
        caller_give(&s, first, 0);
        caller_give(&s, other, 0);
        caller_give(&s, NULL, 0);
        assert_int_equal(s.callers.count, 0); /* nothing of a caller stays */
        caller_shares_release(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who_is_one_caller),
                cmocka_unit_test(test_what_it_may_hold),
        };
        return cmocka_run_group_tests_name("callers' shares", tests, NULL, NULL);
}
