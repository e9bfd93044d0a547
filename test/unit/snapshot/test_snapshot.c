#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/kind.h"
#include "snapshot/snapshot.h"

#define WORD(s) ((char *)(uintptr_t)(s))

static const struct snapshot_target *put_target(struct snapshot *v, const char *ns, const char *kind, const char *name)
{
        struct snapshot_target *t = arena_new(&v->arena, sizeof *t);
        *t = (struct snapshot_target){
                .ns = ns,
                .group = "apps",
                .kind = kind,
                .name = name,
                .recommendation = arena_text(&v->arena, text_of(name)),
        };
        char key[KIND_NAME_MAX];
        kind_recommendation_name(TEXT("apps"), text_of(kind), text_of(name), key);
        t->recommendation = arena_text(&v->arena, text_of(key));
        snapshot_add_target(v, t);
        return t;
}

static void test_targets_are_found(void **state)
{
        (void)state;
        struct snapshot *v = snapshot_new();
        assert_null(snapshot_find(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), TEXT("web")));
        char name[64][8];
        for (int i = 0; i < 64; i++) {
                snprintf(name[i], sizeof name[i], "w%d", (i * 37) % 64);
                put_target(v, i % 2 ? "shop" : "bank", i % 3 ? "Deployment" : "StatefulSet", name[i]);
        }
        snapshot_finish(v);
        assert_int_equal(v->targets, 64);
        for (int i = 0; i < 64; i++) {
                struct text ns = text_of(i % 2 ? "shop" : "bank"), other = text_of(i % 2 ? "bank" : "shop");
                struct text kind = text_of(i % 3 ? "Deployment" : "StatefulSet");
                const struct snapshot_target *t = snapshot_find(v, ns, TEXT("apps"), kind, text_of(name[i]));
                assert_non_null(t);
                assert_string_equal(t->name, name[i]);
                assert_null(snapshot_find(v, other, TEXT("apps"), kind, text_of(name[i])));
                assert_null(snapshot_find(v, ns, TEXT("argoproj.io"), kind, text_of(name[i])));
        }
        for (size_t i = 1; i < v->targets; i++) {
                const struct snapshot_target *a = v->target[i - 1], *b = v->target[i];
                int way = strcmp(a->ns, b->ns);
                assert_true(way < 0 || (way == 0 && strcmp(a->recommendation, b->recommendation) < 0));
                assert_int_equal(snapshot_after(v, text_of(a->ns), text_of(a->recommendation)), i);
        }
        assert_int_equal(snapshot_after(v, TEXT(""), TEXT("")), 0);
        assert_int_equal(snapshot_after(v, TEXT("shop"), TEXT("")), 32);
        assert_int_equal(snapshot_after(v, TEXT("zoo"), TEXT("")), 64);
        snapshot_drop(v);
}

static void test_labels(void **state)
{
        (void)state;
        struct snapshot *v = snapshot_new();
        struct label_pair in[] = {{TEXT("app"), TEXT("web")}, {TEXT("empty"), {NULL, 0}}, {TEXT("x"), TEXT("1")}},
                          out[3];
        uint32_t size;
        const char *packed = snapshot_labels(v, in, 3, &size);
        assert_int_equal(snapshot_unpack_labels(packed, size, out, 3), 3);
        for (int i = 0; i < 3; i++) {
                assert_true(text_equal(in[i].key, out[i].key));
                assert_true(text_equal(in[i].value, out[i].value));
        }
        assert_int_equal(snapshot_unpack_labels(packed, size, out, 2), 2);
        packed = snapshot_labels(v, NULL, 0, &size);
        assert_int_equal(snapshot_unpack_labels(packed, size, out, 3), 0);
        snapshot_drop(v);
}

/* Five profiles: among those that select a workload, precedence decides. */
static void test_choose(void **state)
{
        (void)state;
        static char *own[] = {WORD("kube-system")};
        static struct requirement by_name = {WORD("kubernetes.io/metadata.name"), OP_IN, own, 1};
        static struct selector shop = {.of = &by_name, .count = 1};
        static struct profile_spec low, high = {.priority = 5}, named = {.priority = 9, .namespace_selector = &shop};
        static const struct snapshot_profile row[] = {
                {.name = "b", .created_ms = 2, .spec = &low},
                {.name = "a", .created_ms = 2, .spec = &low},
                {.name = "z", .created_ms = 9, .spec = &high},
                {.name = "team", .ns = "shop", .spec = &low},
                {.name = "system", .spec = &named},
        };
        static const char system_labels[] = "kubernetes.io/metadata.name\0kube-system";
        static const struct snapshot_ns ns[] = {
                {.name = "shop", .labels = ""},
                {.name = "kube-system", .labels = system_labels, .labels_size = sizeof system_labels, .system = true}};
        struct snapshot *v = snapshot_new();
        for (size_t i = 0; i < 5; i++)
                snapshot_add_profile(v, &row[i]);
        snapshot_add_ns(v, &ns[0]);
        snapshot_add_ns(v, &ns[1]);
        snapshot_finish(v);
        static const struct {
                const char *ns, *kind, *want;
        } want[] = {
                {"shop", "Deployment", "team"}, {"bank", "Deployment", "z"}, {"kube-system", "Deployment", "system"},
                {"shop", "Job", NULL},          {"shop", "Widget", NULL},
        };
        for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
                const struct snapshot_profile *p =
                        snapshot_choose(v, text_of(want[i].ns), TEXT("apps"), text_of(want[i].kind), NULL, 0);
                if (!p != !want[i].want || (p && strcmp(p->name, want[i].want) != 0))
                        fail_msg("row %zu: %s", i, p ? p->name : "none");
        }
        /* profiles of other dimensions are asked for by other kinds */
        assert_null(snapshot_choose(v, TEXT("shop"), TEXT(""), TEXT("Pod"), NULL, 0));
        assert_null(snapshot_choose(v, TEXT("shop"), TEXT(""), TEXT("Namespace"), NULL, 0));
        low.dimension = DIMENSION_POD;
        assert_string_equal(snapshot_choose(v, TEXT("shop"), TEXT(""), TEXT("Pod"), NULL, 0)->name, "team");
        assert_string_equal(snapshot_choose(v, TEXT("shop"), TEXT("apps"), TEXT("Deployment"), NULL, 0)->name, "z");
        low.dimension = DIMENSION_NAMESPACE;
        assert_string_equal(snapshot_choose(v, TEXT("bank"), TEXT(""), TEXT("Namespace"), NULL, 0)->name, "a");
        low.dimension = DIMENSION_WORKLOAD;
        assert_string_equal(v->profile[1]->name, "system");
        assert_string_equal(v->profile[3]->name, "a");
        assert_ptr_equal(snapshot_find_ns(v, TEXT("shop")), &ns[0]);
        assert_null(snapshot_find_ns(v, TEXT("sho")));
        snapshot_drop(v);
}

