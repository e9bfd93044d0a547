/* Errors of one cause are one, those of two are two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "notices/error_causes.h"

static const struct {
        const char *text, *left;
} asked[] = {
        {"list '/api/v1/pods': GET /api/v1/pods: HTTP 401: no", "HTTP 401: no"},
        {"watch '/api/v1/pods': the watch ended with error 500", "the watch ended with error 500"},
        {"read usage from metrics.k8s.io: GET /apis/metrics.k8s.io/v1beta1/pods: https://a: refused",
         "https://a: refused"},
        {"PATCH /apis/apps/v1/namespaces/shop/deployments/web: HTTP 500: etcd", "HTTP 500: etcd"},
        {"GET /api/v1/pods", "GET /api/v1/pods"},
        {"list '/api/v1/pods", "list '/api/v1/pods"},
        {"", ""},
        {"plain words", "plain words"},
};

static void what_was_asked_is_left_out(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
                assert_string_equal(cause_text(asked[i].text), asked[i].left);
}

#define MAY_NOT(verb, kind, ns)                                                                                        \
        "HTTP 403: " kind " is forbidden: User \"h\" cannot " verb " in the namespace \"" ns "\""

static const struct {
        const char *a, *b;
        const char *subject_a[4], *subject_b[4];
        bool same;
} pair[] = {
        {"list '/api/v1/pods': GET /api/v1/pods: http://h:1: Failed to connect to h port 1 after 0 ms: refused",
         "watch '/api/v1/nodes': GET /api/v1/nodes: http://h:1: Failed to connect to h port 1 after 21 ms: refused",
         {NULL},
         {NULL},
         true},
        {"GET /a: HTTP 401: x", "GET /a: HTTP 403: x", {NULL}, {NULL}, false},
        {"PATCH /a/shop/web: " MAY_NOT("patch", "deployments.apps \"web\"", "shop"),
         "PATCH /a/till/api-2: " MAY_NOT("patch", "deployments.apps \"api-2\"", "till"),
         {"shop", "web"},
         {"till", "api-2"},
         true},
        {"PATCH /a: " MAY_NOT("patch", "deployments.apps \"web\"", "shop"),
         "PATCH /a: " MAY_NOT("patch", "statefulsets.apps \"web\"", "shop"),
         {"shop", "web"},
         {"shop", "web"},
         false},
        {"PATCH /a: " MAY_NOT("patch", "deployments.apps \"e\"", "s"),
         "PATCH /a: " MAY_NOT("create", "deployments.apps \"e\"", "s"),
         {"s", "e"},
         {"s", "e"},
         false}, /* short names stand only for whole words */
        {"PATCH /a: no \"web\" here", "PATCH /b: no \"api\" here", {"", "web"}, {"api", ""}, true},
};

static void one_cause_has_one_digest(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
                struct err a, b;
                err_set(&a, ERR_DENIED, "%s", pair[i].a);
                err_set(&b, ERR_DENIED, "%s", pair[i].b);
                if ((cause_digest(&a, pair[i].subject_a) == cause_digest(&b, pair[i].subject_b)) != pair[i].same)
                        fail_msg("row %zu: '%s'", i, pair[i].a);
                b.code = ERR_RETRY;
                assert_true(cause_digest(&a, pair[i].subject_a) != cause_digest(&b, pair[i].subject_b));
        }
}

static const struct {
        int code, http_status;
        const char *text;
        bool rule, going;
        const char *cure;
} known[] = {
        {ERR_DENIED, 403, "GET /a: " MAY_NOT("list", "pods", "a"), true, false, "rbac.yaml"},
        {ERR_DENIED, 401, "GET /a: HTTP 401: Unauthorized", false, false, "renew the credentials"},
        {ERR_DENIED, 0, "GET /a: https://h: certificate", false, false, "certificate authority"},
        {ERR_DENIED, 403,
         "PATCH /a: HTTP 403: recommendations.halflife.dev \"x\" is forbidden: unable to create new content in "
         "namespace "
         "a because it is being terminated",
         false, true, "policy"},
        {ERR_NOTFOUND, 404, "GET /a: HTTP 404", false, false, "kubectl apply -k manifests"},
        {ERR_RETRY, 0, "GET /a: https://h: refused", false, false, "can it be reached"},
        {ERR_CONFLICT, 409, "PATCH /a: HTTP 409", false, false, "manager"},
        {ERR_INVALID, 422, "PATCH /a: HTTP 422", false, false, "see the error text"},
};

static void each_has_its_cure(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
                struct err err;
                err_set_http(&err, known[i].code, known[i].http_status, "%s", known[i].text);
                if (cause_is_missing_rule(&err) != known[i].rule || cause_is_going_namespace(&err) != known[i].going ||
                    !strstr(cause_cure(&err), known[i].cure))
                        fail_msg("row %zu: '%s': %s", i, known[i].text, cause_cure(&err));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_asked_is_left_out),
                cmocka_unit_test(one_cause_has_one_digest),
                cmocka_unit_test(each_has_its_cure),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
