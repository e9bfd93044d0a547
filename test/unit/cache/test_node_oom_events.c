/* Was a pod's node short of memory about a time? Events of Nodes say so, and of nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define EVENT_OF(kind, name, reason, component, host, at)                                                              \
        "{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},\"involvedObject\":{\"kind\":\"" kind                \
        "\",\"name\":\"" name "\"},\"reason\":\"" reason "\",\"source\":{\"component\":\"" component                   \
        "\",\"host\":\"" host "\"},\"lastTimestamp\":" at "}"
#define EVENT(kind, name, reason, at) EVENT_OF(kind, name, reason, "kubelet", name, at)
#define TEN                           "\"2026-07-01T10:00:00Z\""

#define TEN_YEARS (3653 * (int64_t)DAY_MS)

enum { MS = 1000 };
static const struct {
        const char *event;
        int64_t off_ms; /* of the question, from ten o'clock */
        bool want;      /* of a pod on n-1 */
} row[] = {
        {EVENT("Node", "n-2", "SystemOOM", TEN), 0, false},
        {EVENT("Node", "n-1", "NodeReady", TEN), 0, false},
        {EVENT("Pod", "n-1", "SystemOOM", TEN), 0, false},
        {EVENT("Node", "n-1", "SystemOOM", "null"), 0, false},
        {EVENT_OF("Node", "n-1", "SystemOOM", "kernel-monitor", "n-1", TEN), 0, false},
        {EVENT_OF("Node", "n-1", "SystemOOM", "kubelet", "n-2", TEN), 0, false}, /* a kubelet reports on its own node */
        {EVENT("Node", "n-1", "OOMKilling", TEN), 0, false},
        {"{\"metadata\":{\"name\":\"e\",\"namespace\":\"web\"},\"involvedObject\":{\"kind\":\"Node\",\"namespace\":"
         "\"web\","
         "\"name\":\"n-1\"},\"reason\":\"SystemOOM\",\"lastTimestamp\":" TEN "}",
         0, false}, /* by somebody of that namespace */
        {EVENT("Node", "n-1", "SystemOOM", "\"2036-07-01T10:00:00Z\""), 0, false},
        {NULL, TEN_YEARS, true}, /* a kill by that node's clock */
        {EVENT("Node", "n-1", "SystemOOM", TEN), 0, true},
        {NULL, TEN_YEARS, true},
        {EVENT("Node", "n-1", "SystemOOM", "\"2031-07-01T10:00:00Z\""), 0, true},
        {NULL, TEN_YEARS, false}, /* nor does one that is ahead hide others that are */
        {NULL, 5 * 60 * MS, true},
        {NULL, -5 * 60 * MS, true},
        {NULL, 5 * 60 * MS + 1, false},
        {NULL, -5 * 60 * MS - 1, false},
        {EVENT("Node", "n-1", "SystemOOM", "\"2026-07-01T10:01:00Z\""), 6 * 60 * MS, true},
        {EVENT("Node", "n-1", "SystemOOM", "\"2026-07-01T09:00:00Z\""), 6 * 60 * MS, true}, /* told late */
};

static void a_node_is_short_about_its_events(void **state)
{
        (void)state;
        struct cache w;
        struct err err = {0};
        struct wall ten, latest;
        cache_init(&w, "halflife", "halflife");
        assert_int_equal(wall_parse("2026-07-01T10:00:00Z", 20, &ten), 0);
        latest.ms = ten.ms + HOUR_MS;
        assert_int_equal(pod_upsert(&w,
                                    TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"p\",\"uid\":\"1\"},\"spec\":{"
                                         "\"nodeName\":\"n-1\",\"containers\":[{\"name\":\"app\"}]}}"),
                                    1, &err),
                         0);
        assert_int_equal(pod_upsert(&w,
                                    TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"q\",\"uid\":\"2\"},\"spec\":{"
                                         "\"containers\":[{\"name\":\"app\"}]}}"),
                                    1, &err),
                         0);
        const struct pod *p = map_get(&w.pods, TEXT("web/p")), *nowhere = map_get(&w.pods, TEXT("web/q"));
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                if (row[i].event)
                        assert_int_equal(node_oom_event_upsert(&w, latest, text_of(row[i].event), 1, &err), 0);
                struct wall at = {ten.ms + row[i].off_ms};
                if (node_oom_event_of(&w, p, at) != row[i].want || node_oom_event_of(&w, nowhere, at))
                        fail_msg("row %zu", i);
        }
        assert_true(node_oom_event_upsert(&w, latest, TEXT("[]"), 1, &err) < 0);
        cache_release(&w);
}

