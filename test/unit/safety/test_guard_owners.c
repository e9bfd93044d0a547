/* Guards and deploys by the owner: whether a release came together with the harmful change, and when that is
 * forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/guarded.h"
#include "../../support/tmp.h"

enum { PODS = 2 };

static int64_t minute(int m)
{
        return changed_ms + m * (int64_t)MINUTE_MS;
}

static void begin(struct guarded *s, enum apply_mode mode, enum apply_at at)
{
        guarded_set(s, mode, PODS, changed_ms);
        s->spec.apply.at = at;
}

static bool look(struct guarded *s, int at_minute)
{
        s->plan.now.ms = minute(at_minute);
        return guard_look(s->c.safety, &s->t, &s->plan);
}

/* --- the fuse counts what no release came with --- */

enum { NONE = -9999 };
enum harm { EVICTED, KILLED, RESTARTED };

static const struct {
        const char *what;
        enum apply_mode mode;
        enum apply_at at;
        enum harm harm;
        bool released; /* the template is another than the one we know */
        int set;       /* minute at which the ReplicaSet of the pod was made; NONE: it is of no other workload */
        int counted;
} rows[] = {
        {"evicted", APPLY_ROLLOUT, AT_POD, EVICTED, false, NONE, 1},
        {"evicted after a release", APPLY_ROLLOUT, AT_POD, EVICTED, true, NONE, 0},
        {"killed", APPLY_ROLLOUT, AT_POD, KILLED, false, NONE, 1},
        {"killed after a release", APPLY_IN_PLACE, AT_POD, KILLED, true, NONE, 0},
        {"restarted", APPLY_ROLLOUT, AT_POD, RESTARTED, false, NONE, 1},
        {"deployed with a release", APPLY_ON_DEPLOY, AT_WORKLOAD, EVICTED, true, NONE, 0},
        {"deployed without one", APPLY_ON_DEPLOY, AT_WORKLOAD, EVICTED, false, NONE, 1},
        {"its pod came with a new ReplicaSet", APPLY_ON_DEPLOY, AT_POD, EVICTED, false, -1, 0},
        {"an hour after it", APPLY_ON_DEPLOY, AT_POD, EVICTED, false, -50, 0},
        {"later", APPLY_ON_DEPLOY, AT_POD, EVICTED, false, -51, 1},
        {"its pod has no other owner", APPLY_ON_DEPLOY, AT_POD, EVICTED, false, NONE, 1},
};

static void harm(struct guarded *s, enum harm h, int at_minute)
{
        const struct oom_kill k = {
                .container = "app", .at = {minute(at_minute)}, .cause = h == EVICTED ? KILL_EVICTION : KILL_ROOM};
        if (h == RESTARTED)
                s->pod[0].restarts = 2;
        else
                guard_killed(s->c.safety, &s->t, &s->pod[0], &k);
}

static void test_what_the_fuse_counts(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                for (int own = 0; own < 2; own++) { /* it is the pod's own owner, or there is none */
                        struct guarded s;
                        begin(&s, rows[i].mode, rows[i].at);
                        s.wl.created_ms = minute(-1);
                        s.set.created_ms = minute(rows[i].set);
                        s.pod[0].owner = rows[i].set != NONE ? &s.set : own ? &s.wl : NULL;
                        s.wl.digest = rows[i].released ? 2 : 1;
                        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
                        if (rows[i].mode == APPLY_ON_DEPLOY)
                                guard_deployed(&s.t, (struct wall){changed_ms});
                        harm(&s, rows[i].harm, 10);
                        if (!look(&s, 11) || s.c.safety->fuse.guards != rows[i].counted)
                                fail_msg("%s: %d counted", rows[i].what, s.c.safety->fuse.guards);
                        guarded_clear(&s);
                }
}

/* --- at Pod, what was taken back is forgotten by the first pods that stand after it --- */

static const struct {
        const char *what;
        struct {
                int created; /* minutes after the hold */
                bool theirs, waits;
        } pod[PODS];
        int looked;
        bool forgotten;
} later[] = {
        {"nobody came since", {{-10, false, false}, {-90, false, false}}, 9999, false},
        {"one came with it, and stood for the watch time", {{0, false, false}, {-90, false, false}}, 60, false},
        {"for longer", {{0, false, false}, {-90, false, false}}, 61, true},
        {"the first of them counts", {{50, false, false}, {10, false, false}}, 71, true},
        {"the other way round", {{10, false, false}, {50, false, false}}, 71, true},
        {"the first did not stand yet", {{50, false, false}, {20, false, false}}, 71, false},
        {"none has requests of ours", {{10, true, false}, {50, true, false}}, 999, false},
        {"none runs yet", {{10, false, true}, {50, false, true}}, 999, false},
};

