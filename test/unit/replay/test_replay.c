/*
 * The scoring rules, by numbers worked out by hand. CPU 0.05 cores lies in bucket 4, whose upper edge is 0.05525631:
 * model 56m, x 1.1 = 62m. CPU 0.1 lies in bucket 8, upper edge 0.1102656: model 111m, target 123m. Memory 1e8 bytes
 * lies in bucket 8 as well, upper edge 110265643: model 106Mi, x 1.15 = 122Mi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "cli/replay_policy.h"

enum { STEP = 600, DAY = 86400, STEPS_A_DAY = DAY / STEP };

static void begin(struct replay *r)
{
        struct profile_spec spec;
        replay_init(r, DAY_MS, NULL);
        assert_int_equal(profile_spec_read(NULL, &spec, NULL), 0);
        assert_int_equal(replay_add_policy(r, "default", &spec), 0);
        profile_spec_release(&spec);
}

static int feed(struct replay *r, const char *entity, int64_t at_s, double cpu, double memory)
{
        struct trace_row row = {text_of(entity), at_s, {cpu >= 0, memory >= 0}, {cpu, memory}};
        const char *why = NULL;
        int rc = replay_row(r, &row, &why);
        assert_true((rc == ERR_INVALID) == (why != NULL));
        return rc;
}

/* Rows at from, from + STEP, … below to. */
static void feed_span(struct replay *r, const char *entity, int64_t from, int64_t to, double cpu, double memory)
{
        for (int64_t at = from; at < to; at += STEP)
                assert_int_equal(feed(r, entity, at, cpu, memory), 0);
}

static void assert_near(double got, double want)
{
        double off = got - want;
        if (off < -1e-9 * want - 1e-12 || off > 1e-9 * want + 1e-12)
                fail_msg("%.17g is not %.17g", got, want);
}

static void test_first_request(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        feed_span(&r, "a", 0, DAY, 0.05, -1);
        assert_int_equal(feed(&r, "a", DAY, 0.05, -1), 0); /* at the deploy: learned, not scored */
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].rows, 0);
        feed_span(&r, "a", DAY + STEP, 2 * DAY + STEP, 0.05, -1);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
        assert_int_equal(s->rows, STEPS_A_DAY);
        assert_int_equal(s->over, 0);
        assert_int_equal(s->changes, 0);
        assert_near(s->requested_hours, 0.062 * 24);
        assert_near(s->used_hours, 0.05 * 24);
        assert_near(s->entity_weeks, 1.0 / 7);
        assert_near(score_slack(s), 1 - 0.05 / 0.062);
        assert_near(r.peak.of[REPLAY_AS_SET][CPU].requested_hours, 0.05 * 24); /* at the request is not over it */
        assert_int_equal(r.peak.of[REPLAY_AS_SET][CPU].over, 0);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][MEMORY].rows, 0);
        replay_release(&r);
}

static void test_a_change(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        feed_span(&r, "a", 0, 2 * DAY + STEP, 0.05, -1);
        feed_span(&r, "a", 2 * DAY + STEP, 3 * DAY + STEP, 0.1, -1); /* above 62m all day */
        assert_int_equal(feed(&r, "a", 3 * DAY + STEP, 0.1, -1), 0);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
        assert_int_equal(s->rows, 2 * STEPS_A_DAY + 1);
        assert_int_equal(s->over, STEPS_A_DAY);
        assert_int_equal(s->changes, 1);
        assert_near(s->requested_hours, 0.062 * 48 + 0.123 / 6);
        assert_near(s->used_hours, 0.05 * 24 + 0.1 * 24 + 0.1 / 6);
        assert_near(score_changes_per_week(s), 168 / (48 + 1.0 / 6));
        assert_near(r.peak.of[REPLAY_AS_SET][CPU].requested_hours, 0.05 * 48 + 0.1 / 6);
        assert_int_equal(r.peak.of[REPLAY_AS_SET][CPU].changes, 1);
        assert_int_equal(r.peak.of[REPLAY_AS_SET][CPU].over, STEPS_A_DAY);
        replay_release(&r);
}

