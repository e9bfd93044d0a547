/* A profile's windows: open or shut, and in which zone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"

static const char profile[] = "{\"apply\":{\"windows\":[{\"schedule\":\"* * * * *\",\"duration\":\"1h\",\"timeZone\":"
                              "\"Late\"}]}}";

/* UTC, as RFC 8536 has it: version 2, one type, no changes, and the rule behind its end. */
static void install_zone(const char *path)
{
        static const char block[] =
                "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4"
                "\0\0\0\0\0\0UTC";
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        assert_int_equal(fwrite(block, sizeof block, 1, f), 1);
        assert_int_equal(fwrite(block, sizeof block, 1, f), 1);
        assert_int_equal(fwrite("\nUTC0\n", 6, 1, f), 1);
        assert_int_equal(fclose(f), 0);
}

static bool is_open(struct rig *c)
{
        windows_settle(&c->cache, loop_now(c->loop));
        return ((struct profile *)map_get(&c->cache.profiles, TEXT("web/team")))->window_open;
}

/* tzdata is installed, and later taken away: known within the hour or when settings are read again, and never
 * forgotten. */
static void test_zone_comes_later(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        AUTO(mem_free) char *path = tmp_path("Late");
        int64_t now = loop_now(c.loop).mono.ns, minute = (int64_t)MINUTE_MS * 1000000;
        setenv("TZDIR", tmp_dir(), 1);
        shop_profile(&c.cache, 1, profile);
        const struct profile *p = map_get(&c.cache.profiles, TEXT("web/team"));
        c.cache.zones.read.ns = now;
        assert_false(is_open(&c));
        assert_non_null(p->trouble);
        install_zone(path);
        c.cache.zones.read.ns = now - 59 * minute;
        assert_false(is_open(&c));
        c.cache.zones.read.ns = now - 60 * minute;
        assert_true(is_open(&c));
        assert_null(p->trouble);
        assert_true(c.cache.zones.read.ns >= now);
        unlink(path);
        windows_forget_zones(&c.cache, loop_now(c.loop).mono);
        assert_true(is_open(&c));
        assert_null(p->trouble);
        shop_profile(&c.cache, 2, profile); /* but a profile that changes asks for what is there */
        assert_false(is_open(&c));
        assert_non_null(p->trouble);
        install_zone(path);
        windows_forget_zones(&c.cache, loop_now(c.loop).mono);
        assert_true(is_open(&c));
        assert_int_equal(c.cache.zones.by_name.count, 1); /* as many as there are names */
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_zone_comes_later)};
        return cmocka_run_group_tests_name("standing", tests, NULL, NULL);
}
