/* A token that was read to ask for credentials is overwritten before its memory is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "../../support/wiped.h"
#include "base/mem.h"
#include "prometheus/authorization.h"

enum { LONG = 300 << 10 };
static char *token_file;
static char long_text[LONG + 1];

static const char *variable(const char *name)
{
        return strcmp(name, "AZURE_FEDERATED_TOKEN_FILE") == 0 ? token_file
               : strcmp(name, "AZURE_CLIENT_ID") == 0          ? "c"
               : strcmp(name, "AZURE_TENANT_ID") == 0          ? long_text
                                                               : NULL;
}

/* The form is whole, and what is too long is the URL: both are dropped. */
static void test_form_that_is_not_sent(void **state)
{
        (void)state;
        const struct authorization_facts facts = {variable, NULL, "https://prom", {1000}};
        struct authorization_ask ask;
        struct grant grant = {0};
        struct err err = {0};
        token_file = tmp_file("federated", "to.k-en");
        memset(long_text, 'a', LONG);
        wiped.what = "&client_assertion=to.k-en";
        assert_int_equal(authorization_azure.prepare(&facts, &grant, &ask, &err), ERR_TOOBIG);
        assert_null(ask.form);
        assert_int_equal(wiped.holding_it, 1);
        mem_free(token_file);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_form_that_is_not_sent),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
