/* What a target keeps of kills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/shop.h"

static const struct {
        const char *container;
        int64_t at_ms;
        double limit;
        int64_t newest_ms;
        const char *limit_of;
} row[] = {
        {"app", 1000, 0, 1000, NULL},    {"app", 1000, 0, 1000, NULL},    {"app", 2000, 5e8, 2000, "app"},
        {"log", 3000, 5e8, 3000, "log"}, {"app", 1500, 5e8, 3000, "log"}, /* heard of late */
        {"app", 4000, 0, 4000, "log"},
};

/* The container that its limit killed last; NULL: none. */
static const char *killed_at_limit(const struct target *t)
{
        const struct limit_harm *newest = limit_harms_newest(t);
        return newest ? newest->container : NULL;
}

static void the_newest_is_kept(void **state)
{
        (void)state;
        struct rig c;
        rig_begin(&c);
        struct target *t = target_get(&c.cache, TEXT("web"), TEXT("apps"), TEXT("Deployment"), TEXT("web"));
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                const char *name = intern_text(c.cache.names, text_of(row[i].container));
                target_killed(&c.cache, t,
                              &(struct oom_kill){.container = name, .at = {row[i].at_ms}, .limit = row[i].limit});
                intern_drop(c.cache.names, name);
                if (t->kill_ms != row[i].newest_ms)
                        fail_msg("row %zu: %lld", i, (long long)t->kill_ms);
                assert_true(!killed_at_limit(t) == !row[i].limit_of);
                if (killed_at_limit(t))
                        assert_string_equal(killed_at_limit(t), row[i].limit_of);
        }
        rig_end(&c);
}

/* A Deployment whose memory is managed; it has no pods yet. */
static void kills_begin(struct rig *c)
{
        rig_begin(c);
        c->live.retention_ms = INT64_MAX / 4;
        c->live.interval_ms = MINUTE_MS;
        shop_profile(&c->cache, 1, "{\"resources\":{\"memory\":{\"enabled\":true}}}");
        shop_deployment(&c->cache, "{}");
}

static void kills_count(struct rig *c)
{
        cache_relink(&c->cache, loop_now(c->loop));
        oom_count(c->learner);
}

/* The log takes the node's memory, and its pod is evicted for that; app is killed by its own limit meanwhile. */
static const char evicted[] =
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"web-1\",\"uid\":\"00000000-0000-4000-8001-"
        "000000000001\"" SHOP_OWNED "},\"spec\":{\"containers\":[{\"name\":\"app\","
        "\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}},{\"name\":\"log\"}]},\"status\":{\"phase\":\"Failed\","
        "\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. Container log was using 900Mi, "
        "request "
        "is 100Mi, has larger consumption of memory. \",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,"
        "\"state\":{\"terminated\":{\"reason\":\"OOMKilled\",\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}]}}";

static void only_one_is_evicted(void **state)
{
        (void)state;
        struct rig c;
        kills_begin(&c);
        struct err err = {0};
        assert_int_equal(pod_upsert(&c.cache, text_of(evicted), 1, &err), 0);
        struct pod *p = map_get(&c.cache.pods, TEXT("web/web-1"));
        p->container[0].last_memory = 1000 << 20;
        p->container[0].sampled_s = (uint32_t)(p->container[0].kills->kill[0].at_ms / SECOND_MS) - 30;
        kills_count(&c);
        assert_int_equal(c.learner->count.kills, 2);
        struct target *t = shop_target(&c.cache);
        assert_non_null(killed_at_limit(t));
        assert_string_equal(killed_at_limit(t), "app");
        rig_end(&c);
}

