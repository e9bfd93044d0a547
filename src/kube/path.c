#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/client.h"

enum { PATH_MAX_BYTES = 64 << 10 };

char *path_escape(const char *s)
{
        static const char hex[] = "0123456789ABCDEF";
        char *out = mem_new(strlen(s) * 3 + 1), *to = out;
        for (; *s; s++) {
                unsigned char c = (unsigned char)*s;
                bool plain =
                        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
                if (plain) {
                        *to++ = *s;
                } else {
                        *to++ = '%';
                        *to++ = hex[c >> 4];
                        *to++ = hex[c & 15];
                }
        }
        return out;
}

static void add_part(struct buf *b, const char *part)
{
        if (!part)
                return;
        AUTO(mem_free) char *escaped = path_escape(part);
        (void)buf_printf(b, "/%s", escaped); /* a path that does not fit would be refused by the server as well */
}

char *path_of(const char *group, const char *version, const char *ns, const char *plural, const char *name,
              const char *subresource)
{
        struct buf b;
        buf_init(&b, PATH_MAX_BYTES);
        add_part(&b, group[0] ? "apis" : "api");
        add_part(&b, group[0] ? group : NULL);
        add_part(&b, version);
        add_part(&b, ns ? "namespaces" : NULL);
        add_part(&b, ns);
        add_part(&b, plural);
        add_part(&b, name);
        add_part(&b, subresource);
        return buf_steal(&b);
}
