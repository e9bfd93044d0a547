/* A status as it is written and read back, and as the version before wrote it: the facts that deploys are decided by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* after its needs */
#include <cmocka.h>

#include "base/yaml.h"
#include "objects/recommendation_status.h"

static struct arena arena;

static struct recommendation_status read_status(const char *text, enum dimension d)
{
        struct recommendation_status s;
        AUTO(json_decref) json_t *status = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_non_null(status);
        recommendation_status_read(status, d, &arena, &s);
        s.container = NULL; /* their texts were the JSON's */
        s.condition = NULL;
        return s;
}

static bool same(struct status_decision a, struct status_decision b)
{
        return memcmp(&a, &b, sizeof a) == 0;
}

/* Every set of facts, and each by its own word. */
static void test_facts_come_back(void **state)
{
        (void)state;
        for (unsigned set = 0; set < 1u << sizeof(struct status_decision); set++) {
                struct recommendation_status s = {.state = STATE_READY}, back;
                struct buf b;
                struct writer w = {.b = &b};
                for (unsigned i = 0; i < sizeof s.decision; i++)
                        ((bool *)&s.decision)[i] = set >> i & 1;
                buf_init(&b, 4096);
                writer_open(&w, NULL, '{');
                recommendation_status_write(&w, &s);
                writer_close(&w, '}');
                back = read_status(b.data, DIMENSION_WORKLOAD);
                if (!same(back.decision, s.decision) || back.former ||
                    recommendation_status_digest(&back) != recommendation_status_digest(&s))
                        fail_msg("%s", b.data);
                buf_release(&b);
        }
        arena_release(&arena);
}

#define SAYS(type, status, reason)                                                                                     \
        "\"conditions\":[{\"type\":\"" type "\",\"status\":\"" status "\",\"reason\":\"" reason "\"}]"

