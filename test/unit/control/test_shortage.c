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

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(a_node_is_short_about_its_events)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