static void put_named(struct cache *w, const char *node, const char *at)
{
        struct err err = {0};
        struct wall now;
        AUTO(mem_free)
        char *event =
                mem_printf("{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},\"involvedObject\":{\"kind\":"
                           "\"Node\",\"name\":\"%s\"},\"reason\":\"SystemOOM\",\"source\":{\"component\":\"kubelet\","
                           "\"host\":\"%s\"},\"lastTimestamp\":\"%s\"}",
                           node, node, at);
        assert_int_equal(wall_parse(at, strlen(at), &now), 0);
        assert_int_equal(node_oom_event_upsert(w, now, text_of(event), 1, &err), 0);
}

static void put(struct cache *w, int node, const char *at)
{
        char name[32];
        snprintf(name, sizeof name, "n-%d", node);
        put_named(w, name, at);
}

static void list_nodes(struct cache *w, int count)
{
        struct err err = {0};
        for (int i = 0; i < count; i++) {
                AUTO(mem_free) char *node = mem_printf("{\"metadata\":{\"name\":\"n-%d\"}}", i);
                assert_int_equal(node_upsert(w, text_of(node), 1, &err), 0);
        }
}

enum { MOST = 4096 };

/* Names of nodes are whatever an Event says: so many are kept, those of long ago for no longer than there is room. */
static void so_many_nodes_are_kept(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        list_nodes(&w, MOST + 2);
        put(&w, 0, "2026-07-01T10:00:00Z");
        for (int i = 1; i <= MOST; i++)
                put(&w, i, "2026-07-02T09:00:00Z");
        assert_int_equal(w.node_oom_events.count, MOST);
        put(&w, MOST, "2026-07-02T10:00:01Z");
        assert_int_equal(w.node_oom_events.count, MOST);
        assert_null(map_get(&w.node_oom_events, TEXT("n-0")));
        assert_non_null(map_get(&w.node_oom_events, TEXT("n-4096")));
        put(&w, MOST + 1, "2026-07-02T10:00:02Z");
        assert_null(map_get(&w.node_oom_events, TEXT("n-4097")));
        cache_release(&w);
}

/* Made up names keep no node out, and a node that is known is not forgotten for them. */
static void names_of_no_node_make_room(void **state)
{
        (void)state;
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        list_nodes(&w, 2);
        put(&w, 0, "2026-07-02T09:00:00Z");
        for (int i = 2; i <= MOST; i++)
                put(&w, i, "2026-07-02T09:00:00Z");
        assert_int_equal(w.node_oom_events.count, MOST);
        put(&w, 1, "2026-07-02T09:00:00Z");
        assert_non_null(map_get(&w.node_oom_events, TEXT("n-0")));
        assert_non_null(map_get(&w.node_oom_events, TEXT("n-1")));
        assert_int_equal(w.node_oom_events.count, MOST);
        cache_release(&w);
}

static void no_name_is_longer_than_a_node_has(void **state)
{
        (void)state;
        struct cache w;
        char name[VIEW_NAME + 2];
        cache_init(&w, "halflife", "halflife");
        memset(name, 'n', sizeof name);
        name[VIEW_NAME + 1] = '\0';
        put_named(&w, name, "2026-07-02T09:00:00Z");
        assert_int_equal(w.node_oom_events.count, 0);
        name[VIEW_NAME] = '\0';
        put_named(&w, name, "2026-07-02T09:00:00Z");
        assert_non_null(map_get(&w.node_oom_events, text_of(name)));
        cache_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_node_is_short_about_its_events), cmocka_unit_test(so_many_nodes_are_kept),
                cmocka_unit_test(names_of_no_node_make_room), cmocka_unit_test(no_name_is_longer_than_a_node_has)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
