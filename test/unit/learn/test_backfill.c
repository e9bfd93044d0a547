/* First minutes in a back-fill: the same series give what they give live, however the back-fill is cut into slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include <math.h>

#include "../../support/rig.h"
#include "../../support/shop.h"
#include "../../support/tmp.h"
#include "../net/peer.h"
#include "base/buf.h"

#define LIVE "web-1"                /* is in the cache */
#define GONE "web-7d7f4c499d-gvh4r" /* ran before */
#define LATE "web-7d7f4c499d-zzzzz" /* began and ended before */
#define FIRST(minutes)                                                                                                 \
        "{\"resources\":{\"cpu\":{\"ignoreFirst\":\"" minutes "\"},\"memory\":{\"ignoreFirst\":\"" minutes "\"}}}"

/* A series: its points, but for a gap, of a start and then of steady usage. Times are wall ms. */
struct shape {
        const char *pod;
        int64_t from_ms, to_ms;   /* both included; to_ms 0: there is no such series */
        int64_t gap_from, gap_to; /* the first that is missing, and the first that is there again */
        int64_t high_ms;          /* since from_ms, with more usage than later */
        const char *cgroup;       /* NULL: the series has no label id */
};
enum { SHAPES = 3 };

/* Prometheus, whose answers may be too large. */
static struct {
        struct shape shape[SHAPES];
        double most_s; /* of a query; 0: any length */
} prometheus;

static bool shape_has(const struct shape *s, int64_t at_ms)
{
        return s->to_ms && at_ms >= s->from_ms && at_ms <= s->to_ms && (at_ms < s->gap_from || at_ms >= s->gap_to);
}

static double shape_value(const struct shape *s, int64_t at_ms, enum resource r)
{
        bool high = at_ms - s->from_ms < s->high_ms;
        return r == CPU ? high ? 2 : 0.25 : high ? 900 << 20 : 300 << 20;
}

static double number_after(const char *text, const char *key)
{
        const char *at = strstr(text, key);
        return at ? strtod(at + strlen(key), NULL) : 0;
}

static void add_series(struct buf *out, const struct shape *s, enum resource r, const struct conn *c)
{
        int64_t from = llround(number_after(c->request, "&start=") * 1e3),
                to = llround(number_after(c->request, "&end=") * 1e3),
                step = llround(number_after(c->request, "&step=") * 1e3);
        bool first = true;
        for (int64_t at = from; at <= to; at += step) {
                if (!shape_has(s, at))
                        continue;
                if (first)
                        (void)buf_printf(out,
                                         "%s{\"metric\":{\"namespace\":\"web\",\"pod\":\"%s\",\"container\":\"app\","
                                         "\"id\":\"%s\"},\"values\":[",
                                         out->data[out->len - 1] == '}' ? "," : "", s->pod, s->cgroup ? s->cgroup : "");
                (void)buf_printf(out, "%s[%.3f,\"%.17g\"]", first ? "" : ",", (double)at / 1e3, shape_value(s, at, r));
                first = false;
        }
        if (!first)
                (void)buf_add_text(out, "]}");
}

static bool answer(struct conn *c, void *arg)
{
        (void)arg;
        double span = number_after(c->request, "&end=") - number_after(c->request, "&start=");
        if (prometheus.most_s > 0 && span > prometheus.most_s)
                return conn_answer(c, 422, NULL, "{\"error\":\"too many samples\"}");
        enum resource r = conn_asks(c, "container_cpu_usage_seconds_total") ? CPU : MEMORY;
        struct buf out = {0};
        buf_init(&out, 16 << 20);
        (void)buf_add_text(&out, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[");
        for (int i = 0; i < SHAPES; i++)
                add_series(&out, &prometheus.shape[i], r, c);
        (void)buf_add_text(&out, "]}}");
        bool go_on = conn_answer(c, 200, NULL, out.data);
        buf_release(&out);
        return go_on;
}

/* --- a learner with that Prometheus --- */

static void open_learner(struct rig *c, const char *spec)
{
        rig_begin(c);
        shop_profile(&c->cache, 1, spec);
        shop_deployment(&c->cache, "{\"requests\":{\"cpu\":\"1\"}}");
        cache_relink(&c->cache, loop_now(c->loop));
}

/* A pod whose container began then. */
static void pod_began(struct rig *c, const char *name, int64_t began_ms)
{
        struct err err = {0};
        char began[WALL_TEXT_MAX];
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"00000000-0000-4000-8001-%012zu\","
                "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"web\",\"uid\":"
                "\"00000000-0000-4000-8000-000000000001\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":"
                "\"app\"}]},\"status\":{\"phase\":\"Running\",\"startTime\":\"%s\",\"containerStatuses\":[{\"name\":"
                "\"app\",\"restartCount\":0,\"state\":{\"running\":{\"startedAt\":\"%s\"}}}]}}",
                name, strlen(name), wall_print((struct wall){began_ms}, began), began);
        if (pod_upsert(&c->cache, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
        cache_relink(&c->cache, loop_now(c->loop));
}

static void fold(struct rig *c, const struct shape *s, int64_t at_ms, int64_t value_ms)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = text_of(s->pod), .at = {at_ms}, .containers = 1};
        m.container[0] = (struct pod_metrics_container_view){
                .name = TEXT("app"),
                .has = {true, true},
                .cpu_nano = (int64_t)(shape_value(s, value_ms, CPU) * 1e9),
                .memory_bytes = (int64_t)shape_value(s, value_ms, MEMORY),
        };
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){0});
}

