#include "core/ownership_label.h"

#include <stddef.h>
#include <string.h>

/* In the form of the setting ownership-labels. */
static const char known[] =
        "app.kubernetes.io/instance,"   /* Argo CD, where its application.instanceLabelKey is not set */
        "app.kubernetes.io/managed-by," /* Helm, Config Sync */
        "argocd.argoproj.io/*,"
        "applyset.kubernetes.io/*," /* kubectl apply --prune --applyset */
        "kapp.k14s.io/*,"
        "kustomize.toolkit.fluxcd.io/*,"
        "helm.toolkit.fluxcd.io/*,"
        "resourceset.fluxcd.controlplane.io/*," /* Flux Operator */
        "fluxcd.io/*,"                          /* Flux 1 */
        "objectset.rio.cattle.io/*,"            /* Rancher, Fleet, k3s */
        "addonmanager.kubernetes.io/*,"         /* the add-on manager of managed clusters */
        "kubernetes.io/cluster-service,"
        "k0s.k0sproject.io/stack,"
        "tanka.dev/environment,"
        "skaffold.dev/*,"
        "olm.owner*," /* Operator Lifecycle Manager */
        "operators.coreos.com/*";

static bool ownership_pattern_fits(struct text pattern, struct text key)
{
        bool prefix = pattern.len > 0 && pattern.p[pattern.len - 1] == '*';
        size_t len = pattern.len - prefix;
        return (prefix ? key.len >= len : key.len == len && len > 0) && memcmp(key.p, pattern.p, len) == 0;
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
        return ownership_list_has(known, key) || (more && ownership_list_has(more, key));
}
