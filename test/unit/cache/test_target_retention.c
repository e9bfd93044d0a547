/* How long what is gone is kept, and how much of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"
#include "cache/guard_state.h"

static const struct resource_policy policy[RESOURCES] = {{.half_life_ms = DAY_MS}, {.half_life_ms = DAY_MS}};
static const int64_t gone_at = 1800000000000, retention = 14 * (int64_t)DAY_MS;

/* Of a kind that nobody has: its workload is gone. */
static struct target *gone_target(struct cache *w, const char *ns, const char *name, int64_t watched_ms,
                                  int64_t gone_ms)
{
        struct target *t = target_get(w, text_of(ns), TEXT("example.org"), TEXT("Widget"), text_of(name));
        const char *container = intern_text(w->names, TEXT("app"));
        struct usage *u = &history_get(t, container, policy)->usage;
        intern_drop(w->names, container);
        u->samples = 1;
        u->first_ms = gone_ms - watched_ms;
        u->newest_ms = gone_ms;
        t->gone_ms = gone_ms;
        return t;
}

/* The ms after gone_at from which on it is over. */
static int64_t kept_for(const struct target *t, int64_t retention_ms)
{
        int64_t kept = 0;
        for (int64_t step = (int64_t)1 << 40; step; step >>= 1)
                if (!target_is_over(t, gone_at + kept + step - 1, retention_ms))
                        kept += step;
        return kept;
}

