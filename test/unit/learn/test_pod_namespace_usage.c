/* Pods and namespaces as targets: selection, learning, and the published status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"
#include "cache/pod_namespace_targets.h"

enum { SAMPLES = 120 };

static void open_world(struct rig *c)
{
        rig_begin(c);
        c->live.interval_ms = MINUTE_MS;
        struct err err = {0};
        assert_int_equal(ns_upsert(&c->cache,
                                   TEXT("{\"metadata\":{\"name\":\"web\",\"uid\":\"n\",\"labels\":{\"team\":\"a\"}}}"),
                                   1, &err),
                         0);
}

static void close_world(struct rig *c)
{
        rig_end(c);
}

static void put_profile(struct rig *c, const char *name, int generation, const char *spec)
{
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"name\":\"%s\",\"generation\":%d},\"spec\":%s}", name, generation, spec);
        struct err err = {0};
        if (profile_upsert(&c->cache, true, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static struct watched_kind *kind_named(struct cache *w, const char *kind)
{
        struct watched_kind *k = w->kinds;
        while (strcmp(k->kind, kind) != 0 || strcmp(k->group, "apps") != 0)
                k = k->next;
        return k;
}

static void put_workload(struct rig *c, const char *kind, const char *name, const char *label)
{
        AUTO(mem_free)
        char *json =
                mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s-%s\",\"generation\":1,"
                           "\"labels\":{\"app\":\"%s\"}},\"spec\":{\"replicas\":2,\"template\":{\"metadata\":{},"
                           "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\","
                           "\"memory\":\"1Gi\"}}}]}}}}",
                           name, kind, name, label);
        struct err err = {0};
        if (workload_upsert(&c->cache, kind_named(&c->cache, kind), text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

/* owner: "StatefulSet db", "" for none. */
static void put_pod(struct rig *c, const char *name, int life, const char *kind, const char *owner, const char *meta,
                    const char *request)
{
        AUTO(mem_free)
        char *refs = *owner ? mem_printf(",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"%s\",\"name\":"
                                         "\"%s\",\"uid\":\"%s-%s\",\"controller\":true}]",
                                         kind, owner, kind, owner)
                            : mem_string("");
        AUTO(mem_free)
        char *json = mem_printf(
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s-%d\",\"creationTimestamp\":"
                "\"2020-01-01T00:00:00Z\"%s%s},\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":"
                "{"
                "\"cpu\":\"%s\",\"memory\":\"1Gi\"}}},{\"name\":\"log\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}"
                "}]},\"status\":{\"phase\":\"Running\",\"startTime\":\"2020-01-01T00:00:00Z\"}}",
                name, name, life, meta, refs, request);
        struct err err = {0};
        if (pod_upsert(&c->cache, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void drop_pod(struct rig *c, const char *name, int life)
{
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":\"%s-%d\"},\"spec\":{"
                                "\"containers\":[{\"name\":\"app\"},{\"name\":\"log\"}]}}",
                                name, name, life);
        pod_remove(&c->cache, text_of(json));
}

static void settle(struct rig *c)
{
        cache_relink(&c->cache, loop_now(c->loop));
        pods_free_dropped(&c->cache);
        workloads_free_gone(&c->cache);
}

static struct target *target_of(struct rig *c, const char *key)
{
        return map_get(&c->cache.targets, text_of(key));
}

static bool lives(struct rig *c, const char *key)
{
        const struct target *t = target_of(c, key);
        return t && t->workload && t->profile;
}

/* One poll's item: app and log. */
static void fold(struct rig *c, const char *pod, int64_t at_ms, int app_milli, int log_milli)
{
        struct pod_metrics_view m = {.ns = TEXT("web"), .name = text_of(pod), .at = {at_ms}, .containers = 2};
        m.container[0] = (struct pod_metrics_container_view){.name = TEXT("app"),
                                                             .has = {true, true},
                                                             .cpu_nano = app_milli * INT64_C(1000000),
                                                             .memory_bytes = INT64_C(300) << 20};
        m.container[1] = (struct pod_metrics_container_view){.name = TEXT("log"),
                                                             .has = {true, true},
                                                             .cpu_nano = log_milli * INT64_C(1000000),
                                                             .memory_bytes = INT64_C(20) << 20};
        c->learner->cursor = 0;
        ingest_fold(c->learner, &m, (struct wall){at_ms});
}

static int64_t usage_of(const struct rig *c, const struct target *t, const char *container, int percentile)
{
        double value = 0;
        for (const struct history *h = t->histories; h; h = h->next)
                if (strcmp(h->container, container) == 0)
                        (void)usage_percentile(&h->usage, CPU, percentile, &value);
        (void)c;
        return (int64_t)(value * 1000);
}

static const struct history *history_named(const struct target *t, const char *container)
{
        const struct history *h = t->histories;
        while (h && strcmp(h->container, container) != 0)
                h = h->next;
        return h;
}

/* --- who is one --- */

static void test_who(void **state)
{
        (void)state;
        static const struct {
                const char *what, *spec, *key;
                bool want;
        } row[] = {
                {"a pod of a StatefulSet", "{\"dimension\":\"Pod\"}", "web//Pod/db-0", true},
                {"with many digits", "{\"dimension\":\"Pod\"}", "web//Pod/db-10", true},
                {"called otherwise", "{\"dimension\":\"Pod\"}", "web//Pod/db-x1", false},
                {"nobody's", "{\"dimension\":\"Pod\"}", "web//Pod/lone", true},
                {"of a DaemonSet: no name comes back", "{\"dimension\":\"Pod\"}", "web//Pod/node-7", false},
                {"but where it is named, and they are called so",
                 "{\"dimension\":\"Pod\",\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\"}]}",
                 "web//Pod/node-7", true},
                {"then no other",
                 "{\"dimension\":\"Pod\",\"targets\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\"}]}",
                 "web//Pod/db-0", false},
                {"nobody's alone", "{\"dimension\":\"Pod\",\"targets\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}]}",
                 "web//Pod/db-0", false},
                {"and it", "{\"dimension\":\"Pod\",\"targets\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}]}",
                 "web//Pod/lone", true},
                {"by the labels of its workload",
                 "{\"dimension\":\"Pod\",\"selector\":{\"matchLabels\":{\"app\":\"db\"}}}", "web//Pod/db-0", true},
                {"which the other has not", "{\"dimension\":\"Pod\",\"selector\":{\"matchLabels\":{\"app\":\"db\"}}}",
                 "web//Pod/lone", false},
                {"it has its own", "{\"dimension\":\"Pod\",\"selector\":{\"matchLabels\":{\"app\":\"lone\"}}}",
                 "web//Pod/lone", true},
                {"workloads are another dimension", "{\"dimension\":\"Pod\"}", "web/apps/StatefulSet/db", false},
                {"a namespace", "{\"dimension\":\"Namespace\"}", "web//Namespace/web", true},
                {"by its labels",
                 "{\"dimension\":\"Namespace\",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"b\"}}}",
                 "web//Namespace/web", false},
                {"and not by those of workloads",
                 "{\"dimension\":\"Namespace\",\"selector\":{\"matchLabels\":{\"app\":\"none\"}}}",
                 "web//Namespace/web", true},
                {"no pods then", "{\"dimension\":\"Namespace\"}", "web//Pod/db-0", false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                put_profile(&c, "one", 1, row[i].spec);
                put_workload(&c, "StatefulSet", "db", "db");
                put_workload(&c, "DaemonSet", "node", "node");
                put_pod(&c, "db-0", 1, "StatefulSet", "db", "", "1");
                put_pod(&c, "db-10", 1, "StatefulSet", "db", "", "1");
                put_pod(&c, "db-x1", 1, "StatefulSet", "db", "", "1");
                put_pod(&c, "node-7", 1, "DaemonSet", "node", "", "1");
                put_pod(&c, "lone", 1, "", "", ",\"labels\":{\"app\":\"lone\"}", "1");
                settle(&c);
                if (lives(&c, row[i].key) != row[i].want)
                        fail_msg("%s: %s is %s", row[i].what, row[i].key, row[i].want ? "none" : "one");
                close_world(&c);
        }
}

/* One profile of each dimension: none loses to another. A profile that turns to another dimension leaves nothing. */
static void test_side_by_side(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        put_profile(&c, "loads", 1, "{\"priority\":9}");
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\"}");
        put_profile(&c, "whole", 1, "{\"dimension\":\"Namespace\"}");
        put_workload(&c, "StatefulSet", "db", "db");
        put_pod(&c, "db-0", 1, "StatefulSet", "db", "", "1");
        settle(&c);
        assert_true(lives(&c, "web/apps/StatefulSet/db") && lives(&c, "web//Pod/db-0") &&
                    lives(&c, "web//Namespace/web"));
        struct profile *p;
        for (size_t at = 0; (p = map_each(&c.cache.profiles, &at));) {
                assert_int_equal(p->matched, 1);
                assert_int_equal(p->overridden, 0);
        }
        fold(&c, "db-0", loop_now(c.loop).wall.ms - MINUTE_MS, 250, 50);
        dimension_polled(c.learner);
        assert_int_equal(usage_of(&c, target_of(&c, "web/apps/StatefulSet/db"), "app", 950),
                         usage_of(&c, target_of(&c, "web//Pod/db-0"), "app", 950));
        put_profile(&c, "pods", 2, "{}");
        put_profile(&c, "whole", 2, "{}");
        settle(&c);
        assert_false(lives(&c, "web//Pod/db-0") || lives(&c, "web//Namespace/web"));
        assert_non_null(target_of(&c, "web//Pod/db-0")->workload); /* the pod is there: only its profile went */
        const struct pod *pod = map_get(&c.cache.pods, TEXT("web/db-0"));
        assert_true(pod->more && !pod->more->single && !pod->more->whole);
        close_world(&c);
}

/* --- what it learns --- */

/* Containers peak in turn: together they never use what the sum of their percentiles says. */
static void test_pod_sum(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        int64_t now = loop_now(c.loop).wall.ms;
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\"}");
        put_pod(&c, "lone", 1, "", "", "", "1");
        settle(&c);
        struct target *t = target_of(&c, "web//Pod/lone");
        for (int i = 0; i < SAMPLES; i++)
                fold(&c, "lone", now - (SAMPLES - i) * (int64_t)MINUTE_MS, i % 2 ? 400 : 100, i % 2 ? 100 : 400);
        assert_in_range(usage_of(&c, t, "app", 950), 400, 440);
        assert_in_range(usage_of(&c, t, "log", 950), 400, 440);
        assert_in_range(usage_of(&c, t, "*", 950), 500, 550);
        assert_int_equal(history_named(t, "*")->usage.samples, SAMPLES);
        assert_int_equal(c.learner->count.samples[SAMPLE_ACCEPTED], 2 * SAMPLES);
        fold(&c, "lone", now - MINUTE_MS, 9000, 9000); /* the same scrape again */
        assert_int_equal(history_named(t, "*")->usage.samples, SAMPLES);

        /* The pod goes and comes back: the history is its name's. */
        drop_pod(&c, "lone", 1);
        settle(&c);
        assert_false(lives(&c, "web//Pod/lone"));
        assert_int_not_equal(t->gone_ms, 0);
        put_pod(&c, "lone", 2, "", "", "", "2");
        settle(&c);
        assert_ptr_equal(target_of(&c, "web//Pod/lone"), t);
        assert_true(lives(&c, "web//Pod/lone"));
        assert_int_equal(t->gone_ms, 0);
        fold(&c, "lone", now, 100, 100);
        assert_int_equal(history_named(t, "app")->usage.samples, SAMPLES + 1);
        close_world(&c);
}

static void put_three(struct rig *c, const char *spec)
{
        put_profile(c, "whole", 1, spec);
        put_workload(c, "StatefulSet", "db", "db");
        put_pod(c, "db-0", 1, "StatefulSet", "db", "", "1");
        put_pod(c, "db-1", 1, "StatefulSet", "db", "", "1");
        put_pod(c, "lone", 1, "", "", ",\"labels\":{\"app\":\"lone\"}", "500m");
        settle(c);
}

/* One sum a cycle: pods of other timestamps count together, one that is missing for a cycle makes no dip. */
static void test_namespace_sum(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        put_three(&c, "{\"dimension\":\"Namespace\"}");
        struct target *t = target_of(&c, "web//Namespace/web");
        int64_t now = loop_now(c.loop).wall.ms;
        assert_int_equal(t->pod_count, 3);
        dimension_polled(c.learner); /* nothing was seen of any, and they do not begin just now: nobody measures them */
        assert_int_equal(history_named(t, "*")->usage.samples, 0);
        fold(&c, "db-0", now - 40 * SECOND_MS, 1000, 0);
        fold(&c, "db-1", now - 70 * SECOND_MS, 1000, 0); /* missing in this scrape */
        fold(&c, "lone", now - 10 * SECOND_MS, 400, 100);
        dimension_polled(c.learner);
        assert_int_equal(history_named(t, "*")->usage.samples, 1);
        assert_in_range(usage_of(&c, t, "*", 1000), 2500, 2750);
        assert_in_range(history_named(t, "*")->usage.newest_ms, now, now + MINUTE_MS);
        close_world(&c);
}

static void test_namespace_gaps(void **state)
{
        (void)state;
        static const struct {
                const char *what;
                int age_s; /* of db-1's sample */
                bool away, partial, want;
        } row[] = {
                {"a cycle late", 100, false, false, true}, {"too late", 200, false, false, false},
                {"given up", 400, false, false, true},     {"no usage at all", 10, true, false, false},
                {"half of it", 10, false, true, false},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                put_three(&c, "{\"dimension\":\"Namespace\"}");
                int64_t now = loop_now(c.loop).wall.ms;
                fold(&c, "db-0", now, 1000, 0);
                fold(&c, "db-1", now - row[i].age_s * (int64_t)SECOND_MS, 1000, 0);
                fold(&c, "lone", now, 400, 100);
                c.notices->source.away = row[i].away;
                c.notices->source.partial = row[i].partial;
                dimension_polled(c.learner);
                int64_t samples = history_named(target_of(&c, "web//Namespace/web"), "*")->usage.samples;
                if (samples != row[i].want)
                        fail_msg("%s: %d sums", row[i].what, (int)samples);
                close_world(&c);
        }
}

/* --- what it is told --- */

static const struct plan_container *plan_of(struct rig *c, const char *key, const char *container, struct plan *plan)
{
        struct plan_facts f = {.now = loop_now(c->loop), .interval_ms = MINUTE_MS};
        arena_reset(&c->plans);
        plan_judge(&c->cache, target_of(c, key), &f, &c->plans, plan);
        plan_finish(&c->cache, &f, &c->plans, plan);
        for (int i = 0; i < plan->containers; i++)
                if (strcmp(plan->container[i].name, container) == 0)
                        return &plan->container[i];
        fail_msg("%s has no row '%s'", key, container);
        return NULL;
}

/* A namespace uses more than any container may, and it is known after a restart. */
static void test_large_namespace(void **state)
{
        (void)state;
        AUTO(mem_free) char *path = tmp_path("large.db");
        struct plan plan;
        struct rig c;
        open_world(&c);
        rig_open_database(&c, path);
        put_three(&c, "{\"dimension\":\"Namespace\",\"apply\":{\"minHistory\":\"0s\"}}");
        int64_t now = loop_now(c.loop).wall.ms;
        fold(&c, "db-0", now, 2500000, 0);
        fold(&c, "db-1", now, 2500000, 0);
        fold(&c, "lone", now, 100, 100);
        dimension_polled(c.learner);
        const struct plan_container *all = plan_of(&c, "web//Namespace/web", "*", &plan);
        assert_in_range(all->facts.learned.of[CPU].model, 5000000, 5300000);
        assert_false(all->facts.learned.of[CPU].more);
        assert_int_equal(plan_saving(&plan, CPU), 0);
        while (!checkpointer_pack(c.checkpointer))
                ;
        rig_kill_database(&c);
        close_world(&c);

        open_world(&c);
        rig_open_database(&c, path);
        struct target *t = target_of(&c, "web//Namespace/web");
        assert_true(history_named(t, "*")->usage.of[CPU].sum);
        assert_in_range(usage_of(&c, t, "*", 950), 5000000, 5300000);
        rig_kill_database(&c);
        close_world(&c);
}

/* Pods that the selector leaves out count neither with what they use nor with what they ask for. */
static void test_namespace_plan(void **state)
{
        (void)state;
        static const struct {
                const char *what, *selector;
                int64_t original, model_least, model_most;
        } row[] = {
                {"all", "{}", 1100 * 2 + 600, 2500, 2750},
                {"the workload's", "{\"matchLabels\":{\"app\":\"db\"}}", 1100 * 2, 2000, 2200},
                {"nobody's", "{\"matchLabels\":{\"app\":\"lone\"}}", 600, 500, 550},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                struct plan plan;
                AUTO(mem_free)
                char *spec =
                        mem_printf("{\"dimension\":\"Namespace\",\"selector\":%s,\"apply\":{\"minHistory\":\"0s\"}}",
                                   row[i].selector);
                put_three(&c, spec);
                int64_t now = loop_now(c.loop).wall.ms;
                fold(&c, "db-0", now, 1000, 0);
                fold(&c, "db-1", now, 1000, 0);
                fold(&c, "lone", now, 400, 100);
                dimension_polled(c.learner);
                const struct plan_container *all = plan_of(&c, "web//Namespace/web", "*", &plan);
                assert_int_equal(plan.containers, 1);
                assert_false(plan.apply);
                if (all->facts.original[CPU].value != row[i].original)
                        fail_msg("%s: %lld asked for", row[i].what, (long long)all->facts.original[CPU].value);
                if (all->facts.learned.of[CPU].model < row[i].model_least ||
                    all->facts.learned.of[CPU].model > row[i].model_most)
                        fail_msg("%s: %lld used", row[i].what, (long long)all->facts.learned.of[CPU].model);
                assert_int_equal(plan_pod_amount(&plan, CPU, PLAN_ORIGINAL).value, row[i].original);
                close_world(&c);
        }
}

/* A pod's containers are judged each by itself, and all together beside them. */
static void test_pod_plan(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct plan plan;
        int64_t now = loop_now(c.loop).wall.ms;
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\",\"apply\":{\"mode\":\"OnDeploy\",\"minHistory\":\"1m\"}}");
        put_workload(&c, "StatefulSet", "db", "db");
        put_pod(&c, "db-0", 1, "StatefulSet", "db", "", "1");
        put_pod(&c, "lone", 1, "", "", "", "1");
        settle(&c);
        for (int i = 0; i < SAMPLES; i++) {
                fold(&c, "db-0", now - (SAMPLES - i) * (int64_t)MINUTE_MS, 250, 50);
                fold(&c, "lone", now - (SAMPLES - i) * (int64_t)MINUTE_MS, 250, 50);
        }
        const struct plan_container *app = plan_of(&c, "web//Pod/lone", "app", &plan);
        assert_int_equal(app->advice.of[CPU].target.value, 285);
        assert_int_equal(plan.state, STATE_READY);
        assert_int_equal(plan.samples, 2 * SAMPLES); /* the whole is no third container */
        assert_string_equal(plan_condition(&plan, "Applied")->reason, "NextDeploy");
        const struct plan_container *all = plan_of(&c, "web//Pod/lone", "*", &plan);
        assert_int_equal(all->role, ROLE_WHOLE);
        assert_int_equal(all->facts.original[CPU].value, 1100);
        assert_in_range(all->advice.of[CPU].target.value, 330, 370);
        assert_int_equal(plan_pod_amount(&plan, CPU, PLAN_ORIGINAL).value, 1100);

        /* A pod of a workload only gets a recommendation, whatever the mode, because the template is its workload's. */
        app = plan_of(&c, "web//Pod/db-0", "app", &plan);
        assert_int_equal(app->advice.of[CPU].target.value, 285);
        assert_int_equal(app->advice.reason[CPU], REASON_RECOMMEND_ONLY);
        assert_false(plan.apply);
        close_world(&c);
}

