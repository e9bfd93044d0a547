/*
 * The table of the API server's resources that halflife reads or writes. Workload kinds have a table of their own
 * (core/kind.h); those built into Kubernetes are also here, for their permissions.
 */
#ifndef HALFLIFE_KUBE_KNOWN_RESOURCE_H
#define HALFLIFE_KUBE_KNOWN_RESOURCE_H

#include <stdbool.h>

/*
 * halflife's own kinds. halflife reads and writes these kinds in the version that their CRDs store, so that it works
 * with the CRDs of the version before and of the one after: docs/design/0016-two-versions-one-schema.md. People write
 * OWN_PRESENT_VERSION; CRDs that do not serve it are those of an older halflife.
 */
#define OWN_GROUP           "halflife.dev"
#define OWN_VERSION         "v1alpha1"
#define OWN_PRESENT_VERSION "v1beta1"
#define OWN_API_VERSION     OWN_GROUP "/" OWN_VERSION

enum known_resource_id {
#define CORE_RESOURCE(id, ...) KNOWN_##id,
#define RESOURCE(id, ...)      KNOWN_##id,
#include "kube/known_resource.def"
        KNOWN_RESOURCES
};

struct known_resource {
        const char *group, *version, *plural; /* version: used unless discovery has found another */
        const char *kind;
        const char *name; /* for people: "nodes", "leases.coordination.k8s.io" */
        bool namespaced;
        bool optional; /* a CRD of another project, which need not be installed */
};
extern const struct known_resource known_resources[KNOWN_RESOURCES];

/* The resource's path, by path_of. ns NULL: all namespaces; name NULL: the collection; subresource NULL: none. The
 * caller frees it. */
char *known_resource_path(enum known_resource_id id, const char *ns, const char *name, const char *subresource);
/* The path at which discovery lists the resources of the group and version (an APIResourceList). The caller frees
 * it. */
char *known_resource_version_path(enum known_resource_id id);

#endif
