/* What a sample becomes: its weight, and whose it is. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"
#include "base/file_read.h"
#include "cache/usage_starts_json.h"

static void open_shop(struct rig *c, const char *resources)
{
        rig_begin(c);
        shop_profile(&c->cache, 1, "{}");
        shop_deployment(&c->cache, resources);
        shop_pod(&c->cache, 1, 0, 0);
        cache_relink(&c->cache, loop_now(c->loop));
}

static void close_shop(struct rig *c)
{
        rig_end(c);
}

static void fold(struct rig *c, int64_t at_ms, int64_t nanocores)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {at_ms}, .containers = 1};
        m.container[0] =
                (struct pod_metrics_container_view){.name = TEXT("app"), .has = {true, false}, .cpu_nano = nanocores};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

static const struct {
        const char *resources;
        double weight;
} row[] = {
        {"{\"requests\":{\"cpu\":\"4\"}}", 4},
        {"{\"limits\":{\"cpu\":\"2\"}}", 2},
        {"{\"requests\":{\"cpu\":\"50m\"}}", 0.1},
        {"{}", 0.1},
};

/* The first sample of a history weighs by the original request, which no decision has looked at yet. */
static void test_first_weight(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                double buckets[8];
                struct histogram want;
                int64_t at = now_read().wall.ms - MINUTE_MS;
                open_shop(&c, row[i].resources);
                fold(&c, at, 250000000);
                const struct target *t = shop_target(&c.cache);
                assert_true(t->histories && !t->histories->next);
                const struct histogram *got = &t->histories->usage.of[CPU];
                histogram_init(&want, CPU, got->half_life_ms);
                histogram_lend(&want, buckets, 8);
                assert_int_equal(histogram_add(&want, 0.25, row[i].weight, (struct wall){at}, &(int){0}), 0);
                assert_int_equal(got->count, want.count);
                if (memcmp(got->w, want.w, (size_t)got->count * sizeof *got->w) != 0)
                        fail_msg("%s: the first sample weighs %g, not %g", row[i].resources, got->w[0], want.w[0]);
                close_shop(&c);
        }
}

/* A source dates its answer and a sample a year ahead: it is refused, and the samples of the present still count. A
 * machine whose clock is an hour behind has the server's believed. */
static void test_source_that_lies_about_time(void **state)
{
        (void)state;
        struct rig c;
        int64_t now_ms = now_read().wall.ms;
        open_shop(&c, "{}");
        const uint64_t *samples = learner_counts(c.learner)->samples;
        fold(&c, now_ms + (int64_t)365 * DAY_MS, 250000000);
        assert_int_equal(samples[SAMPLE_FUTURE], 1);
        fold(&c, now_ms, 250000000);
        fold(&c, now_ms + HOUR_MS, 250000000);
        assert_int_equal(samples[SAMPLE_ACCEPTED], 2);
        close_shop(&c);
}

/* --- the first minutes of a container --- */

static const int64_t noon = 1700000000000;