/* The version before says them by conditions; what it did not say is not so. */
static void test_facts_of_the_version_before(void **state)
{
        (void)state;
        static const struct {
                const char *status;
                enum dimension d;
                struct status_decision want;
        } row[] = {
                {"{}", DIMENSION_WORKLOAD, {0}},
                {"{" SAYS("Contested", "True", "ChangedBack") "}", DIMENSION_WORKLOAD, {.contested = true}},
                {"{" SAYS("Contested", "False", "ChangedBack") "}", DIMENSION_WORKLOAD, {0}},
                {"{" SAYS("Applied", "False", "Orphaned") "}", DIMENSION_WORKLOAD, {.orphaned = true}},
                {"{" SAYS("OptedOut", "True", "ByAnnotation") "}", DIMENSION_WORKLOAD, {.opted_out = true}},
                {"{" SAYS("OtherAutoscaler", "True", "VerticalPodAutoscaler") "}",
                 DIMENSION_WORKLOAD,
                 {.other_autoscaler = true}},
                {"{" SAYS("InPlaceOnly", "True", "ByStrategy") "}", DIMENSION_WORKLOAD, {.in_place_only = true}},
                {"{" SAYS("Canary", "True", "Waiting") "}", DIMENSION_WORKLOAD, {.waits = true}},
                {"{" SAYS("Canary", "True", "Watched") "}", DIMENSION_WORKLOAD, {0}},
                {"{" SAYS("PodLevel", "True", "CPU") "}", DIMENSION_WORKLOAD, {.pod_asks = {true, false}}},
                {"{" SAYS("PodLevel", "True", "Memory") "}", DIMENSION_WORKLOAD, {.pod_asks = {false, true}}},
                {"{" SAYS("PodLevel", "True", "CPUAndMemory") "}", DIMENSION_WORKLOAD, {.pod_asks = {true, true}}},
                {"{" SAYS("Applied", "False", "RecommendOnly") "}", DIMENSION_WORKLOAD, {0}},
                {"{" SAYS("Applied", "False", "RecommendOnly") "}", DIMENSION_POD, {.never_written = true}},
                {"{" SAYS("Applied", "False", "NextDeploy") "}", DIMENSION_POD, {0}},
                {"{}", DIMENSION_NAMESPACE, {.never_written = true}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct recommendation_status s = read_status(row[i].status, row[i].d);
                if (!same(s.decision, row[i].want) || !s.former)
                        fail_msg("%s", row[i].status);
        }
        arena_release(&arena);
}

/* What is written for programs counts, whatever the conditions beside it say; words of a later version are left out. */
static void test_facts_beside_conditions(void **state)
{
        (void)state;
        static const char text[] =
                "{\"decision\":{\"facts\":[\"Orphaned\",\"OfALaterVersion\",7],\"podLevel\":[\"cpu\","
                "\"disk\"],\"sharedAutoscaler\":[\"memory\",7]}," SAYS("Contested", "True", "ChangedBack") "}";
        struct recommendation_status s = read_status(text, DIMENSION_NAMESPACE);
        assert_true(same(
                s.decision,
                (struct status_decision){.orphaned = true, .hpa_shared = {false, true}, .pod_asks = {true, false}}));
        assert_false(s.former);
        arena_release(&arena);
}

static bool same_node(const struct status_node *a, const struct status_node *b)
{
        return a->capacity == b->capacity && a->allocatable == b->allocatable && a->original == b->original &&
               a->requested == b->requested && a->peak == b->peak && a->packing == b->packing &&
               a->utilization == b->utilization;
}

/* A node's numbers come back as they were written, and what is not known stays so. Its size alone is in the digest. */
static void test_a_node_comes_back(void **state)
{
        (void)state;
        struct status_node node[RESOURCES] = {{4000, 3900, 5250, 3000, 2100, 76, 83}, {1 << 30, -1, 0, 0, -1, -1, -1}};
        struct status_container all = {.name = "*", .of = {{.original = 5250, .current = 3000}, {0}}};
        struct recommendation_status s = {.state = STATE_READY, .node = node, .decision.never_written = true};
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 4096);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        assert_non_null(strstr(b.data, "\"node\":{\"cpu\":{\"capacity\":\"4\",\"allocatable\":\"3900m\",\"original\":"
                                       "\"5250m\",\"requested\":\"3\",\"peak\":\"2100m\",\"packingPercent\":76,"
                                       "\"utilizationPercent\":83},\"memory\":{\"capacity\":\"1Gi\",\"original\":\"0\","
                                       "\"requested\":\"0\"}}"));
        struct recommendation_status back = read_status(b.data, DIMENSION_NODE);
        assert_true(same_node(&back.node[CPU], &node[CPU]) && same_node(&back.node[MEMORY], &node[MEMORY]));
        assert_true(recommendation_status_digest(&back) == recommendation_status_digest(&s));
        s.container = &all;
        s.containers = 1;
        uint64_t digest = recommendation_status_digest(&s);
        all.of[CPU].original = all.of[CPU].current = 9000;
        node[CPU].requested = node[CPU].original = node[CPU].peak = 9000;
        node[CPU].packing = node[CPU].utilization = 99;
        assert_true(recommendation_status_digest(&s) == digest);
        node[MEMORY].capacity++;
        assert_true(recommendation_status_digest(&s) != digest);
        buf_release(&b);
        arena_release(&arena);
        static const char *const odd[] = {"{}", "7", "{\"cpu\":7}", "{\"cpu\":{\"packingPercent\":-3}}"};
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
                AUTO(mem_free) char *text = mem_printf("{\"node\":%s}", odd[i]);
                back = read_status(text, DIMENSION_NODE);
                assert_int_equal(back.node[CPU].capacity, -1);
                assert_int_equal(back.node[CPU].packing, -1);
                arena_release(&arena);
        }
}

/* What a VPA sets comes back as it was written. Without a list it sets every request, as before there was one. */
static void test_what_is_left_comes_back(void **state)
{
        (void)state;
        struct recommendation_status s = {.state = STATE_READY, .decision = {.other_autoscaler = true}};
        uint64_t all = recommendation_status_digest(&s);
        static const bool none[RESOURCES] = {false, false}, cpu[RESOURCES] = {true, false};
        struct vpa_policy *left = arena_new(&arena, sizeof *left + 2 * sizeof left->row[0]);
        vpa_policy_begin(left);
        vpa_policy_add(left, TEXT("*"), none);
        vpa_policy_add(left, TEXT("app"), cpu);
        s.left = left;
        uint64_t part = recommendation_status_digest(&s);
        assert_true(part != all);
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 4096);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        assert_non_null(strstr(b.data, "\"otherAutoscaler\":[{\"container\":\"*\",\"resources\":[]},{\"container\":"
                                       "\"app\",\"resources\":[\"cpu\"]}]"));
        struct recommendation_status back = read_status(b.data, DIMENSION_WORKLOAD);
        assert_true(vpa_policy_equal(left, back.left));
        assert_int_equal(recommendation_status_digest(&back), part);
        left->row[0].sets[MEMORY] = true;
        assert_true(recommendation_status_digest(&s) != part);
        buf_release(&b);
        static const char *const whole[] = {"", ",\"otherAutoscaler\":[]", ",\"otherAutoscaler\":7"};
        for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
                AUTO(mem_free)
                char *json = mem_printf("{\"decision\":{\"facts\":[\"OtherAutoscaler\"]%s}}", whole[i]);
                assert_null(read_status(json, DIMENSION_WORKLOAD).left);
        }
        arena_release(&arena);
}