static void test_memory(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        feed_span(&r, "a", 0, 2 * DAY + STEP, 0.05, 1e8);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][MEMORY];
        assert_int_equal(s->rows, STEPS_A_DAY);
        assert_near(s->requested_hours, 122.0 * 1048576 * 24);
        assert_near(s->used_hours, 1e8 * 24);
        replay_release(&r);
}

/* An early request is in force from the deploy after three hours on. */
static void test_early(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        r.deploy_every_ms = HOUR_MS;
        r.policy[0].apply.early.enabled = true;
        for (int64_t at = 0; at <= 13 * 3600; at += 60)
                assert_int_equal(feed(&r, "a", at, 0.05, -1), 0);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
        assert_int_equal(s->rows, 10 * 60);
        assert_in_range((int)(s->requested_hours / 10 * 1e3), 75, 93); /* 62 to 93 in the end */
        replay_release(&r);
}

/* 24 hours of history are wanted, and a hundred samples: 99 rows are not enough at any deploy. */
static void test_not_ready_is_not_scored(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        for (int i = 0; i < 99; i++)
                assert_int_equal(feed(&r, "few", i * DAY, 0.05, -1), 0);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].rows, 0);
        for (int i = 99; i < 101; i++)
                assert_int_equal(feed(&r, "few", i * DAY, 0.05, -1), 0);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].rows, 1);
        assert_near(r.policy[0].scores.of[REPLAY_AS_SET][CPU].used_hours,
                    0.05 / 6); /* after a gap a row stands for 600 s */
        replay_release(&r);
}

/* The row at which a deploy is due has not been seen by it, wherever the deploys fall. */
static void test_no_look_ahead(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        feed_span(&r, "a", 100, 2 * DAY, 0.05, -1);
        assert_int_equal(feed(&r, "a", 2 * DAY + 200, 900, -1), 0);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].over, 1);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].changes, 0);
        assert_int_equal(r.peak.of[REPLAY_AS_SET][CPU].over, 1);
        replay_release(&r);
}

/* 0.0553 lies in the next bucket: 76m in place of 62m, 22.6 % more. */
static void test_min_change(void **state)
{
        (void)state;
        for (int percent = 22; percent <= 23; percent++) {
                struct replay r;
                begin(&r);
                r.policy[0].apply.min_change_percent = percent;
                feed_span(&r, "a", 0, DAY + STEP, 0.05, -1);
                feed_span(&r, "a", DAY + STEP, 4 * DAY, 0.0553, -1);
                assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].changes, percent == 22);
                if (percent == 23)
                        assert_near(r.policy[0].scores.of[REPLAY_AS_SET][CPU].requested_hours, 0.062 * (72 - 1.0 / 6));
                assert_int_equal(r.peak.of[REPLAY_AS_SET][CPU].changes, 1);
                replay_release(&r);
        }
}

/* Another entity between the rows of one changes nothing for it, whichever of them comes first. */
static void test_entities_interleave(void **state)
{
        (void)state;
        struct replay apart, mixed;
        begin(&apart);
        begin(&mixed);
        feed_span(&apart, "a", 0, 3 * DAY, 0.05, 1e8);
        feed_span(&apart, "b", 50, 3 * DAY, 0.2, 3e8);
        for (int64_t at = 0; at < 3 * DAY; at += STEP) {
                feed(&mixed, "a", at, 0.05, 1e8);
                feed(&mixed, "b", at + 50, 0.2, 3e8);
        }
        for (enum resource q = CPU; q < RESOURCES; q++) {
                const struct score *x = &apart.policy[0].scores.of[REPLAY_AS_SET][q],
                                   *y = &mixed.policy[0].scores.of[REPLAY_AS_SET][q];
                assert_int_equal(x->rows, y->rows);
                assert_near(x->requested_hours, y->requested_hours);
                assert_near(x->used_hours, y->used_hours);
                for (int e = 0; e < 2; e++) {
                        struct recommendation one, two;
                        replay_estimate(&apart, apart.entity[e], 0, &one);
                        replay_estimate(&mixed, mixed.entity[e], 0, &two);
                        assert_int_equal(one.of[q].model, two.of[q].model);
                        assert_int_equal(one.state, STATE_READY);
                }
        }
        replay_release(&apart);
        replay_release(&mixed);
}

