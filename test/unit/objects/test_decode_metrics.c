#include "decode_help.h"

static void say_metrics(struct buf *b, const struct pod_metrics_view *m)
{
        say(b, "%.*s/%.*s", (int)m->ns.len, m->ns.len ? m->ns.p : "", TEXT_ARG(m->name));
        say_time(b, "at", m->at);
        for (int i = 0; i < m->containers; i++) {
                const struct pod_metrics_container_view *c = &m->container[i];
                say(b, " | %.*s", TEXT_ARG(c->name));
                if (c->has[CPU])
                        say(b, " %lldn", (long long)c->cpu_nano);
                if (c->has[MEMORY])
                        say(b, " %lld", (long long)c->memory_bytes);
        }
        if (m->odd || m->lacks)
                say(b, " (%d odd%s)", m->odd, m->lacks ? ", a sum lacks them" : "");
}

#define AT              "\"timestamp\":\"2026-11-21T11:54:02Z\""
#define POD(containers) "{\"metadata\":{\"name\":\"p\"}," AT ",\"containers\":[" containers "]}"
#define METRICS(usage)  POD("{\"name\":\"a\",\"usage\":{" usage "}}")

static const struct {
        const char *in, *want;
} row[] = {
        {"{\"metadata\":{\"name\":\"shop-x\",\"namespace\":\"web\",\"creationTimestamp\":\"2026-11-21T11:54:09Z\","
         "\"labels\":{"
         "\"app\":\"shop\"}}," AT
         ",\"window\":\"15.03s\",\"containers\":[{\"name\":\"app\",\"usage\":{\"cpu\":\"12345678n\","
         "\"memory\":\"45678Ki\"}},{\"name\":\"log\",\"usage\":{\"cpu\":\"0\",\"memory\":\"0\"}}]}",
         "web/shop-x at=2026-11-21T11:54:02Z | app 12345678n 46774272 | log 0n 0"},
        {METRICS("\"memory\":\"1Mi\""), "/p at=2026-11-21T11:54:02Z | a 1048576"},
        {METRICS("\"cpu\":\"250m\",\"memory\":null"), "/p at=2026-11-21T11:54:02Z | a 250000000n"},
        {METRICS("\"cpu\":\"0.1n\""), "/p at=2026-11-21T11:54:02Z | a 1n"},
        {METRICS("\"cpu\":\"-1n\""), "/p at=2026-11-21T11:54:02Z | a -1n"}, /* judged where samples are taken */
        {"{\"metadata\":{\"name\":\"p\"}," AT ",\"containers\":null}", "/p at=2026-11-21T11:54:02Z"},
        /* one odd container leaves the others as they are */
        {METRICS("\"cpu\":\"NaN\""), "/p at=2026-11-21T11:54:02Z (1 odd, a sum lacks them)"},
        {METRICS("\"memory\":\"1e999\""), "/p at=2026-11-21T11:54:02Z (1 odd, a sum lacks them)"},
        {METRICS("\"cpu\":{\"a\":1},\"memory\":[]"), "/p at=2026-11-21T11:54:02Z (1 odd, a sum lacks them)"},
        {POD("{\"usage\":{\"cpu\":\"1m\"}},{\"name\":\"a\",\"usage\":{\"cpu\":\"1n\"}}"),
         "/p at=2026-11-21T11:54:02Z | a 1n (1 odd, a sum lacks them)"},
        {POD("{\"name\":\"a\",\"usage\":{\"cpu\":\"1n\"}},{\"name\":\"POD\",\"usage\":{\"cpu\":\"1m\"}}"),
         "/p at=2026-11-21T11:54:02Z | a 1n (1 odd)"},
        {POD("{\"name\":\"\"},{\"name\":\"a\",\"usage\":{\"cpu\":\"NaN\"}},{\"name\":\"b\",\"usage\":{\"cpu\":\"2n\"}"
             "}"),
         "/p at=2026-11-21T11:54:02Z | b 2n (2 odd, a sum lacks them)"},
        /* a name that is there twice is one container, and its largest usage counts */
        {POD("{\"name\":\"a\",\"usage\":{\"cpu\":\"0\",\"memory\":\"1Mi\"}},{\"name\":\"b\"},"
             "{\"name\":\"a\",\"usage\":{\"cpu\":\"9n\",\"memory\":\"0\"}}"),
         "/p at=2026-11-21T11:54:02Z | a 9n 1048576 | b (1 odd)"},
        {POD("{\"name\":\"a\",\"usage\":{\"cpu\":\"9n\"}},{\"name\":\"a\",\"usage\":{\"cpu\":\"8n\",\"memory\":\"1\"}"
             "}"),
         "/p at=2026-11-21T11:54:02Z | a 9n 1 (1 odd)"},
        /* without a time nothing of the pod counts, and it is told apart */
        {"{\"metadata\":{\"name\":\"p\"},\"containers\":[]}", "/p (0 odd, a sum lacks them)"},
        {"{\"metadata\":{\"name\":\"p\"},\"timestamp\":null,\"containers\":[{\"name\":\"a\",\"usage\":{\"cpu\":\"1\"}}]"
         "}",
         "/p (1 odd, a sum lacks them)"},
        {"{\"containers\":[{\"name\":\"a\"},{}],\"timestamp\":{\"s\":1},\"metadata\":{\"name\":\"p\"}}",
         "/p (2 odd, a sum lacks them)"},
        {"{" AT "}", "!metadata.name is missing"},
        {POD("{}"), "/p at=2026-11-21T11:54:02Z (1 odd, a sum lacks them)"},
        {"{\"metadata\":{\"name\":\"p\"},\"timestamp\":\"12:00\"}", "/p (0 odd, a sum lacks them)"},
        {"{\"metadata\":{\"name\":\"p\"}," AT ",\"containers\":[{\"name\":\"a\"}],\"containers\":[]}", "!occurs twice"},
};

