/* Any bytes as an answer of aggregated discovery: it is read whole or refused whole. */
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "kube/discovery_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct discovery_index x = {0};
        struct err err = {0};
        struct text key;
        void *value;
        int rc = discovery_index_read(&x, (struct text){(const char *)data, size}, &err);
        MUST(rc == 0 || (rc == ERR_INVALID && err.text[0] && !x.kinds.count && !x.stale.count));
        for (size_t at = 0; map_next(&x.kinds, &at, &key, &value);) {
                struct api_resource r = {0};
                const char *slash = memchr(key.p, '/', key.len);
                MUST(slash && key.p[key.len] == '\0');
                AUTO(mem_free) char *group = mem_string_n(key.p, (size_t)(slash - key.p));
                bool found = discovery_index_find(&x, group, slash + 1, NULL, &r);
                MUST(!found || (strlen(r.plural) > 0 && strlen(r.plural) < sizeof r.plural));
        }
        discovery_index_release(&x);
        return 0;
}
