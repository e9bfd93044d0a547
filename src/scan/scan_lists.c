#include "scan_lists.h"

#include <string.h>

#include "base/buf.h"
#include "kube/collection.h"
#include "kube/known_resource.h"

enum { NAMES_TOLD = 5, LINE_BYTES = 4 << 10, NAMESPACE_BYTES = 4 << 20, CALL_MS = 30 * SECOND_MS };

typedef int scan_upsert(struct cache *w, struct text object, uint32_t epoch, struct err *err);

/* A collection to list. `kind` is set for workloads, `upsert` for all others but Events of nodes. */
struct scan_list {
        struct cache *cache;
        const struct cluster_scan_options *options;
        struct scan_scope *scope;
        scan_upsert *upsert;
        struct watched_kind *kind; /* the kind of the listed workloads; NULL: the list is not of workloads */
        const char *group, *version, *plural, *name, *selector;
        bool namespaced;
        const char *loss; /* what the scan does not know without this list */
        size_t unread;    /* objects that could not be decoded */
        struct err why;   /* why the last of these objects could not be decoded */
        const char **denied;
        size_t denieds;
};

/* --- messages --- */

void scan_names_add(struct buf *out, const char *const *name, size_t count)
{
        for (size_t i = 0; i < count && i < NAMES_TOLD; i++)
                (void)buf_printf(out, "%s%s", i ? ", " : "", name[i]);
        if (count > NAMES_TOLD)
                (void)buf_printf(out, " and %zu more", count - NAMES_TOLD);
}

static void scan_tell(const struct cluster_scan_options *o, struct buf *line)
{
        o->tell(o->arg, line->data);
        buf_release(line);
}

static void scan_tell_denied(const struct scan_list *l, const struct err *err)
{
        struct buf line;
        buf_init(&line, LINE_BYTES);
        (void)buf_printf(&line, "may not list %s", l->name);
        if (l->denieds) {
                (void)buf_printf(&line, " in %zu of %zu namespaces (", l->denieds, l->scope->count);
                scan_names_add(&line, l->denied, l->denieds);
                (void)buf_add_text(&line, ")");
        }
        (void)buf_printf(&line, ": %s", l->loss);
        if (!l->denieds && err->code != ERR_DENIED)
                (void)buf_printf(&line, " (%s)", err->text);
        scan_tell(l->options, &line);
}

static void scan_tell_unread(const struct scan_list *l)
{
        struct buf line;
        if (!l->unread)
                return;
        buf_init(&line, LINE_BYTES);
        (void)buf_printf(&line, "%zu %s cannot be read and are left out: %s", l->unread, l->name, l->why.text);
        scan_tell(l->options, &line);
}

/* --- lists --- */

static int scan_list_upsert(const struct scan_list *l, struct text object, struct err *why)
{
        if (l->kind)
                return workload_upsert(l->cache, l->kind, object, 1, why);
        if (l->upsert)
                return l->upsert(l->cache, object, 1, why);
        return node_oom_event_upsert(l->cache, loop_now(client_loop(l->options->client)).wall, object, 1, why);
}

static void scan_list_each(void *arg, struct text object)
{
        struct scan_list *l = arg;
        struct err why = {0};
        int rc = scan_list_upsert(l, object, &why);
        if (rc == 0)
                return;
        l->unread++;
        l->why = why;
}

static int scan_list_read_of(struct scan_list *l, const char *ns, struct err *err)
{
        AUTO(mem_free) char *path = path_of(l->group, l->version, ns, l->plural, NULL, NULL);
        const struct collection c = {.path = path, .selector = l->selector, .each = scan_list_each, .arg = l};
        int rc = collection_read(l->options->client, &c, err);
        return rc < 0 ? err_wrap(err, "list %s%s%s", l->name, ns ? " in " : "", ns ? ns : "") : 0;
}

/* List each namespace. Namespaces that may not be listed go into `denied`; any other error ends the list. */
static int scan_list_read_namespaces(struct scan_list *l, struct err *err)
{
        int rc = 0;
        l->denied = mem_new_array(l->scope->count + 1, sizeof *l->denied);
        for (size_t i = 0; rc == 0 && i < l->scope->count; i++) {
                rc = scan_list_read_of(l, l->scope->ns[i], err);
                if (rc != ERR_DENIED)
                        continue;
                l->denied[l->denieds++] = l->scope->ns[i];
                rc = 0;
        }
        return rc;
}

/* Read a list of the whole cluster or, if that is denied, of each known namespace. ERR_DENIED: the list of the whole
 * cluster is denied, and no namespace is known. */
static int scan_list_read(struct scan_list *l, struct err *err)
{
        int rc = l->scope->whole || !l->namespaced ? scan_list_read_of(l, NULL, err) : ERR_DENIED;
        if (rc == ERR_DENIED && l->namespaced && l->scope->count)
                rc = scan_list_read_namespaces(l, err);
        return rc;
}

