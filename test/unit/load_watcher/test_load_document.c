/*
 * The document of nodes' load: its exact bytes, computed by hand; what it has of any nodes at all; and what it says to
 * a reader like that of load-watcher's client.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>
#include <jansson.h>

#include "cache/cache.h"
#include "load_watcher/load_document.h"

#define GI (INT64_C(1) << 30)

static const int64_t now_s = 1764000000;

static int begin(void **state)
{
        struct cache *w = MEM_NEW(struct cache);
        cache_init(w, "halflife", "halflife");
        *state = w;
        return 0;
}

static int end(void **state)
{
        cache_release(*state);
        mem_free(*state);
        return 0;
}

static struct node_facts *put_node(struct cache *w, const char *name, int64_t cpu, int64_t memory)
{
        struct node_facts *f = node_facts_get(w, node_get(w, text_of(name)));
        f->capacity[CPU] = cpu;
        f->capacity[MEMORY] = memory;
        return f;
}

static void measure(struct node_facts *f, int64_t at_s, int64_t cpu, int64_t memory)
{
        const struct node_usage u = {{at_s * SECOND_MS}, {cpu, memory}};
        assert_int_equal(node_ring_add(&f->ring, &u, f->capacity, u.at), NODE_ACCEPTED);
}

static struct load_document *made(const struct cache *w)
{
        return load_document_new(w, (struct wall){now_s * SECOND_MS + 999});
}

static void expect_whole(const struct cache *w, const char *want)
{
        struct load_document *d = made(w);
        struct text got = load_document_whole(d);
        if (!text_is(got, want))
                fail_msg("got\n%.*s\nnot\n%s", TEXT_ARG(got), want);
        load_document_drop(d);
}

#define METRIC(type, operator, rollup, value)                                                                          \
        "{\"name\":\"\",\"type\":\"" type "\",\"operator\":\"" operator"\",\"rollup\":\"" rollup "\",\"value\":" value \
                                                                       "}"
#define CPU_LATEST(value)    METRIC("CPU", "Latest", "", value)
#define MEMORY_LATEST(value) METRIC("Memory", "Latest", "", value)
#define NODE(name, metrics)  "\"" name "\":{\"metrics\":[" metrics "],\"tags\":{},\"metadata\":{\"dataCenter\":\"\"}}"
#define DOCUMENT(start, end, nodes)                                                                                    \
        "{\"timestamp\":1764000000,\"window\":{\"duration\":\"15m\",\"start\":" start ",\"end\":" end                  \
        "},\"source\":\"halflife\",\"data\":{\"NodeMetricsMap\":{" nodes "}}}"

static void without_nodes_the_map_is_empty(void **state)
{
        struct cache *w = *state;
        expect_whole(w, DOCUMENT("1763999100", "1764000000", ""));
        (void)put_node(w, "never-measured", 4000, 16 * GI);
        (void)node_get(w, TEXT("pods-alone"));
        expect_whole(w, DOCUMENT("1763999100", "1764000000", ""));
}

static void one_sample_is_the_latest_alone(void **state)
{
        struct cache *w = *state;
        measure(put_node(w, "n-1", 4000, 16 * GI), now_s - 10, 1, 4 * GI);
        expect_whole(w, DOCUMENT("1763999090", "1763999990", NODE("n-1", CPU_LATEST("0.025") "," MEMORY_LATEST("25"))));
}

/* From two samples on there is a mean, from five on a deviation. Nodes are in the order of their names, and the window
 * ends with the oldest of their newest samples. */
static void means_and_deviations_stand_before_the_latest(void **state)
{
        struct cache *w = *state;
        struct node_facts *b = put_node(w, "b", 3, 3), *a = put_node(w, "a.example.com", 4000, 16 * GI);
        for (int i = 0; i < 4; i++)
                measure(b, now_s - 60 * (5 - i), i % 2, 1 + i % 3);
        for (int i = 0; i < 5; i++)
                measure(a, now_s - 60 * (4 - i) - 1, 1000 * i, (1 + i) * GI);
        expect_whole(
                w,
                DOCUMENT(
                        "1763998980", "1763999880",
                        NODE("a.example.com",
                             METRIC("CPU", "AVG", "15m", "50") "," METRIC("CPU", "STD", "15m", "35.355339") "," CPU_LATEST("100") "," METRIC(
                                     "Memory", "AVG", "15m",
                                     "18.75") "," METRIC("Memory", "STD", "15m",
                                                         "8.838835") "," MEMORY_LATEST("31.25")) "," NODE("b",
                                                                                                          METRIC("CPU", "AVG", "15m", "16.666667") "," CPU_LATEST("33.333333") "," METRIC(
                                                                                                                  "Memo"
                                                                                                                  "ry",
                                                                                                                  "AVG",
                                                                                                                  "15m",
                                                                                                                  "58."
                                                                                                                  "3333"
                                                                                                                  "33") "," MEMORY_LATEST("33.333333"))));
}

