/* What the parts of safety do together: before a pass, at the start, and where the database is replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

#define SPENT "[[1000, 7, \"/shared\", \"shop\"]]"

/* The budget's hour ends, fuses that are turned off are reset, and the first workloads of a profile are chosen. */
static void test_all_settle(void **state)
{
        (void)state;
        struct rig c;
        struct workload wl = {0};
        struct profile_spec spec = {.apply = {.mode = APPLY_ROLLOUT, .canary.percent = 50}};
        struct profile profile = {.key = (char[]){"/shared"}, .spec = &spec};
        struct target t = {.ns = "shop", .kind = "Deployment", .name = "web", .workload = &wl, .profile = &profile};
        rig_begin(&c);
        map_put(&c.cache.profiles, TEXT("/shared"), &profile);
        map_put(&c.cache.targets, TEXT("t"), &t);
        safety_load(c.safety, TEXT("budget"), TEXT(SPENT));
        safety_load(c.safety, TEXT("fuse"), TEXT("{\"blown\": \"2025-11-21T04:40:00Z: 6 guards\"}"));
        assert_int_equal(c.safety->spendings, 1);
        assert_non_null(c.safety->fuse.blown);
        c.live.fuse_guards = 0;
        safety_settle(c.safety);
        assert_int_equal(c.safety->spendings, 0);
        assert_null(c.safety->fuse.blown);
        assert_true(t.canary);
        map_drop(&c.cache.profiles, TEXT("/shared"));
        map_drop(&c.cache.targets, TEXT("t"));
        profile_canary_begin(&profile);
        rig_end(&c);
}

/* A database that takes another's place gets all of it, and a note of another name is nobody's. */
static void test_all_is_stored(void **state)
{
        (void)state;
        struct rig c;
        AUTO(mem_free) char *path = tmp_path("safety.db");
        for (int restarted = 0; restarted <= 1; restarted++) {
                rig_begin(&c);
                if (!restarted) {
                        safety_load(c.safety, TEXT("budget"), TEXT(SPENT));
                        safety_load(c.safety, TEXT("fuse"), TEXT("{\"reset\": 5}"));
                        safety_load(c.safety, TEXT("else"), TEXT("{\"reset\": 6}"));
                }
                rig_open_database(&c, path);
                if (!restarted)
                        safety_store(c.safety);
                assert_int_equal(c.safety->spendings, 1);
                assert_int_equal(c.safety->fuse.reset_ms, 5);
                rig_kill_database(&c);
                rig_end(&c);
        }
        safety_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_all_settle),
                cmocka_unit_test(test_all_is_stored),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