#define CONTAINERS(limits) "{\"containers\":[{\"name\":\"log\"},{\"name\":\"app\"," limits "}]}"
#define LIMITS(advice)     CONTAINERS("\"limits\":{\"memory\":" advice "}")

/* Advice comes back as it was written, and an advice that has changed has another digest. */
static void test_limits_come_back(void **state)
{
        (void)state;
        struct status_container container[] = {{.name = "log"}, {.name = "app"}};
        struct recommendation_status s = {.state = STATE_READY, .container = container, .containers = 2}, back;
        uint64_t none = recommendation_status_digest(&s);
        s.limits = status_limits_new(&arena, 2);
        s.limits->rows = 2;
        s.limits->row[0] = (struct status_limit){.container = 1,
                                                 .resource = CPU,
                                                 .reason = LIMIT_THROTTLED,
                                                 .percent = 30,
                                                 .current = 1000,
                                                 .advised = 1300,
                                                 .needed = -1};
        s.limits->row[1] = (struct status_limit){.container = 1,
                                                 .resource = MEMORY,
                                                 .reason = LIMIT_KILLED,
                                                 .current = 500 << 20,
                                                 .advised = 660 << 20,
                                                 .needed = 600 << 20,
                                                 .at_ms = 1700000000000};
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 4096);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        assert_non_null(strstr(b.data, "\"name\":\"app\""));
        assert_non_null(strstr(b.data,
                               "\"limits\":{\"cpu\":{\"current\":\"1\",\"advised\":\"1300m\",\"reason\":\"Throttled\","
                               "\"throttledPercent\":30},\"memory\":{\"current\":\"500Mi\",\"advised\":\"660Mi\","
                               "\"reason\":\"KilledAtLimit\",\"needed\":\"600Mi\",\"time\":"
                               "\"2023-11-14T22:13:20Z\"}}}"));
        AUTO(json_decref) json_t *status = json_loads(b.data, 0, NULL);
        recommendation_status_read(status, DIMENSION_WORKLOAD, &arena, &back);
        assert_int_equal(back.limits->rows, 2);
        for (int i = 0; i < 2; i++) {
                const struct status_limit *x = &s.limits->row[i], *y = &back.limits->row[i];
                assert_true(x->container == y->container && x->resource == y->resource && x->reason == y->reason &&
                            x->percent == y->percent && x->current == y->current && x->advised == y->advised &&
                            x->needed == y->needed && x->at_ms == y->at_ms);
        }
        uint64_t told = recommendation_status_digest(&s);
        assert_true(recommendation_status_digest(&back) == told && told != none);
        s.limits->row[0].advised++; /* of CPU, it follows the model, and waits for the next write that is due */
        assert_true(recommendation_status_digest(&s) == told);
        s.limits->row[0].percent += 10;
        assert_true(recommendation_status_digest(&s) != told);
        s.limits->row[0].percent -= 10;
        s.limits->row[1].advised++;
        assert_true(recommendation_status_digest(&s) != told);
        buf_release(&b);
        arena_release(&arena);
}

/* That usage may be above the model comes back, and is worth a write. */
static void test_more_comes_back(void **state)
{
        (void)state;
        struct status_container container = {.name = "*"};
        struct recommendation_status s = {.state = STATE_READY, .container = &container, .containers = 1}, back;
        uint64_t none = recommendation_status_digest(&s);
        container.of[MEMORY] = (struct status_numbers){.model = 5 << 20, .more = true};
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 4096);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        assert_non_null(strstr(b.data, "\"more\":true"));
        AUTO(json_decref) json_t *status = json_loads(b.data, 0, NULL);
        recommendation_status_read(status, DIMENSION_NAMESPACE, &arena, &back);
        assert_true(back.container[0].of[MEMORY].more);
        assert_false(back.container[0].of[CPU].more);
        uint64_t memory = recommendation_status_digest(&s);
        container.of[CPU].more = true;
        assert_true(memory != none && recommendation_status_digest(&s) != memory);
        container.of[CPU].more = container.of[MEMORY].more = false;
        assert_true(recommendation_status_digest(&s) == none);
        buf_release(&b);
        arena_release(&arena);
}

