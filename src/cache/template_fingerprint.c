/* A digest of a pod template without its requests and without halflife's annotations. Equal digests mean that nothing
 * else in the template changed. So a reset (somebody restored the original request) differs from a deploy. */
#include "base/json.h"
#include "cache/cache.h"

static uint64_t digest_value(struct json *j, uint64_t hash);

static bool fingerprint_ours(struct text key)
{
        static const char prefix[] = "halflife.dev/";
        return key.len >= sizeof prefix - 1 && memcmp(key.p, prefix, sizeof prefix - 1) == 0;
}

/* The hashes of members are added, so their order does not matter. */
static uint64_t digest_object(struct json *j, bool resources)
{
        uint64_t sum = 0;
        struct text key;
        while (json_key(j, &key)) {
                if ((resources && text_is(key, "requests")) || fingerprint_ours(key)) {
                        json_skip(j);
                        continue;
                }
                uint64_t hash = digest_bytes(0, key.p, key.len);
                if (json_peek(j) != '{' || !json_enter(j, '{')) {
                        sum += digest_value(j, hash);
                        continue;
                }
                /* an empty object counts as absent, because one remains when all members are halflife's */
                uint64_t inner = digest_object(j, text_is(key, "resources"));
                if (inner)
                        sum += digest_bytes(hash, &inner, sizeof inner);
        }
        return sum;
}

static uint64_t digest_value(struct json *j, uint64_t hash)
{
        char next = json_peek(j);
        if (next == '{' && json_enter(j, '{')) {
                uint64_t sum = digest_object(j, false);
                return digest_bytes(hash, &sum, sizeof sum);
        }
        if (next == '[' && json_enter(j, '[')) {
                hash = digest_bytes(hash, "[", 1);
                while (json_item(j))
                        hash = digest_value(j, hash);
                return digest_bytes(hash, "]", 1);
        }
        struct text raw = json_raw(j);
        return digest_bytes(hash, raw.p, raw.len);
}

/* Go to the value at a JSON pointer of plain names ("/spec/template"). False: the object has no such value. */
static bool fingerprint_descend(struct json *j, const char *path)
{
        while (*path == '/') {
                const char *name = path + 1, *end = strchr(name, '/');
                struct text want = {name, end ? (size_t)(end - name) : strlen(name)};
                struct text key;
                bool found = false;
                if (json_peek(j) != '{' || !json_enter(j, '{'))
                        return false;
                while (!found && json_key(j, &key)) {
                        found = text_equal(key, want);
                        if (!found)
                                json_skip(j);
                }
                if (!found)
                        return false;
                path = name + want.len;
        }
        return true;
}

uint64_t template_fingerprint(struct text object, const char *template_path)
{
        struct json j;
        json_init(&j, object.p, object.len);
        if (!fingerprint_descend(&j, template_path))
                return 0;
        return digest_value(&j, 0);
}