/* A sample a minute of each series. */
static void learn_live(struct rig *c, int64_t from_ms, int64_t to_ms)
{
        for (int64_t at = from_ms; at <= to_ms; at += MINUTE_MS)
                for (int i = 0; i < SHAPES; i++)
                        if (shape_has(&prometheus.shape[i], at))
                                fold(c, &prometheus.shape[i], at, at);
}

static void back_fill(struct rig *c, int64_t history_ms, int64_t step_ms)
{
        struct err err = {0};
        struct peer *peer = peer_start(answer, NULL, NULL);
        const struct prometheus_options o = {
                .url = peer->url, .rate_window_ms = MINUTE_MS, .user_agent = "test", .queries = 2};
        assert_int_equal(prometheus_new(c->loop, &o, &c->learner->prometheus, &err), 0);
        c->learner->backfill = backfill_new(c->learner, c->learner->prometheus, history_ms, step_ms);
        backfill_tick(c->learner->backfill);
        assert_true(backfill_busy(c->learner->backfill));
        while (backfill_busy(c->learner->backfill))
                loop_turn(c->loop, 1000);
        assert_true(shop_target(&c->cache)->backfilled);
        backfill_free(c->learner->backfill);
        prometheus_free(c->learner->prometheus);
        c->learner->backfill = NULL;
        c->learner->prometheus = NULL;
        peer_stop(peer);
}

static const struct usage *usage_learned(struct rig *c)
{
        const struct history *h = shop_target(&c->cache)->histories;
        assert_true(h && !h->next);
        return &h->usage;
}

static double start_weight(const struct usage *u, enum resource r)
{
        double sum = 0;
        for (int i = 0; u->starts && i < START_BUCKETS; i++)
                sum += (double)u->starts->of[r].weight[i];
        return sum;
}

/* The time now, cut to a step that all tests use. */
static int64_t five_minutes_ago(void)
{
        int64_t step = 5 * MINUTE_MS;
        return (now_read().wall.ms - step) / step * step;
}

/* --- tests --- */

/* The same points, live and back-filled. Of a pod that is gone, the container began with the first point. */
static void test_agrees_with_live(void **state)
{
        (void)state;
        int64_t end = five_minutes_ago(), day = end - 24 * (int64_t)HOUR_MS;
        for (int there = 0; there < 2; there++) {
                struct rig live, past;
                int64_t began = end - 3 * HOUR_MS;
                prometheus.most_s = 0;
                prometheus.shape[0] = (struct shape){.pod = GONE, .from_ms = day, .to_ms = end};
                prometheus.shape[1] = (struct shape){
                        .pod = there ? LIVE : LATE, .from_ms = began, .to_ms = end, .high_ms = 7 * MINUTE_MS};
                prometheus.shape[2] = (struct shape){0};
                open_learner(&live, FIRST("10m"));
                pod_began(&live, GONE, day - HOUR_MS);
                pod_began(&live, prometheus.shape[1].pod, began);
                learn_live(&live, day, end);
                open_learner(&past, FIRST("10m"));
                if (there)
                        pod_began(&past, LIVE, began);
                back_fill(&past, now_read().wall.ms - day, MINUTE_MS);
                const struct usage *a = usage_learned(&live), *b = usage_learned(&past);
                assert_non_null(a->starts);
                assert_non_null(b->starts);
                assert_true(start_weight(a, CPU) > 9);
                assert_memory_equal(a->starts->of, b->starts->of, sizeof a->starts->of);
                assert_int_equal(usage_starts_last_ms(a->starts, CPU), 7 * MINUTE_MS);
                assert_int_equal(a->samples, b->samples);
                rig_end(&past);
                rig_end(&live);
        }
}

