#include "kube/known_resource.h"

#include "kube/client.h"

#define NAMESPACED .namespaced = true
#define CLUSTER    .namespaced = false
#define OPTIONAL   .namespaced = true, .optional = true

const struct known_resource known_resources[KNOWN_RESOURCES] = {
#define CORE_RESOURCE(id, plural, kind, ...) [KNOWN_##id] = {"", "v1", plural, kind, plural, __VA_ARGS__},
#define RESOURCE(id, group, version, plural, kind, ...)                                                                \
        [KNOWN_##id] = {group, version, plural, kind, plural "." group, __VA_ARGS__},
#include "kube/known_resource.def"
};

char *known_resource_path(enum known_resource_id id, const char *ns, const char *name, const char *subresource)
{
        const struct known_resource *r = &known_resources[id];
        return path_of(r->group, r->version, ns, r->plural, name, subresource);
}

char *known_resource_version_path(enum known_resource_id id)
{
        return path_of(known_resources[id].group, known_resources[id].version, NULL, NULL, NULL, NULL);
}