/* A node's clock that is a year ahead: what it tells of a kill holds memory from now on, and not for a year more. */
static void told_by_a_clock_ahead(void **state)
{
        (void)state;
        struct rig c;
        kills_begin(&c);
        int64_t now = loop_now(c.loop).wall.ms;
        shop_pod(&c.cache, 1, 1, now + 365 * (int64_t)DAY_MS);
        kills_count(&c);
        assert_int_equal(c.learner->count.kills, 1);
        struct target *t = shop_target(&c.cache);
        assert_in_range(t->kill_ms, now, loop_now(c.loop).wall.ms);
        assert_int_equal(t->histories->usage.kill[0].at_ms, t->kill_ms);
        rig_end(&c);
}

/* --- one judgement, with what the node and its other pods tell --- */

#define NODE "{\"metadata\":{\"name\":\"n-1\"},\"status\":{\"allocatable\":{\"memory\":\"4Gi\"}}}"
#define POD(name, owner, limit, status)                                                                                \
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"" name "\",\"uid\":\"" name "\"" owner                        \
        "},\"spec\":{\"nodeName\":\"n-1\",\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{\"memory\":"    \
        "\"" limit "\"}}}]},\"status\":{\"startTime\":\"2026-07-01T08:00:00Z\"," status "}}"
#define KILLED(code)                                                                                                   \
        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":1,\"lastState\":{"            \
        "\"terminated\":{"                                                                                             \
        "\"reason\":\"OOMKilled\",\"exitCode\":" code ",\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}]"
#define RUNNING "\"phase\":\"Running\""
#define STATE(phase, state)                                                                                            \
        "\"phase\":\"" phase "\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":9,\"state\":{" state "}}]"
#define ENDED_AT(s) "\"terminated\":{\"reason\":\"Error\",\"exitCode\":1,\"finishedAt\":\"2026-07-01T" s "Z\"}"
#define LOOPING     STATE("Running", "\"waiting\":{\"reason\":\"CrashLoopBackOff\"}")

#define DELETED  "deleted"
#define DELETION ",\"deletionTimestamp\":\"2026-07-01T10:00:00Z\""

enum { MIB = 1 << 20 };
static const struct {
        const char *what, *node; /* NULL: no node is known */
        const char *limit, *code;
        int64_t used, other; /* MiB, by samples of half a minute before; 0: none */
        const char *others;  /* status of the other pod; NULL: it runs */
        uint64_t kills, not_believed;
        bool limit_blamed;
} judged[] = {
        {"jumped to a limit that its node has room for", NODE, "1Gi", "137", 100, 1000, NULL, 1, 0, true},
        {"a full node, far below its limit", NODE, "2Gi", "137", 100, 3500, NULL, 1, 0, false},
        {"a node that is not known", NULL, "1Gi", "137", 100, 1000, NULL, 1, 0, false},
        {"the other is not measured", NODE, "1Gi", "137", 100, 0, NULL, 1, 0, false},
        {"not measured itself", NODE, "1Gi", "137", 0, 1000, NULL, 1, 0, true},
        {"ended with 1", NODE, "1Gi", "1", 100, 1000, NULL, 0, 1, false},
        {"ended with 1 at its limit", NODE, "1Gi", "1", 1000, 1000, NULL, 1, 0, true},
        {"the other ended of the same, and its kubelet lost sight of it", NODE, "2Gi", "137", 100, 3500,
         STATE("Failed", "\"terminated\":{\"reason\":\"ContainerStatusUnknown\",\"exitCode\":137,\"finishedAt\":null}"),
         1, 0, false},
        {"the other was not let in", NODE, "1Gi", "137", 100, 0, "\"phase\":\"Failed\",\"reason\":\"Evicted\"", 1, 0,
         true},
        {"the other does not run just then", NODE, "1Gi", "137", 100, 0, LOOPING, 1, 0, true},
        {"the other had ended before", NODE, "2Gi", "137", 100, 3500, STATE("Failed", ENDED_AT("09:59:50")), 1, 0,
         true},
        {"the other ended of the same", NODE, "2Gi", "137", 100, 3500, STATE("Failed", ENDED_AT("09:59:58")), 1, 0,
         false},
        {"the other is being deleted, and runs", NODE, "2Gi", "137", 100, 3500, DELETED, 1, 0, false},
};