static void test_refused_rows(void **state)
{
        (void)state;
        static const struct {
                int64_t at_s;
                double cpu, memory;
                int rc;
                int64_t rows; /* of the entity, after it */
        } row[] = {
                {1000, 0.05, 1e8, 0, 1},
                {1000, 0.05, 1e8, ERR_INVALID, 1}, /* again */
                {400, 0.05, 1e8, ERR_INVALID, 1},  /* earlier */
                {1600, 2e5, 1e8, ERR_INVALID, 1},  /* absurd */
                {1600, 0.05, 2e15, ERR_INVALID, 1},
                {1600, 1.0 / 0.0, 1e8, ERR_INVALID, 1},
                {1600, 0.05, 0, ERR_INVALID, 2}, /* the CPU counts */
                {2200, -1, 0, ERR_INVALID, 2},   /* no CPU to count */
                {2200, 0, 1e8, 0, 3},            /* idle is a sample */
        };
        struct replay r;
        begin(&r);
        int64_t refused = 0;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                refused += row[i].rc < 0;
                int rc = feed(&r, "a", row[i].at_s, row[i].cpu, row[i].memory);
                if (rc != row[i].rc || r.entity[0]->rows != row[i].rows || r.refused != refused)
                        fail_msg("row %zu: %d, %lld rows", i, rc, (long long)r.entity[0]->rows);
        }
        assert_int_equal(r.entity[0]->samples[CPU], 3);
        assert_int_equal(r.entity[0]->samples[MEMORY], 2);
        struct trace_row negative = {TEXT("a"), 9000, {true, false}, {-1, 0}};
        const char *why = NULL;
        assert_int_equal(replay_row(&r, &negative, &why), ERR_INVALID);
        assert_non_null(strstr(why, "is negative"));
        replay_release(&r);
}

static void test_an_entity_of_bad_rows_begins_with_its_first_good_one(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        assert_int_equal(feed(&r, "a", 5, 2e5, -1), ERR_INVALID);
        feed_span(&r, "a", 1000, 1000 + DAY, 0.05, -1);
        assert_int_equal(r.entity[0]->first_ms, 1000000);
        assert_int_equal(r.entity[0]->deploy_ms, (1000 + DAY) * INT64_C(1000));
        replay_release(&r);
}

static void test_policies_side_by_side(void **state)
{
        (void)state;
        static const char quick[] = "{\"resources\": {\"cpu\": {\"percentile\": 50, \"multiplier\": \"2\", "
                                    "\"halfLife\": \"1h\"}}, \"apply\": {\"minHistory\": \"0s\"}}";
        struct replay r;
        begin(&r);
        struct profile_spec spec;
        json_t *json = json_loads(quick, 0, NULL);
        assert_int_equal(profile_spec_read(json, &spec, NULL), 0);
        assert_int_equal(replay_add_policy(&r, "quick", &spec), 0);
        feed_span(&r, "a", 0, 12 * 3600, 0.05, -1);
        feed_span(&r, "a", 12 * 3600, DAY + STEP, 0.01, -1);
        feed_span(&r, "a", DAY + STEP, 2 * DAY + STEP, 0.01, -1);
        assert_near(r.policy[0].scores.of[REPLAY_AS_SET][CPU].requested_hours, 0.062 * 24);
        assert_near(r.policy[1].scores.of[REPLAY_AS_SET][CPU].requested_hours,
                    0.042 * 24); /* bucket 1 ends at 0.0205: 21m x 2 */
        for (int i = 2; i < REPLAY_POLICIES; i++)
                assert_int_equal(replay_add_policy(&r, "more", &spec), 0);
        assert_int_equal(replay_add_policy(&r, "more", &spec), ERR_TOOBIG);
        r.policies = 2; /* the entity was made for two */
        for (int i = 2; i < REPLAY_POLICIES; i++)
                mem_free(r.policy[i].name);
        json_decref(json);
        profile_spec_release(&spec);
        replay_release(&r);
}

