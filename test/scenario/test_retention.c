/* What deleted workloads leave behind, over weeks: this machine's clock and the server's are stepped together. The
 * controller runs in this thread, which alone sees the steps of the first. */
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
#include "../support/store_image.h"

#define LIMITED         "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"
#define RECOMMENDATIONS "/apis/halflife.dev/v1alpha1/namespaces/mallory/recommendations"
#define DEPLOYMENTS     "/apis/apps/v1/namespaces/mallory/deployments"

/* Known before: workloads that were watched for ten minutes. Churned: those of one sample. */
enum { KNOWN = NAMESPACE_GONE_TARGETS - 50, CHURNED = 100 };
enum { BEYOND = KNOWN + CHURNED + 1 - NAMESPACE_GONE_TARGETS };

/* --- what the database has at the start --- */

static void store_target(struct store_batch *b, const char *name, int64_t watched_ms, int64_t newest_ms,
                         int64_t gone_ms)
{
        static const struct resource_policy policy[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
        struct store_key key = {TEXT("mallory"), TEXT("apps"), TEXT("Deployment"), text_of(name), TEXT("")};
        struct usage u;
        usage_init(&u, policy);
        u.samples = 1;
        u.first_ms = newest_ms - watched_ms;
        u.newest_ms = newest_ms;
        store_batch_target(b, &key, TEXT("{}"), (struct wall){gone_ms});
        key.container = TEXT("app");
        store_batch_usage(b, &key, &u, NULL, 0);
}

static void prepare(const char *database)
{
        struct store *store = image_open(database);
        struct store_batch *b = store_batch_new();
        int64_t now = now_read().wall.ms;
        store_target(b, "web", 30 * (int64_t)DAY_MS, now - MINUTE_MS, 0);
        for (int i = 0; i < KNOWN; i++) {
                AUTO(mem_free) char *name = mem_printf("known-%04d", i);
                store_target(b, name, 10 * MINUTE_MS, now - MINUTE_MS, now - MINUTE_MS);
        }
        store_submit(store, b);
        image_close(store);
}

static void step_clocks(struct controller_stage *s, int64_t ms)
{
        stepped_clock_s += ms / SECOND_MS;
        controller_stage_cycles(s, 2);
}

/* --- what is there --- */

typedef bool stage_predicate(struct controller_stage *s, size_t count);

static size_t targets(struct controller_stage *s)
{
        return s->parts->cache.targets.count;
}

static size_t recommendations(struct controller_stage *s)
{
        return fake_objects(s->fake, RECOMMENDATIONS);
}

static void await(struct controller_stage *s, stage_predicate *holds, size_t count, const char *what)
{
        int64_t until = mono_read().ns + CONTROLLER_STAGE_MS * INT64_C(1000000);
        while (!holds(s, count) && mono_read().ns < until)
                controller_stage_turn(s);
        if (!holds(s, count))
                fail_msg("%s: %zu Recommendations and %zu targets, where %zu were to be", what, recommendations(s),
                         targets(s), count);
}

/* So many targets have a workload, a sample of it, and a Recommendation. */
static bool learned(struct controller_stage *s, size_t count)
{
        const struct target *t;
        size_t there = 0;
        for (size_t at = 0; (t = map_each(&s->parts->cache.targets, &at));)
                there += t->workload && t->histories && t->histories->usage.samples && t->published &&
                         t->published->known;
        return there == count;
}

static bool has_workloads(struct controller_stage *s, size_t count)
{
        const struct target *t;
        size_t there = 0;
        for (size_t at = 0; (t = map_each(&s->parts->cache.targets, &at));)
                there += t->workload != NULL;
        return there == count;
}

static bool has_targets(struct controller_stage *s, size_t count)
{
        return targets(s) == count;
}

static bool has_recommendations(struct controller_stage *s, size_t count)
{
        return recommendations(s) == count;
}

static bool knows(struct controller_stage *s, const char *name)
{
        AUTO(mem_free) char *key = mem_printf("mallory/apps/Deployment/%s", name);
        AUTO(mem_free) char *path = mem_printf(RECOMMENDATIONS "/deployment-%s", name);
        AUTO(mem_free) char *recommendation = fake_get(s->fake, path);
        return map_get(&s->parts->cache.targets, text_of(key)) && recommendation;
}

/* Workloads that are deleted as soon as each has been seen. */
static void churn(struct controller_stage *s)
{
        for (int i = 0; i < CHURNED; i++) {
                AUTO(mem_free) char *name = mem_printf("churned-%04d", i);
                story_do(s->fake, &s->story,
                         &(struct step)WORK("Deployment", name, "{replicas: 1}", "{containers: " LIMITED "}"));
        }
        await(s, learned, CHURNED + 2, "churned");
        for (int i = 0; i < CHURNED; i++) {
                AUTO(mem_free) char *path = mem_printf(DEPLOYMENTS "/churned-%04d", i);
                (void)fake_delete(s->fake, path);
        }
}

static void stored(const struct controller_stage *s, int64_t targets)
{
        struct store_facts facts;
        struct err err = {0};
        if (store_inspect(s->database, &facts, &err) < 0)
                fail_msg("%s", err.text);
        assert_int_equal(facts.targets, targets);
        assert_int_equal(facts.histories, targets);
}

/* A namespace keeps no more than its bound, and what has one sample for an hour; the workload of a month finds what was
 * learned 13 days later. */
static void test_churn(void **state)
{
        (void)state;
        struct controller_stage s = {.server_steps = true, .prepare = prepare};
        /* without a workload nothing is polled, and so no server's clock is known */
        struct story cast = STORY("mallory", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
                                  WORK("Deployment", "stays", "{replicas: 1}", "{containers: " LIMITED "}"));
        controller_stage_begin(&s, &cast);
        await(&s, learned, 2, "web");
        assert_int_equal(targets(&s), KNOWN + 2);
        churn(&s);
        story_do(s.fake, &s.story, &(struct step)DELETE("deployments/web"));
        await(&s, has_workloads, 1, "deleted");
        await(&s, has_targets, NAMESPACE_GONE_TARGETS + 1, "the bound");
        assert_int_equal(recommendations(&s), CHURNED + 2 - BEYOND);
        assert_int_equal(checkpointer_state(s.parts->checkpointer).displaced, BEYOND);
        assert_true(knows(&s, "web"));

        step_clocks(&s, HOUR_MS);
        await(&s, has_targets, KNOWN + 2, "an hour later");
        await(&s, has_recommendations, 2, "an hour later");
        step_clocks(&s, 13 * (int64_t)DAY_MS - HOUR_MS);
        await(&s, has_targets, 2, "13 days later");
        assert_true(knows(&s, "web"));
        controller_stage_end(&s);
        stored(&s, 2);
        mem_free(s.database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_churn)};
        return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
