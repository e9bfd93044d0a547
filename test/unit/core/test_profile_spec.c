#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/profile_spec.h"

#define WORD(s) ((char *)(uintptr_t)(s))

static void test_container(void **state)
{
        (void)state;
        struct profile_container container[] = {{.name = WORD("*"), .ignore = true}, {.name = WORD("app")}};
        struct profile_spec p = {.containers = 2, .container = container};
        bool ignore;
        assert_ptr_equal(profile_spec_container(&p, TEXT("app"), &ignore), p.container[1].of);
        assert_false(ignore);
        assert_ptr_equal(profile_spec_container(&p, TEXT("ap"), &ignore), p.container[0].of);
        assert_true(ignore);
        assert_ptr_equal(profile_spec_container(&p, TEXT("*"), &ignore), p.of); /* the whole, not the rest */
        assert_false(ignore);
        p.containers = 0;
        assert_ptr_equal(profile_spec_container(&p, TEXT("app"), &ignore), p.of);
        assert_false(ignore);
}

/* A Deployment of namespace shop, labelled tier=web; the namespace is labelled env=prod. */
static const struct label_pair ns_label[] = {{TEXT("env"), TEXT("prod")}}, label[] = {{TEXT("tier"), TEXT("web")}};
static struct profile_subject subject(void)
{
        return (struct profile_subject){.ns = TEXT("shop"),
                                        .ns_label = ns_label,
                                        .ns_labels = 1,
                                        .group = TEXT("apps"),
                                        .kind = TEXT("Deployment"),
                                        .by_default = true,
                                        .label = label,
                                        .labels = 1};
}
#define CLUSTER ((struct text){NULL, 0})

/* Profiles of one dimension know nothing of the others. A Namespace is chosen by its own labels alone; its pods are
 * asked about by their workloads. */
static void test_dimension(void **state)
{
        (void)state;
        struct selector tier = {.of = (struct requirement[]){{WORD("tier"), OP_IN, (char *[]){WORD("web")}, 1}},
                                .count = 1};
        struct profile_spec p = {.dimension = DIMENSION_NAMESPACE, .selector = &tier};
        struct profile_subject s = subject();
        assert_false(profile_selects(&p, CLUSTER, &s));
        s.dimension = DIMENSION_NAMESPACE;
        assert_true(profile_selects(&p, CLUSTER, &s));
        s.labels = 0;
        assert_false(profile_selects(&p, CLUSTER, &s));
        s.group = TEXT("");
        s.kind = TEXT("Namespace");
        assert_true(profile_selects(&p, CLUSTER, &s));
        assert_false(profile_selects(&p, TEXT("other"), &s));
        p.dimension = DIMENSION_WORKLOAD;
        assert_false(profile_selects(&p, CLUSTER, &s));
}

/* A node is chosen by its own labels, in no namespace, and never by a team's Profile. */
static void test_nodes(void **state)
{
        (void)state;
        struct selector tier = {.of = (struct requirement[]){{WORD("tier"), OP_IN, (char *[]){WORD("web")}, 1}},
                                .count = 1};
        struct profile_spec p = {.dimension = DIMENSION_NODE};
        struct profile_subject s = subject();
        s.dimension = DIMENSION_NODE;
        s.group = TEXT("");
        s.kind = TEXT("Node");
        s.system = true;
        assert_true(profile_selects(&p, CLUSTER, &s));
        assert_false(profile_selects(&p, s.ns, &s));
        p.selector = &tier;
        assert_true(profile_selects(&p, CLUSTER, &s));
        s.labels = 0;
        assert_false(profile_selects(&p, CLUSTER, &s));
}

static void test_selects_namespaces(void **state)
{
        (void)state;
        struct selector prod = {.of = (struct requirement[]){{WORD("env"), OP_IN, (char *[]){WORD("prod")}, 1}},
                                .count = 1};
        struct selector by_name = {
                .of = (struct requirement[]){{WORD("kubernetes.io/metadata.name"), OP_IN, (char *[]){WORD("shop")}, 1}},
                .count = 1};
        struct profile_subject s = subject();
        struct profile_spec p = {0};
        assert_true(profile_selects(&p, CLUSTER, &s));
        assert_true(profile_selects(&p, TEXT("shop"), &s));
        assert_false(profile_selects(&p, TEXT("sho"), &s));
        p.namespace_selector = &prod;
        assert_true(profile_selects(&p, CLUSTER, &s));
        s.ns_labels = 0;
        assert_false(profile_selects(&p, CLUSTER, &s));
        /* A system namespace: only by its name. */
        s = subject();
        s.system = true;
        assert_false(profile_selects(&p, CLUSTER, &s));
        static const struct label_pair own[] = {{TEXT("kubernetes.io/metadata.name"), TEXT("shop")}};
        s.ns_label = own;
        p.namespace_selector = NULL;
        assert_false(profile_selects(&p, CLUSTER, &s));
        p.namespace_selector = &by_name;
        assert_true(profile_selects(&p, CLUSTER, &s));
        assert_true(profile_selects(&(struct profile_spec){0}, TEXT("shop"), &s));
}