/* Many names, more than are remembered: each is equal to what was given, and one just given is not copied again. */
static void test_names(void **state)
{
        (void)state;
        struct snapshot *v = snapshot_new();
        char name[16];
        for (int i = 0; i < 2000; i++) {
                snprintf(name, sizeof name, "n%d", i % 700);
                const char *copy = snapshot_name(v, name);
                assert_string_equal(copy, name);
                assert_ptr_not_equal(copy, name);
                assert_ptr_equal(snapshot_name(v, name), copy);
        }
        assert_null(snapshot_name(v, NULL));
        snapshot_drop(v);
}

static void count_drop(void *p)
{
        (*(int *)p)++;
}

static void test_conditions_are_shared_while_they_are_the_same(void **state)
{
        (void)state;
        struct snapshot *v = snapshot_new();
        const struct snapshot_condition good[] = {{"Ready", "Ready", true}, {"Applied", "Mode", false}};
        struct snapshot_condition bad[] = {{"Ready", "Ready", true}, {"Applied", "Mode", true}};
        const struct snapshot_condition *one = snapshot_conditions(v, good, 2), *two = snapshot_conditions(v, good, 2);
        assert_ptr_equal(one, two);
        const struct snapshot_condition *other = snapshot_conditions(v, bad, 2);
        bad[1].status = false; /* what was copied stays */
        assert_true(one[0].status && !one[1].status && other[1].status);
        assert_string_equal(other[1].type, "Applied");
        assert_ptr_not_equal(snapshot_conditions(v, good, 1), one);
        snapshot_conditions(v, NULL, 0);
        snapshot_drop(v);
}

static void test_the_last_reference_frees(void **state)
{
        (void)state;
        int dropped = 0;
        struct snapshot *v = snapshot_new();
        snapshot_keep(v, &dropped, count_drop);
        snapshot_keep(v, &dropped, count_drop);
        assert_ptr_equal(snapshot_hold(v), v);
        snapshot_drop(v);
        assert_int_equal(dropped, 0);
        snapshot_drop(v);
        assert_int_equal(dropped, 2);
        snapshot_drop(NULL);
}

/* Where a Profile of the namespace is left out, neither it nor those after it select anything, and no ClusterProfile
 * does in their place; those before it select as ever, and other namespaces know nothing of it. */
static void test_left_out(void **state)
{
        (void)state;
        static char *web[] = {WORD("web")};
        static struct requirement app = {WORD("app"), OP_IN, web, 1};
        static struct selector of_web = {.of = &app, .count = 1};
        static struct profile_spec first = {.priority = 9, .selector = &of_web}, second = {.priority = 5}, all;
        static const struct label_pair label[] = {{TEXT("app"), TEXT("web")}};
        static const struct snapshot_profile row[] = {
                {.name = "last", .ns = "shop", .left_out = true, .spec = &all},
                {.name = "first", .ns = "shop", .spec = &first},
                {.name = "second", .ns = "shop", .left_out = true, .spec = &second},
                {.name = "all", .spec = &all},
        };
        static const struct {
                const char *ns;
                size_t labels;
                const char *want;
        } want[] = {{"shop", 1, "first"}, {"shop", 0, NULL}, {"bank", 1, "all"}, {"bank", 0, "all"}};
        struct snapshot *v = snapshot_new();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                snapshot_add_profile(v, &row[i]);
        snapshot_finish(v);
        for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
                const struct snapshot_profile *p = snapshot_choose(v, text_of(want[i].ns), TEXT("apps"),
                                                                   TEXT("Deployment"), label, want[i].labels);
                if (!p != !want[i].want || (p && strcmp(p->name, want[i].want) != 0))
                        fail_msg("row %zu: %s", i, p ? p->name : "none");
        }
        snapshot_drop(v);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_targets_are_found),
                cmocka_unit_test(test_labels),
                cmocka_unit_test(test_choose),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_conditions_are_shared_while_they_are_the_same),
                cmocka_unit_test(test_the_last_reference_frees),
                cmocka_unit_test(test_left_out),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