/* Pod web-1; its container began then. began "": its status does not say. */
static void pod_began(struct rig *c, const char *started, const char *began, int restarts)
{
        struct err err = {0};
        AUTO(mem_free)
        char *running = *began ? mem_printf("{\"running\":{\"startedAt\":\"%s\"}}", began)
                               : mem_string("{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}}");
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-"
                "000000000001\",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
                "\"web\",\"uid\":\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{"
                "\"containers\":[{\"name\":\"app\"}]},\"status\":{\"phase\":\"Running\",\"startTime\":\"%s\","
                "\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":%d,\"state\":%s}]}}",
                started, restarts, running);
        if (pod_upsert(&c->cache, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
        cache_relink(&c->cache, loop_now(c->loop));
}

static void open_starts(struct rig *c, const char *spec)
{
        rig_begin(c);
        shop_profile(&c->cache, 1, spec);
        shop_deployment(&c->cache, "{\"requests\":{\"cpu\":\"4\"}}");
}

static void fold_both(struct rig *c, int64_t at_ms)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {at_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){
                .name = TEXT("app"), .has = {true, true}, .cpu_nano = 2000000000, .memory_bytes = 900 << 20};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

#define FIVE "{\"resources\":{\"cpu\":{\"ignoreFirst\":\"5m\"}}}"
#define BOTH "{\"resources\":{\"cpu\":{\"ignoreFirst\":\"5m\"},\"memory\":{\"ignoreFirst\":\"90500ms\"}}}"
#define OWN                                                                                                            \
        "{\"containers\":[{\"name\":\"app\",\"resources\":{\"cpu\":{\"ignoreFirst\":\"1m\"}}}],\"resources\":{"        \
        "\"cpu\":{\"ignoreFirst\":\"5m\"}}}"

/* Which values of a sample, taken at 2023-11-14T22:13:20Z, are of the container's start. */
static void test_starts(void **state)
{
        (void)state;
        static const struct {
                const char *spec, *started, *began;
                int restarts;
                bool starts[RESOURCES];
        } rows[] = {
                {"{}", "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0, {false, false}},
                {FIVE, "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0, {true, false}},
                {FIVE, "2023-11-14T21:00:00Z", "2023-11-14T22:13:20Z", 0, {true, false}}, /* it pulled its image */
                {FIVE, "2023-11-14T21:00:00Z", "2023-11-14T22:08:21Z", 0, {true, false}},
                {FIVE, "2023-11-14T21:00:00Z", "2023-11-14T22:08:20Z", 0, {false, false}},
                {FIVE, "2023-11-11T00:00:00Z", "2023-11-14T22:13:10Z", 0, {true, false}}, /* for days, no image came */
                {FIVE, "2023-11-11T00:00:00Z", "2023-11-14T22:08:20Z", 0, {false, false}},
                {FIVE, "2023-11-01T00:00:00Z", "2023-11-14T22:13:10Z", 3, {true, false}},  /* it was restarted */
                {FIVE, "2023-11-14T22:12:00Z", "2023-11-14T22:13:21Z", 1, {false, false}}, /* after the sample */
                {FIVE, "2023-11-14T22:12:00Z", "", 0, {true, false}}, /* of the pod, where unknown */
                {FIVE, "2023-11-14T22:00:00Z", "", 0, {false, false}},
                {BOTH, "2023-11-14T22:00:00Z", "2023-11-14T22:11:50Z", 0, {true, true}}, /* whole seconds, up */
                {BOTH, "2023-11-14T22:00:00Z", "2023-11-14T22:11:49Z", 0, {true, false}},
                {OWN, "2023-11-14T22:00:00Z", "2023-11-14T22:12:30Z", 0, {true, false}},
                {OWN, "2023-11-14T22:00:00Z", "2023-11-14T22:12:20Z", 0, {false, false}},
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct rig c;
                open_starts(&c, rows[i].spec);
                pod_began(&c, rows[i].started, rows[i].began, rows[i].restarts);
                fold_both(&c, noon);
                fold_both(&c, noon); /* the same sample again counts in neither */
                const struct usage *u = &shop_target(&c.cache)->histories->usage;
                assert_int_equal(u->starts != NULL, rows[i].starts[CPU] || rows[i].starts[MEMORY]);
                for (enum resource r = CPU; r < RESOURCES; r++)
                        if ((u->of[r].count == 0) != rows[i].starts[r] ||
                            (u->starts && (u->starts->of[r].at_ms == noon) != rows[i].starts[r]))
                                fail_msg("row %zu: %s", i, resource_name(r));
                assert_int_equal(u->samples, !(rows[i].starts[CPU] && rows[i].starts[MEMORY]));
                close_shop(&c);
        }
}

/* A sample that lacks what the profile keeps apart is no sample of a start. */
static void test_starts_without_a_value(void **state)
{
        (void)state;
        static const char of_memory[] = "{\"resources\":{\"memory\":{\"ignoreFirst\":\"5m\"}}}";
        static const struct {
                const char *spec;
                bool cpu, memory, starts;
                uint64_t bytes;
        } rows[] = {
                {FIVE, true, false, true, 0},
                {FIVE, false, true, false, 900 << 20}, /* Prometheus: a new container has no rate yet */
                {FIVE, true, true, true, 0},
                {of_memory, true, true, false, 0}, /* metrics-server: memory is missing */
                {of_memory, true, false, false, 0},
                {of_memory, false, true, true, 900 << 20},
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct rig c;
                struct pod_metrics_view m = {.ns = TEXT("web"), .name = TEXT("web-1"), .at = {noon}, .containers = 1};
                m.container[0] = (struct pod_metrics_container_view){.name = TEXT("app"),
                                                                     .has = {rows[i].cpu, rows[i].memory},
                                                                     .cpu_nano = 2000000000,
                                                                     .memory_bytes = (int64_t)rows[i].bytes};
                open_starts(&c, rows[i].spec);
                pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0);
                ingest_fold(c.learner, &m, (struct wall){noon});
                const struct history *h = shop_target(&c.cache)->histories;
                if ((h->usage.starts != NULL) != rows[i].starts)
                        fail_msg("row %zu", i);
                if (rows[i].starts)
                        assert_int_equal(history_live_since(h), noon);
                close_shop(&c);
        }
}

/* A container in a back-off has no running process; a sample is of the last one, whose start is remembered. */
static void test_start_of_the_last_process(void **state)
{
        (void)state;
        struct rig c;
        open_starts(&c, FIVE);
        pod_began(&c, "2023-11-14T22:00:00Z", "2023-11-14T22:13:10Z", 0);
        pod_began(&c, "2023-11-14T22:00:00Z", "", 0);
        fold_both(&c, noon);
        assert_int_equal(shop_target(&c.cache)->histories->usage.of[CPU].count, 0);
        close_shop(&c);
}

/* Once nothing is ignored any more, what starts needed is forgotten, and its memory with it. */
static void test_starts_forgotten(void **state)
{
        (void)state;
        struct rig c;
        struct resource_policy policy[RESOURCES];
        open_starts(&c, FIVE);
        pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0);
        fold_both(&c, noon);
        struct history *h = shop_target(&c.cache)->histories;
        assert_non_null(h->usage.starts);
        assert_int_equal(history_live_since(h), noon);
        history_usage(h)->first_ms = 0; /* as if no sample had counted yet */
        assert_int_equal(history_live_since(h), noon);
        for (enum resource r = CPU; r < RESOURCES; r++)
                resource_policy_defaults(r, &policy[r]);
        history_ignore_first(h, policy);
        assert_null(h->usage.starts);
        assert_int_equal(history_live_since(h), 0);
        assert_true(h->target->apply_state_dirty);
        close_shop(&c);
}

/* Once nothing is ignored of one resource, its starts go: from memory, from the record, and from what is explained. */
static void test_starts_of_one_forgotten(void **state)
{
        (void)state;
        for (enum resource gone = CPU; gone < RESOURCES; gone++) {
                struct rig c;
                enum resource stays = gone == CPU ? MEMORY : CPU;
                struct resource_policy policy[RESOURCES];
                open_starts(&c, BOTH);
                pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0);
                fold_both(&c, noon);
                struct history *h = shop_target(&c.cache)->histories;
                struct start_samples was = h->usage.starts->of[stays];
                for (enum resource r = CPU; r < RESOURCES; r++)
                        resource_policy_defaults(r, &policy[r]);
                policy[stays].ignore_first_ms = MINUTE_MS;
                h->target->apply_state_dirty = false;
                history_ignore_first(h, policy);
                assert_true(h->ignores_first && h->target->apply_state_dirty);
                assert_int_equal(h->usage.starts->of[gone].at_ms, 0);
                assert_memory_equal(&h->usage.starts->of[stays], &was, sizeof was);
                AUTO(json_decref) json_t *printed = usage_starts_print(h->usage.starts);
                assert_null(json_object_get(printed, resource_name(gone)));
                assert_non_null(json_object_get(printed, resource_name(stays)));
                h->target->apply_state_dirty = false;
                history_ignore_first(h, policy); /* nothing is left to forget */
                assert_false(h->target->apply_state_dirty);
                policy[stays].ignore_first_ms = 0;
                policy[gone].ignore_first_ms = MINUTE_MS; /* the other way round nothing of either is left */
                history_ignore_first(h, policy);
                assert_true(h->ignores_first && h->target->apply_state_dirty);
                assert_null(h->usage.starts);
                close_shop(&c);
        }
}