/* Of several the one that leaves less; one of a scope bounds other pods. */
static void test_quota(void **state)
{
        (void)state;
        static const struct {
                const char *what, *quota[2];
                int64_t hard, used; /* of CPU; 0: none */
        } row[] = {
                {"none", {NULL, NULL}, 0, 0},
                {"one", {"\"hard\":{\"requests.cpu\":\"8\"},\"used\":{\"requests.cpu\":\"2700m\"}", NULL}, 8000, 2700},
                {"in its short spelling", {"\"hard\":{\"cpu\":\"8\"},\"used\":{\"cpu\":\"1\"}", NULL}, 8000, 1000},
                {"of other things", {"\"hard\":{\"pods\":\"8\"},\"used\":{\"pods\":\"1\"}", NULL}, 0, 0},
                {"the one that leaves less",
                 {"\"hard\":{\"cpu\":\"8\"},\"used\":{\"cpu\":\"1\"}",
                  "\"hard\":{\"cpu\":\"9\"},\"used\":{\"cpu\":\"5\"}"},
                 9000,
                 5000},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct rig c;
                open_world(&c);
                struct err err = {0};
                struct plan plan;
                put_three(&c, "{\"dimension\":\"Namespace\"}");
                for (int k = 0; k < 2 && row[i].quota[k]; k++) {
                        AUTO(mem_free)
                        char *json = mem_printf("{\"metadata\":{\"namespace\":\"web\",\"name\":\"q%d\"},\"spec\":{},"
                                                "\"status\":{%s}}",
                                                k, row[i].quota[k]);
                        assert_int_equal(quota_upsert(&c.cache, text_of(json), 1, &err), 0);
                }
                plan_of(&c, "web//Namespace/web", "*", &plan);
                if (plan.quota_hard[CPU].set != (row[i].hard > 0) || plan.quota_hard[CPU].value != row[i].hard ||
                    plan.quota_used[CPU].value != row[i].used)
                        fail_msg("%s: %lld of %lld", row[i].what, (long long)plan.quota_used[CPU].value,
                                 (long long)plan.quota_hard[CPU].value);
                close_world(&c);
        }
}

