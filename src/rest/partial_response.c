#include <assert.h>

#include "base/json.h"
#include "partial_response.h"

/* The paths of all members that an item of a list has (src/rest/openapi.yaml: Workload). A mistyped path is an error,
 * not an empty answer. */
static const char *const paths[] = {
        "metadata.namespace",
        "metadata.kind",
        "metadata.apiVersion",
        "metadata.name",
        "metadata.recommendation",
        "metadata.labels",
        "profile.kind",
        "profile.name",
        "status.state",
        "status.mode",
        "status.soFar.cpu",
        "status.soFar.memory",
        "status.containers.name",
        "status.containers.state",
        "status.containers.cpu.original",
        "status.containers.cpu.current",
        "status.containers.cpu.model",
        "status.containers.cpu.target",
        "status.containers.cpu.lower",
        "status.containers.cpu.upper",
        "status.containers.cpu.more",
        "status.containers.cpu.reason",
        "status.containers.memory.original",
        "status.containers.memory.current",
        "status.containers.memory.model",
        "status.containers.memory.target",
        "status.containers.memory.lower",
        "status.containers.memory.upper",
        "status.containers.memory.more",
        "status.containers.memory.reason",
        "status.pod.cpu.original",
        "status.pod.cpu.current",
        "status.pod.cpu.model",
        "status.pod.cpu.target",
        "status.pod.cpu.lower",
        "status.pod.cpu.upper",
        "status.pod.memory.original",
        "status.pod.memory.current",
        "status.pod.memory.model",
        "status.pod.memory.target",
        "status.pod.memory.lower",
        "status.pod.memory.upper",
        "status.saving.cpu",
        "status.saving.memory",
        "status.samples",
        "status.firstSample",
        "status.since",
        "status.lastSample",
        "status.confidencePercent",
        "status.applied.time",
        "status.applied.mode",
        "status.applied.containers",
        "status.conditions.type",
        "status.conditions.status",
        "status.conditions.reason",
        "status.hold",
};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Whether `head` is `path` or an ancestor of `path`: "status.pod" leads to "status.pod.cpu", "status.po" does not. */
static bool fields_leads_to(struct text head, struct text path)
{
        return head.len <= path.len && (head.len == 0 || memcmp(head.p, path.p, head.len) == 0) &&
               (head.len == path.len || path.p[head.len] == '.');
}

static bool fields_is_known(struct text path)
{
        for (int i = 0; i < PATHS; i++)
                if (fields_leads_to(path, text_of(paths[i])))
                        return true;
        return false;
}

int fields_parse(struct text from, struct fields *ret, struct err *err)
{
        *ret = (struct fields){0};
        for (size_t at = 0; at <= from.len;) {
                const char *comma = at < from.len ? memchr(from.p + at, ',', from.len - at) : NULL;
                size_t end = comma ? (size_t)(comma - from.p) : from.len;
                struct text path = {from.p + at, end - at};
                if (ret->count == FIELDS_MOST)
                        return err_set(err, ERR_INVALID, "fields has more than %d paths", FIELDS_MOST);
                if (path.len == 0 || !fields_is_known(path))
                        return err_set(err, ERR_INVALID,
                                       "'%.*s' in fields is not a path of an item, such as metadata.name or "
                                       "status.containers.cpu.target",
                                       (int)(path.len < 64 ? path.len : 64), path.p);
                ret->path[ret->count++] = path;
                at = end + 1;
        }
        return 0;
}

/* --- copying --- */

enum keep { KEEP_NONE, KEEP_SOME, KEEP_ALL };

static enum keep keep_of(const struct fields *f, struct text path)
{
        enum keep keep = KEEP_NONE;
        for (int i = 0; i < f->count; i++) {
                if (fields_leads_to(f->path[i], path))
                        return KEEP_ALL;
                if (fields_leads_to(path, f->path[i]))
                        keep = KEEP_SOME;
        }
        return keep;
}

static void fields_put(struct buf *to, const char *p, size_t len)
{
        int rc = buf_add(to, p, len);
        assert(rc == 0);
        (void)rc;
}

enum { PATH_MOST = 64 };

static void copy_value(const struct fields *f, struct json *j, char path[static PATH_MOST], size_t len, struct buf *to);

static void copy_object(const struct fields *f, struct json *j, char path[static PATH_MOST], size_t len, struct buf *to)
{
        struct text key;
        bool more = false;
        json_enter(j, '{');
        fields_put(to, "{", 1);
        while (json_key(j, &key)) {
                size_t below = len + (len > 0) + key.len;
                if (below >= PATH_MOST) {
                        json_skip(j);
                        continue;
                }
                if (len > 0)
                        path[len] = '.';
                memcpy(path + below - key.len, key.p, key.len);
                enum keep keep = keep_of(f, (struct text){path, below});
                if (keep == KEEP_NONE) {
                        json_skip(j);
                        continue;
                }
                fields_put(to, ",\"", more ? 2 : 0);
                fields_put(to, "\"", more ? 0 : 1);
                fields_put(to, key.p, key.len);
                fields_put(to, "\":", 2);
                more = true;
                if (keep == KEEP_SOME) {
                        copy_value(f, j, path, below, to);
                } else {
                        struct text raw = json_raw(j);
                        fields_put(to, raw.p, raw.len);
                }
        }
        fields_put(to, "}", 1);
}

static void copy_value(const struct fields *f, struct json *j, char path[static PATH_MOST], size_t len, struct buf *to)
{
        char what = json_peek(j);
        bool more = false;
        if (what == '{') {
                copy_object(f, j, path, len, to);
        } else if (what == '[') {
                json_enter(j, '[');
                fields_put(to, "[", 1);
                while (json_item(j)) {
                        fields_put(to, ",", more);
                        more = true;
                        copy_value(f, j, path, len, to);
                }
                fields_put(to, "]", 1);
        } else {
                struct text raw = json_raw(j);
                fields_put(to, raw.p, raw.len);
        }
}

void fields_copy(const struct fields *f, struct text json, struct buf *to)
{
        struct json j;
        char path[PATH_MOST];
        json_init(&j, json.p, json.len);
        copy_value(f, &j, path, 0, to);
        int rc = json_done(&j, NULL);
        assert(rc == 0);
        (void)rc;
}
