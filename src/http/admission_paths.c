#include "http/admission_paths.h"

#include <gnutls/gnutls.h>
#include <string.h>

static bool path_is(struct text path, const char *name)
{
        size_t len = strlen(name);
        return path.len == len + 1 && path.p[0] == '/' && gnutls_memcmp(path.p + 1, name, len) == 0;
}

bool admission_paths_has(const struct admission_paths *p, struct text path)
{
        bool well_known = p->count == 0, has = false;
        for (int i = 0; i < p->count; i++) {
                has |= path_is(path, p->name[i]);
                well_known |= strcmp(p->name[i], ADMISSION_WELL_KNOWN) == 0;
        }
        return has || (well_known && (path_is(path, "") || path_is(path, ADMISSION_WELL_KNOWN)));
}
