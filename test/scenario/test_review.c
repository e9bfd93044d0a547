/*
 * TokenReview and SubjectAccessReview over the network: a token's user, that user's permissions, and no answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/api.h"
#include "base/mem.h"
#include "kube/review.h"

struct told {
        bool done;
        enum review_verdict verdict;
        struct err err;
};

static void on_review(void *arg, enum review_verdict v, const struct err *err)
{
        struct told *t = arg;
        assert_false(t->done);
        *t = (struct told){true, v, err ? *err : (struct err){0}};
}

static bool is_done(void *arg)
{
        return ((struct told *)arg)->done;
}

static struct told ask(struct api *a, const struct review_question *q)
{
        struct told t = {0};
        review_start(a->client, q, on_review, &t);
        assert_true(api_until(a, is_done, &t));
        return t;
}

static void test_verdicts(void **state)
{
        (void)state;
        static const struct {
                const char *token, *audience, *verb, *ns, *name;
                enum review_verdict want;
        } row[] = {
                {"ci", NULL, "get", "shop", "deployment-web", REVIEW_ALLOWED},
                {"ci", NULL, "get", "shop", "deployment-api", REVIEW_FORBIDDEN},
                {"ci", NULL, "get", "bank", "deployment-web", REVIEW_FORBIDDEN},
                {"ci", NULL, "list", "shop", "", REVIEW_FORBIDDEN},
                {"ci", "halflife", "get", "shop", "deployment-web", REVIEW_UNKNOWN},
                {"bound", "halflife", "list", "shop", "", REVIEW_ALLOWED},
                {"bound", NULL, "list", "shop", "", REVIEW_ALLOWED},
                {"bound", NULL, "list", "", "", REVIEW_ALLOWED},
                {"bound", "other", "list", "shop", "", REVIEW_UNKNOWN},
                {"nobody", NULL, "get", "shop", "deployment-web", REVIEW_UNKNOWN},
                {"\"},{", NULL, "get", "shop", "deployment-web", REVIEW_UNKNOWN},
        };
        struct api a;
        api_begin(&a, &(struct fake_options){0});
        fake_person(a.fake, "ci", "system:serviceaccount:shop:ci", NULL);
        fake_person(a.fake, "bound", "auditor", "halflife");
        fake_grant(a.fake, &(struct fake_grant){"system:serviceaccount:shop:ci", "get", "shop", "deployment-web"});
        fake_grant(a.fake, &(struct fake_grant){"auditor", "list", NULL, NULL});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct told t =
                        ask(&a, &(struct review_question){row[i].token, row[i].audience, row[i].verb, "halflife.dev",
                                                          "recommendations", row[i].ns, row[i].name});
                if (t.verdict != row[i].want)
                        fail_msg("row %zu, %s in %s: %d, %s", i, row[i].token, row[i].ns, t.verdict, t.err.text);
        }
        const struct fake_request *last = fake_last(a.fake, "review", "/apis/authorization.k8s.io");
        assert_non_null(strstr(last->body, "system:serviceaccounts")); /* groups and extra go along */
        assert_non_null(strstr(last->body, "credential-id"));
        assert_int_equal(fake_count(a.fake, "write", "/"), 0);
        api_end(&a);
}

