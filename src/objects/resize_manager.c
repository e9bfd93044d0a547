#include "objects/resize_manager.h"

#include <string.h>

#include "base/yaml.h"
#include "objects/annotation_record.h"

bool resize_manager_is_other(const json_t *pod, const char *container, enum resource r)
{
        AUTO(mem_free) char *key = mem_printf("k:{\"name\":\"%s\"}", container);
        AUTO(mem_free) char *field = mem_printf("f:%s", resource_name(r));
        static const char *const lists[] = {"f:containers", "f:initContainers"};
        size_t i;
        json_t *entry;
        json_array_foreach(json_object_get(json_object_get(pod, "metadata"), "managedFields"), i, entry)
        {
                const char *sub = json_string_value(json_object_get(entry, "subresource"));
                const char *manager = json_string_value(json_object_get(entry, "manager"));
                const json_t *spec = json_object_get(json_object_get(entry, "fieldsV1"), "f:spec");
                if (!sub || strcmp(sub, "resize") != 0 || !manager || strcmp(manager, FIELD_MANAGER) == 0)
                        continue;
                for (size_t l = 0; l < 2; l++) {
                        const json_t *of = json_object_get(json_object_get(spec, lists[l]), key);
                        const json_t *requests = json_object_get(json_object_get(of, "f:resources"), "f:requests");
                        if (json_object_get(requests, field))
                                return true;
                }
        }
        return false;
}
