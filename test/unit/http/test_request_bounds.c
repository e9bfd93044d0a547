/* Whose share of the memory an answer is held in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http/request_bounds.h"
#include "http/spare_jobs.h"

enum { MOST = 1 << 20 };

static struct rest_listener listener = {.o.bodies_max = MOST, .shares.most = MOST / 4};
static const char *authorization; /* the header of the request under way */

/* In place of libmicrohttpd's, since there is no connection. */
_MHD_EXTERN const char *MHD_lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *key)
{
        (void)c, (void)kind;
        return strcmp(key, "Authorization") == 0 ? authorization : NULL;
}

/* The status of an answer with so many bytes, which the request then holds. */
static unsigned answer_held(struct http_request *v, size_t len)
{
        struct answer *a = &v->job->answer;
        a->status = MHD_HTTP_OK;
        buf_init(&a->body, len);
        memset(buf_extend(&a->body, len), 'x', len);
        http_request_count_answer(v);
        return a->status;
}

/* Claims of a token that nobody checked do not choose the share: anybody could use up another's. */
static void test_a_claimed_share(void **state)
{
/* {"iss":"k8s","sub":"system:serviceaccount:shop:a"}, …:mallory:a */
#define SHOP    "Bearer h.eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6c2hvcDphIn0.s"
#define MALLORY "Bearer h.eyJpc3MiOiJrOHMiLCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6bWFsbG9yeTphIn0.s"
        enum { LONG = MOST / 6 };
        (void)state;
        struct client_address near = {.text = "10.0.0.1"}, far = {.text = "10.0.0.2"};
        const struct {
                const char *what, *verb, *authorization; /* verb NULL: the route is open to everybody */
                struct client_address *from;
                unsigned status;
        } row[] = {
                {"a caller", "list", SHOP, &near, 200},
                {"its second", "list", SHOP, &near, 429},
                {"an open route with the caller's token", NULL, SHOP, &near, 200},
                {"the address' second, with another token", NULL, MALLORY, &near, 429},
                {"another address", NULL, SHOP, &far, 200},
                {"another caller", "list", MALLORY, &far, 200},
        };
        enum { ROWS = sizeof row / sizeof row[0] };
        struct http_request *v = mem_new_array(ROWS, sizeof *v);
        for (size_t i = 0; i < ROWS; i++) {
                v[i] = (struct http_request){
                        .listener = &listener, .from = row[i].from, .job = spare_jobs_take(&listener)};
                v[i].job->route.verb = row[i].verb;
                authorization = row[i].authorization;
                unsigned status = answer_held(&v[i], LONG);
                if (status != row[i].status)
                        fail_msg("%s: %u", row[i].what, status);
        }
        for (size_t i = 0; i < ROWS; i++)
                spare_jobs_put(&listener, v[i].job);
        assert_int_equal(listener.bodies_held, 0);
        assert_int_equal(listener.shares.callers.count, 0);
        while (listener.spare)
                job_free(spare_jobs_take(&listener));
        caller_shares_release(&listener.shares);
        mem_free(v);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_claimed_share)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
