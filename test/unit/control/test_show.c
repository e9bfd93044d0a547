/*
 * What a view tells where Recommendations are all there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../src/control/show.h"

/* One container runs to completion, one only pods have, one is the workload's own. */
static const char recommendation[] =
        "{\"apiVersion\":\"halflife.dev/"
        "v1alpha1\",\"kind\":\"Recommendation\",\"metadata\":{\"name\":\"deployment-web\","
        "\"namespace\":\"shop\",\"uid\":\"u\",\"resourceVersion\":\"1\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
        "\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\"},\"profileRef\":{\"kind\":\"ClusterProfile\",\"name\":"
        "\"broken\"}},\"status\":{\"state\":\"Ready\",\"containers\":["
        "{\"name\":\"app\",\"state\":\"Ready\",\"cpu\":{\"reason\":\"Lowered\"},\"memory\":{\"reason\":\"MemoryOff\"}},"
        "{\"name\":\"prepare\",\"state\":\"NoData\",\"cpu\":{\"reason\":\"Init\"},\"memory\":{\"reason\":\"Init\"}},"
        "{\"name\":\"mesh\",\"state\":\"Ready\",\"cpu\":{\"reason\":\"NotInTemplate\"}}]}}";

static void test_roles(void **state)
{
        (void)state;
        static const enum container_role want[] = {ROLE_MAIN, ROLE_INIT, ROLE_INJECTED};
        struct world w;
        struct err err = {0};
        world_init(&w, "halflife", "halflife");
        assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
        struct view *v = show_world(&w, (struct wall){1000});
        const struct view_target *t = view_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        assert_non_null(t);
        assert_int_equal(t->containers, 3);
        for (int i = 0; i < 3; i++)
                if (t->container[i].role != want[i])
                        fail_msg("%s: role %d, not %d", t->container[i].name, t->container[i].role, want[i]);
        view_drop(v);
        world_release(&w);
}

/* A profile that never could be read has nothing to show. */
static void test_a_profile_never_read(void **state)
{
        (void)state;
        static const char broken[] =
                "{\"apiVersion\":\"halflife.dev/v1alpha1\",\"kind\":\"ClusterProfile\",\"metadata\":{"
                "\"name\":\"broken\",\"uid\":\"p\",\"resourceVersion\":\"1\"},\"spec\":{\"priority\":"
                "\"high\"}}";
        struct world w;
        struct err err = {0};
        struct profile *p;
        world_init(&w, "halflife", "halflife");
        (void)profile_upsert(&w, true, text_of(broken), 1, &err);
        assert_int_equal(published_upsert(&w, text_of(recommendation), 1, &err), 0);
        struct view *v = show_world(&w, (struct wall){1000});
        size_t at = 0;
        p = map_each(&w.profiles, &at);
        assert_non_null(p);
        assert_false(p->valid);
        assert_null(p->shown);
        assert_int_equal(v->profiles, 0);
        assert_null(v->target[0]->profile);
        view_drop(v);
        world_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_roles),
                cmocka_unit_test(test_a_profile_never_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
