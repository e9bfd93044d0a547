/* /api, /apis, groups and their resources, /version and health. */
#include <string.h>

#include "fake.h"

static const char metrics_group[] = "metrics.k8s.io";

static json_t *verbs_of(const char *sub)
{
        if (strcmp(sub, "") != 0)
                return json_pack("[s,s,s]", "get", "patch", "update");
        return json_pack("[s,s,s,s,s,s,s,s]", "create", "delete", "deletecollection", "get", "list", "patch", "update",
                         "watch");
}

static void add_resource(json_t *list, const struct kind *k, const char *sub, const char *kind)
{
        AUTO(mem_free) char *name = mem_printf("%s%s%s", k->plural, *sub ? "/" : "", sub);
        json_t *r = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", name, "singularName", *sub ? "" : k->singular,
                              "namespaced", k->namespaced, "kind", kind, "verbs", verbs_of(sub));
        if (!*sub && k->short_names)
                json_object_set(r, "shortNames", k->short_names);
        if (!*sub && k->categories)
                json_object_set(r, "categories", k->categories);
        json_array_append_new(list, r);
}

static void add_metrics(json_t *list)
{
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:[s,s]}", "name", "nodes", "singularName", "",
                                              "namespaced", false, "kind", "NodeMetrics", "verbs", "get", "list"));
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:s, s:[s,s]}", "name", "pods", "singularName", "",
                                              "namespaced", true, "kind", "PodMetrics", "verbs", "get", "list"));
}

static bool is_metrics_version(const struct fake *f, const char *group, const char *version,
                               struct metrics_version *ret)
{
        for (size_t i = 0; strcmp(group, metrics_group) == 0 && metrics_version_at(f, i, ret); i++)
                if (strcmp(ret->name, version) == 0)
                        return true;
        return false;
}

static bool serve_resources(struct fake *f, const char *group, const char *version, struct reply *rp)
{
        struct metrics_version metrics;
        json_t *list = json_array();
        if (is_metrics_version(f, group, version, &metrics)) {
                if (metrics.away) {
                        json_decref(list);
                        metrics_refuse(rp);
                        return true;
                }
                add_metrics(list);
        }
        for (size_t i = 0; i < f->kinds; i++) {
                const struct kind *k = f->kind[i];
                if (!k->served || strcmp(k->group, group) != 0 || !kind_serves(k, version))
                        continue;
                add_resource(list, k, "", k->name);
                if (k->has_status)
                        add_resource(list, k, "status", k->name);
                if (k->has_scale)
                        add_resource(list, k, "scale", "Scale");
                if (strcmp(k->name, "Pod") == 0 && !f->old)
                        add_resource(list, k, "resize", k->name);
        }
        if (json_array_size(list) == 0) {
                json_decref(list);
                return false;
        }
        AUTO(mem_free) char *gv = mem_printf("%s%s%s", group, *group ? "/" : "", version);
        reply_json(rp, 200,
                   json_pack("{s:s, s:s, s:s, s:o}", "kind", "APIResourceList", "apiVersion", "v1", "groupVersion", gv,
                             "resources", list));
        return true;
}

static json_t *version_json(const char *group, const char *version)
{
        return json_pack("{s:o, s:s}", "groupVersion", json_sprintf("%s/%s", group, version), "version", version);
}

static json_t *group_json(const char *group, const char *version)
{
        return json_pack("{s:s, s:[o], s:o}", "name", group, "versions", version_json(group, version),
                         "preferredVersion", version_json(group, version));
}

static void add_metrics_group(const struct fake *f, json_t *list)
{
        struct metrics_version v;
        json_t *group = NULL;
        for (size_t i = 0; metrics_version_at(f, i, &v); i++)
                if (group)
                        json_array_append_new(json_object_get(group, "versions"), version_json(metrics_group, v.name));
                else
                        group = group_json(metrics_group, v.name);
        if (group)
                json_array_append_new(list, group);
}

static json_t *groups(const struct fake *f)
{
        json_t *seen = json_object(), *list = json_array();
        for (size_t i = 0; i < f->kinds; i++) {
                const struct kind *k = f->kind[i];
                if (!k->served || !*k->group || json_object_get(seen, k->group))
                        continue;
                json_object_set_new(seen, k->group, json_true());
                json_t *group = group_json(k->group, kind_version_at(k, 0));
                const char *version;
                for (size_t at = 1; (version = kind_version_at(k, at)); at++)
                        json_array_append_new(json_object_get(group, "versions"), version_json(k->group, version));
                json_array_append_new(list, group);
        }
        json_array_append_new(list, group_json("authorization.k8s.io", "v1"));
        add_metrics_group(f, list);
        json_decref(seen);
        return list;
}

static void serve_group(const struct fake *f, const char *name, struct reply *rp)
{
        AUTO(json_decref) json_t *all = groups(f);
        size_t i;
        json_t *g;
        json_array_foreach(all, i, g) if (strcmp(text_at(g, "name"), name) == 0)
        {
                json_t *copy = json_deep_copy(g);
                json_object_set_new(copy, "kind", json_string("APIGroup"));
                json_object_set_new(copy, "apiVersion", json_string("v1"));
                reply_json(rp, 200, copy);
        }
}

/* --- aggregated --- */