/* Read a list that only improves the answer. If the list is denied, report that and go on. */
static int scan_list_take(struct scan_list *l, struct err *err)
{
        int rc = scan_list_read(l, err);
        if (rc == ERR_DENIED || l->denieds)
                scan_tell_denied(l, err);
        scan_tell_unread(l);
        mem_free(l->denied);
        return rc == ERR_DENIED ? 0 : rc;
}

/* --- namespaces --- */

/* Make up a namespace from its name, for a person who may read the objects inside it but not the namespace. */
static int scan_namespace_take_name(struct cache *w, const char *name, struct err *err)
{
        AUTO(mem_free)
        char *object = mem_printf(
                "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}}}", name, name);
        return ns_upsert(w, text_of(object), 1, err);
}

static int scan_namespace_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope,
                               struct err *err)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_NAMESPACES, NULL, o->ns, NULL), *body = NULL;
        const struct call call = {
                .method = HTTP_GET, .path = path, .deadline_ms = CALL_MS, .body_max = NAMESPACE_BYTES};
        size_t len;
        int rc = client_wait(o->client, &call, &body, &len, err);
        if (rc == ERR_NOTFOUND)
                return err_set(err, rc, "namespace '%s' does not exist", o->ns);
        if (rc == 0)
                rc = ns_upsert(w, (struct text){body, len}, 1, err);
        else if (rc == ERR_DENIED && err->http_status == 403)
                rc = scan_namespace_take_name(w, o->ns, err);
        if (rc < 0)
                return rc;
        const struct ns *ns = ns_find(w, o->ns);
        if (!ns)
                return err_set(err, ERR_INVALID, "'%s' is not the name of a namespace", o->ns);
        scope->ns = mem_new_array(1, sizeof *scope->ns);
        scope->ns[scope->count++] = ns->name;
        return 0;
}

static void scan_scope_add_all(struct cache *w, struct scan_scope *scope)
{
        const struct ns *ns;
        scope->ns = mem_new_array(w->namespaces.count + 1, sizeof *scope->ns);
        for (size_t at = 0; (ns = map_each(&w->namespaces, &at));)
                if (ns->known)
                        scope->ns[scope->count++] = ns->name;
}

static int scan_compare_names(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct scan_list scan_list_known(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope,
                                        enum known_resource_id of, scan_upsert *upsert, const char *loss)
{
        const struct known_resource *r = &known_resources[of];
        return (struct scan_list){.cache = w,
                                  .options = o,
                                  .scope = scope,
                                  .upsert = upsert,
                                  .group = r->group,
                                  .version = r->version,
                                  .plural = r->plural,
                                  .name = r->name,
                                  .namespaced = r->namespaced,
                                  .loss = loss};
}

static int scan_namespaces_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope,
                                struct err *err)
{
        if (o->ns)
                return scan_namespace_read(w, o, scope, err);
        struct scan_list l = scan_list_known(w, o, scope, KNOWN_NAMESPACES, ns_upsert,
                                             "what their labels and annotations say of halflife is not known");
        scope->whole = true;
        int rc = scan_list_take(&l, err);
        scan_scope_add_all(w, scope);
        qsort(scope->ns, scope->count, sizeof *scope->ns, scan_compare_names);
        return rc;
}

/* --- pods --- */

/* Drop from the scope the namespaces whose pods may not be listed. */
static void scan_scope_drop(struct scan_scope *scope, const struct scan_list *pods)
{
        size_t left = 0, denied = 0;
        for (size_t i = 0; i < scope->count; i++)
                if (denied < pods->denieds && pods->denied[denied] == scope->ns[i])
                        denied++;
                else
                        scope->ns[left++] = scope->ns[i];
        scope->count = left;
}

/* List pods. A namespace whose pods may not be read leaves the scope, as nothing can be said of it. */
static int scan_pods_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope,
                          struct err *err)
{
        struct scan_list l = scan_list_known(w, o, scope, KNOWN_PODS, pod_upsert, "they are left out");
        int rc = scan_list_read(&l, err);
        bool by_namespace = l.denied != NULL;
        if (rc == 0 && l.denieds && l.denieds == scope->count)
                rc = ERR_DENIED; /* err has the error of the last namespace */
        if (rc == ERR_DENIED && err->http_status == 403)
                err_wrap(err, "no pods may be read: %s the ClusterRole of docs/scan.md",
                         o->ns ? "ask for a RoleBinding to" : "name a namespace with -n, or ask for");
        if (rc == 0 && l.denieds)
                scan_tell_denied(&l, err);
        scan_tell_unread(&l);
        if (by_namespace) {
                scope->whole = false;
                scan_scope_drop(scope, &l);
        }
        mem_free(l.denied);
        return rc;
}

/* --- the objects that decide about requests --- */

#define SCAN_KILLS "why a container was killed for memory is judged without them"

