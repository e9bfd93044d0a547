/* Usage of nodes: what a poll leaves in the rings, what is counted and told once, and what the database keeps. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* after its needs */
#include <cmocka.h>

#include "../../support/rig.h"
#include "../../support/tmp.h"

#define CORE INT64_C(1000000000)
#define GI   (INT64_C(1) << 30)

/* A source that is polled by hand. */
struct source {
        struct usage_source source;
        struct node_usage_sink to;
        int polls;
};

static void on_poll(struct usage_source *s, int64_t deadline_ms, struct node_usage_sink to)
{
        struct source *by_hand = (struct source *)s;
        (void)deadline_ms;
        by_hand->to = to;
        by_hand->polls++;
}

static void on_stop(struct usage_source *s)
{
        (void)s;
}

static void begin(struct rig *c, struct source *s)
{
        rig_begin(c);
        *s = (struct source){.source = {.if_absent = "", .poll_nodes = on_poll, .stop = on_stop, .free = on_stop}};
        c->learner->source = &s->source;
}

static void take(struct rig *c, const char *name, const char *cpu)
{
        struct err err = {0};
        AUTO(mem_free)
        char *node = mem_printf("{\"metadata\":{\"name\":\"%s\"},\"status\":{\"capacity\":{\"cpu\":\"%s\",\"memory\":"
                                "\"16Gi\"}}}",
                                name, cpu);
        assert_int_equal(node_upsert(&c->cache, text_of(node), 1, &err), 0);
}

static const struct node_ring *ring(const struct rig *c, const char *name)
{
        return &((struct node *)map_get(&c->cache.nodes.by_name, text_of(name)))->facts->ring;
}

static void ends(struct source *s, int code, int64_t nodes)
{
        struct metrics_result r = {.pods = nodes, .whole = code == 0};
        if (code)
                err_set(&r.err, code, "it is away");
        s->to.done(s->to.arg, &r);
}

static void fold(struct rig *c, const char *name, int64_t off_ms, int64_t nano, int64_t bytes)
{
        const struct node_metrics_view m = {.name = text_of(name),
                                            .at = {loop_now(c->loop).wall.ms + off_ms},
                                            .has = {nano != INT64_MIN, bytes != INT64_MIN},
                                            .cpu_nano = nano,
                                            .memory_bytes = bytes};
        node_usage_fold(c->learner, &m, (struct wall){0});
}

static const struct {
        const char *what, *node;
        int64_t off_ms, nano, bytes;
        enum node_verdict want; /* NODE_VERDICTS: the node is not known */
        int cpu_milli;
} row[] = {
        {"usual", "n-1", 0, CORE / 2, GI, NODE_ACCEPTED, 500},
        {"a part of a millicore", "n-1", 0, 1, GI, NODE_ACCEPTED, 1},
        {"idle", "n-1", 0, 0, GI, NODE_ACCEPTED, 0},
        {"more than it has", "n-1", 0, 9 * CORE, GI, NODE_BOUNDED, 4000},
        {"absurd", "n-1", 0, INT64_MAX, INT64_MAX, NODE_BOUNDED, 4000},
        {"ahead", "n-1", 6 * MINUTE_MS, CORE, GI, NODE_FUTURE, 0},
        {"negative", "n-1", 0, -CORE, GI, NODE_INVALID, 0},
        {"without CPU", "n-1", 0, INT64_MIN, GI, NODE_INVALID, 0},
        {"without memory", "n-1", 0, CORE, INT64_MIN, NODE_INVALID, 0},
        {"of no size", "none", 0, CORE, GI, NODE_NO_CAPACITY, 0},
        {"unknown", "stranger", 0, CORE, GI, NODE_VERDICTS, 0},
};

static void usage_is_taken_as_the_table_says(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct rig c;
                struct source s;
                begin(&c, &s);
                take(&c, "n-1", "4");
                take(&c, "none", "0");
                fold(&c, row[i].node, row[i].off_ms, row[i].nano, row[i].bytes);
                const struct learner_counts *n = learner_counts(c.learner);
                bool unknown = row[i].want == NODE_VERDICTS;
                if (n->unknown_nodes != unknown || (!unknown && n->nodes[row[i].want] != 1))
                        fail_msg("%s", row[i].what);
                bool taken = row[i].want == NODE_ACCEPTED || row[i].want == NODE_BOUNDED;
                if (ring(&c, "n-1")->count != taken ||
                    (taken && node_ring_at(ring(&c, "n-1"), 0)->cpu_milli != row[i].cpu_milli))
                        fail_msg("%s: %d samples", row[i].what, ring(&c, "n-1")->count);
                c.learner->source = NULL;
                rig_end(&c);
        }
}

