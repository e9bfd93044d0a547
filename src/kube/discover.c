#include "discover.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/yaml.h"

enum {
        FOUND_MS = 10 * MINUTE_MS,
        ABSENT_MS = 30 * SECOND_MS,
        KINDS_MAX = 1024,
        VERSIONS_MAX = 16,
        BODY_MAX = 16 << 20, /* of a group's resource list */
};

struct waiter {
        struct waiter *next;
        void (*done)(void *arg, const struct api_resource *r, const struct err *err);
        void *arg;
};

/* What is known of one (group, kind), and the question under way. */
struct lookup {
        struct discovery *in;
        char *key;
        struct api_resource found; /* plural "": the server has no such kind */
        bool known;                /* found holds an answer, if an old one */
        struct mono until;         /* how long it is taken for fresh */
        struct waiter *waiter, **waiter_end;
        struct client_call *call;
        char version[VERSIONS_MAX][32]; /* of the group, the preferred one first */
        int versions, at;
        struct loop_timer tell;
        struct err err;
};

struct discovery {
        struct client *client;
        struct map lookup; /* "group/kind" */
};

/* --- the end of a question --- */

static void discover_tell(void *arg)
{
        struct lookup *u = arg;
        struct waiter *w = u->waiter;
        struct err err = u->err;
        if (err.code == 0 && u->found.plural[0] == '\0')
                err_set(&err, ERR_NOTFOUND, "the API server has no kind '%s' in group '%s'", u->found.kind,
                        u->found.group);
        u->waiter = NULL;
        u->waiter_end = &u->waiter;
        const struct api_resource found = u->found; /* a waiter may ask again and have this entry evicted */
        for (struct waiter *next; w; w = next) {
                next = w->next;
                w->done(w->arg, err.code ? NULL : &found, &err);
                mem_free(w);
        }
}

static void discover_settle(struct lookup *u, int64_t fresh_ms)
{
        u->known = true;
        u->err.code = 0;
        u->until.ns = loop_now(client_loop(u->in->client)).mono.ns + fresh_ms * 1000000;
        discover_tell(u);
}

static void settle_absent(struct lookup *u)
{
        u->found.plural[0] = '\0';
        discover_settle(u, ABSENT_MS);
}

/* An old answer is better than none while the server is away. */
static void settle_failed(struct lookup *u, const struct err *why)
{
        if (u->known && u->found.plural[0]) {
                discover_settle(u, ABSENT_MS);
                return;
        }
        u->err = *why;
        discover_tell(u);
}

/* --- asking --- */

static void discover_fit(char *out, size_t cap, const char *s)
{
        size_t len = strnlen(s, cap - 1);
        memcpy(out, s, len);
        out[len] = '\0';
}

static void discover_ask(struct lookup *u, const char *path, client_done *done)
{
        const struct call call = {.method = HTTP_GET, .path = path, .body_max = BODY_MAX};
        u->call = client_start(u->in->client, &call, done, u);
}

static json_t *read_answer(struct lookup *u, const struct client_answer *a)
{
        json_error_t why;
        json_t *doc = json_loadb(a->body.p, a->body.len, 0, &why);
        if (!doc) {
                struct err err;
                err_set(&err, ERR_RETRY, "find kind '%s' in group '%s': the answer is no JSON: %s", u->found.kind,
                        u->found.group, why.text);
                settle_failed(u, &err);
        }
        return doc;
}

/* "deployments", not "deployments/scale". */
static bool find_kind(const json_t *doc, struct lookup *u)
{
        size_t at;
        json_t *r;
        json_array_foreach(json_object_get(doc, "resources"), at, r)
        {
                const char *name = json_string_value(json_object_get(r, "name"));
                const char *kind = json_string_value(json_object_get(r, "kind"));
                if (!name || !kind || strchr(name, '/') || strcmp(kind, u->found.kind) != 0)
                        continue;
                if (!name[0] || strlen(name) >= sizeof u->found.plural)
                        continue;
                discover_fit(u->found.plural, sizeof u->found.plural, name);
                discover_fit(u->found.version, sizeof u->found.version, u->version[u->at]);
                u->found.namespaced = json_is_true(json_object_get(r, "namespaced"));
                return true;
        }
        return false;
}

static void ask_version(struct lookup *u);

static void on_version(void *arg, const struct client_answer *a)
{
        struct lookup *u = arg;
        u->call = NULL;
        if (a->err.code && a->err.code != ERR_NOTFOUND) {
                settle_failed(u, &a->err);
                return;
        }
        if (a->err.code == 0) {
                AUTO(json_decref) json_t *doc = read_answer(u, a);
                if (!doc)
                        return;
                if (find_kind(doc, u)) {
                        discover_settle(u, FOUND_MS);
                        return;
                }
        }
        u->at++;
        ask_version(u);
}

static void ask_version(struct lookup *u)
{
        if (u->at == u->versions) {
                settle_absent(u);
                return;
        }
        AUTO(mem_free) char *path = path_of(u->found.group, u->version[u->at], NULL, NULL, NULL, NULL);
        discover_ask(u, path, on_version);
}

