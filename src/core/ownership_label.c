#include "core/ownership_label.h"

#include <stddef.h>
#include <string.h>

/* The known labels; comments name tools that set them. Each label of each workload is looked up in every cycle, so each
 * pattern is stored with its length. */
static const struct text known[] = {
        TEXT("app.kubernetes.io/instance"),   /* Argo CD, where its application.instanceLabelKey is not set */
        TEXT("app.kubernetes.io/managed-by"), /* Helm, Config Sync */
        TEXT("argocd.argoproj.io/*"),
        TEXT("applyset.kubernetes.io/*"), /* kubectl apply --prune --applyset */
        TEXT("kapp.k14s.io/*"),
        TEXT("kustomize.toolkit.fluxcd.io/*"),
        TEXT("helm.toolkit.fluxcd.io/*"),
        TEXT("resourceset.fluxcd.controlplane.io/*"), /* Flux Operator */
        TEXT("fluxcd.io/*"),                          /* Flux 1 */
        TEXT("objectset.rio.cattle.io/*"),            /* Rancher, Fleet, k3s */
        TEXT("addonmanager.kubernetes.io/*"),         /* the add-on manager of managed clusters */
        TEXT("addon.kops.k8s.io/*"),                  /* kOps prunes objects by this label */
        TEXT("dev.okteto.com/*"),                     /* okteto destroy deletes objects by this label */
        TEXT("stack.okteto.com/*"),
        TEXT("kubernetes.io/cluster-service"),
        TEXT("k0s.k0sproject.io/stack"),
        TEXT("tanka.dev/environment"),
        TEXT("kluctl.io/*"),
        TEXT("qbec.io/*"),
        TEXT("kubecfg.ksonnet.io/*"),
        TEXT("gitops.jenkins-x.io/*"),
        TEXT("projectsveltos.io/*"),
        TEXT("karmada.io/*"),
        TEXT("work.karmada.io/*"),
        TEXT("resourcebinding.karmada.io/*"),
        TEXT("propagationpolicy.karmada.io/*"),
        TEXT("clusterpropagationpolicy.karmada.io/*"),
        TEXT("clusterctl.cluster.x-k8s.io*"), /* clusterctl delete and upgrade find objects of all kinds by this label
                                                 and the next */
        TEXT("cluster.x-k8s.io/provider"),
        TEXT("skaffold.dev/*"),
        TEXT("olm.owner*"),                 /* Operator Lifecycle Manager */
        TEXT("olm.operatorframework.io/*"), /* the second generation of Operator Lifecycle Manager */
        TEXT("operators.coreos.com/*"),
};

static bool ownership_pattern_fits(struct text pattern, struct text key)
{
        bool prefix = pattern.len > 0 && pattern.p[pattern.len - 1] == '*';
        size_t len = pattern.len - prefix;
        if (len == 0)
                return prefix;
        return (prefix ? key.len >= len : key.len == len) && key.p[0] == pattern.p[0] &&
               memcmp(key.p, pattern.p, len) == 0;
}

static bool ownership_list_has(const char *patterns, struct text key)
{
        for (const char *at = patterns; *at;) {
                size_t len = 0;
                while (at[len] && at[len] != ',')
                        len++;
                if (ownership_pattern_fits((struct text){at, len}, key))
                        return true;
                at += len + (at[len] == ',');
        }
        return false;
}

bool ownership_label(struct text key, const char *more)
{
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
                if (ownership_pattern_fits(known[i], key))
                        return true;
        return more && ownership_list_has(more, key);
}
