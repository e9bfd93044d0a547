#include "discovery_index.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

enum { VERSIONS_MAX = 8 }; /* most versions of a kind; Kubernetes' own kinds have three */

struct served_kind {
        struct served_kind *next; /* the kind in the version that the server prefers next; NULL: this was the last */
        char version[32], plural[64];
        bool stale; /* the API server of this version does not answer */
        char key[];
};

/* The index so far, and the group and version whose resources are being read. */
struct reading {
        struct discovery_index index;
        struct arena arena;
        struct text group, version;
        bool stale;
};

static struct served_kind *served_kind_new(struct map *to, struct text group, struct text kind)
{
        struct served_kind *k = mem_new(sizeof *k + group.len + kind.len + 2);
        size_t len = (size_t)sprintf(k->key, "%.*s/%.*s", TEXT_ARG(group), TEXT_ARG(kind));
        map_put(to, (struct text){k->key, len}, k);
        return k;
}

/* Append a version to those of a kind. NULL: the kind has this version already, or VERSIONS_MAX versions. */
static struct served_kind *served_kind_append(struct served_kind *first, struct text version)
{
        int count = 1;
        struct served_kind *last = first;
        for (; !text_is(version, last->version) && last->next; last = last->next)
                count++;
        if (text_is(version, last->version) || count == VERSIONS_MAX)
                return NULL;
        last->next = mem_new(sizeof *last);
        return last->next;
}

static void *index_find(const struct map *m, struct text group, struct text kind)
{
        char key[sizeof((struct api_resource *)0)->group + sizeof((struct api_resource *)0)->kind + 1];
        int len = snprintf(key, sizeof key, "%.*s/%.*s", TEXT_ARG(group), TEXT_ARG(kind));
        return len < (int)sizeof key ? map_get(m, (struct text){key, (size_t)len}) : NULL;
}

/* A kind without a name or version, or with a longer one than a lookup may ask for, is left out. */
static void index_put(struct reading *r, struct text plural, struct text kind)
{
        const struct api_resource *most = NULL;
        if (!plural.len || !kind.len || !r->version.len || plural.len >= sizeof most->plural ||
            kind.len >= sizeof most->kind || r->group.len >= sizeof most->group ||
            r->version.len >= sizeof most->version)
                return;
        struct served_kind *first = index_find(&r->index.kinds, r->group, kind);
        struct served_kind *k =
                first ? served_kind_append(first, r->version) : served_kind_new(&r->index.kinds, r->group, kind);
        if (!k)
                return;
        memcpy(k->plural, plural.p, plural.len);
        memcpy(k->version, r->version.p, r->version.len);
        k->stale = r->stale;
}

/* --- reading --- */

static struct text index_read_member(struct json *j, struct reading *r, const char *name)
{
        struct text key, found = {0};
        if (!json_enter(j, '{'))
                return found;
        while (json_key(j, &key))
                if (text_is(key, name))
                        found = json_text(j, &r->arena);
                else
                        json_skip(j);
        return found;
}

static void index_read_resource(struct json *j, struct reading *r)
{
        struct text key, plural = {0}, kind = {0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "resource"))
                        plural = json_text(j, &r->arena);
                else if (text_is(key, "responseKind"))
                        kind = index_read_member(j, r, "kind");
                else
                        json_skip(j);
        index_put(r, plural, kind);
}

/* Read each element of an array that was kept as raw JSON, because the name of its group or version may stand after the
 * array. */
static void index_read_rows(struct json *j, struct text array, void (*row)(struct json *j, struct reading *r),
                            struct reading *r)
{
        struct json rows;
        json_init(&rows, array.p, array.len);
        if (array.len && json_enter(&rows, '['))
                while (json_item(&rows))
                        row(&rows, r);
        if (!j->error)
                j->error = rows.error;
}

static void index_read_version(struct json *j, struct reading *r)
{
        struct text key, freshness = {0}, resources = {0};
        r->version = (struct text){0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "version"))
                        r->version = json_text(j, &r->arena);
                else if (text_is(key, "freshness"))
                        freshness = json_text(j, &r->arena);
                else if (text_is(key, "resources"))
                        resources = json_raw(j);
                else
                        json_skip(j);
        r->stale = text_is(freshness, "Stale");
        if (r->stale && !index_find(&r->index.stale, r->group, TEXT("")))
                (void)served_kind_new(&r->index.stale, r->group, TEXT(""));
        index_read_rows(j, resources, index_read_resource, r);
}

static void index_read_group(struct json *j, struct reading *r)
{
        struct text key, versions = {0};
        r->group = (struct text){0};
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "metadata"))
                        r->group = index_read_member(j, r, "name");
                else if (text_is(key, "versions"))
                        versions = json_raw(j);
                else
                        json_skip(j);
        index_read_rows(j, versions, index_read_version, r);
}

static void index_read_groups(struct json *j, struct reading *r)
{
        if (json_enter(j, '['))
                while (json_item(j))
                        index_read_group(j, r);
}

int discovery_index_read(struct discovery_index *ret, struct text body, struct err *err)
{
        struct reading r = {0};
        struct json j;
        struct text key, kind = {0};
        json_init(&j, body.p, body.len);
        bool list = json_enter(&j, '{');
        while (list && json_key(&j, &key))
                if (text_is(key, "kind"))
                        kind = json_text(&j, &r.arena);
                else if (text_is(key, "items"))
                        index_read_groups(&j, &r);
                else
                        json_skip(&j);
        int rc = json_done(&j, err);
        if (rc == 0 && !text_is(kind, "APIGroupDiscoveryList"))
                rc = err_set(err, ERR_INVALID, "the answer is no APIGroupDiscoveryList: Kubernetes before 1.30?");
        arena_release(&r.arena);
        if (rc < 0) {
                discovery_index_release(&r.index);
                return rc;
        }
        discovery_index_release(ret);
        *ret = r.index;
        return 0;
}

static void index_free_kinds(struct map *m)
{
        struct served_kind *k;
        for (size_t at = 0; (k = map_each(m, &at));)
                for (struct served_kind *next; k; k = next) {
                        next = k->next;
                        mem_free(k);
                }
        map_release(m);
}

void discovery_index_release(struct discovery_index *x)
{
        index_free_kinds(&x->kinds);
        index_free_kinds(&x->stale);
}

/* --- asking --- */

static const struct served_kind *served_kind_of(const struct served_kind *k, const char *version)
{
        while (k && strcmp(k->version, version) != 0)
                k = k->next;
        return k;
}

/* Of `versions`, the first that the kind has and whose API server answers; where no server answers, the first that the
 * kind has. */
static const struct served_kind *served_kind_best(const struct served_kind *first, const char *const *versions)
{
        const struct served_kind *best = NULL;
        for (; *versions && (!best || best->stale); versions++) {
                const struct served_kind *k = served_kind_of(first, *versions);
                if (k && (!best || !k->stale))
                        best = k;
        }
        return best;
}

bool discovery_index_find(const struct discovery_index *x, const char *group, const char *kind,
                          const char *const *versions, struct api_resource *ret)
{
        const struct served_kind *k = index_find(&x->kinds, text_of(group), text_of(kind));
        if (versions)
                k = served_kind_best(k, versions);
        if (k) {
                memcpy(ret->version, k->version, sizeof ret->version);
                memcpy(ret->plural, k->plural, sizeof ret->plural);
        }
        return k != NULL;
}

bool discovery_index_is_stale(const struct discovery_index *x, const char *group)
{
        return index_find(&x->stale, text_of(group), TEXT("")) != NULL;
}
