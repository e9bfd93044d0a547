#include "cache/profile_specs.h"

#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "core/sha256.h"

static struct text digest_key(const uint8_t digest[static 32])
{
        return (struct text){(const char *)digest, 32};
}

static void spec_digest(const json_t *json, uint8_t ret[static 32])
{
        struct sha256 s;
        char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
        sha256_init(&s);
        if (text)
                sha256_add(&s, text, strlen(text));
        sha256_finish(&s, ret);
        free(text);
}

struct shared_profile_spec *profile_specs_take(struct cache *w, const json_t *json, struct err *err)
{
        uint8_t digest[32];
        struct profile_spec spec;
        spec_digest(json, digest);
        struct shared_profile_spec *s = map_get(&w->specs, digest_key(digest));
        if (!s) {
                if (profile_spec_read(json, &spec, err) < 0)
                        return NULL;
                s = MEM_NEW(struct shared_profile_spec);
                memcpy(s->digest, digest, sizeof s->digest);
                s->spec = profile_spec_share(&spec);
                map_put(&w->specs, digest_key(s->digest), s);
        }
        s->users++;
        return s;
}

void profile_specs_drop(struct cache *w, struct shared_profile_spec *s)
{
        if (!s || --s->users > 0)
                return;
        map_drop(&w->specs, digest_key(s->digest));
        if (w->specs.count == 0)
                map_release(&w->specs);
        profile_spec_drop(s->spec);
        mem_free(s);
}