static void test_nobody_answers(void **state)
{
        (void)state;
        static const struct {
                struct fake_fault fault;
                const char *says;
        } row[] = {
                {{.path = "/apis/authentication", .status = 503}, "HTTP 503"},
                {{.path = "/apis/authorization", .status = 500}, "HTTP 500"},
                {{.path = "/apis/authentication", .status = 403}, "HTTP 403"},
                {{.path = "/apis/authentication", .refuse = true}, "tokenreviews"},
                {{.path = "/apis/authentication", .status = 200, .body = "{\"status\":"}, "cannot be read"},
                {{.path = "/apis/authentication", .status = 200, .body = "[]"}, "cannot be read"},
                {{.path = "/apis/authentication", .status = 200, .body = "{\"status\":{\"authenticated\":\"yes\"}}"},
                 "cannot be read"},
                {{.path = "/apis/authorization", .status = 200, .body = "{\"status\":{\"allowed\":1}}"},
                 "cannot be read"},
                {{.path = "/apis/authorization", .status = 200, .huge = 1 << 20}, "longer than"},
        };
        const struct review_question q = {"ci", NULL, "get", "halflife.dev", "recommendations", "shop", "x"};
        struct api a;
        api_begin(&a, &(struct fake_options){0});
        fake_person(a.fake, "ci", "somebody", NULL);
        fake_grant(a.fake, &(struct fake_grant){"somebody", NULL, NULL, NULL});
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                fake_fault(a.fake, &row[i].fault);
                struct told t = ask(&a, &q);
                if (t.verdict != REVIEW_UNANSWERED || !strstr(t.err.text, row[i].says))
                        fail_msg("row %zu: %d, %s", i, t.verdict, t.err.text);
                fake_faults_clear(a.fake);
        }
        fake_deny(a.fake, &(struct fake_rule){"create", "authorization.k8s.io", "subjectaccessreviews", NULL});
        struct told t = ask(&a, &q);
        assert_int_equal(t.verdict, REVIEW_UNANSWERED);
        assert_int_equal(t.err.code, ERR_DENIED);
        fake_allow_all(a.fake);
        assert_int_equal(ask(&a, &q).verdict, REVIEW_ALLOWED);
        fake_person(a.fake, "ci", NULL, NULL);
        assert_int_equal(ask(&a, &q).verdict, REVIEW_UNKNOWN);
        api_end(&a);
}

/* A question that is never sent, because too many requests wait: the API server is not to blame. */
static void test_too_many_wait(void **state)
{
        (void)state;
        const struct call waits = {.path = "/api/v1/pods", .queue = HTTP_FOR_CLIENTS};
        const struct review_question q = {"ci", NULL, "get", "halflife.dev", "recommendations", "shop", "x"};
        struct api a;
        api_begin(&a, &(struct fake_options){0});
        client_set_limits(a.client, 0, 1);
        fake_fault(a.fake, &(struct fake_fault){.path = "/api/v1/pods", .delay_ms = 60000});
        for (int i = 0; i <= HTTP_WAITING_MAX; i++)
                client_start(a.client, &waits, NULL, NULL);
        struct told t = ask(&a, &q);
        assert_int_equal(t.verdict, REVIEW_BUSY);
        assert_non_null(strstr(t.err.text, "already waiting"));
        assert_int_equal(fake_count(a.fake, "review", "/"), 0);
        api_end(&a);
}

static char self[ERR_TEXT_MAX];

static void on_self(void *arg, const char *user, const struct err *err)
{
        bool *done = arg;
        *done = true;
        snprintf(self, sizeof self, "%s", user ? user : err->text);
}

static bool is_set(void *arg)
{
        return *(bool *)arg;
}

static void test_oneself(void **state)
{
        (void)state;
        struct api a;
        bool done = false;
        api_begin(&a, &(struct fake_options){.user = "system:serviceaccount:halflife:halflife"});
        review_self_start(a.client, on_self, &done);
        assert_true(api_until(&a, is_set, &done));
        assert_string_equal(self, "system:serviceaccount:halflife:halflife");
        fake_fault(a.fake, &(struct fake_fault){.path = "/apis/authentication", .status = 200, .body = "{}"});
        done = false;
        review_self_start(a.client, on_self, &done);
        assert_true(api_until(&a, is_set, &done));
        assert_non_null(strstr(self, "cannot be read"));
        review_cancel(review_self_start(a.client, on_self, &done));
        api_end(&a);
}

static void test_cancelled(void **state)
{
        (void)state;
        struct api a;
        struct told t = {0};
        const struct review_question q = {"ci", NULL, "get", "halflife.dev", "recommendations", "shop", "x"};
        api_begin(&a, &(struct fake_options){0});
        review_cancel(review_start(a.client, &q, on_review, &t));
        fake_person(a.fake, "ci", "somebody", NULL);
        fake_fault(a.fake, &(struct fake_fault){.path = "/apis/authorization", .delay_ms = 200});
        struct review *r = review_start(a.client, &q, on_review, &t);
        api_turn(&a, 100);
        review_cancel(r);
        api_turn(&a, 200);
        assert_false(t.done);
        api_end(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_verdicts),      cmocka_unit_test(test_nobody_answers),
                cmocka_unit_test(test_too_many_wait), cmocka_unit_test(test_oneself),
                cmocka_unit_test(test_cancelled),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