static void test_memory_window(void **state)
{
        (void)state;
        struct replay r;
        struct profile_spec spec;
        replay_init(&r, DAY_MS, NULL);
        assert_int_equal(profile_spec_read(NULL, &spec, NULL), 0);
        spec.of[MEMORY].window_ms = DAY_MS;
        assert_int_equal(replay_add_policy(&r, "peaks", &spec), 0);
        for (int64_t at = 0; at < 2 * DAY + STEP; at += STEP) /* one high row a day */
                assert_int_equal(feed(&r, "a", at, -1, at % DAY == 3600 ? 1e8 : 2e7), 0);
        assert_near(r.policy[0].scores.of[REPLAY_AS_SET][MEMORY].requested_hours, 122.0 * 1048576 * 24);
        profile_spec_release(&spec);
        replay_release(&r);
}

/* --- raise --- */

static void begin_raised(struct replay *r)
{
        struct raise_policy raise;
        begin(r);
        raise_policy_defaults(&raise);
        r->raise = raise;
}

/* The third row in a row above 62m comes twenty minutes after the first: 1.1 x 100m stands for those behind it. */
static void test_a_raise(void **state)
{
        (void)state;
        struct replay r;
        begin_raised(&r);
        feed_span(&r, "a", 0, 2 * DAY + STEP, 0.05, -1);
        feed_span(&r, "a", 2 * DAY + STEP, 3 * DAY + STEP, 0.1, -1);
        const struct score *s = &r.policy[0].scores.of[REPLAY_RAISED][CPU],
                           *as_set = &r.policy[0].scores.of[REPLAY_AS_SET][CPU], *peak = &r.peak.of[REPLAY_RAISED][CPU];
        assert_int_equal(s->rows, 2 * STEPS_A_DAY);
        assert_int_equal(s->over, 3);
        assert_int_equal(s->changes, 1);
        assert_near(s->requested_hours, 0.062 * 24 + 0.062 / 2 + 0.11 * 23.5);
        assert_near(s->used_hours, as_set->used_hours);
        assert_int_equal(as_set->over, STEPS_A_DAY);
        assert_int_equal(as_set->changes, 0);
        assert_int_equal(peak->over, 3);
        assert_near(peak->requested_hours, 0.05 * 24.5 + 0.11 * 23.5);
        assert_int_equal(feed(&r, "a", 3 * DAY + STEP, 0.1, -1), 0); /* deployed: 123m is far enough from 110m */
        assert_near(s->requested_hours, 0.062 * 24.5 + 0.11 * 23.5 + 0.123 / 6);
        assert_int_equal(s->changes, 2);
        assert_near(peak->requested_hours, 0.05 * 24.5 + 0.11 * 23.5 + 0.1 / 6); /* back to the highest yet seen */
        assert_int_equal(peak->changes, 2);
        replay_release(&r);
}