static void usage_is_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct pod_metrics_view m;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct err err = {0};
                memset(&m, 0xaa, sizeof m);
                buf_reset(&got);
                int rc = decode_pod_metrics(text_of(row[i].in), &a, &m, &err);
                if (rc == 0)
                        say_metrics(&got, &m);
                expect(row[i].in, row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

/* Usage of the first containers counts, however many there are; a sum of them lacks the others. */
static void containers_past_the_bound_are_left_out(void **state)
{
        (void)state;
        struct arena a = {0};
        static struct pod_metrics_view m;
        struct err err = {0};
        struct buf in;
        buf_init(&in, 1 << 16);
        for (int count = VIEW_CONTAINERS; count <= VIEW_CONTAINERS + 1; count++) {
                buf_reset(&in);
                say(&in, "{\"metadata\":{\"name\":\"p\"}," AT ",\"containers\":[{\"name\":\"c\"}");
                for (int i = 1; i < count; i++)
                        say(&in, ",{\"name\":\"c%d\"}", i);
                say(&in, "]}");
                if (decode_pod_metrics(buf_text(&in), &a, &m, &err) < 0)
                        fail_msg("%s", err.text);
                assert_int_equal(m.containers, VIEW_CONTAINERS);
                assert_int_equal(m.lacks, count > VIEW_CONTAINERS);
        }
        buf_release(&in);
        arena_release(&a);
}

#define NODE_METRICS(more) "{\"metadata\":{\"name\":\"n-1\",\"labels\":{\"a\":\"b\"}}," AT more "}"

static const struct {
        const char *in, *want;
} node_row[] = {
        {NODE_METRICS(",\"window\":\"20.1s\",\"usage\":{\"cpu\":\"1250m\",\"memory\":\"3Gi\"}"),
         "n-1 at=2026-11-21T11:54:02Z 1250000000n 3221225472"},
        {NODE_METRICS(",\"usage\":{\"cpu\":\"NaN\",\"memory\":\"1Gi\"}"), "n-1 at=2026-11-21T11:54:02Z 1073741824"},
        {NODE_METRICS(",\"usage\":{\"cpu\":\"-1\",\"gpu\":\"1\"}"), "n-1 at=2026-11-21T11:54:02Z -1000000000n"},
        {NODE_METRICS(""), "n-1 at=2026-11-21T11:54:02Z"},
        {NODE_METRICS(",\"usage\":null"), "n-1 at=2026-11-21T11:54:02Z"},
        {NODE_METRICS(",\"usage\":[]"), "!metrics of node 'n-1': "},
        {"{" AT "}", "!metadata.name is missing"},
        {"{\"metadata\":{\"name\":\"n-1\"},\"usage\":{}}", "!timestamp is missing"},
};

static void usage_of_nodes_is_read_as_the_table_says(void **state)
{
        (void)state;
        struct arena a = {0};
        struct node_metrics_view m;
        struct buf got;
        buf_init(&got, 1 << 16);
        for (size_t i = 0; i < sizeof node_row / sizeof *node_row; i++) {
                struct err err = {0};
                buf_reset(&got);
                int rc = decode_node_metrics(text_of(node_row[i].in), &a, &m, &err);
                if (rc == 0) {
                        say(&got, "%.*s", TEXT_ARG(m.name));
                        say_time(&got, "at", m.at);
                        if (m.has[CPU])
                                say(&got, " %lldn", (long long)m.cpu_nano);
                        if (m.has[MEMORY])
                                say(&got, " %lld", (long long)m.memory_bytes);
                }
                expect(node_row[i].in, node_row[i].want, rc, &err, &got);
        }
        buf_release(&got);
        arena_release(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(usage_is_read_as_the_table_says),
                cmocka_unit_test(usage_of_nodes_is_read_as_the_table_says),
                cmocka_unit_test(containers_past_the_bound_are_left_out),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
