/* This machine's clock steps while the controller runs, an hour back, a year ahead and home again; the server's does
 * not. The controller runs in this thread, which alone sees the steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../support/controller_stage.h"
#include "../support/stepped_clock.h"

#define LIMITED "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define OLD     "recommendations/deployment-old"

static const int64_t year_s = 365 * (int64_t)86400;

static void await(struct controller_stage *s, const char *path, const char *field, const char *want)
{
        AUTO(mem_free) char *is = NULL;
        int64_t until = mono_read().ns + CONTROLLER_STAGE_MS * INT64_C(1000000);
        while (!story_is(s->fake, &s->story, path, field, want, NULL) && mono_read().ns < until)
                controller_stage_turn(s);
        if (!story_is(s->fake, &s->story, path, field, want, &is))
                fail_msg("%s of %s is %s, not %s", field, path, is, want);
}

static void check(struct controller_stage *s, const char *path, const char *field, const char *want)
{
        AUTO(mem_free) char *is = NULL;
        if (!story_is(s->fake, &s->story, path, field, want, &is))
                fail_msg("%s of %s is %s, not %s", field, path, is, want);
}

/* So many cycles, in each of which both pods' samples are accepted, and none is refused. */
static void cycles_learn(struct controller_stage *s, int more)
{
        const uint64_t *samples = learner_counts(s->parts->learner)->samples;
        uint64_t accepted = samples[SAMPLE_ACCEPTED];
        controller_stage_cycles(s, more);
        assert_true(samples[SAMPLE_ACCEPTED] >= accepted + 2 * (uint64_t)(more - 1));
        assert_int_equal(samples[SAMPLE_FUTURE], 0);
        assert_int_equal(samples[SAMPLE_REORDERED], 0);
}

static void changed_once(struct controller_stage *s)
{
        check(s, "deployments/web", REQUEST, "500m");
        check(s, "deployments/web", "metadata.generation", "2");
}

static void test_steps(void **state)
{
        (void)state;
        struct controller_stage s = {.retention_ms = HOUR_MS};
        struct story cast =
                STORY("stepping", TEAM("{apply: {mode: Rollout, minHistory: 2s, cooldown: 1h}}"), WEB(LIMITED),
                      WORK("Deployment", "old", "{replicas: 2}", "{containers: " LIMITED "}"));
        controller_stage_begin(&s, &cast);
        await(&s, "deployments/web", REQUEST, "500m");
        await(&s, "deployments/old", REQUEST, "500m");
        await(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        await(&s, OLD, "status.state", "Ready");
        story_do(s.fake, &s.story, &(struct step)DELETE("deployments/old"));
        cycles_learn(&s, 2);

        stepped_clock_s = -3600; /* waits go on, and nothing is lost */
        cycles_learn(&s, 4);
        assert_true(clock_skew_is_apart(s.parts->skew));
        check(&s, REC, "status.state", "Ready");
        check(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        changed_once(&s);
        stepped_clock_s = 0;
        cycles_learn(&s, 2);
        assert_false(clock_skew_is_apart(s.parts->skew));

        stepped_clock_s =
                year_s; /* a sample of a year ago is none for the present: nothing is changed, nothing forgotten */
        await(&s, REC, "status.state", "Stale");
        cycles_learn(&s, 4);
        assert_true(clock_skew_is_apart(s.parts->skew));
        check(&s, OLD, "spec.targetRef.name", "old");
        assert_true(target_get(&s.parts->cache, TEXT("stepping"), TEXT("apps"), TEXT("Deployment"), TEXT("old"))
                            ->histories);
        changed_once(&s);

        stepped_clock_s = 0;
        await(&s, REC, "status.state", "Ready");
        cycles_learn(&s, 3);
        check(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        check(&s, OLD, "spec.targetRef.name", "old");
        changed_once(&s);
        controller_stage_end(&s);
        mem_free(s.database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
        return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
