#include "decode_help.h"

#define NODE(status) "{\"metadata\":{\"name\":\"n-1\"},\"status\":{" status "}}"
#define READY(is)                                                                                                      \
        "\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\"},{\"type\":\"Ready\",\"status\":\"" is      \
        "\",\"lastTransitionTime\":\"2026-07-01T10:00:00Z\"}]"

static const struct {
        const char *in, *want;
} row[] = {
        {NODE("\"allocatable\":{\"cpu\":\"2\",\"memory\":\"3Gi\",\"pods\":\"60\"}," READY("True")),
         "/n-1 allocatable=3221225472 ready turned=2026-07-01T10:00:00Z"},
        {NODE(READY("False")), "/n-1 away turned=2026-07-01T10:00:00Z"},
        {NODE(READY("Unknown")), "/n-1 away turned=2026-07-01T10:00:00Z"},
        {NODE("\"capacity\":{\"memory\":\"3Gi\"}"), "/n-1"},
        {NODE("\"allocatable\":{\"memory\":\"much\"}"), "!Node 'n-1': allocatable 'much' is not a quantity"},
};

static void nodes_are_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct node_view n;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_node(text_of(row[i].in), &a, &n, &err);
                if (rc == 0) {
                        say_meta(&got, &n.meta);
                        if (n.allocatable.set)
                                say(&got, " allocatable=%lld", (long long)n.allocatable.value);
                        if (n.tells)
                                say(&got, n.ready ? " ready" : " away");
                        say_time(&got, "turned", n.turned);
                }
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

/* Nobody selects nodes by label here, so a node with many is as readable as one with none. */
static void a_node_with_many_labels_is_read(void **state)
{
        (void)state;
        static const int count[] = {151, VIEW_LABELS, VIEW_LABELS + 1};
        for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
                struct arena a = {0};
                struct node_view n;
                struct err err = {0};
                struct buf in;
                buf_init(&in, 1 << 16);
                say(&in, "{\"metadata\":{\"name\":\"n-1\",\"labels\":{\"l\":\"\"");
                for (int k = 1; k < count[i]; k++)
                        say(&in, ",\"l%d\":\"v\"", k);
                say(&in, "}},\"status\":{" READY("True") "}}");
                if (decode_node(buf_text(&in), &a, &n, &err) < 0)
                        fail_msg("%d labels: %s", count[i], err.text);
                assert_true(n.ready);
                assert_int_equal(n.meta.labels_cut, count[i] > VIEW_LABELS);
                buf_release(&in);
                arena_release(&a);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nodes_are_read_as_the_table_says),
                cmocka_unit_test(a_node_with_many_labels_is_read),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
