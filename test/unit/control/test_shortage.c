/* Was a pod's node short of memory about a time? Events of Nodes say so, and of nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "../../../src/control/world.h"

#define EVENT(kind, name, reason, at)                                                                                  \
        "{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},\"involvedObject\":{\"kind\":\"" kind                \
        "\",\"name\":\"" name "\"},\"reason\":\"" reason "\",\"lastTimestamp\":" at "}"
#define TEN "\"2026-07-01T10:00:00Z\""

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
        {"{\"metadata\":{\"name\":\"e\",\"namespace\":\"web\"},\"involvedObject\":{\"kind\":\"Node\",\"namespace\":"
         "\"web\","
         "\"name\":\"n-1\"},\"reason\":\"SystemOOM\",\"lastTimestamp\":" TEN "}",
         0, false}, /* by somebody of that namespace */
        {EVENT("Node", "n-1", "SystemOOM", TEN), 0, true},
        {NULL, 5 * 60 * MS, true},
        {NULL, -5 * 60 * MS, true},
        {NULL, 5 * 60 * MS + 1, false},
        {NULL, -5 * 60 * MS - 1, false},
        {EVENT("Node", "n-1", "OOMKilling", "\"2026-07-01T10:01:00Z\""), 6 * 60 * MS, true},
        {EVENT("Node", "n-1", "SystemOOM", "\"2026-07-01T09:00:00Z\""), 6 * 60 * MS, true}, /* told late */
};

static void a_node_is_short_about_its_events(void **state)
{
        (void)state;
        struct world w;
        struct err err = {0};
        struct wall ten;
        world_init(&w, "halflife", "halflife");
        assert_int_equal(wall_parse("2026-07-01T10:00:00Z", 20, &ten), 0);
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
                        assert_int_equal(shortage_upsert(&w, text_of(row[i].event), 1, &err), 0);
                struct wall at = {ten.ms + row[i].off_ms};
                if (shortage_of(&w, p, at) != row[i].want || shortage_of(&w, nowhere, at))
                        fail_msg("row %zu", i);
        }
        assert_true(shortage_upsert(&w, TEXT("[]"), 1, &err) < 0);
        world_release(&w);
}

static void put(struct world *w, int node, const char *at)
{
        struct err err = {0};
        AUTO(mem_free)
        char *event =
                mem_printf("{\"metadata\":{\"name\":\"e\",\"namespace\":\"default\"},\"involvedObject\":{\"kind\":"
                           "\"Node\",\"name\":\"n-%d\"},\"reason\":\"SystemOOM\",\"lastTimestamp\":\"%s\"}",
                           node, at);
        assert_int_equal(shortage_upsert(w, text_of(event), 1, &err), 0);
}

/* Names of nodes are whatever an Event says: so many are kept, those of long ago for no longer than there is room. */
static void so_many_nodes_are_kept(void **state)
{
        enum { MOST = 4096 };
        (void)state;
        struct world w;
        world_init(&w, "halflife", "halflife");
        put(&w, 0, "2026-07-01T10:00:00Z");
        for (int i = 1; i <= MOST; i++)
                put(&w, i, "2026-07-02T09:00:00Z");
        assert_int_equal(w.shortages.count, MOST);
        put(&w, MOST, "2026-07-02T10:00:01Z");
        assert_int_equal(w.shortages.count, MOST);
        assert_null(map_get(&w.shortages, TEXT("n-0")));
        assert_non_null(map_get(&w.shortages, TEXT("n-4096")));
        put(&w, MOST + 1, "2026-07-02T10:00:02Z");
        assert_null(map_get(&w.shortages, TEXT("n-4097")));
        world_release(&w);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(a_node_is_short_about_its_events),
                                           cmocka_unit_test(so_many_nodes_are_kept)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
