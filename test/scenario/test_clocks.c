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

#include "../support/live_defaults.h"
#include "../support/stepped_clock.h"
#include "../support/story.h"
#include "../support/tmp.h"
#include "control/parts.h"

#define LIMITED "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}, limits: {cpu: '2', memory: 2Gi}}}]"
#define REQUEST "spec.template.spec.containers[app].resources.requests.cpu"
#define OLD     "recommendations/deployment-old"

enum { LONG_MS = 30000 };
static const int64_t year_s = 365 * (int64_t)86400;

struct stage {
        struct fake *f;
        struct loop *loop;
        struct access *access;
        struct controller *c;
        struct story story;
};

static void begin(struct stage *s)
{
        static char *database;
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig");
        struct access_options where = {.kubeconfig = kubeconfig};
        struct err err = {0};
        struct story cast =
                STORY("stepping", TEAM("{apply: {mode: Rollout, minHistory: 2s, cooldown: 1h}}"), WEB(LIMITED),
                      WORK("Deployment", "old", "{replicas: 2}", "{containers: " LIMITED "}"));
        s->f = stories_server(NULL, 0);
        assert_true(stories_run(s->f, &cast, 1, LONG_MS));
        s->story = (struct story){.name = "stepping"};
        assert_true(fake_write_kubeconfig(s->f, kubeconfig));
        database = tmp_path("clocks.db");
        struct controller_options options = {.live = live_defaults(),
                                             .ns = "halflife-system",
                                             .identity = "test",
                                             .database = database,
                                             .user_agent = "halflife-test"};
        options.live.interval_ms = options.live.checkpoint_ms = options.live.status_ms = SECOND_MS;
        options.live.retention_ms = HOUR_MS;
        options.live.api_rate = 1000;
        s->loop = loop_new();
        if (access_load(&where, &s->access, &err) < 0 || controller_new(s->loop, s->access, &options, &s->c, &err) < 0)
                fail_msg("%s", err.text);
}

static void end(struct stage *s)
{
        controller_stop(s->c);
        loop_run(s->loop);
        controller_free(s->c);
        loop_free(s->loop);
        access_free(s->access);
        fake_free(s->f);
}

static void await(struct stage *s, const char *path, const char *field, const char *want)
{
        AUTO(mem_free) char *is = NULL;
        int64_t until = mono_read().ns + LONG_MS * INT64_C(1000000);
        while (!story_is(s->f, &s->story, path, field, want, NULL) && mono_read().ns < until)
                loop_turn(s->loop, 20);
        if (!story_is(s->f, &s->story, path, field, want, &is))
                fail_msg("%s of %s is %s, not %s", field, path, is, want);
}

static void check(struct stage *s, const char *path, const char *field, const char *want)
{
        AUTO(mem_free) char *is = NULL;
        if (!story_is(s->f, &s->story, path, field, want, &is))
                fail_msg("%s of %s is %s, not %s", field, path, is, want);
}

/* So many cycles, in each of which both pods' samples are accepted, and none is refused. */
static void cycles_learn(struct stage *s, int more)
{
        uint64_t cycles = controller_parts(s->c)->pass.cycles + (uint64_t)more + 1,
                 accepted = learner_counts(controller_parts(s->c)->learner)->samples[SAMPLE_ACCEPTED];
        int64_t until = mono_read().ns + LONG_MS * INT64_C(1000000);
        while (controller_parts(s->c)->pass.cycles < cycles && mono_read().ns < until)
                loop_turn(s->loop, 20);
        assert_true(controller_parts(s->c)->pass.cycles >= cycles);
        assert_true(learner_counts(controller_parts(s->c)->learner)->samples[SAMPLE_ACCEPTED] >=
                    accepted + 2 * (uint64_t)(more - 1));
        assert_int_equal(learner_counts(controller_parts(s->c)->learner)->samples[SAMPLE_FUTURE], 0);
        assert_int_equal(learner_counts(controller_parts(s->c)->learner)->samples[SAMPLE_REORDERED], 0);
}

static void changed_once(struct stage *s)
{
        check(s, "deployments/web", REQUEST, "500m");
        check(s, "deployments/web", "metadata.generation", "2");
}

static void test_steps(void **state)
{
        (void)state;
        struct stage s = {0};
        begin(&s);
        await(&s, "deployments/web", REQUEST, "500m");
        await(&s, "deployments/old", REQUEST, "500m");
        await(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        await(&s, OLD, "status.state", "Ready");
        story_do(s.f, &s.story, &(struct step)DELETE("deployments/old"));
        cycles_learn(&s, 2);

        stepped_clock_s = -3600; /* waits go on, and nothing is lost */
        cycles_learn(&s, 4);
        assert_true(clock_skew_is_apart(controller_parts(s.c)->skew));
        check(&s, REC, "status.state", "Ready");
        check(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        changed_once(&s);
        stepped_clock_s = 0;
        cycles_learn(&s, 2);
        assert_false(clock_skew_is_apart(controller_parts(s.c)->skew));

        stepped_clock_s =
                year_s; /* a sample of a year ago is none for the present: nothing is changed, nothing forgotten */
        await(&s, REC, "status.state", "Stale");
        cycles_learn(&s, 4);
        assert_true(clock_skew_is_apart(controller_parts(s.c)->skew));
        check(&s, OLD, "spec.targetRef.name", "old");
        assert_true(target_get(&controller_parts(s.c)->cache, TEXT("stepping"), TEXT("apps"), TEXT("Deployment"),
                               TEXT("old"))
                            ->histories);
        changed_once(&s);

        stepped_clock_s = 0;
        await(&s, REC, "status.state", "Ready");
        cycles_learn(&s, 3);
        check(&s, REC, "status.conditions[Applied].reason", "Cooldown");
        check(&s, OLD, "spec.targetRef.name", "old");
        changed_once(&s);
        end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
        return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
