/* Which Profiles of a namespace are in force, where the choice among them would compare too much. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/shop.h"
#include "base/buf.h"

enum { LABELS_MOST = 256 };

static const struct now at = {.wall = {1763700000000}, .mono = {1}};

/* --- the bounds --- */

#define WORD(s) ((char *)(uintptr_t)(s))
#define TIGHT   ((int64_t)PROFILE_COMPARES_NAMESPACE)

/* A list of equal profiles, each with so many requirements without values: how many are in force. */
static void test_bounds(void **state)
{
        enum { PROFILES = 9000 };
        (void)state;
        static const struct row {
                const char *what;
                size_t requirements, profiles;
                int64_t count, labels; /* of workloads */
                size_t want;
        } row[] = {
                {"none", 0, 0, 0, 0, 0},
                {"no workloads", 1, 5000, 0, 0, 5000},
                {"no requirements", 0, 9000, 1000, 250000, 9000},
                {"one subject, most labels: 513 comparisons each", 1, 9000, 0, 0, (4 << 20) / 513},
                {"16 requirements: 8193 each", 16, 1000, 1, 512, (4 << 20) / 8193},
                {"1000 workloads with 250 labels", 16, 1000, 1000, 250000, (32 << 20) / 4001000},
                {"one is just within", 1, 2, 0, TIGHT, 1},
                {"both are just within", 1, 2, 0, TIGHT / 2, 2},
                {"both are one over", 1, 2, 1, TIGHT / 2, 1},
                {"the first is one over", 1, 2, 1, TIGHT, 0},
                {"figures that are huge", 32, 3, INT32_MAX, INT64_MAX / 64, 0},
        };
        struct requirement of[32];
        for (size_t i = 0; i < 32; i++)
                of[i] = (struct requirement){.key = WORD("k"), .op = OP_EXISTS};
        struct profile **list = mem_new_array(PROFILES, sizeof *list);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct selector selector = {of, row[i].requirements};
                struct profile_spec spec = {.selector = &selector};
                struct profile p = {.spec = &spec};
                for (size_t k = 0; k < PROFILES; k++)
                        list[k] = &p;
                const struct profile_list l = {.of = list, .count = row[i].profiles};
                const struct profile_subjects subjects[DIMENSIONS] = {
                        [DIMENSION_WORKLOAD] = {row[i].count, row[i].labels},
                        [DIMENSION_POD] = {INT32_MAX, INT32_MAX}}; /* other dimensions do not count */
                size_t within = profile_list_within(&l, subjects);
                if (within != row[i].want)
                        fail_msg("%s: %zu", row[i].what, within);
        }
        mem_free(list);
}

/* --- in the cache --- */

/* Labels l0=x and so on, as JSON. */
static char *labels_new(int count)
{
        struct buf b;
        buf_init(&b, 1 << 16);
        for (int i = 0; i < count; i++)
                buf_printf(&b, "%s\"l%d\":\"x\"", i ? "," : "", i);
        return buf_steal(&b);
}

static void put_workloads(struct cache *w, const char *ns, int first, int count, int labels)
{
        AUTO(mem_free) char *text = labels_new(labels);
        AUTO(mem_free) char *meta = mem_printf(",\"labels\":{%s}", text);
        for (int i = first; i < first + count; i++) {
                AUTO(mem_free) char *name = mem_printf("w%d", i);
                shop_workload(w, &(struct shop_workload){"apps", "Deployment", ns, name, i + 1, meta,
                                                         "\"replicas\":1,\"template\":{}", NULL});
        }
}

/* A Profile that asks for 15 labels that its workloads lack to be absent, and for one to be there, or not. */
static void put_profile(struct cache *w, const char *ns, const char *name, int priority, int created, bool matches)
{
        struct err err = {0};
        AUTO(buf_release) struct buf b;
        buf_init(&b, 1 << 16);
        for (int i = 0; i < 15; i++)
                buf_printf(&b, "{\"key\":\"none%d\",\"operator\":\"DoesNotExist\"},", i);
        AUTO(mem_free)
        char *json = mem_printf("{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"generation\":1,"
                                "\"creationTimestamp\":\"2025-01-01T00:00:%02dZ\"},\"spec\":{\"priority\":%d,"
                                "\"selector\":{\"matchExpressions\":[%s{\"key\":\"%s\",\"operator\":\"Exists\"}]}}}",
                                name, ns, created, priority, buf_text(&b).p, matches ? "l0" : "none");
        if (profile_upsert(w, !*ns, text_of(json), 1, &err) < 0)
                fail_msg("%s", err.text);
}

static const char *chosen(const struct cache *w, const char *ns, const char *name)
{
        const struct workload *wl = workload_find(w, "apps", "Deployment", ns, name);
        return wl->chosen ? wl->chosen->key : "";
}

static bool is_left_out(const struct cache *w, const char *key)
{
        return ((const struct profile *)map_get(&w->profiles, text_of(key)))->left_out;
}

