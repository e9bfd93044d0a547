/* The table of resources: paths, and that it says of workloads what the table of kinds says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "core/kind.h"
#include "kube/known_resource.h"

static void test_every_row_is_there(void **state)
{
        (void)state;
        for (int i = 0; i < KNOWN_RESOURCES; i++) {
                const struct known_resource *r = &known_resources[i];
                if (!r->plural || !r->version || !r->kind || (r->optional && !r->namespaced))
                        fail_msg("row %d", i);
                AUTO(mem_free) char *name = mem_printf("%s%s%s", r->plural, *r->group ? "." : "", r->group);
                assert_string_equal(r->name, name);
        }
}

static void test_paths(void **state)
{
        (void)state;
        AUTO(mem_free) char *pods = known_resource_path(KNOWN_PODS, "web", "a", "resize");
        AUTO(mem_free) char *profiles = known_resource_path(KNOWN_PROFILES, NULL, NULL, NULL);
        AUTO(mem_free) char *core = known_resource_version_path(KNOWN_PODS);
        AUTO(mem_free) char *keda = known_resource_version_path(KNOWN_SCALEDOBJECTS);
        assert_string_equal(pods, "/api/v1/namespaces/web/pods/a/resize");
        assert_string_equal(profiles, "/apis/halflife.dev/v1alpha1/profiles");
        assert_string_equal(core, "/api/v1");
        assert_string_equal(keda, "/apis/keda.sh/v1alpha1");
}

static void test_kinds_of_kubernetes(void **state)
{
        (void)state;
        int found = 0;
        for (int i = 0; i < KNOWN_RESOURCES; i++) {
                const struct known_resource *r = &known_resources[i];
                const struct kind *k = kind_find(text_of(r->group), text_of(r->kind));
                if (!k)
                        continue;
                assert_string_equal(r->plural, k->plural);
                assert_string_equal(r->version, k->version);
                found++;
        }
        for (size_t i = 0; i < kinds_count; i++)
                found -= strcmp(kinds[i].group, "apps") == 0 || strcmp(kinds[i].group, "batch") == 0;
        assert_int_equal(found, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_row_is_there),
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_kinds_of_kubernetes),
        };
        return cmocka_run_group_tests_name("known_resource", tests, NULL, NULL);
}
