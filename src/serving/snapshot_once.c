#include "serving/snapshot_once.h"

#include "kube/collection.h"
#include "kube/known_resource.h"
#include "serving/snapshot_from_status.h"

enum { ANSWER_BYTES = 4 << 20, CALL_MS = 10 * SECOND_MS };

struct snapshot_listing {
        struct client *client;
        struct cache cache;
        size_t unread;
        struct err *why;
        struct err *err;
};

typedef int upsert(struct cache *w, struct text object, uint32_t epoch, struct err *err);

static int take_profile(struct cache *w, struct text object, uint32_t epoch, struct err *err)
{
        return profile_upsert(w, false, object, epoch, err);
}

static int take_cluster_profile(struct cache *w, struct text object, uint32_t epoch, struct err *err)
{
        return profile_upsert(w, true, object, epoch, err);
}

/* The kinds to list, in the order of the requests: kinds that are perhaps not installed come last. */
static const struct listed {
        enum known_resource_id of;
        upsert *take;
} lists[] = {
        {KNOWN_CLUSTERPROFILES, take_cluster_profile},
        {KNOWN_PROFILES, take_profile},
        {KNOWN_RECOMMENDATIONS, published_upsert},
        {KNOWN_LIMITRANGES, range_upsert},
        {KNOWN_HPAS, hpa_upsert},
        {KNOWN_VPAS, other_autoscaler_upsert},
        {KNOWN_SCALEDOBJECTS, scaled_object_upsert},
};
enum { LISTS = sizeof lists / sizeof lists[0] };

static int snapshot_once_ask(struct snapshot_listing *g, const char *path, const char *query, char **ret_body,
                             size_t *ret_len)
{
        const struct call call = {
                .method = HTTP_GET, .path = path, .query = query, .deadline_ms = CALL_MS, .body_max = ANSWER_BYTES};
        return client_wait(g->client, &call, ret_body, ret_len, g->err);
}

static void take_object(struct snapshot_listing *g, upsert *take, struct text object)
{
        struct err why = {0};
        if (take(&g->cache, object, 1, &why) == 0)
                return;
        g->unread++;
        *g->why = why;
}

/* --- lists --- */

struct snapshot_taking {
        struct snapshot_listing *listing;
        upsert *take;
};

static void snapshot_once_each(void *arg, struct text object)
{
        const struct snapshot_taking *t = arg;
        take_object(t->listing, t->take, object);
}

static int take_list(struct snapshot_listing *g, enum known_resource_id of, upsert *take, const char *ns)
{
        const struct known_resource *r = &known_resources[of];
        AUTO(mem_free) char *path = known_resource_path(of, ns, NULL, NULL);
        struct snapshot_taking taking = {g, take};
        const struct collection list = {.path = path, .each = snapshot_once_each, .arg = &taking};
        int rc = collection_read(g->client, &list, g->err);
        if (rc == ERR_NOTFOUND && strcmp(r->group, known_resources[KNOWN_PROFILES].group) == 0)
                return err_set(g->err, rc,
                               "the cluster has no %s: are halflife's CRDs installed? kubectl apply -k manifests, "
                               "or -f crds",
                               r->name);
        return rc < 0 ? err_wrap(g->err, "list %s%s%s", r->plural, ns ? " in " : "", ns ? ns : "") : 0;
}

/* --- namespaces --- */

static int snapshot_once_take_namespace(struct snapshot_listing *g, const char *name)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_NAMESPACES, NULL, name, NULL);
        AUTO(mem_free) char *body = NULL;
        size_t len;
        int rc = snapshot_once_ask(g, path, NULL, &body, &len);
        if (rc == ERR_NOTFOUND)
                return 0;
        if (rc < 0)
                return err_wrap(g->err, "get namespace '%s'", name);
        take_object(g, ns_upsert, (struct text){body, len});
        return 0;
}

/* --- the whole cluster --- */

/* Whether the API server serves the kind. Discovery is open to every user; a list of a missing kind could be forbidden.
 */
static int is_served(struct snapshot_listing *g, enum known_resource_id of, bool *ret)
{
        AUTO(mem_free) char *path = known_resource_version_path(of), *body = NULL;
        size_t len;
        int rc = snapshot_once_ask(g, path, NULL, &body, &len);
        *ret = rc == 0;
        return rc == 0 || rc == ERR_NOTFOUND ? 0 : err_wrap(g->err, "is there %s?", known_resources[of].name);
}

static int snapshot_once_take(struct snapshot_listing *g, const struct listed *l, const struct snapshot_once_options *o)
{
        const struct known_resource *r = &known_resources[l->of];
        bool whole = o->namespaces > GLANCE_NAMESPACES || !r->namespaced, served = true;
        int rc = r->optional ? is_served(g, l->of, &served) : 0;
        if (rc < 0 || !served)
                return rc;
        if (whole)
                return take_list(g, l->of, l->take, NULL);
        for (size_t k = 0; rc == 0 && k < o->namespaces; k++)
                rc = take_list(g, l->of, l->take, o->ns[k]);
        return rc;
}

static int snapshot_once_look_at(struct snapshot_listing *g, const struct snapshot_once_options *o)
{
        bool all = o->namespaces > GLANCE_NAMESPACES;
        int rc = all ? take_list(g, KNOWN_NAMESPACES, ns_upsert, NULL) : 0;
        for (size_t i = 0; !all && rc == 0 && i < o->namespaces; i++)
                rc = snapshot_once_take_namespace(g, o->ns[i]);
        for (int i = 0; rc == 0 && i < LISTS; i++)
                rc = snapshot_once_take(g, &lists[i], o);
        return rc;
}

int snapshot_once(struct client *c, const struct snapshot_once_options *o, struct snapshot **ret, size_t *ret_unread,
                  struct err *ret_why, struct err *err)
{
        struct snapshot_listing g = {.client = c, .why = ret_why, .err = err};
        cache_init(&g.cache, client_field_manager(c), o->own_ns);
        int rc = snapshot_once_look_at(&g, o);
        if (rc == 0) {
                *ret = snapshot_from_status(&g.cache, loop_now(client_loop(c)).wall);
                *ret_unread = g.unread;
        }
        cache_release(&g.cache);
        return rc;
}

int snapshot_shown(struct client *c, const char *ns, struct snapshot **ret, struct err *err)
{
        struct err unread = {0}, why[2] = {{0}, {0}};
        struct snapshot_listing g = {.client = c, .why = &unread, .err = err};
        cache_init(&g.cache, client_field_manager(c), NULL);
        int rc = take_list(&g, KNOWN_RECOMMENDATIONS, published_upsert, ns);
        if (rc == 0) { /* profiles that this user may not list appear by name only */
                g.err = &why[0];
                bool of_cluster = take_list(&g, KNOWN_CLUSTERPROFILES, take_cluster_profile, NULL) == 0;
                g.err = &why[1];
                bool of_ns = take_list(&g, KNOWN_PROFILES, take_profile, ns) == 0;
                const char *const unlisted[2] = {of_cluster ? NULL : why[0].text, of_ns ? NULL : why[1].text};
                *ret = snapshot_from_shown(&g.cache, unlisted, loop_now(client_loop(c)).wall);
        }
        cache_release(&g.cache);
        return rc;
}