/* One row at the request in between, and the stretch begins anew; three times the request is the most. */
static void test_a_raise_of_memory(void **state)
{
        (void)state;
        enum { MI = 1048576 };
        struct replay r;
        begin_raised(&r);
        feed_span(&r, "a", 0, DAY + STEP, -1, 1e8); /* 122Mi */
        feed_span(&r, "a", DAY + STEP, DAY + 3 * STEP, -1, 200.0 * MI);
        assert_int_equal(feed(&r, "a", DAY + 3 * STEP, -1, 122.0 * MI), 0);
        feed_span(&r, "a", DAY + 4 * STEP, DAY + 9 * STEP, -1, 900.0 * MI);
        const struct score *s = &r.policy[0].scores.of[REPLAY_RAISED][MEMORY];
        assert_int_equal(s->rows, 8);
        assert_int_equal(s->over, 7);
        assert_int_equal(s->changes, 1);
        assert_near(s->requested_hours, (6 * 122.0 + 2 * 366.0) * MI / 6);
        replay_release(&r);
}

static void test_without_raise_nothing_is_scored_twice(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        feed_span(&r, "a", 0, 3 * DAY, 0.05, 1e8);
        for (enum resource q = CPU; q < RESOURCES; q++) {
                assert_int_equal(r.policy[0].scores.of[REPLAY_RAISED][q].rows, 0);
                assert_int_equal(r.peak.of[REPLAY_RAISED][q].rows, 0);
        }
        replay_release(&r);
}

/* --- what policies are compared with --- */

static void test_yardsticks(void **state)
{
        (void)state;
        static const struct {
                const char *name;
                int percentile;
                int64_t min_mi; /* of memory */
                int64_t history_ms;
                bool fades, is_vpa;
        } row[] = {
                {"default", 0, 16, DAY_MS, true, false},
                {"weekly peak", 0, 16, DAY_MS, true, false},
                {"P95 of all", 950, 0, 0, false, false},
                {"P99 of all", 990, 0, 0, false, false},
                {"VPA", 0, 0, 0, true, true},
        };
        enum { ROWS = sizeof row / sizeof row[0] };
        struct replay r;
        begin(&r);
        r.policy[0].of[CPU].multiplier = 2000; /* of the first profile, and so of no yardstick but weekly peak */
        assert_int_equal(replay_policies_compare(&r), 0);
        r.policy[0].of[CPU].multiplier = 1100;
        assert_int_equal(r.policies, ROWS);
        for (int i = 0; i < ROWS; i++) {
                assert_string_equal(r.policy[i].name, row[i].name);
                assert_int_equal(r.policy[i].is_vpa, row[i].is_vpa);
                assert_int_equal(r.policy[i].apply.min_history_ms, row[i].history_ms);
                assert_int_equal(r.policy[i].apply.mode, APPLY_ON_DEPLOY);
                for (enum resource q = CPU; q < RESOURCES; q++) {
                        const struct resource_policy *p = &r.policy[i].of[q];
                        assert_int_equal(p->percentile, row[i].percentile ? row[i].percentile : q == CPU ? 950 : 990);
                        assert_true(p->enabled);
                        assert_int_equal(p->multiplier, q == MEMORY ? 1150 : i == 1 ? 2000 : 1100);
                        assert_int_equal(p->half_life_ms <= DAY_MS, row[i].fades);
                        assert_int_equal(p->min, q == MEMORY ? row[i].min_mi << 20 : row[i].min_mi ? 10 : 0);
                        assert_int_equal(p->weekly_peak, i == 1 && q == MEMORY);
                }
        }
        /* 100 days ago counts as today: of 101 days 96 are as much as 95 %, and 100 as 99 % */
        for (int day = 0; day <= 101; day++)
                feed_span(&r, "a", day * (int64_t)DAY, (day + 1) * (int64_t)DAY, day == 0 ? 0.1 : 0.05, -1);
        struct recommendation got[ROWS];
        for (int i = 0; i < ROWS; i++)
                replay_estimate(&r, r.entity[0], i, &got[i]);
        assert_int_equal(got[0].of[CPU].model, 56);
        assert_int_equal(got[2].of[CPU].model, 56);
        assert_int_equal(got[3].of[CPU].model, 56);
        for (int day = 102; day < 104; day++)
                feed_span(&r, "b", day * (int64_t)DAY, (day + 1) * (int64_t)DAY, 0.05, -1);
        feed_span(&r, "a", 102 * (int64_t)DAY, 104 * (int64_t)DAY, 0.1, -1);
        for (int i = 0; i < ROWS; i++)
                replay_estimate(&r, r.entity[0], i, &got[i]);
        assert_int_equal(got[0].of[CPU].model, 111);
        assert_int_equal(got[2].of[CPU].model, 56);
        assert_int_equal(got[3].of[CPU].model, 111); /* three of 104 days */
        replay_release(&r);
}