static void who_is_silent_is_left_out(void **state)
{
        struct cache *w = *state;
        measure(put_node(w, "old", 4000, 16 * GI), now_s - 301, 1000, GI);
        measure(put_node(w, "just", 4000, 16 * GI), now_s - 299, 1000, 16 * GI);
        expect_whole(w, DOCUMENT("1763998801", "1763999701", NODE("just", CPU_LATEST("25") "," MEMORY_LATEST("100"))));
}

/* An API server admits no such names, so that nothing has to be escaped. */
static void odd_names_are_left_out(void **state)
{
        static const char *const odd[] = {"", "N", "a\"b", "a\\", "a b", "a\nb", "\xc3\xa9", "a/b", "a\x01", "a_b"};
        struct cache *w = *state;
        char longest[VIEW_NAME + 2] = "";
        memset(longest, 'a', VIEW_NAME + 1);
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
                measure(put_node(w, odd[i], 4000, 16 * GI), now_s, 1000, GI);
        measure(put_node(w, longest, 4000, 16 * GI), now_s, 1000, GI);
        expect_whole(w, DOCUMENT("1763999100", "1764000000", ""));
        longest[VIEW_NAME] = '\0';
        measure(put_node(w, longest, 4000, 16 * GI), now_s, 1000, GI);
        struct load_document *d = made(w);
        assert_int_equal(load_document_nodes(d), 1);
        load_document_drop(d);
}

static void one_node_is_the_document_with_it_alone(void **state)
{
        struct cache *w = *state;
        static const char *const name[] = {"a", "ab", "b", "n-1", "n-10", "n-2"};
        static const char *const other[] = {"", "A", "aa", "n", "n-", "n-11", "n-3", "zz", "a,", "a\"", "n-1\":{"};
        enum { NAMES = sizeof name / sizeof *name };
        size_t len;
        for (int i = NAMES; i-- > 0;)
                measure(put_node(w, name[i], 4000, 16 * GI), now_s, 1000 * (i % 4), GI);
        struct load_document *d = made(w);
        for (int i = 0; i < NAMES; i++) {
                static const char *const cpu[] = {"0", "25", "50", "75"};
                AUTO(mem_free) char *got = load_document_one(d, text_of(name[i]), &len);
                AUTO(mem_free)
                char *want = mem_printf(
                        DOCUMENT("1763999100", "1764000000", NODE("%s", CPU_LATEST("%s") "," MEMORY_LATEST("6.25"))),
                        name[i], cpu[i % 4]);
                assert_non_null(got);
                assert_string_equal(got, want);
                assert_int_equal(len, strlen(want));
        }
        for (size_t i = 0; i < sizeof other / sizeof *other; i++)
                assert_null(load_document_one(d, text_of(other[i]), &len));
        assert_null(load_document_one(d, (struct text){"a\0b", 3}, &len));
        assert_null(load_document_one(d, (struct text){"a\0", 2}, &len));
        AUTO(mem_free) char *none = load_document_none(d, &len);
        assert_string_equal(none, DOCUMENT("1763999100", "1764000000", ""));
        assert_int_equal(len, strlen(none));
        load_document_drop(d);
}

/* --- any nodes at all --- */

/* A kind of random that is the same everywhere. */
static int64_t dice(uint64_t *seed, int64_t sides)
{
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        return (int64_t)((*seed >> 1) % (uint64_t)sides);
}

static void fill(struct cache *w, uint64_t *seed)
{
        int nodes = (int)dice(seed, 40);
        for (int i = 0; i < nodes; i++) {
                char name[16];
                snprintf(name, sizeof name, "n%d", (int)dice(seed, 1000));
                struct node_facts *f = put_node(w, name, 1 + dice(seed, INT32_MAX), 1 + dice(seed, INT64_MAX));
                int samples = (int)dice(seed, 20);
                f->ring = (struct node_ring){0};
                for (int k = samples; k-- > 0;)
                        measure(f, now_s - 55 * k - dice(seed, 3), dice(seed, f->capacity[CPU] + 1),
                                1 + dice(seed, f->capacity[MEMORY]));
        }
}

