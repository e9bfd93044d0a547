/* The facts of nodes: what is kept of one that comes, changes, lies and goes, and what the database has of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "cache/cache.h"

#define GI   (INT64_C(1) << 30)
#define SIZE "\"capacity\":{\"cpu\":\"4\",\"memory\":\"16Gi\"},\"allocatable\":{\"cpu\":\"3900m\",\"memory\":\"15Gi\"}"

static const int64_t now_s = 1764000000;

static void take(struct cache *w, const char *name, const char *spec, const char *status)
{
        struct err err = {0};
        AUTO(mem_free)
        char *node =
                mem_printf("{\"metadata\":{\"name\":\"%s\",\"labels\":{\"pool\":\"a\",\"zone\":\"\"}},\"spec\":{%s},"
                           "\"status\":{%s}}",
                           name, spec, status);
        if (node_upsert(w, text_of(node), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static struct node *node_of(const struct cache *w, const char *name)
{
        return map_get(&w->nodes.by_name, text_of(name));
}

static void measure(struct cache *w, const char *name, int64_t at_s)
{
        struct node_facts *f = node_of(w, name)->facts;
        const struct node_usage u = {{at_s * SECOND_MS}, {1000, GI}};
        assert_int_equal(node_ring_add(&f->ring, &u, f->capacity, (struct wall){now_s * SECOND_MS}), NODE_ACCEPTED);
}

static void a_node_is_kept_as_it_says(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take(&w, "n-1",
             "\"unschedulable\":true,\"taints\":[{\"key\":\"gpu\",\"value\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":"
             "\"b\",\"effect\":\"NoExecute\"}]",
             SIZE ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]");
        const struct node *n = node_of(&w, "n-1");
        assert_int_equal(w.nodes.with_facts, 1);
        assert_int_equal(n->facts->capacity[CPU], 4000);
        assert_int_equal(n->facts->capacity[MEMORY], 16 * GI);
        assert_int_equal(n->allocatable[CPU].value, 3900);
        assert_int_equal(n->allocatable[MEMORY].value, 15 * GI);
        assert_true(n->facts->ready && n->facts->unschedulable && !n->facts->labels_cut);
        assert_int_equal(n->facts->labels_size, sizeof "pool\0a\0zone\0");
        assert_memory_equal(n->facts->texts, "pool\0a\0zone\0", n->facts->labels_size);
        assert_string_equal(node_facts_taints(n->facts), "gpu=a:NoSchedule,b:NoExecute");
        take(&w, "n-1", "", SIZE);
        assert_string_equal(node_facts_taints(n->facts), "");
        assert_false(n->facts->ready || n->facts->unschedulable);
        cache_release(&w);
}

/* Another size is another machine; whatever else changes, the samples stay. */
static void another_size_is_another_machine(void **state)
{
        static const struct {
                const char *spec, *status;
                int samples;
        } row[] = {
                {"", SIZE, 1},
                {"\"unschedulable\":true", SIZE ",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]", 1},
                {"", "\"capacity\":{\"cpu\":\"4\",\"memory\":\"16Gi\"},\"allocatable\":{\"cpu\":\"1\"}", 1},
                {"", "\"capacity\":{\"cpu\":\"8\",\"memory\":\"16Gi\"}", 0},
                {"", "\"capacity\":{\"cpu\":\"4\",\"memory\":\"8Gi\"}", 0},
                {"", "\"capacity\":{\"cpu\":\"0\",\"memory\":\"0\"}", 0},
                {"", "", 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct cache w;
                cache_init(&w, "halflife", "halflife");
                take(&w, "n-1", "", SIZE);
                measure(&w, "n-1", now_s);
                take(&w, "n-1", row[i].spec, row[i].status);
                if (node_of(&w, "n-1")->facts->ring.count != row[i].samples)
                        fail_msg("row %zu: %d samples", i, node_of(&w, "n-1")->facts->ring.count);
                cache_release(&w);
        }
}

/* A node that was deleted and comes back has no samples, whatever its size; its pods keep it, without facts. */
static void a_node_that_goes_leaves_nothing(void **state)
{
        struct cache w;
        struct err err = {0};
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take(&w, "n-1", "", SIZE);
        take(&w, "n-2", "", SIZE);
        assert_int_equal(pod_upsert(&w,
                                    TEXT("{\"metadata\":{\"namespace\":\"web\",\"name\":\"p\",\"uid\":\"1\"},\"spec\":{"
                                         "\"nodeName\":\"n-1\",\"containers\":[{\"name\":\"app\"}]}}"),
                                    1, &err),
                         0);
        measure(&w, "n-1", now_s);
        node_remove(&w, TEXT("{\"metadata\":{\"name\":\"n-1\"}}"));
        assert_null(node_of(&w, "n-1")->facts);
        assert_int_equal(w.nodes.with_facts, 1);
        take(&w, "n-1", "", SIZE);
        assert_int_equal(node_of(&w, "n-1")->facts->ring.count, 0);
        node_swept(&w, 2);
        assert_int_equal(w.nodes.with_facts, 0);
        assert_null(node_of(&w, "n-2"));
        cache_release(&w);
}

static void labels_have_a_bound(void **state)
{
        struct cache w;
        struct err err = {0};
        struct buf in;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        buf_init(&in, 1 << 20);
        buf_add_text(&in, "{\"metadata\":{\"name\":\"n-1\",\"labels\":{\"a\":\"b\"");
        for (int i = 0; i < 200; i++)
                buf_printf(&in, ",\"l%d\":\"%060d\"", i, i);
        buf_add_text(&in, "}},\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}");
        for (int i = 0; i < 15; i++)
                buf_printf(&in, ",{\"key\":\"%0200d\",\"effect\":\"NoSchedule\"}", i);
        buf_add_text(&in, "]}}");
        assert_int_equal(node_upsert(&w, buf_text(&in), 1, &err), 0);
        const struct node_facts *f = node_of(&w, "n-1")->facts;
        assert_true(f->labels_cut);
        assert_in_range(f->labels_size, NODE_LABELS_MOST - 100, NODE_LABELS_MOST);
        assert_in_range(strlen(node_facts_taints(f)), 300, NODE_TAINTS_MOST);
        buf_release(&in);
        cache_release(&w);
}

static void so_many_nodes_have_facts(void **state)
{
        struct cache w;
        char name[32];
        (void)state;
        cache_init(&w, "halflife", "halflife");
        for (int i = 0; i < 2 * NODES_MOST; i++) {
                snprintf(name, sizeof name, "n-%d", i);
                take(&w, name, "", SIZE);
        }
        assert_int_equal(w.nodes.by_name.count, 2 * NODES_MOST);
        assert_int_equal(w.nodes.with_facts, NODES_MOST);
        assert_null(node_of(&w, name)->facts);
        assert_int_equal(node_of(&w, name)->allocatable[MEMORY].value, 15 * GI); /* which kills are judged by */
        node_remove(&w, TEXT("{\"metadata\":{\"name\":\"n-0\"}}"));
        take(&w, name, "", SIZE);
        assert_non_null(node_of(&w, name)->facts);
        cache_release(&w);
}

/* --- the database --- */

static char *printed(const struct cache *w)
{
        struct buf b;
        buf_init(&b, 1 << 20);
        node_samples_print(w, (struct wall){now_s * SECOND_MS}, &b);
        return buf_steal(&b);
}

static int parse(struct cache *w, const char *text)
{
        struct err err = {0};
        int rc = node_samples_parse(w, text_of(text), (struct wall){now_s * SECOND_MS}, &err);
        assert_true(rc == 0 || err.text[0]);
        return rc;
}

static void samples_survive_a_restart(void **state)
{
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take(&w, "n-1", "", SIZE);
        take(&w, "silent", "", SIZE);
        take(&w, "none", "", SIZE);
        measure(&w, "silent", now_s - 901);
        for (int i = 40; i >= 0; i--)
                measure(&w, "n-1", now_s - i * 60 - (i == 0 ? 10 : 0));
        const struct node_ring want = node_of(&w, "n-1")->facts->ring;
        AUTO(mem_free) char *text = printed(&w);
        cache_release(&w);

        cache_init(&w, "halflife", "halflife");
        assert_int_equal(parse(&w, text), 0);
        assert_int_equal(w.nodes.with_facts, 1);
        take(&w, "n-1", "", SIZE);
        const struct node_ring *got = &node_of(&w, "n-1")->facts->ring;
        assert_int_equal(got->count, want.count);
        for (int i = 0; i < want.count; i++)
                assert_memory_equal(node_ring_at(got, i), node_ring_at(&want, i), sizeof(struct node_sample));
        cache_release(&w);

        cache_init(&w, "halflife", "halflife"); /* it was replaced by another machine meanwhile */
        assert_int_equal(parse(&w, text), 0);
        take(&w, "n-1", "", "\"capacity\":{\"cpu\":\"2\",\"memory\":\"16Gi\"}");
        assert_int_equal(node_of(&w, "n-1")->facts->ring.count, 0);
        cache_release(&w);

        cache_init(&w, "halflife", "halflife"); /* it went meanwhile */
        assert_int_equal(parse(&w, text), 0);
        node_swept(&w, 1);
        assert_int_equal(w.nodes.by_name.count, 0);
        cache_release(&w);
}

/* A hot node stays hot until it is cool, by a process that starts meanwhile as well. */
static void hot_survives_a_restart(void **state)
{
        enum { AT_80_PERCENT = 80 };
        const struct wall now = {now_s * SECOND_MS};
        const int64_t since_ms = now.ms - 1;
        struct cache w;
        (void)state;
        cache_init(&w, "halflife", "halflife");
        take(&w, "n-1", "", SIZE);
        struct node_facts *f = node_of(&w, "n-1")->facts;
        for (int i = 14; i >= 0; i--) {
                const struct node_usage u = {{(now_s - i * 60) * SECOND_MS}, {i < 10 ? 3900 : 100, GI}};
                assert_int_equal(node_ring_add(&f->ring, &u, f->capacity, now), NODE_ACCEPTED);
        }
        assert_false(node_facts_judge(f, CPU, AT_80_PERCENT, now)); /* 10 samples make none hot */
        assert_int_equal(f->hot_since_ms[CPU], 0);
        f->hot_since_ms[CPU] = since_ms;
        AUTO(mem_free) char *text = printed(&w);
        cache_release(&w);

        cache_init(&w, "halflife", "halflife");
        assert_int_equal(parse(&w, text), 0);
        take(&w, "n-1", "", SIZE);
        f = node_of(&w, "n-1")->facts;
        assert_false(node_facts_judge(f, CPU, AT_80_PERCENT, now)); /* nothing to tell again */
        assert_int_equal(f->hot_since_ms[CPU], since_ms);
        assert_int_equal(f->hot_since_ms[MEMORY], 0);
        take(&w, "n-1", "", "\"capacity\":{\"cpu\":\"2\",\"memory\":\"16Gi\"}"); /* another machine is cool */
        assert_int_equal(f->hot_since_ms[CPU], 0);
        cache_release(&w);

        cache_init(&w, "halflife", "halflife"); /* a clock was ahead when it was written */
        assert_int_equal(parse(&w, "[{\"name\":\"n-1\",\"capacity\":[4000,17179869184],\"hot\":[1764000001000,-1],"
                                   "\"samples\":[[1764000000,1,1]]}]"),
                         0);
        assert_int_equal(node_of(&w, "n-1")->facts->hot_since_ms[CPU], 0);
        assert_int_equal(node_of(&w, "n-1")->facts->hot_since_ms[MEMORY], 0);
        cache_release(&w);
}

/* Somebody edited it, a disk broke, or a clock was wrong when it was written. */
static void what_cannot_be_is_not_loaded(void **state)
{
        static const struct {
                const char *text;
                int rc;
        } row[] = {
                {"", ERR_INVALID},
                {"{}", ERR_INVALID},
                {"[", ERR_INVALID},
                {"[{\"name\":\"n\"", ERR_INVALID},
                {"[{\"name\":1}]", ERR_INVALID},
                {"[{\"name\":\"n\",\"capacity\":[4000,1],\"samples\":[[\"x\",1,1]]}]", ERR_INVALID},
                {"null", 0},
                {"[]", 0},
                {"[{}]", 0},
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[]}]", 0},
                {"[{\"capacity\":[4000,1000],\"samples\":[[1764000000,1,1]]}]", 0},
                {"[{\"name\":\"n\",\"samples\":[[1764000000,1,1]]}]", 0},
                {"[{\"name\":\"n\",\"capacity\":[0,0],\"samples\":[[1764000000,1,1]]}]", 0},
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[[1764000301,1,1]]}]", 0}, /* ahead */
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[[1763999099,1,1]]}]", 0}, /* old */
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[[1764000000,-1,1]]}]", 0},
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[[1764000000]]}]", 0},
                {"[{\"name\":\"n\",\"capacity\":[4000,1000],\"samples\":[[9223372036854775807,1,1]]}]", 0},
        };
        (void)state;
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct cache w;
                cache_init(&w, "halflife", "halflife");
                int rc = parse(&w, row[i].text);
                if (rc != row[i].rc || w.nodes.by_name.count > 0)
                        fail_msg("%s: %d, %zu nodes", row[i].text, rc, w.nodes.by_name.count);
                cache_release(&w);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_node_is_kept_as_it_says),       cmocka_unit_test(another_size_is_another_machine),
                cmocka_unit_test(a_node_that_goes_leaves_nothing), cmocka_unit_test(labels_have_a_bound),
                cmocka_unit_test(so_many_nodes_have_facts),        cmocka_unit_test(samples_survive_a_restart),
                cmocka_unit_test(hot_survives_a_restart),          cmocka_unit_test(what_cannot_be_is_not_loaded),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
