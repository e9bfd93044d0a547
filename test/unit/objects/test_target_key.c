#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "objects/target_key.h"

static void keys(void **state)
{
        (void)state;
        static const struct {
                struct text ns, group, kind, name;
                const char *want;
        } row[] = {
                {TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"), "shop/apps/Deployment/web"},
                {TEXT("shop"), TEXT(""), TEXT("Pod"), TEXT("web-0"), "shop//Pod/web-0"},
                {{NULL, 0}, {NULL, 0}, TEXT("Namespace"), TEXT("shop"), "//Namespace/shop"},
                {TEXT(""), TEXT(""), TEXT(""), TEXT(""), "///"},
                {{"shopping", 4}, {"apps/v1", 4}, {"Deployments", 10}, {"web-1", 3}, "shop/apps/Deployment/web"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free) char *key = target_key_new(row[i].ns, row[i].group, row[i].kind, row[i].name);
                assert_string_equal(key, row[i].want);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keys),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
