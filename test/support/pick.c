#include "pick.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* "[3]": by number; "[app]": the one whose name or type is this. */
static json_t *pick_item(const json_t *list, const char *at, size_t len)
{
        char *end;
        size_t i;
        json_t *item;
        unsigned long number = strtoul(at, &end, 10);
        if (len && end == at + len)
                return json_array_get(list, number);
        json_array_foreach(list, i, item)
        {
                const json_t *name = json_object_get(item, "name");
                const char *text = json_string_value(name ? name : json_object_get(item, "type"));
                if (text && strlen(text) == len && memcmp(text, at, len) == 0)
                        return item;
        }
        return NULL;
}

json_t *pick(const json_t *root, const char *path)
{
        while (root && *path) {
                const char *close = *path == '[' ? "]" : *path == '<' ? ">" : ".[<";
                bool quoted = *close != '.';
                const char *at = path + quoted;
                size_t len = strcspn(at, close);
                root = *path == '[' ? pick_item(root, at, len) : json_object_getn(root, at, len);
                path = at + len + (quoted && at[len]);
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