/* How long starts last is told by the target of the other samples. */
static void test_start_lasts(void **state)
{
        (void)state;
        struct rig c;
        open_starts(&c, FIVE);
        pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-14T22:13:20Z", 0);
        for (int i = 0; i < 60; i++)
                fold(&c, noon + (5 + i) * MINUTE_MS, 100000000);
        pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-15T01:00:00Z", 1);
        int64_t again = noon + 10000000; /* 2023-11-15T01:00:00Z */
        for (int i = 0; i < 5; i++)
                fold(&c, again + i * MINUTE_MS + 1000, i < 3 ? 2000000000 : 50000000);
        const struct usage *u = &shop_target(&c.cache)->histories->usage;
        assert_int_equal(usage_starts_last_ms(u->starts, CPU), 3 * MINUTE_MS);
        assert_int_equal(u->samples, 60);
        close_shop(&c);
}

/* Starts are stored with the target, and loaded as they were. */
static void test_starts_stored(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_path("ingest-starts.db");
        struct usage_starts was;
        struct rig c;
        open_starts(&c, BOTH);
        rig_open_database(&c, path);
        pod_began(&c, "2023-11-14T22:13:00Z", "2023-11-14T22:13:10Z", 0);
        for (int i = 0; i < 12; i++)
                fold_both(&c, noon + i * (MINUTE_MS / 2 + 7777));
        was = *shop_target(&c.cache)->histories->usage.starts;
        while (!checkpointer_pack(c.checkpointer))
                ;
        rig_kill_database(&c);
        rig_end(&c);
        rig_begin(&c);
        rig_open_database(&c, path);
        const struct history *h = shop_target(&c.cache)->histories;
        assert_non_null(h->usage.starts);
        assert_memory_equal(h->usage.starts, &was, sizeof was);
        assert_true(h->usage.samples > 0 && h->usage.of[MEMORY].count > 0);
        rig_kill_database(&c);
        rig_end(&c);
}