/* What is no whole advice is none. */
static void test_other_limits(void **state)
{
        (void)state;
        static const char *const texts[] = {
                CONTAINERS("\"limits\":{}"),
                CONTAINERS("\"limits\":[]"),
                CONTAINERS("\"limits\":{\"memory\":7,\"disk\":{}}"),
                LIMITS("{\"current\":\"1Mi\",\"advised\":\"2Mi\"}"),
                LIMITS("{\"current\":\"1Mi\",\"advised\":\"2Mi\",\"reason\":\"OfALaterVersion\"}"),
                LIMITS("{\"current\":\"1Mi\",\"advised\":2,\"reason\":\"KilledAtLimit\"}"),
                LIMITS("{\"current\":\"-1\",\"advised\":\"2Mi\",\"reason\":\"KilledAtLimit\"}"),
        };
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
                if (read_status(texts[i], DIMENSION_WORKLOAD).limits)
                        fail_msg("%s", texts[i]);
        static const char least[] = LIMITS("{\"current\":\"1Mi\",\"advised\":\"2Mi\",\"reason\":\"KilledAtLimit\"}");
        const struct status_limits *l = read_status(least, DIMENSION_WORKLOAD).limits;
        assert_ptr_equal(status_limit_find(l, 1, MEMORY), &l->row[0]);
        assert_null(status_limit_find(l, 0, MEMORY));
        assert_null(status_limit_find(l, 1, CPU));
        assert_true(l->row[0].needed < 0 && l->row[0].at_ms == 0);
        arena_release(&arena);
}

/* What admission made of halflife's requests comes back, but not without what was applied. A change of it is written.
 */
static void test_admitted_comes_back(void **state)
{
        (void)state;
        struct recommendation_status s = {.state = STATE_READY, .applied_ms = 1000, .applied_mode = APPLY_ROLLOUT};
        char applied[] = "[{\"cpu\":\"285m\",\"name\":\"app\"}]", made[] = "[{\"cpu\":\"500m\",\"name\":\"app\"}]";
        s.applied = applied;
        uint64_t as_sent = recommendation_status_digest(&s);
        s.admitted = made;
        assert_true(recommendation_status_digest(&s) != as_sent);
        struct buf b;
        struct writer w = {.b = &b};
        buf_init(&b, 4096);
        writer_open(&w, NULL, '{');
        recommendation_status_write(&w, &s);
        writer_close(&w, '}');
        struct recommendation_status back = read_status(b.data, DIMENSION_WORKLOAD);
        assert_string_equal(back.admitted, made);
        assert_int_equal(recommendation_status_digest(&back), recommendation_status_digest(&s));
        buf_release(&b);
        static const char *const none[] = {
                "{\"applied\":{\"time\":\"2026-01-01T00:00:00Z\",\"containers\":[]}}",
                "{\"applied\":{\"admitted\":[{\"name\":\"app\"}]}}",
                "{\"applied\":{\"containers\":[],\"admitted\":\"500m\"}}",
        };
        for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
                if (read_status(none[i], DIMENSION_WORKLOAD).admitted)
                        fail_msg("%s", none[i]);
        arena_release(&arena);
}

/* What is of another kind than the API has is absent. */
static void test_other_kinds(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "[]",
                "\"text\"",
                "{\"state\":7,\"containers\":{\"app\":1},\"applied\":[],\"canary\":3,\"quota\":true,\"guard\":\"x\","
                "\"conditions\":\"none\",\"saving\":[],\"samples\":\"3\",\"firstSample\":4,\"decision\":\"x\"}",
                "{\"containers\":[7,{\"name\":3,\"state\":\"Odd\",\"cpu\":[],\"memory\":{\"target\":5}}],"
                "\"conditions\":[null,{\"type\":{}}],\"applied\":{\"time\":\"now\",\"mode\":\"Odd\"},"
                "\"decision\":{\"facts\":{\"Orphaned\":true},\"podLevel\":\"cpu\"}}",
        };
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                struct recommendation_status s = read_status(texts[i], DIMENSION_WORKLOAD);
                if (s.state != STATE_NO_DATA || s.applied || s.applied_mode != APPLY_RECOMMEND || s.rest || s.guard ||
                    s.mode != APPLY_MODES || s.samples || s.since_ms || s.saving[CPU] || s.so_far ||
                    !same(s.decision, (struct status_decision){0}))
                        fail_msg("%s", texts[i]);
        }
        struct recommendation_status none;
        recommendation_status_read(NULL, DIMENSION_WORKLOAD, &arena, &none);
        assert_int_equal(none.containers + none.conditions, 0);
        arena_release(&arena);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_facts_come_back),         cmocka_unit_test(test_facts_of_the_version_before),
                cmocka_unit_test(test_facts_beside_conditions), cmocka_unit_test(test_a_node_comes_back),
                cmocka_unit_test(test_what_is_left_comes_back), cmocka_unit_test(test_limits_come_back),
                cmocka_unit_test(test_more_comes_back),         cmocka_unit_test(test_other_limits),
                cmocka_unit_test(test_admitted_comes_back),     cmocka_unit_test(test_other_kinds),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
