#include "kube/resource_list.h"

#include <string.h>

#include "base/yaml.h"

const char *resource_list_find(const json_t *list, const char *name, const char *kind)
{
        size_t i;
        json_t *row;
        json_array_foreach(json_object_get(list, "resources"), i, row)
        {
                const char *named = json_string_value(json_object_get(row, "name"));
                const char *is = json_string_value(json_object_get(row, "kind"));
                if (named && (name ? strcmp(named, name) == 0 : *named && !strchr(named, '/')) &&
                    (!kind || (is && strcmp(is, kind) == 0)))
                        return named;
        }
        return NULL;
}
