#include "json_patch.h"

#include <stdlib.h>
#include <string.h>

/* Walk to the parent of a path's last part, which is put, unescaped, into last. */
static json_t *walk(json_t *at, const char *path, char last[static 128])
{
        while (at && *path == '/') {
                size_t len = 0;
                for (path++; *path && *path != '/'; path++) {
                        bool escape = *path == '~';
                        last[len++] = escape ? (*++path == '1' ? '/' : '~') : *path;
                }
                last[len] = '\0';
                if (*path)
                        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(last)) : json_object_get(at, last);
        }
        return at;
}

static bool apply_op(json_t *object, json_t *o)
{
        char last[128];
        const char *op = json_string_value(json_object_get(o, "op"));
        json_t *value = json_object_get(o, "value");
        json_t *parent = walk(object, json_string_value(json_object_get(o, "path")), last);
        json_t *old = json_object_get(parent, last);
        if (!json_is_object(parent))
                return false;
        if (strcmp(op, "test") == 0)
                return old && json_equal(old, value);
        if (strcmp(op, "add") == 0)
                return json_object_set_new(parent, last, json_deep_copy(value)) == 0;
        if (!old)
                return false;
        if (strcmp(op, "replace") == 0)
                return json_object_set_new(parent, last, json_deep_copy(value)) == 0;
        return strcmp(op, "remove") == 0 && json_object_del(parent, last) == 0;
}

bool json_patch_apply(json_t *object, const json_t *patch)
{
        size_t i;
        json_t *o;
        json_array_foreach(patch, i, o) if (!apply_op(object, o)) return false;
        return true;
}