static void add_version(struct lookup *u, const char *version)
{
        if (!version || !version[0] || strlen(version) >= sizeof u->version[0] || u->versions == VERSIONS_MAX)
                return;
        for (int i = 0; i < u->versions; i++)
                if (strcmp(u->version[i], version) == 0)
                        return;
        discover_fit(u->version[u->versions++], sizeof u->version[0], version);
}

static void on_group(void *arg, const struct client_answer *a)
{
        struct lookup *u = arg;
        u->call = NULL;
        if (a->err.code == ERR_NOTFOUND) {
                settle_absent(u);
                return;
        }
        if (a->err.code) {
                settle_failed(u, &a->err);
                return;
        }
        AUTO(json_decref) json_t *doc = read_answer(u, a);
        if (!doc)
                return;
        size_t at;
        json_t *v;
        add_version(u, json_string_value(json_object_get(json_object_get(doc, "preferredVersion"), "version")));
        json_array_foreach(json_object_get(doc, "versions"), at, v)
        {
                add_version(u, json_string_value(json_object_get(v, "version")));
        }
        ask_version(u);
}

static void discover_begin(struct lookup *u)
{
        u->versions = u->at = 0;
        if (u->found.group[0] == '\0') {
                add_version(u, "v1");
                ask_version(u);
                return;
        }
        AUTO(mem_free) char *escaped = path_escape(u->found.group);
        AUTO(mem_free) char *path = mem_printf("/apis/%s", escaped);
        discover_ask(u, path, on_group);
}

/* --- the table --- */

static bool discover_idle(const struct lookup *u)
{
        return !u->waiter && !u->call && !u->tell.place;
}

static void lookup_free(struct lookup *u)
{
        struct client *c = u->in->client;
        if (u->call)
                client_cancel(c, u->call);
        loop_timer_stop(client_loop(c), &u->tell);
        for (struct waiter *w = u->waiter, *next; w; w = next) {
                next = w->next;
                mem_free(w);
        }
        mem_free(u->key);
        mem_free(u);
}

static void discover_evict(struct discovery *d, struct mono now)
{
        size_t at = 0;
        struct text key;
        void *value;
        while (map_next(&d->lookup, &at, &key, &value)) {
                struct lookup *u = value;
                if (discover_idle(u) && u->until.ns < now.ns) {
                        map_drop(&d->lookup, key);
                        lookup_free(u);
                }
        }
}

static struct lookup *lookup_new(struct discovery *d, char *key, const char *group, const char *kind)
{
        struct lookup *u = MEM_NEW(struct lookup);
        u->in = d;
        u->key = key;
        u->waiter_end = &u->waiter;
        discover_fit(u->found.group, sizeof u->found.group, group);
        discover_fit(u->found.kind, sizeof u->found.kind, kind);
        map_put(&d->lookup, text_of(key), u);
        return u;
}

struct discovery *discovery_new(struct client *c)
{
        struct discovery *d = MEM_NEW(struct discovery);
        d->client = c;
        return d;
}

void discovery_free(struct discovery *d)
{
        size_t at = 0;
        struct text key;
        void *value;
        while (map_next(&d->lookup, &at, &key, &value))
                lookup_free(value);
        map_release(&d->lookup);
        mem_free(d);
}

/* The old answer stands for as long as the server cannot be asked. */
void client_undiscover(struct client *c, const char *group, const char *kind)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s", group, kind);
        struct lookup *u = map_get(&client_discovery(c)->lookup, text_of(key));
        if (u)
                u->until = (struct mono){0};
}

int client_discover(struct client *c, const char *group, const char *kind,
                    void (*done)(void *arg, const struct api_resource *r, const struct err *err), void *arg)
{
        struct discovery *d = client_discovery(c);
        struct mono now = loop_now(client_loop(c)).mono;
        if (!kind[0] || strlen(kind) >= sizeof((struct api_resource *)0)->kind ||
            strlen(group) >= sizeof((struct api_resource *)0)->group)
                return ERR_INVALID;
        AUTO(mem_free) char *key = mem_printf("%s/%s", group, kind);
        struct lookup *u = map_get(&d->lookup, text_of(key));
        if (!u && d->lookup.count >= KINDS_MAX)
                discover_evict(d, now);
        if (!u && d->lookup.count >= KINDS_MAX)
                return ERR_TOOBIG;
        if (!u)
                u = lookup_new(d, STEAL(&key), group, kind);

        struct waiter *w = MEM_NEW(struct waiter);
        w->done = done;
        w->arg = arg;
        *u->waiter_end = w;
        u->waiter_end = &w->next;
        if (u->call || u->tell.place)
                return 0;
        if (u->known && now.ns < u->until.ns)
                loop_timer_set(client_loop(c), &u->tell, 0, discover_tell, u);
        else
                discover_begin(u);
        return 0;
}