/* In proportion to what was watched. */
static void test_watched(void **state)
{
        (void)state;
        static const struct {
                int64_t watched_ms, retention_ms, want_ms;
        } row[] = {
                {0, 14 * (int64_t)DAY_MS, HOUR_MS},
                {MINUTE_MS, 14 * (int64_t)DAY_MS, HOUR_MS},
                {10 * MINUTE_MS, 14 * (int64_t)DAY_MS, 4 * (int64_t)HOUR_MS},
                {HOUR_MS, 14 * (int64_t)DAY_MS, DAY_MS},
                {9 * (int64_t)HOUR_MS, 14 * (int64_t)DAY_MS, 9 * (int64_t)DAY_MS},
                {14 * (int64_t)HOUR_MS, 14 * (int64_t)DAY_MS, 14 * (int64_t)DAY_MS},
                {30 * (int64_t)DAY_MS, 14 * (int64_t)DAY_MS, 14 * (int64_t)DAY_MS},
                {HOUR_MS, 12 * (int64_t)HOUR_MS, 12 * (int64_t)HOUR_MS},
                {0, 3 * SECOND_MS, 3 * SECOND_MS},
                {30 * (int64_t)DAY_MS, 0, 0},
                {-HOUR_MS, 14 * (int64_t)DAY_MS, HOUR_MS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                cache_init(&w, "halflife", "halflife-system");
                struct target *t = gone_target(&w, "web", "web", row[i].watched_ms, gone_at);
                int64_t kept = kept_for(t, row[i].retention_ms);
                if (kept != row[i].want_ms)
                        fail_msg("row %zu: %lld", i, (long long)kept);
                cache_release(&w);
        }
}

/* From the first sample of any container to the newest of any; a lost database leaves the Recommendation's times. */
static void test_watched_where(void **state)
{
        (void)state;
        static const char object[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"widget.example.org-web\"},\"spec\":{\"targetRef\":{"
                "\"apiVersion\":\"example.org/v1\",\"kind\":\"Widget\",\"name\":\"web\"},\"profileRef\":{\"kind\":"
                "\"Profile\",\"name\":\"team\"}},\"status\":{\"state\":\"Ready\",\"samples\":9,\"firstSample\":"
                "\"2027-01-15T02:00:00Z\",\"lastSample\":\"2027-01-15T06:00:00Z\",\"containers\":[{\"name\":\"app\","
                "\"state\":\"Ready\",\"cpu\":{\"original\":\"1\",\"model\":\"100m\",\"target\":\"100m\",\"reason\":"
                "\"Lowered\"}}]}}";
        struct cache w;
        struct err err = {0};
        cache_init(&w, "halflife", "halflife-system");
        struct target *t = gone_target(&w, "web", "two", HOUR_MS, gone_at);
        const char *container = intern_text(w.names, TEXT("proxy"));
        struct usage *u = &history_get(t, container, policy)->usage;
        intern_drop(w.names, container);
        u->first_ms = gone_at - 3 * (int64_t)HOUR_MS;
        u->newest_ms = gone_at - 2 * (int64_t)HOUR_MS;
        assert_int_equal(kept_for(t, retention), 3 * (int64_t)DAY_MS);
        struct usage_starts starts = {.live_since_ms = gone_at - 4 * (int64_t)HOUR_MS};
        u->starts = &starts;
        starts.of[MEMORY].at_ms = gone_at + HOUR_MS;
        assert_int_equal(kept_for(t, retention), 5 * (int64_t)DAY_MS);
        u->starts = NULL;

        assert_int_equal(published_upsert(&w, text_of(object), 1, &err), 0);
        cache_relink(&w, (struct now){.wall = {gone_at}});
        t = target_get(&w, TEXT("web"), TEXT("example.org"), TEXT("Widget"), TEXT("web"));
        assert_non_null(t->published);
        assert_null(t->histories);
        assert_int_equal(t->gone_ms, gone_at);
        assert_int_equal(kept_for(t, retention), 4 * (int64_t)DAY_MS);
        cache_release(&w);
}

static void by_guard(struct target *t)
{
        struct guard_state *g = target_guard_state(t);
        g->cause = GUARD_RESTARTS;
        g->until_ms = gone_at + 2 * (int64_t)DAY_MS;
}

static void by_conflict(struct target *t)
{
        t->apply_state.contested_ms = gone_at + 3 * (int64_t)DAY_MS;
}

static void by_long_conflict(struct target *t)
{
        t->apply_state.contested_ms = INT64_MAX;
}

static void by_past_conflict(struct target *t)
{
        t->apply_state.contested_ms = gone_at - HOUR_MS;
}

static void set_on_pods(struct target *t)
{
        t->apply_state.in_place = true;
        t->apply_state.containers = mem_string("[]");
}

static void set_on_template(struct target *t)
{
        t->apply_state.changed_ms = gone_at - HOUR_MS;
        t->apply_state.containers = mem_string("[]");
}

/* What a person, guard or a conflict holds, or what pods carry, lasts. */
static void test_held(void **state)
{
        (void)state;
        static const struct {
                void (*hold)(struct target *t);
                int64_t want_ms;
        } row[] = {
                {by_guard, 2 * (int64_t)DAY_MS},          {by_conflict, 3 * (int64_t)DAY_MS},
                {by_long_conflict, 14 * (int64_t)DAY_MS}, {by_past_conflict, HOUR_MS},
                {set_on_pods, 14 * (int64_t)DAY_MS},      {set_on_template, HOUR_MS},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                cache_init(&w, "halflife", "halflife-system");
                struct target *t = gone_target(&w, "web", "web", MINUTE_MS, gone_at);
                row[i].hold(t);
                int64_t kept = kept_for(t, retention);
                if (kept != row[i].want_ms)
                        fail_msg("row %zu: %lld", i, (long long)kept);
                cache_release(&w);
        }
}

static void put_recommendation(struct cache *w, const char *annotations)
{
        struct err err = {0};
        AUTO(mem_free)
        char *object = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"widget.example.org-web\","
                                  "\"annotations\":{%s}},\"spec\":{\"targetRef\":{\"apiVersion\":\"example.org/v1\","
                                  "\"kind\":\"Widget\",\"name\":\"web\"}},\"status\":{}}",
                                  annotations);
        assert_int_equal(published_upsert(w, text_of(object), 1, &err), 0);
        cache_relink(w, (struct now){.wall = {gone_at}});
}

/* A person's hold outlives a workload of a minute. */
static void test_held_by_person(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        struct target *t = gone_target(&w, "web", "web", MINUTE_MS, gone_at);
        put_recommendation(&w, "");
        assert_non_null(t->published);
        assert_int_equal(kept_for(t, retention), HOUR_MS);
        put_recommendation(&w, "\"halflife.dev/hold\":\"restored\"");
        assert_int_equal(kept_for(t, retention), retention);
        cache_release(&w);
}

static void put_autoscaler(struct cache *w, const char *annotations)
{
        struct err err = {0};
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"h\",\"annotations\":{%s}},\"spec\":{"
                "\"scaleTargetRef\":{\"apiVersion\":\"example.org/v1\",\"kind\":\"Widget\",\"name\":\"web\"},"
                "\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":"
                "\"Utilization\",\"averageUtilization\":60}}}]}}",
                annotations);
        if (hpa_upsert(w, text_of(object), 1, &err) < 0)
                fail_msg("%s", err.text);
        cache_relink(w, (struct now){.wall = {gone_at}});
}

