/* Which labels mark whose an object is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/ownership_label.h"

static void test_ownership_label(void **state)
{
        (void)state;
        static const struct row {
                const char *key, *more;
                bool marks;
        } rows[] = {
                {"app.kubernetes.io/instance", NULL, true},
                {"app.kubernetes.io/managed-by", NULL, true},
                {"argocd.argoproj.io/instance", NULL, true},
                {"applyset.kubernetes.io/part-of", NULL, true},
                {"kapp.k14s.io/app", NULL, true},
                {"kapp.k14s.io/association", NULL, true},
                {"kustomize.toolkit.fluxcd.io/name", NULL, true},
                {"helm.toolkit.fluxcd.io/namespace", NULL, true},
                {"objectset.rio.cattle.io/hash", NULL, true},
                {"addon.kops.k8s.io/name", NULL, true},
                {"dev.okteto.com/deployed-by", NULL, true},
                {"stack.okteto.com/name", NULL, true},
                {"kluctl.io/discriminator", NULL, true},
                {"qbec.io/environment", NULL, true},
                {"kubecfg.ksonnet.io/garbage-collect-tag", NULL, true},
                {"gitops.jenkins-x.io/pipeline", NULL, true},
                {"projectsveltos.io/reference-name", NULL, true},
                {"karmada.io/managed", NULL, true},
                {"work.karmada.io/permanent-id", NULL, true},
                {"resourcebinding.karmada.io/permanent-id", NULL, true},
                {"propagationpolicy.karmada.io/permanent-id", NULL, true},
                {"clusterpropagationpolicy.karmada.io/permanent-id", NULL, true},
                {"clusterctl.cluster.x-k8s.io", NULL, true},
                {"clusterctl.cluster.x-k8s.io/core", NULL, true},
                {"cluster.x-k8s.io/provider", NULL, true},
                {"olm.operatorframework.io/owner-name", NULL, true},
                {"olm.owner", NULL, true},
                {"olm.owner.kind", NULL, true},
                {"operators.coreos.com/", NULL, true}, /* the last of the list, and nothing behind its slash */
                /* what people select by stays */
                {"app", NULL, false},
                {"app.kubernetes.io/name", NULL, false},
                {"app.kubernetes.io/part-of", NULL, false},
                {"app.kubernetes.io/instances", NULL, false},
                {"app.kubernetes.io/instanc", NULL, false},
                {"argocd.argoproj.io", NULL, false},
                {"helm.sh/chart", NULL, false},
                {"cluster.x-k8s.io/cluster-name", NULL, false},
                {"", NULL, false},
                /* a house's own */
                {"deploy.example.com/app", "deploy.example.com/app", true},
                {"deploy.example.com/app", "team,deploy.example.com/*", true},
                {"team", "team,deploy.example.com/*", true},
                {"teams", "team,deploy.example.com/*", false},
                {"app", "", false},
                {"", "team,,x", false},
                {"app", ",", false},
                {"app", ",app", true},
                {"app", "*", true},
        };
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (ownership_label(text_of(rows[i].key), rows[i].more) != rows[i].marks)
                        fail_msg("'%s' with '%s': not %d", rows[i].key, rows[i].more ? rows[i].more : "",
                                 rows[i].marks);
}

/* An empty pattern has no last byte. */
static void test_an_empty_pattern(void **state)
{
        (void)state;
        char *more = strdup(",team"); /* what is before it is noticed */
        assert_true(ownership_label(TEXT("team"), more));
        free(more);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_ownership_label),
                                           cmocka_unit_test(test_an_empty_pattern)};
        return cmocka_run_group_tests(tests, NULL, NULL);
}