/* --- a clock that was ahead --- */

static void began_at(struct rig *c, int64_t began_ms, int restarts)
{
        char began[WALL_TEXT_MAX];
        wall_print((struct wall){began_ms}, began);
        pod_began(c, began, began, restarts);
}

static uint64_t refused(const struct rig *c)
{
        return c->learner->count.samples[SAMPLE_REORDERED];
}

/* Samples of a start an hour ahead would keep later samples out for an hour, and would make starts weigh nothing. Once
 * three cycles saw them ahead, they count as of now. */
static void test_starts_ahead(void **state)
{
        (void)state;
        for (int database = 0; database < 2; database++) {
                AUTO(mem_free) char *path = tmp_path("ingest-ahead.db");
                struct rig c;
                int64_t now = now_read().wall.ms, second = now / SECOND_MS * SECOND_MS;
                open_starts(&c, "{\"resources\":{\"cpu\":{\"ignoreFirst\":\"5m\"},\"memory\":{\"ignoreFirst\":"
                                "\"5m\"}}}");
                if (database)
                        rig_open_database(&c, path);
                began_at(&c, second + HOUR_MS, 0);
                for (int i = 1; i <= 3; i++)
                        fold_both(&c, second + HOUR_MS + i * MINUTE_MS);
                struct history *h = shop_target(&c.cache)->histories;
                struct usage *u = history_usage(h);
                assert_int_equal(u->starts->of[CPU].at_ms, second + HOUR_MS + 3 * MINUTE_MS);
                began_at(&c, second - 2 * MINUTE_MS, 1); /* the clock is right again */
                for (int cycle = 0; cycle < 3; cycle++) {
                        assert_int_equal(refused(&c), cycle);
                        fold_both(&c, now - MINUTE_MS + cycle);
                        assert_int_equal(refused(&c), cycle + 1);
                        assert_int_equal(h->jumped, cycle);
                        checkpointer_recall(c.checkpointer);
                }
                h->target->apply_state_dirty = h->dirty = false;
                fold_both(&c, now - SECOND_MS);
                assert_int_equal(refused(&c), 3);
                assert_true(h->dirty && h->target->apply_state_dirty);
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        double weighs = 0;
                        for (int i = 0; i < START_BUCKETS; i++)
                                weighs += (double)u->starts->of[r].weight[i];
                        assert_in_range(u->starts->of[r].at_ms, now - SECOND_MS, now_read().wall.ms);
                        assert_true(weighs > 3.9 && weighs <= 4);
                }
                int64_t ran = u->running.count;
                usage_running(u, (struct wall){now + 2 * MINUTE_MS});
                assert_int_equal(u->running.count, ran + 1);
                if (database)
                        rig_kill_database(&c);
                close_shop(&c);
        }
}

/* Ahead by less than the clocks may differ, or for fewer cycles, nothing is dated anew; nor is another pod's watermark
 * that was never ahead. */
