/* Guards are counted, the fuse blows, and what the Lease says of it is held together with what is known here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

struct fixture {
        struct rig c;
        struct target target; /* last: its names follow it */
};

static int set_up(void **state)
{
        struct fixture *f = MEM_NEW(struct fixture);
        rig_begin(&f->c);
        rig_follow(&f->c);
        f->c.live.fuse_guards = 3;
        f->target =
                (struct target){.ns = "shop", .group = "apps", .version = "v1", .kind = "Deployment", .name = "web"};
        *state = f;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *f = *state;
        rig_end(&f->c);
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
                {"reset ", FUSE_RESET, 0},
                {"reset", FUSE_BLOWN, 0},
                {"resetting it", FUSE_BLOWN, 0},
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
                fuse_count(f->c.safety, &f->target, true); /* its owner's own doing */
        for (int i = 0; i < 3; i++)
                fuse_count(f->c.safety, &f->target, false);
        assert_null(f->c.safety->fuse.blown);
        f->c.safety->fuse.at_ms[0] -= HOUR_MS; /* one is forgotten by now */
        fuse_count(f->c.safety, &f->target, false);
        assert_null(f->c.safety->fuse.blown);
        fuse_count(f->c.safety, &f->target, false);
        assert_non_null(strstr(f->c.safety->fuse.blown, "Z: 4 guards within an hour: shop/Deployment/web, "));
        assert_true(f->c.safety->fuse.blown_ms > 0);
        AUTO(mem_free) char *before = mem_string(f->c.safety->fuse.blown);
        for (int i = 0; i < FUSE_GUARDS_MOST + 10; i++)
                fuse_count(f->c.safety, &f->target, false);
        assert_string_equal(f->c.safety->fuse.blown, before); /* blown once, and told once */
        assert_int_equal(f->c.safety->fuse.guards, FUSE_GUARDS_MOST);
}

/* One guard more, of a workload of this name; it is kept. */
static void count_of(struct fixture *f, const char *name)
{
        f->target.name = name;
        fuse_count(f->c.safety, &f->target, false);
}

static void test_the_newest_are_named(void **state)
{
        static const struct {
                int guards;
                const char *want;
        } row[] = {
                {2, ": 2 guards within an hour: shop/Deployment/b, shop/Deployment/a"},
                {5, ": 5 guards within an hour: shop/Deployment/e, shop/Deployment/d, shop/Deployment/c, "
                    "shop/Deployment/b, shop/Deployment/a"},
                {6, ": 6 guards within an hour: shop/Deployment/f, shop/Deployment/e, shop/Deployment/d, "
                    "shop/Deployment/c, shop/Deployment/b, …"},
        };
        static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
        struct fixture *f = *state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                f->c.live.fuse_guards = row[i].guards - 1;
                for (int n = 0; n < row[i].guards; n++)
                        count_of(f, names[n]);
                assert_string_equal(f->c.safety->fuse.blown + strlen("2026-11-22T02:00:00Z"), row[i].want);
                fuse_release(&f->c.safety->fuse);
        }
}

/* Of the oldest ones nothing is kept: those that an hour passed over, and those beyond what is counted at all. */
static void test_the_oldest_are_forgotten(void **state)
{
        struct fixture *f = *state;
        const struct fuse *fuse = &f->c.safety->fuse;
        f->c.live.fuse_guards = FUSE_GUARDS_MOST;
        count_of(f, "a");
        f->c.safety->fuse.at_ms[0] -= HOUR_MS;
        count_of(f, "b");
        count_of(f, "c");
        assert_int_equal(fuse->guards, 2);
        assert_string_equal(fuse->name[0], "shop/Deployment/b");
        int64_t now_ms = fuse->at_ms[1];
        while (fuse->guards < FUSE_GUARDS_MOST)
                count_of(f, "d");
        for (int i = 0; i < FUSE_GUARDS_MOST; i++)
                f->c.safety->fuse.at_ms[i] = now_ms - FUSE_GUARDS_MOST + i;
        count_of(f, "e");
        assert_int_equal(fuse->guards, FUSE_GUARDS_MOST);
        assert_string_equal(fuse->name[0], "shop/Deployment/c");
        assert_string_equal(fuse->name[FUSE_GUARDS_MOST - 1], "shop/Deployment/e");
        for (int i = 0; i < FUSE_GUARDS_MOST - 1; i++)
                assert_int_equal(fuse->at_ms[i], now_ms - FUSE_GUARDS_MOST + i + 1);
}

static void test_the_setting_resets_it(void **state)
{
        struct fixture *f = *state;
        f->c.live.fuse_guards = 1;
        fuse_count(f->c.safety, &f->target, false);
        fuse_count(f->c.safety, &f->target, false);
        assert_non_null(f->c.safety->fuse.blown);
        fuse_settle(f->c.safety);
        assert_non_null(f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        f->c.live.fuse_guards = 0;
        fuse_settle(f->c.safety);
        assert_null(f->c.safety->fuse.blown);
        assert_int_equal(f->c.safety->fuse.guards, 0);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", said), "reset 2", 7); /* what the Lease is to say by now */
        fuse_count(f->c.safety, &f->target, false);
        assert_int_equal(f->c.safety->fuse.guards, 0);
}

static void test_who_comes_after_takes_it(void **state)
{
        static const char said[] = "2025-11-21T04:40:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(f->c.safety, "uid", NULL));
        assert_null(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_string_equal(f->c.safety->fuse.blown, said);
        assert_string_equal(fuse_noted(f->c.safety, "made again", NULL), said); /* another Lease: it is told again */
        assert_null(fuse_noted(f->c.safety, "made again", said));
        assert_memory_equal(fuse_noted(f->c.safety, "made again", NULL), "reset 2", 7); /* taken off by a person */
        assert_null(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "made again", "reset 2026-01-01T00:00:00Z"));
        assert_memory_equal(fuse_noted(f->c.safety, "made again", said), "reset 2", 7); /* of before the reset */
}

/* Only a Lease that said it is blown, and says so no more, was reset by a person who took it off. */
static void test_a_lease_that_said_otherwise_is_told(void **state)
{
        struct fixture *f = *state;
        f->c.live.fuse_guards = 1;
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        count_of(f, "a");
        count_of(f, "b");
        assert_string_equal(fuse_noted(f->c.safety, "uid", NULL), f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, NULL, f->c.safety->fuse.blown)); /* of which it is not known */
        assert_string_equal(fuse_noted(f->c.safety, "uid", NULL), f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.blown);
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_memory_equal(fuse_noted(f->c.safety, "uid", NULL), "reset 2", 7);
}