static json_t *resource_aggregated(const struct kind *k, const char *version)
{
        json_t *r = json_pack("{s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:o}", "resource", k->plural, "responseKind", "group",
                              k->group, "version", version, "kind", k->name, "scope",
                              k->namespaced ? "Namespaced" : "Cluster", "singularResource", k->singular, "verbs",
                              verbs_of(""));
        if (k->short_names)
                json_object_set(r, "shortNames", k->short_names);
        if (k->categories)
                json_object_set(r, "categories", k->categories);
        return r;
}

/* The element of the list that is named so, made when there is none: a group, or a version of one. */
static json_t *element_get(json_t *list, const char *name_path, json_t *made)
{
        size_t i;
        json_t *row;
        json_array_foreach(list, i, row) if (strcmp(text_at(row, name_path), text_at(made, name_path)) == 0)
        {
                json_decref(made);
                return row;
        }
        json_array_append_new(list, made);
        return made;
}

static json_t *aggregated_metrics(const char *resource, const char *kind, const char *scope, const char *version)
{
        return json_pack("{s:s, s:{s:s, s:s, s:s}, s:s, s:s, s:[s, s]}", "resource", resource, "responseKind", "group",
                         metrics_group, "version", version, "kind", kind, "scope", scope, "singularResource", "",
                         "verbs", "get", "list");
}

/* As of a server that answered once: of one that is away the resources are known still. */
static void add_metrics_aggregated(const struct fake *f, json_t *list)
{
        struct metrics_version v;
        json_t *versions = json_array();
        for (size_t i = 0; metrics_version_at(f, i, &v); i++)
                json_array_append_new(versions,
                                      json_pack("{s:s, s:s, s:[o, o]}", "version", v.name, "freshness",
                                                v.away ? "Stale" : "Current", "resources",
                                                aggregated_metrics("nodes", "NodeMetrics", "Cluster", v.name),
                                                aggregated_metrics("pods", "PodMetrics", "Namespaced", v.name)));
        if (json_array_size(versions) > 0)
                json_array_append_new(
                        list, json_pack("{s:{s:s}, s:O}", "metadata", "name", metrics_group, "versions", versions));
        json_decref(versions);
}

static json_t *groups_aggregated(const struct fake *f, bool core)
{
        json_t *list = json_array();
        for (size_t i = 0; i < f->kinds; i++) {
                const struct kind *k = f->kind[i];
                if (!k->served || core != !*k->group)
                        continue;
                json_t *g = element_get(list, "metadata.name",
                                        json_pack("{s:{s:s}, s:[]}", "metadata", "name", k->group, "versions"));
                const char *version;
                for (size_t at = 0; (version = kind_version_at(k, at)); at++) {
                        json_t *v = element_get(
                                json_object_get(g, "versions"), "version",
                                json_pack("{s:s, s:s, s:[]}", "version", version, "freshness", "Current", "resources"));
                        json_array_append_new(json_object_get(v, "resources"), resource_aggregated(k, version));
                }
        }
        if (!core)
                add_metrics_aggregated(f, list);
        return list;
}

/* Where the client asks for it, /api and /apis name every resource. */
static bool serve_aggregated(const struct fake *f, const struct request *rq, struct reply *rp)
{
        bool core = strcmp(rq->path, "/api") == 0;
        if ((!core && strcmp(rq->path, "/apis") != 0) || !rq->accept || !strstr(rq->accept, "as=APIGroupDiscoveryList"))
                return false;
        reply_json(rp, 200,
                   json_pack("{s:s, s:s, s:{}, s:o}", "kind", "APIGroupDiscoveryList", "apiVersion",
                             "apidiscovery.k8s.io/v2", "metadata", "items", groups_aggregated(f, core)));
        return true;
}

/* --- plain --- */

static void serve_text(struct reply *rp, const char *text)
{
        rp->status = 200;
        rp->type = "text/plain; charset=utf-8";
        rp->text = strdup(text);
        rp->len = strlen(text);
}

static bool serve_fixed(struct fake *f, const char *path, struct reply *rp)
{
        if (strcmp(path, "/readyz") == 0 || strcmp(path, "/livez") == 0 || strcmp(path, "/healthz") == 0)
                serve_text(rp, "ok");
        else if (strcmp(path, "/version") == 0)
                reply_json(rp, 200,
                           json_pack("{s:s, s:s, s:s, s:s}", "major", "1", "minor", "36", "gitVersion", "v1.36.3",
                                     "platform", "linux/amd64"));
        else if (strcmp(path, "/api") == 0)
                reply_json(rp, 200, json_pack("{s:s, s:[s]}", "kind", "APIVersions", "versions", "v1"));
        else if (strcmp(path, "/apis") == 0)
                reply_json(
                        rp, 200,
                        json_pack("{s:s, s:s, s:o}", "kind", "APIGroupList", "apiVersion", "v1", "groups", groups(f)));
        else
                return false;
        return true;
}

bool discovery_serve(struct fake *f, const struct request *rq, struct reply *rp)
{
        char group[256], version[64], rest[2];
        if (strcmp(rq->method, "GET") != 0)
                return false;
        if (serve_aggregated(f, rq, rp) || serve_fixed(f, rq->path, rp))
                return true;
        if (strcmp(rq->path, "/api/v1") == 0)
                return serve_resources(f, "", "v1", rp);
        int n = sscanf(rq->path, "/apis/%255[^/]/%63[^/]/%1s", group, version, rest);
        if (n == 1)
                serve_group(f, group, rp);
        return n == 2 ? serve_resources(f, group, version, rp) : n == 1 && rp->status != 0;
}
