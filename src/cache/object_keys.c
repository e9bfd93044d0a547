#include "cache/object_keys.h"

#include <string.h>

#include "cache/cache.h"

void key_split(struct text api_version, struct text *ret_group, struct text *ret_version)
{
        const char *slash = api_version.len ? memchr(api_version.p, '/', api_version.len) : NULL;
        if (!slash) {
                *ret_group = (struct text){"", 0};
                *ret_version = api_version;
                return;
        }
        size_t len = (size_t)(slash - api_version.p);
        *ret_group = (struct text){api_version.p, len};
        *ret_version = (struct text){slash + 1, api_version.len - len - 1};
}

struct text key_of_object(struct cache *w, const struct object_view *view)
{
        size_t len = view->ns.len + 1 + view->name.len;
        char *key = arena_new(&w->scratch, len + 1);
        memcpy(key, view->ns.p, view->ns.len);
        key[view->ns.len] = '/';
        memcpy(key + view->ns.len + 1, view->name.p, view->name.len);
        return (struct text){key, len};
}