/* A point of five minutes weighs as much as the five live samples that it stands for. */
static void test_step_weighs(void **state)
{
        (void)state;
        int64_t end = five_minutes_ago(), began = end - 2 * HOUR_MS, step = 5 * MINUTE_MS;
        struct rig live, past;
        prometheus.most_s = 0;
        prometheus.shape[0] = (struct shape){.pod = LIVE, .from_ms = began + step, .to_ms = end, .high_ms = 2 * step};
        prometheus.shape[1] = prometheus.shape[2] = (struct shape){0};
        open_learner(&live, FIRST("11m"));
        pod_began(&live, LIVE, began);
        for (int64_t at = began + MINUTE_MS; at <= end; at += MINUTE_MS)
                fold(&live, &prometheus.shape[0], at, (at + step - 1) / step * step);
        open_learner(&past, FIRST("11m"));
        pod_began(&past, LIVE, began);
        back_fill(&past, 3 * HOUR_MS, step);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                double want = start_weight(usage_learned(&live), r), got = start_weight(usage_learned(&past), r);
                assert_true(want > 9.9 && want <= 10);
                if (fabs(got - want) > want / 100)
                        fail_msg("%s: %g live, %g back-filled", resource_name(r), want, got);
        }
        rig_end(&past);
        rig_end(&live);
}

/* Wherever slices end, in a start or in a gap of ordinary samples, what is learned is the same. */
static void test_slices(void **state)
{
        (void)state;
        static const double most_s[] = {0, 12 * 3600, 3 * 3600, 3600, 600};
        int64_t end = five_minutes_ago(), step = 5 * MINUTE_MS, from = end - 2 * (int64_t)DAY_MS;
        /* gone: a gap at many edges; late: its start lies across one */
        prometheus.shape[0] = (struct shape){
                .pod = GONE, .to_ms = end, .gap_from = from + 20 * HOUR_MS, .gap_to = from + 30 * HOUR_MS};
        prometheus.shape[1] =
                (struct shape){.pod = LATE, .from_ms = from + DAY_MS - 2 * step, .to_ms = end, .high_ms = 4 * step};
        prometheus.shape[2] = (struct shape){0};
        struct usage_starts want;
        int64_t samples = 0;
        for (size_t i = 0; i < sizeof most_s / sizeof most_s[0]; i++) {
                struct rig c;
                prometheus.most_s = most_s[i];
                open_learner(&c, FIRST("1h"));
                back_fill(&c, now_read().wall.ms - from, step);
                const struct usage *u = usage_learned(&c);
                assert_non_null(u->starts);
                if (i == 0) {
                        want = *u->starts;
                        samples = u->samples;
                        assert_true(start_weight(u, CPU) > 12 * 5 * 0.97 && start_weight(u, CPU) <= 12 * 5);
                        assert_int_equal(usage_starts_last_ms(u->starts, CPU), 4 * step - step);
                }
                if (memcmp(u->starts->of, want.of, sizeof want.of) != 0)
                        fail_msg("slices of %g s: starts weigh %g", most_s[i], start_weight(u, CPU));
                assert_int_equal(u->samples, samples);
                rig_end(&c);
        }
}

/* A gap where a slice begins is no start: without a start, nothing is kept apart. */
static void test_gap_at_edge(void **state)
{
        (void)state;
        int64_t end = five_minutes_ago(), step = 5 * MINUTE_MS, from = end - 2 * (int64_t)DAY_MS;
        struct rig c;
        prometheus.most_s = 0; /* slices of a day */
        prometheus.shape[0] = (struct shape){
                .pod = GONE, .to_ms = end, .gap_from = from + DAY_MS - HOUR_MS, .gap_to = from + DAY_MS + HOUR_MS};
        prometheus.shape[1] = prometheus.shape[2] = (struct shape){0};
        open_learner(&c, FIRST("1h"));
        back_fill(&c, now_read().wall.ms - from, step);
        assert_null(usage_learned(&c)->starts);
        assert_in_range(usage_learned(&c)->samples, 2 * DAY_MS / step - 26, 2 * DAY_MS / step - 22);
        rig_end(&c);
}

