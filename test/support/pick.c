#include "pick.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

json_t *pick(const json_t *root, const char *path)
{
        while (root && *path) {
                if (*path == '[') {
                        char *end;
                        root = json_array_get(root, strtoul(path + 1, &end, 10));
                        path = end + 1;
                } else {
                        size_t len = strcspn(path, ".[");
                        root = json_object_getn(root, path, len);
                        path += len;
                }
                path += *path == '.';
        }
        return (json_t *)(uintptr_t)root;
}

const char *pick_text(const json_t *root, const char *path)
{
        static _Thread_local char *kept[8];
        static _Thread_local unsigned turn;
        const json_t *at = pick(root, path);
        if (!at)
                return "-";
        if (json_is_string(at))
                return json_string_value(at);
        char **slot = &kept[turn++ % 8];
        free(*slot);
        return *slot = json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
}