/* At most six decimals, no exponent, and within a hundredth of what the ring has. */
static void expect_values(const char *node, json_t *metrics, const struct node_spread *s)
{
        static const char *const type[RESOURCES] = {"CPU", "Memory"};
        size_t at = 0;
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const struct {
                        const char *operator;
                        int least;
                        int32_t value;
                } want[] = {{"AVG", 2, s->mean[r]}, {"STD", 5, s->deviation[r]}, {"Latest", 1, s->latest[r]}};
                for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
                        if (s->samples < want[k].least)
                                continue;
                        json_t *m = json_array_get(metrics, at++);
                        double value = json_number_value(json_object_get(m, "value"));
                        if (!m || strcmp(json_string_value(json_object_get(m, "type")), type[r]) != 0 ||
                            strcmp(json_string_value(json_object_get(m, "operator")), want[k].operator) != 0 ||
                            fabs(value * 1e6 - want[k].value) > 1e-3 || value < 0 || value > 100)
                                fail_msg("%s, %s %s: %g", node, type[r], want[k].operator, value);
                }
        }
        assert_int_equal(json_array_size(metrics), at);
}

static void expect_decimals(struct text all)
{
        for (size_t i = 0; i < all.len; i++) {
                size_t decimals = 0;
                while (all.p[i] == '.' && i + 1 + decimals < all.len && strchr("0123456789", all.p[i + 1 + decimals]))
                        decimals++;
                assert_true(decimals <= 6);
        }
}

static void any_nodes_make_a_document(void **state)
{
        uint64_t seed = 17;
        (void)state;
        for (int run = 0; run < 300; run++) {
                struct cache w;
                const struct node *n;
                json_error_t error;
                int64_t end_s = now_s;
                size_t told = 0, len;
                cache_init(&w, "halflife", "halflife");
                fill(&w, &seed);
                struct load_document *d = made(&w);
                struct text all = load_document_whole(d);
                AUTO(json_decref) json_t *json = json_loadb(all.p, all.len, JSON_DECODE_INT_AS_REAL, &error);
                json_t *map = json_object_get(json_object_get(json, "data"), "NodeMetricsMap");
                assert_non_null(map);
                expect_decimals(all);
                for (size_t at = 0; (n = map_each(&w.nodes.by_name, &at));) {
                        struct node_spread s;
                        node_ring_spread(&n->facts->ring, n->facts->capacity, (struct wall){now_s * SECOND_MS}, &s);
                        json_t *of = json_object_get(map, n->name);
                        AUTO(mem_free) char *one = load_document_one(d, text_of(n->name), &len);
                        assert_true((of != NULL) == (s.samples > 0) && (one != NULL) == (s.samples > 0));
                        if (!of)
                                continue;
                        expect_values(n->name, json_object_get(of, "metrics"), &s);
                        AUTO(json_decref) json_t *alone = json_loadb(one, len, JSON_DECODE_INT_AS_REAL, &error);
                        json_t *only = json_object_get(json_object_get(alone, "data"), "NodeMetricsMap");
                        assert_int_equal(json_object_size(only), 1);
                        assert_true(json_equal(json_object_get(only, n->name), of));
                        assert_true(json_equal(json_object_get(alone, "window"), json_object_get(json, "window")));
                        end_s = s.at_s < end_s ? s.at_s : end_s;
                        told++;
                }
                assert_int_equal(json_object_size(map), told);
                assert_int_equal(load_document_nodes(d), told);
                json_t *window = json_object_get(json, "window");
                assert_true((int64_t)json_number_value(json_object_get(window, "end")) == end_s);
                assert_true((int64_t)json_number_value(json_object_get(window, "start")) == end_s - 900);
                load_document_drop(d);
                cache_release(&w);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(without_nodes_the_map_is_empty, begin, end),
                cmocka_unit_test_setup_teardown(one_sample_is_the_latest_alone, begin, end),
                cmocka_unit_test_setup_teardown(means_and_deviations_stand_before_the_latest, begin, end),
                cmocka_unit_test_setup_teardown(who_is_silent_is_left_out, begin, end),
                cmocka_unit_test_setup_teardown(odd_names_are_left_out, begin, end),
                cmocka_unit_test_setup_teardown(one_node_is_the_document_with_it_alone, begin, end),
                cmocka_unit_test(any_nodes_make_a_document),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