/* An hour of much memory a week: the percentile has forgotten it, the week's peak has not. */
static void test_weekly_peak(void **state)
{
        (void)state;
        enum { MI = 1048576, HOUR = 3600, WEEK = 7 * DAY };
        struct replay r;
        begin(&r);
        assert_int_equal(replay_policies_compare(&r), 0);
        for (int64_t at = 0; at < 3 * (int64_t)WEEK; at += STEP)
                assert_int_equal(feed(&r, "a", at, -1, at % WEEK < HOUR ? 1000.0 * MI : 1e8), 0);
        const struct score *plain = &r.policy[0].scores.of[REPLAY_AS_SET][MEMORY],
                           *weekly = &r.policy[1].scores.of[REPLAY_AS_SET][MEMORY];
        assert_string_equal(r.policy[1].name, "weekly peak");
        assert_int_equal(plain->over, 2 * HOUR / STEP);
        assert_int_equal(weekly->over, 0);
        /* the first day's percentile is 1028Mi, the bucket's upper edge: 1183Mi stand, and 1150Mi are no change */
        assert_near(weekly->requested_hours, 1183.0 * MI * (3 * 168 - 24.0 - 1.0 / 6));
        assert_int_equal(weekly->changes, 0);
        replay_release(&r);
}

/* VPA asks for what its own rules say: 55m x 1.15, cut; 250Mi at least. */
static void test_vpa_is_scored(void **state)
{
        (void)state;
        struct replay r;
        begin(&r);
        assert_int_equal(replay_policies_compare(&r), 0);
        feed_span(&r, "a", 0, 2 * DAY + STEP, 0.05, 1e8);
        const struct replay_policy *vpa = &r.policy[r.policies - 1];
        assert_int_equal(vpa->scores.of[REPLAY_AS_SET][CPU].rows, STEPS_A_DAY);
        assert_near(vpa->scores.of[REPLAY_AS_SET][CPU].requested_hours, 0.063 * 24);
        assert_near(vpa->scores.of[REPLAY_AS_SET][MEMORY].requested_hours, 250.0 * 1048576 * 24);
        replay_release(&r);
}

/* A row counts for all policies or for none: a profile that waits for two days keeps the other from its second day. */
static void test_all_on_the_same_rows(void **state)
{
        (void)state;
        struct replay r;
        struct profile_spec spec;
        begin(&r);
        assert_int_equal(profile_spec_read(NULL, &spec, NULL), 0);
        spec.apply.min_history_ms = 2 * DAY_MS;
        assert_int_equal(replay_add_policy(&r, "late", &spec), 0);
        profile_spec_release(&spec);
        feed_span(&r, "a", 0, 2 * DAY + STEP, 0.05, 1e8);
        assert_int_equal(r.policy[0].scores.of[REPLAY_AS_SET][CPU].rows, 0);
        feed_span(&r, "a", 2 * DAY + STEP, 3 * DAY + STEP, 0.05, 1e8);
        for (enum resource q = CPU; q < RESOURCES; q++) {
                for (int i = 0; i < r.policies; i++)
                        assert_int_equal(r.policy[i].scores.of[REPLAY_AS_SET][q].rows, STEPS_A_DAY);
                assert_int_equal(r.peak.of[REPLAY_AS_SET][q].rows, STEPS_A_DAY);
        }
        replay_release(&r);
}