#define RECORDED(cpu) "{\\\"app\\\":{\\\"requests\\\":{\\\"cpu\\\":\\\"" cpu "\\\"}}}"
#define OURS                                                                                                           \
        ",\"annotations\":{\"halflife.dev/original-resources\":\"" RECORDED(                                           \
                "1") "\",\"halflife.dev/applied-resources\":\"" RECORDED("285m") "\"}"

/* Admitted with a value of ours: what its owner asked for is in its own annotation. */
static void test_pod_original(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct plan plan;
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\",\"apply\":{\"mode\":\"OnDeploy\"}}");
        put_profile(&c, "whole", 1, "{\"dimension\":\"Namespace\"}");
        put_pod(&c, "lone", 1, "", "", OURS, "285m");
        settle(&c);
        const struct plan_container *app = plan_of(&c, "web//Pod/lone", "app", &plan);
        assert_int_equal(app->facts.original[CPU].value, 1000);
        assert_int_equal(app->running[CPU].value, 285);
        assert_true(plan.carries);
        const struct plan_container *all = plan_of(&c, "web//Namespace/web", "*", &plan);
        assert_int_equal(all->facts.original[CPU].value, 1100);
        assert_int_equal(all->running[CPU].value, 385);
        close_world(&c);
}

/* What it records is the pod's own, and goes when somebody adopts it: before the next settle, too, nothing is left that
 * tells of it. */