static bool is_deleted(size_t i)
{
        return judged[i].others && strcmp(judged[i].others, DELETED) == 0;
}

static void sample(struct cache *w, const char *pod, int64_t mib)
{
        struct wall ten;
        assert_int_equal(wall_parse("2026-07-01T10:00:00Z", 20, &ten), 0);
        struct pod *p = map_get(&w->pods, text_of(pod));
        p->container[0].last_memory = mib * MIB;
        p->container[0].sampled_s = mib ? (uint32_t)(ten.ms / SECOND_MS) - 30 : 0;
}

static void take(struct cache *w, const char *pod)
{
        struct err err = {0};
        if (pod_upsert(w, text_of(pod), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static void the_node_tells(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
                struct rig c;
                kills_begin(&c);
                struct err err = {0};
                if (judged[i].node)
                        assert_int_equal(node_upsert(&c.cache, text_of(judged[i].node), 1, &err), 0);
                AUTO(mem_free)
                char *other = mem_printf(POD("other", "%s", "8Gi", "%s"), is_deleted(i) ? DELETION : "",
                                         is_deleted(i) || !judged[i].others ? RUNNING : judged[i].others);
                take(&c.cache, other);
                bool two = strcmp(judged[i].limit, "2Gi") == 0, one = strcmp(judged[i].code, "1") == 0;
                take(&c.cache, two   ? POD("web-1", SHOP_OWNED, "2Gi", KILLED("137"))
                               : one ? POD("web-1", SHOP_OWNED, "1Gi", KILLED("1"))
                                     : POD("web-1", SHOP_OWNED, "1Gi", KILLED("137")));
                sample(&c.cache, "web/web-1", judged[i].used);
                sample(&c.cache, "web/other", judged[i].other);
                kills_count(&c);
                struct target *t = shop_target(&c.cache);
                if (c.learner->count.kills != judged[i].kills ||
                    c.learner->count.kills_not_believed != judged[i].not_believed ||
                    (killed_at_limit(t) != NULL) != judged[i].limit_blamed)
                        fail_msg("%s: %llu kills, %llu not believed, limit %s", judged[i].what,
                                 (unsigned long long)c.learner->count.kills,
                                 (unsigned long long)c.learner->count.kills_not_believed,
                                 killed_at_limit(t) ? "too low" : "not told of");
                oom_count(c.learner); /* told again */
                take(&c.cache, one ? POD("web-1", SHOP_OWNED, "1Gi", KILLED("1"))
                                   : POD("web-1", SHOP_OWNED, "1Gi", KILLED("137")));
                oom_count(c.learner);
                assert_int_equal(c.learner->count.kills + c.learner->count.kills_not_believed, 1);
                rig_end(&c);
        }
}

/* metrics-server leaves out a pod for as long as one of its containers is down: what runs beside it is as it was. */
#define BACKOFF  "\"waiting\":{\"reason\":\"CrashLoopBackOff\"}"
#define SINCE(s) "\"running\":{\"startedAt\":\"2026-07-01T" s "Z\"}"
static void beside_one_that_is_down(void **state)
{
        (void)state;
        static const char other_of[] =
                "{\"metadata\":{\"namespace\":\"web\",\"name\":\"other\",\"uid\":\"other\"},\"spec\":{\"nodeName\":\"n-"
                "1\","
                "\"containers\":[{\"name\":\"app\"},{\"name\":\"log\"}]},\"status\":{\"phase\":\"Running\","
                "\"startTime\":"
                "\"2026-07-01T08:00:00Z\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,\"state\":{"
                "\"running\":{}}},{\"name\":\"log\",\"restartCount\":9,\"state\":{%s},"
                "\"lastState\":{" ENDED_AT("09:57:00") "}}]}}";
        static const struct {
                int64_t used; /* MiB, four minutes before */
                bool limit_blamed;
                const char *log;
        } was[] = {{1000, true, BACKOFF},           {3500, false, BACKOFF},           {0, true, BACKOFF},
                   {1000, true, SINCE("09:59:50")}, {3500, false, SINCE("09:59:50")}, {1000, false, SINCE("09:57:30")}};
        for (size_t i = 0; i < sizeof was / sizeof *was; i++) {
                struct rig c;
                kills_begin(&c);
                assert_int_equal(node_upsert(&c.cache, TEXT(NODE), 1, &(struct err){0}), 0);
                AUTO(mem_free) char *other = mem_printf(other_of, was[i].log);
                take(&c.cache, other);
                take(&c.cache, POD("web-1", SHOP_OWNED, "1Gi", KILLED("137")));
                sample(&c.cache, "web/web-1", 100);
                sample(&c.cache, "web/other", was[i].used);
                struct pod *p = map_get(&c.cache.pods, TEXT("web/other"));
                p->container[0].sampled_s -= p->container[0].sampled_s ? 210 : 0;
                kills_count(&c);
                assert_int_equal(c.learner->count.kills, 1);
                if ((killed_at_limit(shop_target(&c.cache)) != NULL) != was[i].limit_blamed)
                        fail_msg("%d Mi beside it: limit %sblamed", (int)was[i].used,
                                 was[i].limit_blamed ? "not " : "");
                rig_end(&c);
        }
}

static void count_one(const char *pod, uint64_t kills)
{
        struct rig c;
        kills_begin(&c);
        take(&c.cache, pod);
        sample(&c.cache, "web/web-1", 100);
        kills_count(&c);
        assert_int_equal(c.learner->count.kills, kills);
        rig_end(&c);
}

/* That a pod is being deleted tells of the process that runs, or ended last; one before it was started again. */
static void one_before_the_last(void **state)
{
        (void)state;
        count_one(POD("web-1", SHOP_OWNED DELETION, "1Gi", KILLED("137")), 1);
        count_one(POD("web-1", SHOP_OWNED DELETION, "1Gi",
                      STATE("Running", "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":"
                                       "\"2026-07-01T10:00:00Z\"}")),
                  0);
}

/* The store knows a kill of number 5. A lower number counts only if its process ended after that one was counted. */
static void after_a_count_that_fell(void **state)
{
        (void)state;
        static const struct {
                int64_t counted_ms; /* against the end of the kill of number 1, which the status shows */
                int64_t number;     /* of the stored kill */
                uint64_t kills;
        } was[] = {
                {-HOUR_MS, 5, 1}, {-6 * MINUTE_MS, 5, 1}, {-4 * MINUTE_MS, 5, 0},
                {0, 5, 0},        {HOUR_MS, 5, 0},        {-HOUR_MS, 1, 0},
        };
        for (size_t i = 0; i < sizeof was / sizeof *was; i++) {
                struct rig c;
                kills_begin(&c);
                take(&c.cache, POD("web-1", SHOP_OWNED, "1Gi", KILLED("137")));
                struct pod_container *pc = &((struct pod *)map_get(&c.cache.pods, TEXT("web/web-1")))->container[0];
                pod_kill_counted(pc, was[i].number, pc->kills->kill[0].at_ms + was[i].counted_ms);
                kills_count(&c);
                if (c.learner->count.kills != was[i].kills)
                        fail_msg("row %zu: %llu kills", i, (unsigned long long)c.learner->count.kills);
                assert_int_equal(pod_ended(pc).kills_counted, was[i].number + (int64_t)was[i].kills);
                take(&c.cache, POD("web-1", SHOP_OWNED, "1Gi", KILLED("137"))); /* told again */
                oom_count(c.learner);
                assert_int_equal(c.learner->count.kills, was[i].kills);
                rig_end(&c);
        }
}

/* Kept while its answer is awaited: what was measured before the kill. */
static void facts_are_of_the_first_look(void **state)
{
        (void)state;
        struct rig c;
        static const char killed[] = POD("web-1", SHOP_OWNED, "1Gi", KILLED("137"));
        kills_begin(&c);
        assert_int_equal(node_upsert(&c.cache, TEXT(NODE), 1, &(struct err){0}), 0);
        take(&c.cache, killed);
        sample(&c.cache, "web/web-1", 100);
        struct pod *p = map_get(&c.cache.pods, TEXT("web/web-1"));
        p->container[0].probed = true;
        p->probes_asked = true; /* by the first look */
        p->container[0].kills->kill[0].asked = true;
        p->container[0].kills->kill[0].known = (struct kill_known){.looked = true, .used = 1000 * MIB, .others = -1};
        kills_count(&c);
        assert_int_equal(c.learner->count.kills, 0); /* it waits */
        take(&c.cache, killed);                      /* told again */
        p->container[0].last_memory = 100 * MIB;
        p->container[0].sampled_s += 60; /* after the kill */
        p->container[0].kills->kill[0].answered = true;
        oom_probe_told(c.learner, p);
        assert_int_equal(c.learner->count.kills, 1);
        assert_string_equal(killed_at_limit(shop_target(&c.cache)), "app");
        rig_end(&c);
}

/* What was known of the present process goes with it as it becomes the one before. */
static void facts_go_with_the_process(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        take(&w, POD("web-1", SHOP_OWNED, "1Gi",
                     STATE("Running", "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":"
                                      "\"2026-07-01T10:00:00Z\"}")));
        struct pod *p = map_get(&w.pods, TEXT("web/web-1"));
        p->container[0].kills->kill[0].known = (struct kill_known){.looked = true, .used = 7};
        take(&w,
             POD("web-1", SHOP_OWNED, "1Gi",
                 "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":10,\"lastState\":{"
                 "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}"
                 "]"));
        assert_int_equal(p->container[0].kills->count, 1);
        assert_true(p->container[0].kills->kill[0].known.looked && !p->container[0].kills->kill[0].latest);
        assert_int_equal(p->container[0].kills->kill[0].known.used, 7);
        cache_release(&w);
}

#define DEAD_AT(at) STATE("Running", "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":" at "}")

static void one_pod(struct rig *c, const char *json)
{
        kills_begin(c);
        c->live.retention_ms = DAY_MS;
        take(&c->cache, json);
        cache_relink(&c->cache, loop_now(c->loop));
}

/* That its pod is deleted a second later makes it no other kill than it was. */
static void deleted_while_an_answer_is_awaited(void **state)
{
        (void)state;
        struct rig c;
        one_pod(&c, POD("web-1", SHOP_OWNED, "1Gi", DEAD_AT("\"2026-07-01T10:00:00Z\"")));
        struct pod *p = map_get(&c.cache.pods, TEXT("web/web-1"));
        c.live.retention_ms = INT64_MAX / 4;
        p->container[0].probed = true;
        p->probes_asked = true;
        oom_count(c.learner);
        assert_int_equal(c.learner->count.kills, 0);
        take(&c.cache, POD("web-1", SHOP_OWNED DELETION, "1Gi", DEAD_AT("\"2026-07-01T10:00:00Z\"")));
        p->container[0].kills->kill[0].answered = true;
        oom_probe_told(c.learner, p);
        assert_int_equal(c.learner->count.kills, 1);
        rig_end(&c);
}

/* It is as of now: not of 1970, which the retention time has long taken. */
static void without_a_time(void **state)
{
        (void)state;
        struct rig c;
        one_pod(&c, POD("web-1", SHOP_OWNED, "1Gi", DEAD_AT("null")));
        struct pod *p = map_get(&c.cache.pods, TEXT("web/web-1"));
        p->container[0].watermark.last_ms = loop_now(c.loop).wall.ms;
        oom_count(c.learner);
        assert_int_equal(c.learner->count.kills, 1);
        rig_end(&c);
}

/* The kubelet lost sight of what it evicted, and counts a restart that is none: nothing was started after it. */
static void evicted_and_lost(void **state)
{
        (void)state;
        static const char *const status[] = {
                "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. \"",
                "\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"The node was low on resource: memory. \","
                "\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":1,\"state\":{\"terminated\":{\"reason\":"
                "\"ContainerStatusUnknown\",\"exitCode\":137}},\"lastState\":{\"terminated\":{\"reason\":"
                "\"ContainerStatusUnknown\",\"exitCode\":137}}}]"};
        struct rig c;
        one_pod(&c, POD("web-1", SHOP_OWNED, "1Gi", RUNNING));
        const struct pod_container *pc = ((struct pod *)map_get(&c.cache.pods, TEXT("web/web-1")))->container;
        for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
                AUTO(mem_free) char *json = mem_printf(POD("web-1", SHOP_OWNED, "1Gi", "%s"), status[i]);
                take(&c.cache, json);
                assert_int_equal(pc->kills->count, 1);
                assert_true(pc->evicted && pc->kills->kill[0].latest);
        }
        rig_end(&c);
}

/* However many are not counted yet, the newest are kept. */
static void more_than_are_kept(void **state)
{
        (void)state;
        struct rig c;
        one_pod(&c, POD("web-1", SHOP_OWNED, "1Gi", RUNNING));
        for (int i = 1; i <= POD_KILLS_MAX + 4; i++) {
                AUTO(mem_free)
                char *json = mem_printf(POD("web-1", SHOP_OWNED, "1Gi", "%s%d%s"),
                                        "\"phase\":\"Running\",\"containerStatuses\":[{\"name\":"
                                        "\"app\",\"restartCount\":",
                                        i,
                                        ",\"lastState\":{\"terminated\":{\"reason\":\"OOMKilled\","
                                        "\"exitCode\":137,\"finishedAt\":\"2026-07-01T10:00:00Z\"}}}]");
                take(&c.cache, json);
        }
        const struct pod_kills *k = ((struct pod *)map_get(&c.cache.pods, TEXT("web/web-1")))->container[0].kills;
        assert_int_equal(k->count, POD_KILLS_MAX);
        for (int i = 0; i < k->count; i++)
                assert_int_equal(k->kill[i].number, i + 5);
        rig_end(&c);
}

/* A node that was deleted has pods for a minute or more: nobody hears of them. */
static void a_node_that_is_gone(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        take(&w, POD("a", SHOP_OWNED, "1Gi", RUNNING));
        take(&w, POD("b", SHOP_OWNED, "1Gi", RUNNING));
        const struct pod *a = map_get(&w.pods, TEXT("web/a")), *b = map_get(&w.pods, TEXT("web/b"));
        assert_ptr_equal(a->node, b->node);
        node_remove(&w, TEXT(NODE)); /* of which nobody knew, as without the rule to watch nodes */
        assert_false(pod_is_unheard(a));
        for (int by_list = 0; by_list < 2; by_list++) {
                assert_int_equal(node_upsert(&w, TEXT(NODE), 1, &(struct err){0}), 0);
                assert_false(pod_is_unheard(a));
                if (by_list)
                        node_swept(&w, 2);
                else
                        node_remove(&w, TEXT(NODE));
                assert_true(pod_is_unheard(a) && pod_is_unheard(b));
        }
        take(&w, POD("c", SHOP_OWNED, "1Gi", RUNNING));
        pod_remove(&w, TEXT(POD("b", SHOP_OWNED, "1Gi", RUNNING))); /* from the middle of its node's list */
        pods_settle(&w);
        pods_free_dropped(&w);
        assert_int_equal(w.nodes.by_name.count, 1);
        assert_ptr_equal(LIST_NEXT(LIST_FIRST(&a->node->pods), on_node), a);
        pod_remove(&w, TEXT(POD("c", SHOP_OWNED, "1Gi", RUNNING)));
        pods_settle(&w);
        pods_free_dropped(&w);
        assert_ptr_equal(LIST_FIRST(&a->node->pods), a);
        pod_remove(&w, TEXT(POD("a", SHOP_OWNED, "1Gi", RUNNING)));
        pods_settle(&w);
        pods_free_dropped(&w);
        assert_int_equal(w.nodes.by_name.count, 0);
        cache_release(&w);
}

/* --- what the kubelet ended itself is no kill, though its container is marked by one of another --- */

#define MARKED     "{\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137,\"finishedAt\":\"2026-07-01T10:00:00Z\"}}"
#define DEAD(more) more ",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":0,\"state\":" MARKED "}]"
#define TARGETED(said)                                                                                                 \
        "\"conditions\":[{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"TerminationByKubelet\","      \
        "\"message\":\"" said "\"}]"
#define FAILED(reason, said) "\"phase\":\"Failed\",\"reason\":\"" reason "\",\"message\":\"" said "\""
#define DISK                                                                                                           \
        "The node was low on resource: ephemeral-storage. Container memory-log was using 20Mi, request is 0, has "     \
        "larger consumption of ephemeral-storage. "
static const struct {
        const char *what, *status;
        uint64_t kills;
} stopped[] = {
        {"it ended by itself", DEAD("\"phase\":\"Failed\""), 1},
        {"evicted for its node's disk", DEAD(FAILED("Evicted", DISK) "," TARGETED(DISK)), 0},
        {"by the condition alone", DEAD("\"phase\":\"Running\"," TARGETED(DISK)), 0},
        {"evicted for its own limit of disk",
         DEAD(FAILED("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ")), 0},
        {"its time was over",
         DEAD(FAILED("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")), 0},
        {"room for a critical pod",
         DEAD(FAILED("Preempting", "Preempted in order to admit critical pod") "," TARGETED("Preempted")), 0},
        {"its node shuts down", DEAD(FAILED("Terminated", "Pod was terminated in response to imminent node shutdown.")),
         0},
        {"killed, and evicted for its node's disk after that",
         FAILED("Evicted", DISK) "," TARGETED(DISK) ",\"containerStatuses\":[{\"name\":\"app\",\"restartCount\":1,"
                                                    "\"state\":{\"terminated\":{\"reason\":\"Error\",\"exitCode\":"
                                                    "137}},\"lastState\":" MARKED "}]",
         1},
};

static void stopped_by_the_kubelet(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof stopped / sizeof *stopped; i++) {
                struct rig c;
                kills_begin(&c);
                AUTO(mem_free) char *pod = mem_printf(POD("web-1", SHOP_OWNED, "1Gi", "%s"), stopped[i].status);
                take(&c.cache, pod);
                sample(&c.cache, "web/web-1", 100);
                kills_count(&c);
                if (c.learner->count.kills != stopped[i].kills ||
                    c.learner->count.kills_not_believed != 1 - stopped[i].kills)
                        fail_msg("%s: %llu kills, %llu not believed", stopped[i].what,
                                 (unsigned long long)c.learner->count.kills,
                                 (unsigned long long)c.learner->count.kills_not_believed);
                rig_end(&c);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(the_newest_is_kept),
                                           cmocka_unit_test(only_one_is_evicted),
                                           cmocka_unit_test(told_by_a_clock_ahead),
                                           cmocka_unit_test(the_node_tells),
                                           cmocka_unit_test(one_before_the_last),
                                           cmocka_unit_test(after_a_count_that_fell),
                                           cmocka_unit_test(facts_are_of_the_first_look),
                                           cmocka_unit_test(deleted_while_an_answer_is_awaited),
                                           cmocka_unit_test(without_a_time),
                                           cmocka_unit_test(evicted_and_lost),
                                           cmocka_unit_test(more_than_are_kept),
                                           cmocka_unit_test(facts_go_with_the_process),
                                           cmocka_unit_test(a_node_that_is_gone),
                                           cmocka_unit_test(stopped_by_the_kubelet),
                                           cmocka_unit_test(beside_one_that_is_down)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