static void test_selects_kinds(void **state)
{
        (void)state;
        static const struct {
                const char *api_version, *kind;
                bool want;
        } row[] = {
                {"apps/v1", "Deployment", true},   {"apps/v1beta2", "Deployment", true},
                {"apps/v1", "StatefulSet", false}, {"v1", "Deployment", false},
                {"app/v1", "Deployment", false},   {"apps.example.com/v1", "Deployment", false},
        };
        struct profile_subject s = subject();
        s.by_default = false;
        assert_false(profile_selects(&(struct profile_spec){0}, CLUSTER, &s));
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct profile_target target[] = {{WORD("batch/v1"), WORD("Job")},
                                                  {WORD(row[i].api_version), WORD(row[i].kind)}};
                struct profile_spec p = {.targets = 2, .target = target};
                if (profile_selects(&p, CLUSTER, &s) != row[i].want)
                        fail_msg("row %zu", i);
        }
        s.group = TEXT("");
        struct profile_target deployment = {WORD("v1"), WORD("Deployment")};
        struct profile_spec core = {.targets = 1, .target = &deployment};
        assert_true(profile_selects(&core, CLUSTER, &s));
        /* What targets[] names is all it means. */
        s = subject();
        struct profile_target job[] = {{WORD("batch/v1"), WORD("Job")}, deployment /* behind the last */};
        struct profile_spec jobs = {.targets = 1, .target = job};
        assert_false(profile_selects(&jobs, CLUSTER, &s));
        s.group = TEXT("");
        assert_false(profile_selects(&jobs, CLUSTER, &s));
}

static void test_selects_labels(void **state)
{
        (void)state;
        struct selector web = {.of = (struct requirement[]){{WORD("tier"), OP_IN, (char *[]){WORD("web")}, 1}},
                               .count = 1};
        struct profile_spec p = {.selector = &web};
        struct profile_subject s = subject();
        assert_true(profile_selects(&p, CLUSTER, &s));
        s.labels = 0;
        assert_false(profile_selects(&p, CLUSTER, &s));
}

/* In the order of precedence: each beats all behind it, and neither itself nor any before it. */
static void test_beats(void **state)
{
        (void)state;
        static const struct profile_rank row[] = {
                {false, 5, 100, "a"}, {false, -1, 100, "a"}, {true, 9, 200, "z"},
                {true, 8, 99, "m"},   {true, 8, 100, "b"},   {true, 8, 100, "c"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                for (size_t k = 0; k < sizeof row / sizeof row[0]; k++)
                        if (profile_beats(row[i], row[k]) != (i < k))
                                fail_msg("rows %zu and %zu", i, k);
}

/* What a choice may compare: the namespace and the kinds once, the values once, and each requirement with each label.
 */
static void test_cost(void **state)
{
        (void)state;
        char *two[] = {WORD("a"), WORD("b")};
        struct requirement of[] = {
                {WORD("tier"), OP_IN, two, 2}, {WORD("app"), OP_EXISTS, NULL, 0}, {WORD("track"), OP_NOT_IN, two, 1}};
        struct profile_target target[2] = {{WORD("apps/v1"), WORD("Deployment")}, {WORD("v1"), WORD("Pod")}};
        const struct {
                size_t requirements;
                int targets;
                struct profile_cost want;
        } row[] = {{0, 0, {1, 0}}, {0, 2, {3, 0}}, {1, 0, {3, 1}}, {2, 1, {4, 2}}, {3, 2, {6, 3}}};
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct selector selector = {of, row[i].requirements};
                struct profile_spec p = {.selector = row[i].requirements ? &selector : NULL,
                                         .target = target,
                                         .targets = row[i].targets};
                struct profile_cost cost = profile_spec_cost(&p);
                if (cost.subject != row[i].want.subject || cost.label != row[i].want.label)
                        fail_msg("row %zu: %lld, %lld", i, (long long)cost.subject, (long long)cost.label);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_container),     cmocka_unit_test(test_dimension),
                cmocka_unit_test(test_nodes),         cmocka_unit_test(test_selects_namespaces),
                cmocka_unit_test(test_selects_kinds), cmocka_unit_test(test_selects_labels),
                cmocka_unit_test(test_beats),         cmocka_unit_test(test_cost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