/* One poll at a time, none without nodes, and one that fails is told once. */
static void polls_take_turns(void **state)
{
        struct rig c;
        struct source s;
        (void)state;
        begin(&c, &s);
        node_usage_start(c.learner, 1000);
        assert_int_equal(s.polls, 0);
        take(&c, "n-1", "4");
        node_usage_start(c.learner, 1000);
        node_usage_start(c.learner, 1000);
        assert_int_equal(s.polls, 1);
        ends(&s, ERR_RETRY, 0);
        assert_true(c.learner->nodes.away);
        node_usage_start(c.learner, 1000);
        assert_int_equal(s.polls, 2);
        ends(&s, ERR_RETRY, 3); /* it broke off: what came counts */
        assert_false(c.learner->nodes.away);
        node_usage_start(c.learner, 1000);
        ends(&s, 0, 1);
        assert_false(c.learner->nodes.away);
        assert_int_equal(learner_counts(c.learner)->polls_failed, 0); /* nothing is held for nodes */
        assert_false(notice_usage_source(c.notices)->away);
        c.learner->source = NULL;
        rig_end(&c);
}

static void samples_are_stored(void **state)
{
        struct rig c;
        struct source s;
        AUTO(mem_free) char *path = tmp_path("nodes.db");
        (void)state;
        begin(&c, &s);
        rig_open_database(&c, path);
        take(&c, "n-1", "4");
        fold(&c, "n-1", -61000, CORE, GI);
        fold(&c, "n-1", 0, 2 * CORE, GI);
        node_usage_store(c.learner);
        c.learner->source = NULL;
        rig_end(&c);

        begin(&c, &s);
        rig_open_database(&c, path);
        assert_int_equal(ring(&c, "n-1")->count, 2);
        assert_int_equal(node_ring_at(ring(&c, "n-1"), 0)->cpu_milli, 2000);
        node_usage_load(c.learner, TEXT("nodes"), TEXT("[{")); /* damaged: it is learned anew */
        node_usage_load(c.learner, TEXT("fuse"), TEXT("[{"));  /* not ours */
        c.learner->source = NULL;
        rig_end(&c);
}

/* --- 20 000 nodes --- */

static size_t allocated(void)
{
        struct mallinfo2 m = mallinfo2(); /* a sanitizer's allocator says 0 */
        return m.uordblks + m.hblkhd;
}

static void take_labelled(struct rig *c, int i)
{
        static const char *const label[] = {"beta.kubernetes.io/arch",     "beta.kubernetes.io/instance-type",
                                            "beta.kubernetes.io/os",       "eks.amazonaws.com/capacityType",
                                            "eks.amazonaws.com/nodegroup", "failure-domain.beta.kubernetes.io/region",
                                            "kubernetes.io/arch",          "kubernetes.io/os",
                                            "node.kubernetes.io/pool",     "topology.kubernetes.io/region",
                                            "topology.kubernetes.io/zone", "team.example.com/owner"};
        struct err err = {0};
        struct buf b;
        buf_init(&b, 8192);
        buf_printf(&b, "{\"metadata\":{\"name\":\"ip-10-%d-%d-17.eu-west-1.compute.internal\",\"labels\":{\"a\":\"b\"",
                   i / 250, i % 250);
        for (size_t k = 0; k < sizeof label / sizeof *label; k++)
                buf_printf(&b, ",\"%s\":\"eu-west-1a\"", label[k]);
        buf_add_text(&b, "}},\"status\":{\"capacity\":{\"cpu\":\"32\",\"memory\":\"128Gi\"}}}");
        assert_int_equal(node_upsert(&c->cache, buf_text(&b), 1, &err), 0);
        buf_release(&b);
}

/* Usage is kept of as many as may be, which is told once, and each costs no more than its budget. */
static void more_nodes_than_are_kept(void **state)
{
        enum { A_NODE_MOST = 1600 };
        struct rig c;
        struct source s;
        (void)state;
        begin(&c, &s);
        size_t before = allocated();
        for (int i = 0; i < NODES_MOST; i++)
                take_labelled(&c, i);
        size_t each = (allocated() - before) / NODES_MOST;
        if (each > A_NODE_MOST)
                fail_msg("a node takes %zu bytes", each);
        node_usage_start(c.learner, 1000);
        assert_false(c.learner->nodes.full_told);
        for (int i = NODES_MOST; i < 2 * NODES_MOST; i++)
                take_labelled(&c, i);
        node_usage_start(c.learner, 1000);
        assert_true(c.learner->nodes.full_told);
        assert_int_equal(c.cache.nodes.with_facts, NODES_MOST);
        fold(&c, "ip-10-0-1-17.eu-west-1.compute.internal", 0, CORE, GI);
        fold(&c, "ip-10-79-249-17.eu-west-1.compute.internal", 0, CORE, GI);
        assert_int_equal(learner_counts(c.learner)->nodes[NODE_ACCEPTED], 1);
        assert_int_equal(learner_counts(c.learner)->unknown_nodes, 1);
        c.learner->source = NULL;
        rig_end(&c);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(usage_is_taken_as_the_table_says),
                cmocka_unit_test(polls_take_turns),
                cmocka_unit_test(more_nodes_than_are_kept),
                cmocka_unit_test(samples_are_stored),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
