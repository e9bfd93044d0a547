#include "decode_help.h"

#define NODE(status) "{\"metadata\":{\"name\":\"n-1\"},\"status\":{" status "}}"
#define SPEC(spec)   "{\"metadata\":{\"name\":\"n-1\"},\"spec\":{" spec "}}"
#define READY(is)                                                                                                      \
        "\"conditions\":[{\"type\":\"MemoryPressure\",\"status\":\"False\"},{\"type\":\"Ready\",\"status\":\"" is      \
        "\",\"lastTransitionTime\":\"2026-07-01T10:00:00Z\"}]"

static const struct {
        const char *in, *want;
} row[] = {
        {NODE("\"allocatable\":{\"cpu\":\"2\",\"memory\":\"3Gi\",\"pods\":\"60\"}," READY("True")),
         "/n-1 allocatable.cpu=2000 allocatable.memory=3221225472 ready turned=2026-07-01T10:00:00Z"},
        {NODE("\"capacity\":{\"cpu\":\"2\",\"memory\":\"4Gi\"},\"allocatable\":{\"cpu\":\"1930m\"}"),
         "/n-1 capacity.cpu=2000 capacity.memory=4294967296 allocatable.cpu=1930"},
        {NODE("\"capacity\":{\"cpu\":\"0\",\"memory\":\"0\"}"), "/n-1 capacity.cpu=0 capacity.memory=0"},
        {NODE("\"capacity\":{\"cpu\":\"-2\"}"), "!Node 'n-1': capacity.cpu is negative"},
        {SPEC("\"unschedulable\":true,\"taints\":[{\"key\":\"gpu\",\"value\":\"a100\",\"effect\":\"NoSchedule\"},"
              "{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/unreachable\"}]"),
         "/n-1 cordoned taint=gpu=a100:NoSchedule taint=node.kubernetes.io/unreachable=:NoExecute"},
        {SPEC("\"unschedulable\":null,\"taints\":null"), "/n-1"},
        {SPEC("\"taints\":[{\"key\":1}]"), "!Node 'n-1': "},
        {NODE(READY("False")), "/n-1 away turned=2026-07-01T10:00:00Z"},
        {NODE(READY("Unknown")), "/n-1 away turned=2026-07-01T10:00:00Z"},
        {NODE("\"capacity\":{\"memory\":\"3Gi\"}"), "/n-1 capacity.memory=3221225472"},
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
                        say_amounts(&got, "capacity", n.capacity);
                        say_amounts(&got, "allocatable", n.allocatable);
                        if (n.unschedulable)
                                say(&got, " cordoned");
                        for (int k = 0; k < n.taints; k++)
                                say(&got, " taint=%.*s=%.*s:%.*s", TEXT_ARG(n.taint[k].key), TEXT_ARG(n.taint[k].value),
                                    TEXT_ARG(n.taint[k].effect));
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

static void taints_are_cut_at_their_bound(void **state)
{
        struct arena a = {0};
        struct node_view n;
        struct err err = {0};
        struct buf in;
        (void)state;
        buf_init(&in, 1 << 16);
        say(&in, "{\"metadata\":{\"name\":\"n-1\"},\"spec\":{\"taints\":[{\"key\":\"a\"}");
        for (int k = 0; k < VIEW_TAINTS; k++)
                say(&in, ",{\"key\":\"k%d\"}", k);
        say(&in, "]}}");
        assert_int_equal(decode_node(buf_text(&in), &a, &n, &err), 0);
        assert_int_equal(n.taints, VIEW_TAINTS);
        assert_true(n.taints_cut);
        buf_release(&in);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(nodes_are_read_as_the_table_says),
                cmocka_unit_test(a_node_with_many_labels_is_read),
                cmocka_unit_test(taints_are_cut_at_their_bound),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