/* --- modes --- */

static void begin_mode(struct replay *r, enum apply_mode mode, bool raised)
{
        if (raised)
                begin_raised(r);
        else
                begin(r);
        apply_policy_defaults(mode, &r->policy[0].apply);
}

/* P100 follows at the next row; an increase waits for an hour since the change before, which is six rows. */
static void test_in_place_goes_up_after_an_hour(void **state)
{
        (void)state;
        struct replay r;
        begin_mode(&r, APPLY_IN_PLACE, false);
        r.policy[0].of[CPU].percentile = 1000;
        feed_span(&r, "a", 0, DAY + STEP, 0.05, -1); /* 62m from the row at DAY on */
        feed_span(&r, "a", DAY + STEP, DAY + 7 * STEP, 0.1, -1);
        feed_span(&r, "a", DAY + 7 * STEP, DAY + 19 * STEP, 0.0999, -1);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
        assert_int_equal(s->rows, 18);
        assert_int_equal(s->over, 6);
        assert_int_equal(s->changes, 1);
        assert_near(s->requested_hours, 0.062 * 1 + 0.123 * 2);
        replay_release(&r);
}

/* With a half-life of an hour P50 is low after two; the decrease waits for the mode's cooldown since the first change,
 * and Rollout's is a week. */
static void test_down_after_the_cooldown(void **state)
{
        (void)state;
        static const struct {
                enum apply_mode mode;
                double hours_high; /* of the day after the drop */
                int changes;
        } row[] = {{APPLY_IN_PLACE, 12, 1}, {APPLY_ROLLOUT, 24, 0}, {APPLY_ON_DEPLOY, 24, 0}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct replay r;
                begin_mode(&r, row[i].mode, false);
                r.policy[0].of[CPU].percentile = 500;
                r.policy[0].of[CPU].half_life_ms = HOUR_MS;
                feed_span(&r, "a", 0, DAY + STEP, 0.1, -1);
                feed_span(&r, "a", DAY + STEP, 2 * DAY + STEP, 0.05, -1);
                const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
                assert_int_equal(s->rows, STEPS_A_DAY);
                assert_int_equal(s->changes, row[i].changes);
                assert_near(s->requested_hours, 0.123 * row[i].hours_high + 0.062 * (24 - row[i].hours_high));
                replay_release(&r);
        }
}

/* One step down is half the request at most, so 492m need a second step to reach 62m. */
static void test_steps_down(void **state)
{
        (void)state;
        struct replay r;
        begin_mode(&r, APPLY_IN_PLACE, false);
        r.policy[0].of[CPU].percentile = 500;
        r.policy[0].of[CPU].half_life_ms = HOUR_MS;
        r.policy[0].of[CPU].multiplier = 1000;
        r.policy[0].of[CPU].round_to = 100;
        feed_span(&r, "a", 0, DAY + STEP, 0.35, -1); /* 400m */
        feed_span(&r, "a", DAY + STEP, 2 * DAY + 2 * STEP, 0.05, -1);
        const struct score *s = &r.policy[0].scores.of[REPLAY_AS_SET][CPU];
        assert_int_equal(s->changes, 2);
        assert_near(s->requested_hours, 0.4 * 12 + 0.2 * 12 + 0.1 / 6);
        replay_release(&r);
}

/* In place a raise stays until the next change: the percentile does not know the peak, so there is none. A deploy makes
 * pods with what is set. */