/* What was counted by a clock that was ahead counts for an hour from when that is seen, not for a year. */
static void test_guards_ahead_pass(void **state)
{
        struct fixture *f = *state;
        for (int i = 0; i < 3; i++)
                fuse_count(f->c.safety, &f->target, false);
        for (int i = 0; i < 3; i++)
                f->c.safety->fuse.at_ms[i] += 365 * (int64_t)DAY_MS; /* as of a clock that is set right by now */
        f->c.live.fuse_guards = 4;
        fuse_count(f->c.safety, &f->target, false);
        assert_int_equal(f->c.safety->fuse.guards, 4);
        for (int i = 0; i < 4; i++)
                f->c.safety->fuse.at_ms[i] -= HOUR_MS; /* an hour goes by */
        fuse_count(f->c.safety, &f->target, false);
        assert_int_equal(f->c.safety->fuse.guards, 1);
        assert_null(f->c.safety->fuse.blown);
}

/* A reset of a time that has not come, of a clock that is ahead or of a hand that means well, resets what is blown now
 * and nothing after. */
static void test_a_reset_is_for_once(void **state)
{
        static const char ahead[] = "reset 2126-01-01T00:00:00Z";
        struct fixture *f = *state;
        assert_memory_equal(fuse_noted(f->c.safety, "uid", ahead), "reset 202", 9); /* whole: it is dated */
        f->c.live.fuse_guards = 1;
        fuse_count(f->c.safety, &f->target, false);
        fuse_count(f->c.safety, &f->target, false);
        assert_non_null(f->c.safety->fuse.blown);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", ahead), "reset 202", 9);
        assert_null(f->c.safety->fuse.blown);
        AUTO(mem_free) char *said = mem_string(f->c.safety->fuse.reset);
        fuse_count(f->c.safety, &f->target, false);
        fuse_count(f->c.safety, &f->target, false);
        assert_non_null(f->c.safety->fuse.blown);
        assert_string_equal(fuse_noted(f->c.safety, "uid", said), f->c.safety->fuse.blown);
        assert_non_null(f->c.safety->fuse.blown);
}

/* Blown while this clock was a century ahead: a person's reset of today counts. */
static void test_what_blew_ahead_is_reset(void **state)
{
        static const char said[] = "2126-01-01T00:00:00Z: 6 guards within an hour: shop/Deployment/web";
        struct fixture *f = *state;
        assert_null(fuse_noted(f->c.safety, "uid", said));
        assert_string_equal(f->c.safety->fuse.blown, said);
        assert_null(fuse_noted(f->c.safety, "uid", "reset 2025-11-21T04:40:00Z"));
        assert_null(f->c.safety->fuse.blown);
        assert_memory_equal(fuse_noted(f->c.safety, "uid", said), "reset 2025", 10); /* the reset was not written yet */
        assert_null(f->c.safety->fuse.blown);
}

static void test_it_is_stored(void **state)
{
        struct fixture *f = *state;
        struct err err = {0};
        AUTO(mem_free) char *path = tmp_path("fuse.db");
        rig_open_database(&f->c, path);
        assert_non_null(f->c.checkpointer->store);
        for (int i = 0; i < 4; i++)
                fuse_count(f->c.safety, &f->target, false);
        AUTO(mem_free) char *before = mem_string(f->c.safety->fuse.blown);
        assert_non_null(before);
        int64_t at_ms = f->c.safety->fuse.at_ms[3];
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
        fuse_release(&f->c.safety->fuse);
        rig_open_database(&f->c, path);
        assert_string_equal(f->c.safety->fuse.blown, before);
        assert_int_equal(f->c.safety->fuse.guards, 4);
        assert_int_equal(f->c.safety->fuse.at_ms[3], at_ms);
        assert_string_equal(f->c.safety->fuse.name[3], "shop/Deployment/web");
        AUTO(mem_free) char *reset = mem_printf("reset %.20s", before); /* while it was away */
        assert_null(fuse_noted(f->c.safety, "uid", reset));
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
        fuse_release(&f->c.safety->fuse);
        rig_open_database(&f->c, path);
        assert_null(f->c.safety->fuse.blown);
        assert_true(f->c.safety->fuse.reset_ms > 0);
        assert_int_equal(checkpointer_close(f->c.checkpointer, &err), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_notes_are_read),
                cmocka_unit_test_setup_teardown(test_the_one_above_blows_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_newest_are_named, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_oldest_are_forgotten, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_lease_that_said_otherwise_is_told, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_setting_resets_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_who_comes_after_takes_it, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_guards_ahead_pass, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_reset_is_for_once, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_blew_ahead_is_reset, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_it_is_stored, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
