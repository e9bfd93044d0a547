#include "base/time_zone.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_read.h"
#include "base/mem.h"
#include "posix_tz.h"

/* Time zone files are a few KiB; a much larger file is something else. */
enum {
        ZONE_BYTES_MAX = 256 * 1024,
        ZONE_NAME_MAX = 128,
        HEADER_BYTES = 44,
        OFFSET_MOST_S = 26 * 3600,
        PROBE_S = 27 * 3600
};

struct zone {
        int64_t *at_s;     /* instants at which the offset changes, ascending */
        int32_t *offset_s; /* [i]: the offset from at_s[i] on */
        size_t count;
        int32_t first_s; /* the offset before the first change */
        bool has_rule;   /* rule gives the offsets after the last change in at_s */
        struct rule rule;
};

/* --- RFC 8536 files --- */

struct header {
        uint32_t isut, isstd, leap, time, type, chars;
};

static uint32_t big_u32(const unsigned char *p)
{
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t big_s64(const unsigned char *p)
{
        return (int64_t)((uint64_t)big_u32(p) << 32 | big_u32(p + 4));
}

static const char *zone_header_read(const unsigned char *p, size_t len, struct header *ret)
{
        if (len < HEADER_BYTES || memcmp(p, "TZif", 4) != 0)
                return "it is no time zone file";
        if (p[4] < '2')
                return "it is of version 1, which has no 64-bit times: install a newer tzdata";
        *ret = (struct header){big_u32(p + 20), big_u32(p + 24), big_u32(p + 28),
                               big_u32(p + 32), big_u32(p + 36), big_u32(p + 40)};
        if (ret->time > 65536 || ret->type > 256 || ret->chars > 65536 || ret->leap > 65536 || ret->isut > 256 ||
            ret->isstd > 256)
                return "its counts are too large";
        return NULL;
}

/* Bytes after the header in a data block whose times have time_bytes each. */
static size_t block_bytes(const struct header *h, size_t time_bytes)
{
        return h->time * (time_bytes + 1) + h->type * 6 + h->chars + h->leap * (time_bytes + 4) + h->isstd + h->isut;
}

static const char *types_read(const unsigned char *type, uint32_t count, int32_t ret[static 256])
{
        for (uint32_t i = 0; i < count; i++) {
                ret[i] = (int32_t)big_u32(type + 6 * i);
                if (ret[i] < -OFFSET_MOST_S || ret[i] > OFFSET_MOST_S)
                        return "an offset is beyond a day";
        }
        return NULL;
}

static const char *table_read(struct zone *z, const unsigned char *p, const struct header *h)
{
        const unsigned char *index = p + 8 * h->time;
        int32_t offset[256];
        const char *why = types_read(index + h->time, h->type, offset);
        if (why)
                return why;
        z->first_s = offset[0];
        z->at_s = mem_new_array(h->time, sizeof *z->at_s);
        z->offset_s = mem_new_array(h->time, sizeof *z->offset_s);
        z->count = h->time;
        for (uint32_t i = 0; i < h->time; i++) {
                z->at_s[i] = big_s64(p + 8 * i);
                if (i > 0 && z->at_s[i] <= z->at_s[i - 1])
                        return "its times do not ascend";
                if (index[i] >= h->type)
                        return "a time has no type";
                z->offset_s[i] = offset[index[i]];
        }
        return NULL;
}

/* Reads the file's footer, "\n<rule>\n", which ends the file. With an empty rule the last offset holds for ever. */
static const char *footer_read(struct zone *z, const char *p, size_t len)
{
        if (len < 2 || p[0] != '\n' || p[len - 1] != '\n' || memchr(p + 1, '\n', len - 2) || memchr(p, '\0', len))
                return "its footer is damaged";
        z->has_rule = len > 2;
        char *text AUTO(mem_free) = mem_string_n(p + 1, len - 2);
        return z->has_rule && rule_parse(text, &z->rule) < 0 ? "its rule for later times is malformed" : NULL;
}

/* Returns NULL, or a text that says what is wrong with the file. */
static const char *file_decode(struct zone *z, const char *bytes, size_t len)
{
        const unsigned char *p = (const unsigned char *)bytes;
        struct header h;
        const char *why = zone_header_read(p, len, &h);
        if (why)
                return why;
        size_t old = HEADER_BYTES + block_bytes(&h, 4);
        if (old > len)
                return "it is cut short";
        p += old;
        len -= old;
        why = zone_header_read(p, len, &h);
        if (why)
                return why;
        if (h.leap > 0)
                return "it counts leap seconds, which Kubernetes' time does not";
        size_t block = HEADER_BYTES + block_bytes(&h, 8);
        if (h.type == 0 || block > len)
                return "it is cut short";
        why = table_read(z, p + HEADER_BYTES, &h);
        return why ? why : footer_read(z, (const char *)p + block, len - block);
}

/* --- reading --- */

static bool name_is_good(const char *name)
{
        size_t len = strlen(name);
        if (len == 0 || len > ZONE_NAME_MAX || name[0] == '/' || name[len - 1] == '/')
                return false;
        for (const char *p = name; *p; p++) {
                bool begins = p == name || p[-1] == '/';
                if (!isalnum((unsigned char)*p) && !strchr("_+-./", *p))
                        return false;
                if (begins && (*p == '.' || *p == '/'))
                        return false;
        }
        return true;
}

MEM_AUTO(zone_free, struct zone *)

int zone_read(const char *dir, const char *name, struct zone **ret, struct err *err)
{
        if (!name_is_good(name))
                return err_set(err, ERR_INVALID, "'%.128s' is not the name of a time zone", name);
        const char *from = dir ? dir : getenv("TZDIR");
        if (!from || !*from)
                from = "/usr/share/zoneinfo";
        char *path AUTO(mem_free) = mem_printf("%s/%s", from, name);
        struct err inner = {0};
        size_t len;
        char *bytes AUTO(mem_free) = file_read(path, ZONE_BYTES_MAX, &len, &inner);
        if (!bytes && inner.code == ERR_NOTFOUND)
                return err_set(err, ERR_NOTFOUND,
                               "unknown time zone '%s': no file of that name in '%s' (is tzdata installed?)", name,
                               from);
        if (!bytes)
                return err_set(err, inner.code, "time zone '%s': %s", name, inner.text);
        struct zone *z AUTO(zone_free) = MEM_NEW(struct zone);
        const char *why = file_decode(z, bytes, len);
        if (why)
                return err_set(err, ERR_DAMAGED, "time zone '%s': '%s' cannot be used: %s", name, path, why);
        *ret = STEAL(&z);
        return 0;
}

void zone_free(struct zone *z)
{
        if (!z)
                return;
        mem_free(z->at_s);
        mem_free(z->offset_s);
        mem_free(z);
}

/* --- answering --- */

/* The number of changes in the table at or before the instant. */
static size_t changes_until(const struct zone *z, int64_t at_s)
{
        size_t low = 0, high = z->count;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (z->at_s[middle] <= at_s)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

int32_t zone_offset(const struct zone *z, int64_t at_s)
{
        size_t passed = changes_until(z, at_s);
        if (passed == z->count && z->has_rule)
                return rule_offset(&z->rule, at_s);
        return passed == 0 ? z->first_s : z->offset_s[passed - 1];
}

static bool zone_next_change(const struct zone *z, int64_t after_s, struct rule_change *ret)
{
        size_t passed = changes_until(z, after_s);
        if (passed == z->count)
                return z->has_rule && rule_next(&z->rule, after_s, ret);
        *ret = (struct rule_change){z->at_s[passed], z->offset_s[passed]};
        return true;
}

/* Walks the periods of constant offset around local_s: within each period a local time occurs at most once. */
int zone_instants(const struct zone *z, int64_t local_s, int64_t ret[static 2])
{
        int found = 0;
        int64_t from = local_s - PROBE_S, end = local_s + PROBE_S;
        int32_t offset = zone_offset(z, from);
        while (found < 2) {
                struct rule_change change = {INT64_MAX, offset};
                zone_next_change(z, from, &change);
                int64_t at = local_s - offset;
                if (at >= from && at < change.at_s)
                        ret[found++] = at;
                if (change.at_s > end)
                        break;
                bool skipped = change.at_s <= at && change.at_s > local_s - change.offset_s;
                if (found == 0 && skipped) {
                        ret[0] = change.at_s;
                        return 0;
                }
                from = change.at_s;
                offset = change.offset_s;
        }
        return found;
}
