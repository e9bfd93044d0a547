/* Guards are counted, the fuse blows, and what the Lease says of it is held together with what is known here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/controller_private.h"
#include "../../support/tmp.h"

struct fixture {
        struct controller c;
        struct target target; /* last: its names follow it */
};

static int set_up(void **state)
{
        struct fixture *f = MEM_NEW(struct fixture);
        f->c.loop = loop_new();
        f->c.stopping = true; /* writes nothing, asks for no pass */
        f->c.options.fuse_guards = 3;
        world_init(&f->c.world, "halflife", "halflife");
        f->target =
                (struct target){.ns = "shop", .group = "apps", .version = "v1", .kind = "Deployment", .name = "web"};
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        loop_turn(f->c.loop, 0); /* what the store told */
        fuse_release(&f->c.fuse);
        world_release(&f->c.world);
        loop_free(f->c.loop);
        mem_free(f);
        return 0;
}

static void test_notes_are_read(void **state)
{
        (void)state;
        static const struct {
                const char *note;
                enum fuse_word want;
                int64_t at_ms;
        } row[] = {
                {"", FUSE_NOTHING, 0},
                {"2025-11-21T04:40:00Z: 6 guards within an hour: a/b/c", FUSE_BLOWN, 1763700000000},
                {"somebody's words", FUSE_BLOWN, 0},
                {"reset 2025-11-21T04:40:00Z", FUSE_RESET, 1763700000000},
                {"reset now", FUSE_RESET, 0},
                {"reset", FUSE_BLOWN, 0},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                int64_t at_ms = -1;
                enum fuse_word got = fuse_read(text_of(row[i].note), &at_ms);
                if (got != row[i].want || at_ms != row[i].at_ms)
                        fail_msg("'%s': %d, %lld", row[i].note, (int)got, (long long)at_ms);
        }
}

static void test_the_one_above_blows_it(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 10; i++)
                fuse_count(&f->c, &f->target, true); /* its owner's own doing */
        for (int i = 0; i < 3; i++)
                fuse_count(&f->c, &f->target, false);
        assert_null(f->c.fuse.blown);
        f->c.fuse.at_ms[0] -= HOUR_MS; /* one is forgotten by now */
        fuse_count(&f->c, &f->target, false);
        assert_null(f->c.fuse.blown);
        fuse_count(&f->c, &f->target, false);
        assert_non_null(strstr(f->c.fuse.blown, "Z: 4 guards within an hour: shop/Deployment/web, "));
        assert_true(f->c.fuse.blown_ms > 0);
        AUTO(mem_free) char *before = mem_string(f->c.fuse.blown);
        for (int i = 0; i < FUSE_GUARDS_MOST + 10; i++)
                fuse_count(&f->c, &f->target, false);
        assert_string_equal(f->c.fuse.blown, before); /* blown once, and told once */
        assert_int_equal(f->c.fuse.guards, FUSE_GUARDS_MOST);
}

static void test_the_setting_resets_it(void **state)
{
        struct fixture *f = *state;
        f->c.options.fuse_guards = 1;
        fuse_count(&f->c, &f->target, false);
        fuse_count(&f->c, &f->target, false);
        assert_non_null(f->c.fuse.blown);
        fuse_settle(&f->c);
        assert_non_null(f->c.fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.fuse.blown);
        assert_null(fuse_noted(&f->c, "uid", said));
        f->c.options.fuse_guards = 0;
        fuse_settle(&f->c);
        assert_null(f->c.fuse.blown);
        assert_int_equal(f->c.fuse.guards, 0);
        assert_memory_equal(fuse_noted(&f->c, "uid", said), "reset 2", 7); /* what the Lease is to say by now */
        fuse_count(&f->c, &f->target, false);
        assert_int_equal(f->c.fuse.guards, 0);
}

static void test_who_comes_after_takes_it(void **state)
{
        static const char said[] = "2025-11-21T04:40:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(&f->c, "uid", NULL));
        assert_null(f->c.fuse.blown);
        assert_null(fuse_noted(&f->c, "uid", said));
        assert_string_equal(f->c.fuse.blown, said);
        assert_string_equal(fuse_noted(&f->c, "made again", NULL), said); /* another Lease: it is told again */
        assert_null(fuse_noted(&f->c, "made again", said));
        assert_memory_equal(fuse_noted(&f->c, "made again", NULL), "reset 2", 7); /* taken off by a person */
        assert_null(f->c.fuse.blown);
        assert_null(fuse_noted(&f->c, "made again", "reset 2026-01-01T00:00:00Z"));
        assert_memory_equal(fuse_noted(&f->c, "made again", said), "reset 2", 7); /* of before the reset */
}