static void test_adopted_pod(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\",\"apply\":{\"mode\":\"InPlace\"}}");
        put_workload(&c, "StatefulSet", "db", "db");
        put_pod(&c, "lone", 1, "", "", OURS, "285m");
        settle(&c);
        const struct workload *synthetic = target_of(&c, "web//Pod/lone")->workload;
        assert_int_equal(synthetic->original.rows, 1);
        assert_int_equal(synthetic->applied.rows, 1);
        put_pod(&c, "lone", 1, "StatefulSet", "db", OURS, "285m");
        assert_int_equal(synthetic->original.rows, 0);
        assert_int_equal(synthetic->applied.rows, 0);
        settle(&c);
        close_world(&c);
}

/* A kill counts once for the pod, and once for the workload that has a profile too. */
static void test_kill(void **state)
{
        (void)state;
        struct rig c;
        open_world(&c);
        struct err err = {0};
        put_profile(&c, "pods", 1, "{\"dimension\":\"Pod\"}");
        put_pod(&c, "lone", 1, "", "", "", "1");
        settle(&c);
        fold(&c, "lone", loop_now(c.loop).wall.ms, 100, 100);
        static const char killed[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"lone\",\"uid\":\"lone-1\"},\"spec\":{\"containers\":[{"
                "\"name\":\"app\"},{\"name\":\"log\"}]},\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{"
                "\"name\":\"app\",\"restartCount\":1,\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\","
                "\"finishedAt\":\"2025-11-21T00:00:00Z\"}}}]}}";
        for (int i = 0; i < 2; i++) {
                assert_int_equal(pod_upsert(&c.cache, text_of(killed), 1, &err), 0);
                settle(&c);
                oom_count(c.learner);
        }
        assert_int_equal(c.learner->count.kills, 1);
        assert_int_equal(history_named(target_of(&c, "web//Pod/lone"), "app")->usage.kills, 1);
        close_world(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_who),
                cmocka_unit_test(test_side_by_side),
                cmocka_unit_test(test_pod_sum),
                cmocka_unit_test(test_namespace_sum),
                cmocka_unit_test(test_large_namespace),
                cmocka_unit_test(test_namespace_gaps),
                cmocka_unit_test(test_namespace_plan),
                cmocka_unit_test(test_pod_plan),
                cmocka_unit_test(test_pod_original),
                cmocka_unit_test(test_adopted_pod),
                cmocka_unit_test(test_quota),
                cmocka_unit_test(test_kill),
        };
        return cmocka_run_group_tests_name("dimension", tests, NULL, NULL);
}
