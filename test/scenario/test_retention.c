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

#include "../support/live_defaults.h"
#include "../support/stepped_clock.h"
#include "../support/store_image.h"
#include "../support/story.h"
#include "../support/tmp.h"
#include "control/parts.h"

#define LIMITED         "[{name: app, resources: {requests: {cpu: '1', memory: 1Gi}}}]"
#define RECOMMENDATIONS "/apis/halflife.dev/v1alpha1/namespaces/mallory/recommendations"
#define DEPLOYMENTS     "/apis/apps/v1/namespaces/mallory/deployments"

/* Known before: workloads that were watched for ten minutes. Churned: those of one sample. */
enum { LONG_MS = 60000, KNOWN = NAMESPACE_GONE_TARGETS - 50, CHURNED = 100 };
enum { BEYOND = KNOWN + CHURNED + 1 - NAMESPACE_GONE_TARGETS };

struct stage {
        struct fake *f;
        struct loop *loop;
        struct access *access;
        struct controller *c;
        struct story story;
        char *database;
};

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

/* --- the stage --- */

static void begin(struct stage *s)
{
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig");
        struct access_options where = {.kubeconfig = kubeconfig};
        struct err err = {0};
        /* without a workload nothing is polled, and so no server's clock is known */
        struct story cast = STORY("mallory", TEAM("{apply: {minHistory: 2s}}"), WEB(LIMITED),
                                  WORK("Deployment", "stays", "{replicas: 1}", "{containers: " LIMITED "}"));
        s->f = stories_server(NULL, 0);
        assert_true(stories_run(s->f, &cast, 1, LONG_MS));
        s->story = (struct story){.name = "mallory"};
        assert_true(fake_write_kubeconfig(s->f, kubeconfig));
        s->database = tmp_path("retention.db");
        prepare(s->database);
        struct controller_options options = {.live = live_defaults(),
                                             .ns = "halflife-system",
                                             .identity = "test",
                                             .database = s->database,
                                             .user_agent = "halflife-test"};
        options.live.interval_ms = options.live.checkpoint_ms = options.live.status_ms = SECOND_MS;
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

static void turn(struct stage *s)
{
        fake_set_wall(s->f, now_read().wall.ms);
        loop_turn(s->loop, 20);
}

static void cycles_pass(struct stage *s, int more)
{
        uint64_t cycles = controller_parts(s->c)->pass.cycles + (uint64_t)more + 1;
        int64_t until = mono_read().ns + LONG_MS * INT64_C(1000000);
        while (controller_parts(s->c)->pass.cycles < cycles && mono_read().ns < until)
                turn(s);
        assert_true(controller_parts(s->c)->pass.cycles >= cycles);
}

static void step_clocks(struct stage *s, int64_t ms)
{
        stepped_clock_s += ms / SECOND_MS;
        cycles_pass(s, 2);
}

/* --- what is there --- */

typedef bool stage_predicate(struct stage *s, size_t count);

static size_t targets(struct stage *s)
{
        return controller_parts(s->c)->cache.targets.count;
}

static size_t recommendations(struct stage *s)
{
        return fake_objects(s->f, RECOMMENDATIONS);
}

static void await(struct stage *s, stage_predicate *holds, size_t count, const char *what)
{
        int64_t until = mono_read().ns + LONG_MS * INT64_C(1000000);
        while (!holds(s, count) && mono_read().ns < until)
                turn(s);
        if (!holds(s, count))
                fail_msg("%s: %zu Recommendations and %zu targets, where %zu were to be", what, recommendations(s),
                         targets(s), count);
}

/* So many targets have a workload, a sample of it, and a Recommendation. */
static bool learned(struct stage *s, size_t count)
{
        const struct target *t;
        size_t there = 0;
        for (size_t at = 0; (t = map_each(&controller_parts(s->c)->cache.targets, &at));)
                there += t->workload && t->histories && t->histories->usage.samples && t->published &&
                         t->published->known;
        return there == count;
}

static bool has_workloads(struct stage *s, size_t count)
{
        const struct target *t;
        size_t there = 0;
        for (size_t at = 0; (t = map_each(&controller_parts(s->c)->cache.targets, &at));)
                there += t->workload != NULL;
        return there == count;
}

static bool has_targets(struct stage *s, size_t count)
{
        return targets(s) == count;
}

static bool has_recommendations(struct stage *s, size_t count)
{
        return recommendations(s) == count;
}

static bool knows(struct stage *s, const char *name)
{
        AUTO(mem_free) char *key = mem_printf("mallory/apps/Deployment/%s", name);
        AUTO(mem_free) char *path = mem_printf(RECOMMENDATIONS "/deployment-%s", name);
        AUTO(mem_free) char *recommendation = fake_get(s->f, path);
        return map_get(&controller_parts(s->c)->cache.targets, text_of(key)) && recommendation;
}

/* Workloads that are deleted as soon as each has been seen. */
static void churn(struct stage *s)
{
        for (int i = 0; i < CHURNED; i++) {
                AUTO(mem_free) char *name = mem_printf("churned-%04d", i);
                story_do(s->f, &s->story,
                         &(struct step)WORK("Deployment", name, "{replicas: 1}", "{containers: " LIMITED "}"));
        }
        await(s, learned, CHURNED + 2, "churned");
        for (int i = 0; i < CHURNED; i++) {
                AUTO(mem_free) char *path = mem_printf(DEPLOYMENTS "/churned-%04d", i);
                (void)fake_delete(s->f, path);
        }
}

static void stored(const struct stage *s, int64_t targets)
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
        struct stage s = {0};
        begin(&s);
        await(&s, learned, 2, "web");
        assert_int_equal(targets(&s), KNOWN + 2);
        churn(&s);
        story_do(s.f, &s.story, &(struct step)DELETE("deployments/web"));
        await(&s, has_workloads, 1, "deleted");
        await(&s, has_targets, NAMESPACE_GONE_TARGETS + 1, "the bound");
        assert_int_equal(recommendations(&s), CHURNED + 2 - BEYOND);
        assert_int_equal(checkpointer_state(controller_parts(s.c)->checkpointer).displaced, BEYOND);
        assert_true(knows(&s, "web"));

        step_clocks(&s, HOUR_MS);
        await(&s, has_targets, KNOWN + 2, "an hour later");
        await(&s, has_recommendations, 2, "an hour later");
        step_clocks(&s, 13 * (int64_t)DAY_MS - HOUR_MS);
        await(&s, has_targets, 2, "13 days later");
        assert_true(knows(&s, "web"));
        end(&s);
        stored(&s, 2);
        mem_free(s.database);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_churn)};
        return cmocka_run_group_tests_name("retention", tests, NULL, NULL);
}