/* What was counted by a clock that was ahead counts for an hour from when that is seen, not for a year. */
static void test_guards_ahead_pass(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 3; i++)
                fuse_count(&f->c, &f->target, false);
        for (int i = 0; i < 3; i++)
                f->c.fuse.at_ms[i] += 365 * (int64_t)DAY_MS; /* as of a clock that is set right by now */
        f->c.options.fuse_guards = 4;
        fuse_count(&f->c, &f->target, false);
        assert_int_equal(f->c.fuse.guards, 4);
        for (int i = 0; i < 4; i++)
                f->c.fuse.at_ms[i] -= HOUR_MS; /* an hour goes by */
        fuse_count(&f->c, &f->target, false);
        assert_int_equal(f->c.fuse.guards, 1);
        assert_null(f->c.fuse.blown);
}

/* A reset of a time that has not come, of a clock that is ahead or of a hand that means well, resets what is blown now
 * and nothing after. */
static void test_a_reset_is_for_once(void **state)
{
        static const char ahead[] = "reset 2126-01-01T00:00:00Z";
        struct fixture *f = *state;
        assert_memory_equal(fuse_noted(&f->c, "uid", ahead), "reset 202", 9); /* whole: it is dated */
        f->c.options.fuse_guards = 1;
        fuse_count(&f->c, &f->target, false);
        fuse_count(&f->c, &f->target, false);
        assert_non_null(f->c.fuse.blown);
        assert_memory_equal(fuse_noted(&f->c, "uid", ahead), "reset 202", 9);
        assert_null(f->c.fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.fuse.reset);
        fuse_count(&f->c, &f->target, false);
        fuse_count(&f->c, &f->target, false);
        assert_non_null(f->c.fuse.blown);
        assert_string_equal(fuse_noted(&f->c, "uid", said), f->c.fuse.blown);
        assert_non_null(f->c.fuse.blown);
}

/* Blown while this clock was a century ahead: a person's reset of today counts. */
static void test_what_blew_ahead_is_reset(void **state)
{
        static const char said[] = "2126-01-01T00:00:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(&f->c, "uid", said));
        assert_string_equal(f->c.fuse.blown, said);
        assert_null(fuse_noted(&f->c, "uid", "reset 2025-11-21T04:40:00Z"));
        assert_null(f->c.fuse.blown);
        assert_memory_equal(fuse_noted(&f->c, "uid", said), "reset 2025", 10); /* the reset was not written yet */
        assert_null(f->c.fuse.blown);
}

static void test_it_is_stored(void **state)
{
        struct fixture *f = *state;
        struct err err = {0};
        AUTO(mem_free) char *path = tmp_path("fuse.db");
        f->c.options.database = path;
        persist_open(&f->c, &err);
        assert_non_null(f->c.store);
        for (int i = 0; i < 4; i++)
                fuse_count(&f->c, &f->target, false);
        AUTO(mem_free) char *before = mem_string(f->c.fuse.blown);
        assert_non_null(before);
        assert_int_equal(persist_close(&f->c, &err), 0);
        fuse_release(&f->c.fuse);
        persist_open(&f->c, &err);
        assert_string_equal(f->c.fuse.blown, before);
        assert_int_equal(f->c.fuse.guards, 4);
        AUTO(mem_free) char *reset = mem_printf("reset %.20s", before); /* while it was away */
        assert_null(fuse_noted(&f->c, "uid", reset));
        assert_int_equal(persist_close(&f->c, &err), 0);
        fuse_release(&f->c.fuse);
        persist_open(&f->c, &err);
        assert_null(f->c.fuse.blown);
        assert_true(f->c.fuse.reset_ms > 0);
        assert_int_equal(persist_close(&f->c, &err), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_notes_are_read),
                cmocka_unit_test_setup_teardown(test_the_one_above_blows_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_setting_resets_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_who_comes_after_takes_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_guards_ahead_pass, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_reset_is_for_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_blew_ahead_is_reset, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_it_is_stored, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