/* An autoscaler with a target of halflife's keeps what gives the target back, however long it takes. */
static void test_retuned(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        struct target *t = gone_target(&w, "web", "web", MINUTE_MS, gone_at);
        put_autoscaler(&w, "");
        assert_true(target_is_over(t, gone_at + HOUR_MS, retention));
        put_autoscaler(&w, "\"halflife.dev/original-targets\":\"{\\\"Resource/cpu\\\":50}\"");
        assert_false(target_is_over(t, gone_at + 2 * retention, retention));
        assert_false(target_is_over(t, gone_at, 0));
        put_autoscaler(&w, "");
        assert_true(target_is_over(t, gone_at + HOUR_MS, retention));
        cache_release(&w);
}

static void fill(struct cache *w, const char *ns, const char *stem, int count, int64_t watched_ms, int64_t gone_ms)
{
        for (int i = 0; i < count; i++) {
                char name[32];
                snprintf(name, sizeof name, "%s-%d", stem, i);
                gone_target(w, ns, name, watched_ms, gone_ms);
        }
}

/* How many of them are over. */
static int over_at(struct cache *w, const char *ns, const char *stem, int64_t now_ms)
{
        int count = 0;
        const struct target *t;
        for (size_t at = 0; (t = map_each(&w->targets, &at));)
                count += strcmp(t->ns, ns) == 0 && strncmp(t->name, stem, strlen(stem)) == 0 &&
                         target_is_over(t, now_ms, retention);
        return count;
}

static int over(struct cache *w, const char *ns, const char *stem)
{
        return over_at(w, ns, stem, gone_at);
}

/* Beyond its bound a namespace loses what was learned shortest, and then what is gone for longest; no other does. */
static void test_bound(void **state)
{
        enum { MOST = NAMESPACE_GONE_TARGETS };
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        fill(&w, "mallory", "month", 10, 30 * (int64_t)DAY_MS, gone_at - 13 * (int64_t)DAY_MS);
        fill(&w, "mallory", "old", 20, MINUTE_MS, gone_at - 2 * MINUTE_MS);
        fill(&w, "mallory", "young", MOST - 10, MINUTE_MS, gone_at - MINUTE_MS);
        fill(&w, "shop", "kept", MOST, MINUTE_MS, gone_at - MINUTE_MS);
        assert_int_equal(targets_bound_gone(&w, gone_at, retention), 2 * MOST);
        assert_int_equal(over(&w, "mallory", ""), 20);
        assert_int_equal(over(&w, "mallory", "old"), 20);
        assert_int_equal(over(&w, "shop", ""), 0);

        fill(&w, "mallory", "more", MOST, MINUTE_MS, gone_at);
        targets_bound_gone(&w, gone_at, retention);
        assert_int_equal(over(&w, "mallory", "month"), 0);
        assert_int_equal(over(&w, "mallory", "more"), 10);
        assert_int_equal(over(&w, "mallory", ""), MOST + 20);

        /* the hour is over for all but the learned */
        assert_int_equal(targets_bound_gone(&w, gone_at + HOUR_MS, retention), 10);
        assert_int_equal(over_at(&w, "mallory", "month", gone_at + HOUR_MS), 0);
        assert_int_equal(over_at(&w, "mallory", "", gone_at + HOUR_MS), 2 * MOST + 10);
        cache_release(&w);
}