static void test_a_raise_stays(void **state)
{
        (void)state;
        static const struct {
                enum apply_mode mode;
                double hours_raised;
                int changes;
        } row[] = {{APPLY_IN_PLACE, 47.5 + 1.0 / 6, 1}, {APPLY_ON_DEPLOY, 23.5, 2}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct replay r;
                begin_mode(&r, row[i].mode, true);
                feed_span(&r, "a", 0, DAY + STEP, 0.05, -1);
                feed_span(&r, "a", DAY + STEP, DAY + 4 * STEP, 0.1, -1); /* 110m from the third row on */
                feed_span(&r, "a", DAY + 4 * STEP, 3 * DAY + 2 * STEP, 0.05, -1);
                const struct score *s = &r.policy[0].scores.of[REPLAY_RAISED][CPU];
                assert_int_equal(s->over, 3);
                assert_int_equal(s->changes, row[i].changes);
                assert_near(s->requested_hours,
                            0.11 * row[i].hours_raised + 0.062 * (48 + 1.0 / 6 - row[i].hours_raised));
                replay_release(&r);
        }
}

static void test_percentiles_in_tenths(void **state)
{
        (void)state;
        static const struct {
                const char *percentile;
                int tenths; /* 0: refused */
        } row[] = {{"97.5", 975},   {"97", 970},  {"99.9", 999}, {"50.0", 500},
                   {"100.0", 1000}, {"97.55", 0}, {"49.9", 0},   {"100.1", 0}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                AUTO(mem_free)
                char *text =
                        mem_printf("kind: Profile\nspec: {resources: {cpu: {percentile: %s}}}\n", row[i].percentile);
                AUTO(mem_free) char *path = tmp_file("tenths.yaml", text);
                struct option_given files = {.value = {path}, .count = 1};
                struct replay r;
                struct err err = {0};
                replay_init(&r, DAY_MS, NULL);
                int rc = replay_policies_read(&r, &files, &err);
                if (rc != (row[i].tenths ? 0 : ERR_INVALID) || (rc == 0) == (err.text[0] != '\0'))
                        fail_msg("%s: %d '%s'", row[i].percentile, rc, err.text);
                if (rc == 0)
                        assert_int_equal(r.policy[0].of[CPU].percentile, row[i].tenths);
                else
                        assert_non_null(strstr(err.text, "spec: resources: cpu: percentile "));
                replay_release(&r);
        }
}

static void test_no_room_to_compare(void **state)
{
        (void)state;
        struct replay r;
        struct profile_spec spec;
        begin(&r);
        assert_int_equal(profile_spec_read(NULL, &spec, NULL), 0);
        while (r.policies < REPLAY_POLICIES - 1)
                assert_int_equal(replay_add_policy(&r, "more", &spec), 0);
        profile_spec_release(&spec);
        assert_int_equal(replay_policies_compare(&r), ERR_TOOBIG);
        replay_release(&r);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first_request),
                cmocka_unit_test(test_early),
                cmocka_unit_test(test_a_change),
                cmocka_unit_test(test_memory),
                cmocka_unit_test(test_not_ready_is_not_scored),
                cmocka_unit_test(test_no_look_ahead),
                cmocka_unit_test(test_min_change),
                cmocka_unit_test(test_entities_interleave),
                cmocka_unit_test(test_refused_rows),
                cmocka_unit_test(test_an_entity_of_bad_rows_begins_with_its_first_good_one),
                cmocka_unit_test(test_policies_side_by_side),
                cmocka_unit_test(test_memory_window),
                cmocka_unit_test(test_a_raise),
                cmocka_unit_test(test_a_raise_of_memory),
                cmocka_unit_test(test_without_raise_nothing_is_scored_twice),
                cmocka_unit_test(test_yardsticks),
                cmocka_unit_test(test_weekly_peak),
                cmocka_unit_test(test_vpa_is_scored),
                cmocka_unit_test(test_all_on_the_same_rows),
                cmocka_unit_test(test_in_place_goes_up_after_an_hour),
                cmocka_unit_test(test_down_after_the_cooldown),
                cmocka_unit_test(test_steps_down),
                cmocka_unit_test(test_a_raise_stays),
                cmocka_unit_test(test_percentiles_in_tenths),
                cmocka_unit_test(test_no_room_to_compare),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