static void test_forgotten_by_pods(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
                struct guarded s;
                begin(&s, APPLY_ON_DEPLOY, AT_POD);
                s.t.apply_state.changed_ms = minute(-9999); /* it tells nothing of pods */
                struct guard_state *g = target_guard_state(&s.t);
                g->cause = GUARD_EVICTED;
                g->until_ms = minute(0);
                for (int p = 0; p < PODS; p++) {
                        s.pod[p].created_ms = minute(later[i].pod[p].created);
                        s.pod[p].ours = !later[i].pod[p].theirs;
                        s.pod[p].running = !later[i].pod[p].waits;
                }
                assert_false(look(&s, later[i].looked));
                if (!s.t.apply_state.guard != later[i].forgotten)
                        fail_msg("%s: %s", later[i].what, s.t.apply_state.guard ? "remembered" : "forgotten");
                guarded_clear(&s);
        }
}

/* --- kills that come out of order --- */

static void test_the_newest_kill_counts(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ROLLOUT, AT_POD);
        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
        harm(&s, EVICTED, 10);
        harm(&s, KILLED, 9); /* heard of later */
        s.plan.now.ms = minute(11);
        assert_false(guard_watch(s.c.safety, &s.t, &s.plan)); /* a process without the Lease only watches */
        assert_int_equal(s.t.apply_state.guard->kill.cause, KILL_EVICTION);
        assert_int_equal(s.t.apply_state.guard->kill.at.ms, minute(10));
        assert_true(look(&s, 12));
        s.t.apply_state.guard->until_ms = minute(12); /* over already */
        harm(&s, KILLED, 12);                         /* of the moment it fired */
        assert_false(look(&s, 13));
        harm(&s, KILLED, 13);
        assert_true(look(&s, 13));
        guarded_clear(&s);
}

/* --- which changes are watched --- */

static void test_which_changes_are_watched(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                enum apply_mode mode;
                bool off, held;
                bool watched, released; /* as one that we made; as one that an owner's deploy brought */
        } row[] = {
                {"of a template", APPLY_ROLLOUT, false, false, true, false},
                {"of pods", APPLY_IN_PLACE, false, false, true, false},
                {"that takes another back", APPLY_ROLLOUT, false, true, false, false},
                {"its owner deployed", APPLY_ON_DEPLOY, false, false, false, true},
                {"with guards turned off", APPLY_ROLLOUT, true, false, false, false},
                {"deployed, with guards turned off", APPLY_ON_DEPLOY, true, false, false, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct guarded s;
                begin(&s, row[i].mode, AT_WORKLOAD);
                s.spec.apply.guard.enabled = !row[i].off;
                s.wl.digest = 2;
                if (row[i].held) {
                        target_guard_state(&s.t)->cause = GUARD_EVICTED;
                        target_guard_state(&s.t)->until_ms = minute(1);
                }
                guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
                bool watched = s.t.apply_state.guard && s.t.apply_state.guard->change_ms;
                guard_deployed(&s.t, (struct wall){changed_ms});
                bool released = s.t.apply_state.guard && s.t.apply_state.guard->released_ms;
                if (watched != row[i].watched || released != row[i].released)
                        fail_msg("%s: watched %d, released %d", row[i].what, watched, released);
                guarded_clear(&s);
        }
}

/* A kill at the limit is not the request's, and its restart does not count; but one of before the change did not
 * restart anything since. One of the change's own second is told as if it had come before the rest of that second. */
static void test_kills_at_the_limit(void **state)
{
        (void)state;
        struct guarded s;
        enum { WITHIN_SECOND = 474 };
        const struct oom_kill before = {.container = "app", .at = {changed_ms - SECOND_MS}, .cause = KILL_LIMIT},
                              since = {.container = "app", .at = {changed_ms}, .cause = KILL_LIMIT};
        begin(&s, APPLY_ROLLOUT, AT_POD);
        guard_killed(s.c.safety, NULL, &s.pod[0], &since); /* of no target */
        guard_killed(s.c.safety, &s.t, &s.pod[0], &since); /* nothing was changed yet */
        assert_null(s.t.apply_state.guard);
        target_guard_state(&s.t)->cause = GUARD_EVICTED; /* and it was taken back once */
        guard_killed(s.c.safety, &s.t, &s.pod[0], &since);
        assert_int_equal(s.t.apply_state.guard->by_limit, 0);
        s.t.apply_state.changed_ms = changed_ms + WITHIN_SECOND;
        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){s.t.apply_state.changed_ms});
        guard_killed(s.c.safety, &s.t, &s.pod[0], &before);
        assert_int_equal(s.t.apply_state.guard->by_limit, 0);
        guard_killed(s.c.safety, &s.t, &s.pod[0], &since);
        assert_int_equal(s.t.apply_state.guard->by_limit, 1);
        s.t.workload = NULL;
        guard_killed(s.c.safety, &s.t, &s.pod[0], &since);
        assert_int_equal(s.t.apply_state.guard->by_limit, 1);
        guarded_clear(&s);
}

/* Of two kills of one moment the one heard of last counts; and a kill asks for a pass, which judges it. */
static void test_two_kills_of_a_moment(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ROLLOUT, AT_POD);
        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
        assert_false(s.c.nudged);
        harm(&s, EVICTED, 10);
        assert_true(s.c.nudged);
        harm(&s, KILLED, 10);
        assert_int_equal(s.t.apply_state.guard->kill.cause, KILL_ROOM);
        guarded_clear(&s);
}

