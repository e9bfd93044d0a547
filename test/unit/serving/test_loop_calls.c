/* Questions of the server's threads, at the API server: one that was withdrawn holds up no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/api.h"
#include "../../support/stand.h"
#include "http/auth.h"
#include "serving/loop_calls.h"

#define TOKEN_REVIEWS  "/apis/authentication.k8s.io/v1/tokenreviews"
#define ACCESS_REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

static bool second_is_reviewed(void *arg)
{
        const struct api *a = arg;
        return fake_count(a->fake, "review", ACCESS_REVIEWS) == 1;
}

/* One request at a time, and the API server does not answer the first question. */
static void test_a_withdrawn_question_holds_up_no_other(void **state)
{
        (void)state;
        enum { HANGS_MS = 60000 };
        struct api a;
        struct stand s;
        struct cache cache;
        api_begin(&a, &(struct fake_options){0});
        fake_person(a.fake, "second", "somebody", NULL);
        fake_fault(a.fake, &(struct fake_fault){.path = TOKEN_REVIEWS, .delay_ms = HANGS_MS});
        client_set_limits(a.client, 0, 1);
        stand_begin(&s, &(struct rest_listener_options){0});
        cache_init(&cache, "halflife", NULL);
        struct loop_calls *all =
                loop_calls_new(&(struct loop_calls_options){.loop = a.loop, .client = a.client, .cache = &cache});
        struct server_calls calls = loop_calls_table(all);
        loop_calls_begin(all, s.server);
        struct server_question first = {.token = "first",
                                        .resource = "recommendations.halflife.dev",
                                        .verb = "list",
                                        .ns = "shop",
                                        .name = ""},
                               second = first;
        second.token = "second";
        first.key = auth_key_of(text_of(first.token), first.resource, first.verb, first.ns, first.name);
        second.key = auth_key_of(text_of(second.token), second.resource, second.verb, second.ns, second.name);
        calls.review(calls.arg, &first);
        api_turn(&a, 100);
        calls.review(calls.arg, &second);
        calls.withdraw(calls.arg, &first.key);
        calls.withdraw(calls.arg, &first.key); /* nothing is left of it */
        assert_true(api_until(&a, second_is_reviewed, &a));
        stand_end(&s);
        loop_calls_free(all);
        cache_release(&cache);
        api_end(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_withdrawn_question_holds_up_no_other),
        };
        return cmocka_run_group_tests_name("loop_calls", tests, NULL, NULL);
}