/* What was learned live of starts is not learned again, though no sample has counted yet; nor after a restart. */
static void test_live_starts_count_once(void **state)
{
        (void)state;
        for (int restart = 0; restart < 2; restart++) {
                AUTO(mem_free) char *path = tmp_path("backfill-starts.db");
                int64_t end = five_minutes_ago(), began = end - 20 * MINUTE_MS;
                struct rig c;
                unlink(path);
                prometheus.most_s = 0;
                prometheus.shape[0] = (struct shape){.pod = LIVE, .from_ms = began, .to_ms = end};
                prometheus.shape[1] = prometheus.shape[2] = (struct shape){0};
                open_learner(&c, FIRST("1h"));
                rig_open_database(&c, path);
                pod_began(&c, LIVE, began);
                learn_live(&c, began + 10 * MINUTE_MS, end);
                assert_int_equal(usage_learned(&c)->samples, 0);
                if (restart) {
                        while (!checkpointer_pack(c.checkpointer))
                                ;
                        rig_kill_database(&c);
                        rig_end(&c);
                        rig_begin(&c);
                        rig_open_database(&c, path);
                        shop_profile(&c.cache, 1, FIRST("1h"));
                        shop_deployment(&c.cache, "{\"requests\":{\"cpu\":\"1\"}}");
                        pod_began(&c, LIVE, began);
                }
                assert_true(start_weight(usage_learned(&c), CPU) > 10.9);
                back_fill(&c, HOUR_MS, MINUTE_MS);
                double weighs = start_weight(usage_learned(&c), CPU);
                if (!(weighs > 20.5 && weighs <= 21))
                        fail_msg("restart %d: 21 samples weigh %g", restart, weighs);
                rig_kill_database(&c);
                rig_end(&c);
        }
}

/* A container that never ran longer has starts only: they are known, as they are live. */
static void test_only_starts(void **state)
{
        (void)state;
        int64_t end = five_minutes_ago();
        struct rig c;
        prometheus.most_s = 0;
        prometheus.shape[0] =
                (struct shape){.pod = LATE, .from_ms = end - 30 * MINUTE_MS, .to_ms = end - 20 * MINUTE_MS};
        prometheus.shape[1] = prometheus.shape[2] = (struct shape){0};
        open_learner(&c, FIRST("1h"));
        back_fill(&c, 2 * HOUR_MS, MINUTE_MS);
        assert_true(start_weight(usage_learned(&c), MEMORY) > 10.9);
        assert_int_equal(usage_learned(&c)->samples, 0);
        rig_end(&c);
}

#define POD   "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ab/"
#define OTHER "/kubepods/pod8e0b0b0e-7c1d-4f6a-9b3e-0123456789ac/"

/* Nested cgroups count once. Doubt of a few minutes counts as the largest; of that which lasts, nothing does. */
static void test_cgroups(void **state)
{
        (void)state;
        static const struct {
                const char *other;
                int64_t minutes; /* for which there are both */
                int samples;     /* of an hour */
        } row[] = {
                {POD "a/b", 60, 61}, {POD "b", 60, 61}, {OTHER "a", 9, 61}, {OTHER "a", 60, 10}, {OTHER "a", 30, 40},
        };
        int64_t end = five_minutes_ago(), began = end - HOUR_MS;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                prometheus.most_s = 0;
                prometheus.shape[0] = (struct shape){.pod = LATE, .from_ms = began, .to_ms = end, .cgroup = POD "a"};
                prometheus.shape[1] = prometheus.shape[0];
                prometheus.shape[1].to_ms = began + row[i].minutes * MINUTE_MS;
                prometheus.shape[1].cgroup = row[i].other;
                prometheus.shape[2] = (struct shape){0};
                open_learner(&c, "{}");
                back_fill(&c, 2 * HOUR_MS, MINUTE_MS);
                if (usage_learned(&c)->samples != row[i].samples)
                        fail_msg("row %zu: %lld samples", i, (long long)usage_learned(&c)->samples);
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_agrees_with_live),
                cmocka_unit_test(test_step_weighs),
                cmocka_unit_test(test_slices),
                cmocka_unit_test(test_gap_at_edge),
                cmocka_unit_test(test_live_starts_count_once),
                cmocka_unit_test(test_only_starts),
                cmocka_unit_test(test_cgroups),
        };
        return cmocka_run_group_tests_name("backfill", tests, NULL, NULL);
}
