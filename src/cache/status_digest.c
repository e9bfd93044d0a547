#include "cache/status_digest.h"

#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"

uint64_t digest_feed(uint64_t digest, const char *s)
{
        return s ? digest_bytes(digest, s, strlen(s) + 1) : digest_bytes(digest, "-", 1);
}

uint64_t digest_feed_amount(uint64_t digest, enum resource r, struct amount a)
{
        char text[QUANTITY_TEXT_MAX];
        if (!a.set)
                return digest_feed(digest, NULL);
        return digest_feed(digest, amount_print(r, a.value, text));
}

uint64_t digest_condition(const char *type, const char *status, const char *reason, const char *message)
{
        return digest_feed(digest_feed(digest_feed(digest_feed(0, type), status), reason), message);
}

uint64_t digest_feed_sum(uint64_t digest, uint64_t sum)
{
        return digest_bytes(digest, &sum, sizeof sum);
}

static const char *status_string_of(const json_t *object, const char *key)
{
        return json_string_value(json_object_get(object, key));
}

static uint64_t digest_published(const json_t *container)
{
        uint64_t digest =
                digest_feed(digest_feed(0, status_string_of(container, "name")), status_string_of(container, "state"));
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const json_t *of = json_object_get(container, resource_name(r));
                digest = digest_feed(digest_feed(digest, status_string_of(of, "original")),
                                     status_string_of(of, "current"));
        }
        return digest;
}

static uint64_t feed_canary(uint64_t digest, const json_t *canary)
{
        if (!canary)
                return digest;
        char *rest = json_dumps(json_object_get(canary, "rest"), JSON_SORT_KEYS | JSON_COMPACT);
        digest = digest_feed(digest_feed(digest, status_string_of(canary, "since")), rest);
        free(rest);
        return digest;
}

uint64_t publish_status_digest(const json_t *status)
{
        size_t i;
        json_t *item;
        uint64_t digest = digest_feed(0, status_string_of(status, "state")), conditions = 0, containers = 0;
        json_t *applied = json_object_get(status, "applied");
        if (applied) {
                char *rows = json_dumps(json_object_get(applied, "containers"), JSON_SORT_KEYS | JSON_COMPACT);
                digest = digest_feed(digest_feed(digest_feed(digest, status_string_of(applied, "time")), rows),
                                     status_string_of(applied, "mode"));
                free(rows);
                digest = feed_canary(digest, json_object_get(status, "canary"));
        }
        json_array_foreach(json_object_get(status, "conditions"), i, item) conditions +=
                digest_condition(status_string_of(item, "type"), status_string_of(item, "status"),
                                 status_string_of(item, "reason"), status_string_of(item, "message"));
        json_array_foreach(json_object_get(status, "containers"), i, item) containers += digest_published(item);
        for (enum resource r = CPU; r < RESOURCES; r++) {
                const json_t *quota = json_object_get(json_object_get(status, "quota"), resource_name(r));
                if (quota)
                        digest = digest_feed(digest, status_string_of(quota, "hard"));
        }
        int64_t kills = json_integer_value(json_object_get(status, "oomKills"));
        if (kills)
                digest = digest_feed_sum(digest, (uint64_t)kills);
        if (json_object_get(status, "since")) /* as the version before wrote it: to be written anew */
                digest = digest_feed(digest, "since");
        return digest_feed_sum(digest_feed_sum(digest, conditions), containers);
}