/* A change that is not watched ends the watch of the one before. */
static void test_a_change_ends_the_watch(void **state)
{
        (void)state;
        struct guarded s;
        begin(&s, APPLY_ROLLOUT, AT_POD);
        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
        assert_true(s.t.apply_state.guard->change_ms > 0);
        target_guard_state(&s.t)->cause = GUARD_EVICTED; /* which is held, so that it stays */
        target_guard_state(&s.t)->until_ms = minute(9);
        guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
        assert_true(!s.t.apply_state.guard || s.t.apply_state.guard->change_ms == 0);
        guarded_clear(&s);
}

/* A restart that is reported after the change, and ended before it, is heard before it is judged. */
static void test_it_hears_before_it_judges(void **state)
{
        (void)state;
        for (int before = 0; before <= 1; before++) {
                struct guarded s;
                begin(&s, APPLY_IN_PLACE, AT_POD);
                guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
                s.pod[0].restarts = 2;
                s.pod[0].ended_s = (uint32_t)(changed_ms / SECOND_MS + (before ? -1 : 1));
                assert_int_equal(look(&s, 1), !before);
                guarded_clear(&s);
        }
}

/* What is forgotten is stored as such: what was taken back, once a change stands, and all where guards are off. */
static void test_forgetting_is_stored(void **state)
{
        (void)state;
        for (int off = 0; off <= 1; off++) {
                struct guarded s;
                AUTO(mem_free) char *path = tmp_path(off ? "off.db" : "forgotten.db");
                begin(&s, APPLY_ROLLOUT, AT_POD);
                rig_open_database(&s.c, path);
                target_guard_state(&s.t)->cause = GUARD_EVICTED;
                target_guard_state(&s.t)->until_ms = minute(0);
                s.spec.apply.guard.enabled = !off;
                s.t.apply_state_dirty = true;
                assert_false(look(&s, 61));
                assert_null(s.t.apply_state.guard);
                assert_false(s.t.apply_state_dirty);
                guarded_clear(&s);
        }
}

static void test_how_long_after(void **state)
{
        (void)state;
        static const struct {
                int seconds;
                const char *want;
        } row[] = {{0, ", 0s after"}, {59, ", 59s after"}, {60, ", 1m0s after"}, {3599, ", 59m59s after"}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct guarded s;
                begin(&s, APPLY_ROLLOUT, AT_POD);
                guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
                const struct oom_kill k = {
                        .container = "app", .at = {changed_ms + row[i].seconds * SECOND_MS}, .cause = KILL_EVICTION};
                guard_killed(s.c.safety, &s.t, &s.pod[0], &k);
                assert_true(look(&s, 60));
                if (!strstr(s.t.apply_state.guard->why, row[i].want))
                        fail_msg("%d s: %s", row[i].seconds, s.t.apply_state.guard->why);
                guarded_clear(&s);
        }
}

/* Unreported ends count as caused by the limit, if they came since the change. */
static void test_untold_since_the_change(void **state)
{
        (void)state;
        static const struct {
                uint32_t before, now;
                int64_t untold, left; /* told as untold; restarts that count after it */
        } row[] = {{0, 1, 0, 0}, {0, 3, 2, 0}, {0, 3, 0, 2}, {50, 51, 46, 0}, {50, 53, 46, 0}, {50, 53, 1, 1}};
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct guarded s;
                guarded_set(&s, APPLY_IN_PLACE, GUARDED_PODS, changed_ms - DAY_MS);
                s.pod[0].restarts = (uint16_t)row[i].before;
                guard_changed(&s.t, guard_state_survey(&s.t), (struct wall){changed_ms});
                s.pod[0].restarts = (uint16_t)row[i].now;
                const struct oom_kill k = {.container = "app",
                                           .at = {changed_ms + MINUTE_MS},
                                           .cause = KILL_LIMIT,
                                           .untold = row[i].untold};
                guard_killed(s.c.safety, &s.t, &s.pod[0], &k);
                if (guard_state_restarts(&s.t) != row[i].left)
                        fail_msg("row %zu: %lld", i, (long long)guard_state_restarts(&s.t));
                s.pod[0].restarts += 10; /* what comes after is no more masked by it */
                assert_int_equal(guard_state_restarts(&s.t), row[i].left + 10);
                guarded_clear(&s);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_the_fuse_counts),    cmocka_unit_test(test_forgotten_by_pods),
                cmocka_unit_test(test_the_newest_kill_counts),  cmocka_unit_test(test_which_changes_are_watched),
                cmocka_unit_test(test_kills_at_the_limit),      cmocka_unit_test(test_untold_since_the_change),
                cmocka_unit_test(test_how_long_after),          cmocka_unit_test(test_two_kills_of_a_moment),
                cmocka_unit_test(test_a_change_ends_the_watch), cmocka_unit_test(test_it_hears_before_it_judges),
                cmocka_unit_test(test_forgetting_is_stored),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