/* 100 workloads with 256 labels: a Profile costs 100 + 16 * 25600, and 81 of them are within 32 Mi. What comes first by
 * priority, then by age, then by name, is in force; what is beyond selects nothing, and nobody selects in its place. */
static void test_first_are_in_force(void **state)
{
        (void)state;
        enum { WITHIN = 81, OTHERS = 30 };
        static const struct {
                const char *name; /* of the Profile that would match */
                int priority, created;
                bool left_out;
        } row[] = {{"z", 1, 59, false},        {"a", -1, 0, true},      {"z", 0, OTHERS - 1, false},
                   {"a", 0, OTHERS + 1, true}, {"a", 0, OTHERS, false}, {"z", 0, OTHERS, true}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct cache w;
                cache_init(&w, "halflife", "halflife");
                put_workloads(&w, "mallory", 0, 100, LABELS_MOST);
                put_workloads(&w, "shop", 200, 1, 1);
                for (int k = 0; k < WITHIN + 1; k++) {
                        AUTO(mem_free) char *name = mem_printf("b%02d", k);
                        put_profile(&w, "mallory", name, 0, OTHERS, false);
                }
                put_profile(&w, "mallory", row[i].name, row[i].priority, row[i].created, true);
                put_profile(&w, "shop", "own", 0, 0, true);
                put_profile(&w, "", "all", 0, 0, true);
                cache_relink(&w, at);
                AUTO(mem_free) char *key = mem_printf("mallory/%s", row[i].name);
                const struct profile_list *l = &ns_find(&w, "mallory")->profiles;
                if (l->count - l->left_out != WITHIN)
                        fail_msg("row %zu: %zu are left out", i, l->left_out);
                if (is_left_out(&w, key) != row[i].left_out)
                        fail_msg("row %zu: left out is %d", i, !row[i].left_out);
                if (strcmp(chosen(&w, "mallory", "w0"), row[i].left_out ? "" : key) != 0)
                        fail_msg("row %zu: %s is chosen", i, chosen(&w, "mallory", "w0"));
                assert_string_equal(chosen(&w, "shop", "w200"), "shop/own");
                assert_false(is_left_out(&w, "shop/own"));
                assert_false(is_left_out(&w, "/all"));
                cache_release(&w);
        }
}

/* Once the namespace asks for less, all are in force again. */
static void test_fewer(void **state)
{
        (void)state;
        enum { PROFILES = 100 };
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        put_workloads(&w, "mallory", 0, 100, LABELS_MOST);
        for (int k = 0; k < PROFILES; k++) {
                AUTO(mem_free) char *name = mem_printf("b%02d", k);
                put_profile(&w, "mallory", name, 0, 0, k == PROFILES - 1);
        }
        cache_relink(&w, at);
        assert_true(is_left_out(&w, "mallory/b99"));
        assert_string_equal(chosen(&w, "mallory", "w0"), "");
        put_workloads(&w, "mallory", 0, 100, LABELS_MOST / 2);
        cache_relink(&w, at);
        assert_false(is_left_out(&w, "mallory/b99"));
        assert_string_equal(chosen(&w, "mallory", "w0"), "mallory/b99");
        cache_release(&w);
}

/* --- whom Profiles are compared with --- */

static const struct profile_subjects *subjects_of(const struct cache *w)
{
        return ns_find(w, "web")->subjects;
}

static void expect_subjects(const struct cache *w, enum dimension d, int64_t count, int64_t labels)
{
        const struct profile_subjects *s = &subjects_of(w)[d];
        if (s->count != count || s->labels != labels)
                fail_msg("dimension %d: %lld with %lld labels", d, (long long)s->count, (long long)s->labels);
}

/* Pods count where a Profile asks for them: by their workload's labels. */
static void test_subjects(void **state)
{
        (void)state;
        static const char labels[] = ",\"labels\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}";
        struct cache w;
        cache_init(&w, "halflife", "halflife");
        shop_workload(&w, &(struct shop_workload){"apps", "Deployment", "web", "web", 1, labels,
                                                  "\"replicas\":2,\"template\":{}", NULL});
        shop_pod(&w, 1, 0, 0);
        shop_pod(&w, 2, 0, 0);
        cache_relink(&w, at);
        expect_subjects(&w, DIMENSION_WORKLOAD, 0, 0); /* there is no Profile */
        shop_profile(&w, 1, "{}");
        cache_relink(&w, at);
        expect_subjects(&w, DIMENSION_WORKLOAD, 1, 3);
        expect_subjects(&w, DIMENSION_NAMESPACE, 0, 0);
        shop_profile(&w, 2, "{\"dimension\":\"Namespace\"}");
        cache_relink(&w, at);
        expect_subjects(&w, DIMENSION_POD, 1, 3);
        expect_subjects(&w, DIMENSION_NAMESPACE, 2, 6);
        cache_release(&w);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_first_are_in_force),
                cmocka_unit_test(test_fewer),
                cmocka_unit_test(test_subjects),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
