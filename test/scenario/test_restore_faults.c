/* halflife restore beside an API server of which one request fails, each in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../support/halflife.h"
#include "../support/lowered.h"
#include "../support/slowed.h"
#include "base/mem.h"

/* Whatever one request comes to: what was begun is whole or untouched, and the same command again ends it. */
static void test_faults(void **state)
{
        static const struct fake_fault fault[] = {
                {.verb = "patch", .status = 500},
                {.verb = "patch", .status = 409},
                {.verb = "patch", .status = 403},
                {.verb = "patch", .refuse = true},
                {.verb = "patch", .cut = true, .cut_after = 10},
                {.verb = "list", .status = 403},
                {.verb = "get", .status = 403},
                {.verb = "list", .garbage = "nonsense"},
                {.verb = "list", .status = 200, .body = "{}"},
        };
        (void)state;
        for (size_t i = 0; i < sizeof fault / sizeof fault[0]; i++) {
                bool fired = true;
                for (unsigned nth = 0; fired; nth += UNLESS_SLOWED(1, 4) + nth / 3) {
                        lowered_begin(&(struct fake_options){.seed = 10});
                        lowered_all();
                        struct fake_fault f = fault[i];
                        f.nth = nth;
                        fake_fault(lowered_plane.fake, &f);
                        struct halflife *h = halflife_command((const char *const[]){
                                "restore", "deploy/web", "sts/db", "-n", "shop", "--timeout", "4s", NULL});
                        int code = halflife_await(h, 30000);
                        AUTO(mem_free) char *said = halflife_log(h);
                        halflife_free(h);
                        size_t all = fake_count(lowered_plane.fake, f.verb, "");
                        fired = all > nth;
                        fake_faults_clear(lowered_plane.fake);
                        if (code != 0 && code != 1)
                                fail_msg("fault %zu at %u: exit %d\n%s", i, nth, code, said);
                        if (code == 0 && !(lowered_is_back(0) && lowered_is_back(1)))
                                fail_msg("fault %zu at %u: said it was done\n%s", i, nth, said);
                        mem_free(HALFLIFE_RUN(0, "restore", "--all"));
                        lowered_expect_back(said);
                        lowered_end();
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_faults)};
        return cmocka_run_group_tests_name("restore_faults", tests, NULL, NULL);
}
