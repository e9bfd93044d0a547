/*
 * The table of the API server's resources that halflife reads or writes. Workload kinds have a table of their own
 * (core/kind.h); those built into Kubernetes are also here, for their permissions.
 */
#ifndef HALFLIFE_KUBE_KNOWN_RESOURCE_H
#define HALFLIFE_KUBE_KNOWN_RESOURCE_H

#include <stdbool.h>

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