static const struct {
        enum known_resource_id of;
        scan_upsert *upsert; /* NULL: the row is for Events of nodes */
        const char *loss;
        const char *name, *selector; /* NULL: the resource's own name, and no selector */
        bool of_memory;              /* the list serves memory alone, which is judged only with a Prometheus */
} scan_rows[] = {
        {KNOWN_LIMITRANGES, range_upsert, "reason LimitRange is not known", NULL, NULL, false},
        {KNOWN_RESOURCEQUOTAS, quota_upsert, "reason Quota is not known", NULL, NULL, false},
        {KNOWN_HPAS, hpa_upsert, "reason HPAHold is not known: such a row may promise too much", NULL, NULL, false},
        {KNOWN_VPAS, other_autoscaler_upsert, "reason OtherAutoscaler is not known: such a row may promise too much",
         NULL, NULL, false},
        {KNOWN_SCALEDOBJECTS, scaled_object_upsert, "reason HPAHold of KEDA is not known", NULL, NULL, false},
        {KNOWN_NODES, node_upsert, SCAN_KILLS, NULL, NULL, true},
        {KNOWN_EVENTS, NULL, SCAN_KILLS, "events of nodes",
         "fieldSelector=involvedObject.kind%3DNode%2Creason%3DSystemOOM", true},
        {KNOWN_EVENTS, evicted_upsert, "evictions for memory are not known", "events of pods (Evicted)",
         "fieldSelector=involvedObject.kind%3DPod%2Creason%3DEvicted", true},
};

/* --- discovery --- */

struct scan_discovery {
        bool done;
        struct api_resource found;
        struct err err;
};

static void scan_discovered(void *arg, const struct api_resource *r, const struct err *err)
{
        struct scan_discovery *d = arg;
        d->done = true;
        d->err = *err;
        if (r)
                d->found = *r;
}

/* Look up a kind's version and plural. Returns 0, ERR_NOTFOUND if the server has no such kind, or the error. */
static int scan_discover(struct client *c, const char *group, const char *kind, struct scan_discovery *ret,
                         struct err *err)
{
        *ret = (struct scan_discovery){0};
        int rc = client_discover(c, group, kind, scan_discovered, ret);
        if (rc < 0)
                return err_set(err, rc, "kind '%s' of group '%s' cannot be", kind, group);
        while (!ret->done)
                loop_turn(client_loop(c), -1);
        return ret->err.code ? err_copy(err, &ret->err) : 0;
}

static int scan_row_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope, size_t row,
                         struct err *err)
{
        const struct known_resource *r = &known_resources[scan_rows[row].of];
        struct scan_list l =
                scan_list_known(w, o, scope, scan_rows[row].of, scan_rows[row].upsert, scan_rows[row].loss);
        struct scan_discovery d;
        if (scan_rows[row].name)
                l.name = scan_rows[row].name;
        l.selector = scan_rows[row].selector;
        int rc = r->optional ? scan_discover(o->client, r->group, r->kind, &d, err) : 0;
        if (rc == 0 && r->optional)
                l.version = d.found.version;
        return rc == ERR_NOTFOUND ? 0 : rc < 0 ? rc : scan_list_take(&l, err);
}

static int scan_kind_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *scope,
                          struct watched_kind *k, struct err *err)
{
        struct scan_discovery d;
        bool standard = watched_kind_is_standard(k);
        int rc = standard ? 0 : scan_discover(o->client, k->group, k->kind, &d, err);
        if (rc < 0)
                return rc == ERR_NOTFOUND ? 0 : rc;
        if (!standard)
                watched_kind_set_version(w, k, d.found.version, d.found.plural);
        AUTO(mem_free) char *name = *k->group ? mem_printf("%s.%s", k->plural, k->group) : mem_string(k->plural);
        struct scan_list l = {.cache = w,
                              .options = o,
                              .scope = scope,
                              .kind = k,
                              .group = k->group,
                              .version = k->version,
                              .plural = k->plural,
                              .name = name,
                              .namespaced = true,
                              .loss = "their pods are left out"};
        return scan_list_take(&l, err);
}

int scan_lists_read(struct cache *w, const struct cluster_scan_options *o, struct scan_scope *ret, struct err *err)
{
        *ret = (struct scan_scope){0};
        int rc = scan_namespaces_read(w, o, ret, err);
        if (rc == 0)
                rc = scan_pods_read(w, o, ret, err);
        watched_kinds_settle(w);
        for (struct watched_kind *k = w->kinds; rc == 0 && k; k = k->next)
                if (watched_kind_is_wanted(k))
                        rc = scan_kind_read(w, o, ret, k, err);
        for (size_t i = 0; rc == 0 && i < sizeof scan_rows / sizeof scan_rows[0]; i++)
                if (o->prometheus || !scan_rows[i].of_memory)
                        rc = scan_row_read(w, o, ret, i, err);
        return rc;
}

void scan_scope_release(struct scan_scope *s)
{
        mem_free(s->ns);
        *s = (struct scan_scope){0};
}