/* Pods, of which most never come back under their names, go before all others. */
static void test_pods_go_first(void **state)
{
        enum { MOST = NAMESPACE_GONE_TARGETS };
        (void)state;
        struct cache w;
        struct target *t;
        cache_init(&w, "halflife", "halflife-system");
        fill(&w, "web", "pod", 20, 30 * (int64_t)DAY_MS, gone_at - MINUTE_MS);
        for (size_t at = 0; (t = map_each(&w.targets, &at));)
                t->dimension = DIMENSION_POD;
        fill(&w, "web", "load", MOST - 5, MINUTE_MS, gone_at - MINUTE_MS);
        targets_bound_gone(&w, gone_at, retention);
        assert_int_equal(over(&w, "web", "pod"), 15);
        assert_int_equal(over(&w, "web", "load"), 0);
        cache_release(&w);
}

/* One that is over for its namespace's bound, and is made again, is none any more. */
static void test_made_again(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife-system");
        struct target *t = gone_target(&w, "web", "web", MINUTE_MS, gone_at);
        fill(&w, "web", "other", NAMESPACE_GONE_TARGETS, HOUR_MS, gone_at);
        targets_bound_gone(&w, gone_at, retention);
        assert_true(target_is_over(t, gone_at, retention));
        t->gone_ms = 0; /* as of a life in which its workload was there */
        cache_relink(&w, (struct now){.wall = {gone_at + SECOND_MS}});
        assert_int_equal(t->gone_ms, gone_at + SECOND_MS);
        assert_false(target_is_over(t, gone_at + SECOND_MS, retention));
        cache_release(&w);
}

/* What is over leaves memory and database together; the rest is there after a restart. */
static void test_database(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_path("churn.db");
        unlink(path);
        for (int life = 0; life < 2; life++) {
                struct rig c;
                rig_begin(&c);
                c.live.retention_ms = retention;
                rig_open_database(&c, path);
                int64_t now = clock_skew_earlier(c.skew);
                if (life == 0) {
                        struct target *t;
                        fill(&c.cache, "mallory", "churn", NAMESPACE_GONE_TARGETS + 5, MINUTE_MS, now - MINUTE_MS);
                        fill(&c.cache, "mallory", "past", 5, MINUTE_MS, now - HOUR_MS);
                        fill(&c.cache, "mallory", "month", 1, 30 * (int64_t)DAY_MS, now - 13 * (int64_t)DAY_MS);
                        for (size_t at = 0; (t = map_each(&c.cache.targets, &at));) {
                                t->apply_state_dirty = t->histories->dirty = true;
                        }
                        while (!checkpointer_pack(c.checkpointer))
                                ;
                        targets_bound_gone(&c.cache, now, retention);
                        checkpointer_forget_old(c.checkpointer);
                        assert_int_equal(checkpointer_state(c.checkpointer).displaced, 6);
                }
                assert_int_equal(c.cache.targets.count, NAMESPACE_GONE_TARGETS);
                assert_int_equal(
                        target_get(&c.cache, TEXT("mallory"), TEXT("example.org"), TEXT("Widget"), TEXT("month-0"))
                                ->histories->usage.samples,
                        1);
                assert_int_equal(c.cache.targets.count, NAMESPACE_GONE_TARGETS);
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_watched),    cmocka_unit_test(test_watched_where),
                cmocka_unit_test(test_held),       cmocka_unit_test(test_held_by_person),
                cmocka_unit_test(test_retuned),    cmocka_unit_test(test_bound),
                cmocka_unit_test(test_retuned),    cmocka_unit_test(test_pods_go_first),
                cmocka_unit_test(test_made_again), cmocka_unit_test(test_database),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