static void test_starts_not_ahead(void **state)
{
        (void)state;
        struct rig c;
        int64_t now = now_read().wall.ms, second = now / SECOND_MS * SECOND_MS;
        open_starts(&c, BOTH);
        began_at(&c, second + 3 * MINUTE_MS, 0);
        fold_both(&c, second + 4 * MINUTE_MS);
        struct history *h = shop_target(&c.cache)->histories;
        for (int cycle = 0; cycle < 5; cycle++)
                checkpointer_recall(c.checkpointer);
        assert_int_equal(h->usage.starts->of[CPU].at_ms, second + 4 * MINUTE_MS);
        assert_int_equal(h->jumped, 0);
        history_usage(h)->starts->of[CPU].at_ms = now + HOUR_MS; /* as by another pod */
        for (int cycle = 0; cycle < 3; cycle++)
                checkpointer_recall(c.checkpointer);
        assert_in_range(h->usage.starts->of[CPU].at_ms, now, now + MINUTE_MS);
        fold_both(&c, second + 4 * MINUTE_MS);
        assert_int_equal(c.learner->count.samples[SAMPLE_DUPLICATE], 1);
        close_shop(&c);
}

/* --- a record that is too large --- */

/* What halflife says on stderr meanwhile. */
static int divert(const char *path)
{
        fflush(stderr);
        int kept = dup(STDERR_FILENO), fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        assert_true(kept >= 0 && fd >= 0);
        dup2(fd, STDERR_FILENO);
        close(fd);
        return kept;
}

static int lines_with(const char *path, const char *words)
{
        struct err err = {0};
        size_t len;
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        int count = 0;
        assert_non_null(text);
        for (const char *at = text; (at = strstr(at, words)); at++)
                count++;
        return count;
}

static void start_in_every_bucket(struct history *h)
{
        struct usage_starts s = {0};
        for (int r = 0; r < RESOURCES; r++) {
                s.of[r].at_ms = noon;
                for (int i = 0; i < START_BUCKETS; i++)
                        s.of[r].weight[i] = 1.23456789F;
                for (int i = 0; i < START_AGES; i++)
                        s.of[r].above[i] = 1.23456789F;
        }
        history_take_starts(h, &s, 0);
}

/* Starts that do not fit the record are not stored, the rest of it is, and the log says so once. */
static void test_starts_too_large(void **state)
{
        (void)state;
        enum { MANY = 64 };
        AUTO(mem_free) char *path = tmp_path("ingest-large.db");
        AUTO(mem_free) char *said = tmp_path("ingest-large.log");
        struct rig c;
        open_starts(&c, BOTH);
        rig_open_database(&c, path);
        cache_relink(&c.cache, loop_now(c.loop));
        struct target *t = shop_target(&c.cache);
        for (int i = 0; i < MANY; i++) {
                static const struct resource_policy none[RESOURCES] = {{.half_life_ms = DAY_MS},
                                                                       {.half_life_ms = DAY_MS}};
                char name[24];
                snprintf(name, sizeof name, "container-%d", i);
                const char *container = intern_text(c.cache.names, text_of(name));
                start_in_every_bucket(history_get(t, container, none));
                intern_drop(c.cache.names, container);
        }
        t->apply_state.changed_ms = noon;
        int kept = divert(said);
        for (int i = 0; i < 3; i++)
                checkpointer_apply_state(c.checkpointer, t);
        fflush(stderr);
        dup2(kept, STDERR_FILENO);
        close(kept);
        assert_int_equal(lines_with(said, "too large to store"), 1);
        rig_kill_database(&c);
        rig_end(&c);
        rig_begin(&c);
        rig_open_database(&c, path);
        assert_int_equal(shop_target(&c.cache)->apply_state.changed_ms, noon);
        assert_null(shop_target(&c.cache)->histories);
        rig_kill_database(&c);
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_first_weight),
                cmocka_unit_test(test_source_that_lies_about_time),
                cmocka_unit_test(test_starts),
                cmocka_unit_test(test_starts_without_a_value),
                cmocka_unit_test(test_start_of_the_last_process),
                cmocka_unit_test(test_starts_forgotten),
                cmocka_unit_test(test_start_lasts),
                cmocka_unit_test(test_starts_stored),
                cmocka_unit_test(test_starts_of_one_forgotten),
                cmocka_unit_test(test_starts_ahead),
                cmocka_unit_test(test_starts_not_ahead),
                cmocka_unit_test(test_starts_too_large),
        };
        return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
