/* The resources that are served: the built-in ones and those that CustomResourceDefinitions add; and what a path names.
 */
#include <assert.h>
#include <string.h>

#include "fake.h"

static const struct {
        const char *group, *version, *plural, *singular, *name;
        bool namespaced, has_status, has_scale;
} built_in[] = {
        {"", "v1", "namespaces", "namespace", "Namespace", false, true, false},
        {"", "v1", "pods", "pod", "Pod", true, true, false},
        {"", "v1", "nodes", "node", "Node", false, true, false},
        {"", "v1", "secrets", "secret", "Secret", true, false, false},
        {"", "v1", "configmaps", "configmap", "ConfigMap", true, false, false},
        {"", "v1", "services", "service", "Service", true, true, false},
        {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", true, false, false},
        {"", "v1", "limitranges", "limitrange", "LimitRange", true, false, false},
        {"", "v1", "events", "event", "Event", true, false, false},
        {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", true, true, false},
        {"apps", "v1", "deployments", "deployment", "Deployment", true, true, true},
        {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", true, true, true},
        {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", true, true, false},
        {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", true, true, true},
        {"batch", "v1", "jobs", "job", "Job", true, true, false},
        {"batch", "v1", "cronjobs", "cronjob", "CronJob", true, true, false},
        {"autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", true,
         true, false},
        {"coordination.k8s.io", "v1", "leases", "lease", "Lease", true, false, false},
        {"events.k8s.io", "v1", "events", "event", "Event", true, false, false},
        {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration",
         "MutatingWebhookConfiguration", false, false, false},
        {"apiregistration.k8s.io", "v1", "apiservices", "apiservice", "APIService", false, false, false},
        {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
         "CustomResourceDefinition", false, true, false},
};

static struct kind *kind_new(struct fake *f, const char *group, const char *version, const char *plural)
{
        struct kind *k = MEM_NEW(struct kind);
        k->group = mem_string(group);
        k->version = mem_string(version);
        k->plural = mem_string(plural);
        k->served = true;
        k->forgotten = f->number;
        f->kind = mem_resize(f->kind, f->kinds + 1, sizeof *f->kind);
        f->kind[f->kinds++] = k;
        return k;
}

void kinds_init(struct fake *f)
{
        for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
                struct kind *k = kind_new(f, built_in[i].group, built_in[i].version, built_in[i].plural);
                k->singular = mem_string(built_in[i].singular);
                k->name = mem_string(built_in[i].name);
                k->namespaced = built_in[i].namespaced;
                k->has_status = built_in[i].has_status;
                k->has_scale = built_in[i].has_scale;
        }
}

void kinds_release(struct fake *f)
{
        for (size_t i = 0; i < f->kinds; i++) {
                struct kind *k = f->kind[i];
                kind_empty(k);
                if (k->event)
                        store_forget(f, k);
                mem_free(k->event);
                mem_free(k->group);
                mem_free(k->version);
                mem_free(k->plural);
                mem_free(k->singular);
                mem_free(k->name);
                json_decref(k->versions);
                json_decref(k->schema);
                json_decref(k->short_names);
                json_decref(k->categories);
                mem_free(k);
        }
        mem_free(f->kind);
}

const char *kind_version_at(const struct kind *k, size_t place)
{
        if (!k->versions)
                return place == 0 ? k->version : NULL;
        return json_string_value(json_array_get(k->versions, place));
}

bool kind_serves(const struct kind *k, const char *version)
{
        const char *is;
        for (size_t i = 0; (is = kind_version_at(k, i)); i++)
                if (strcmp(is, version) == 0)
                        return true;
        return false;
}

struct kind *fake_kind_find(const struct fake *f, const char *group, const char *version, const char *plural)
{
        for (size_t i = 0; i < f->kinds; i++)
                if (f->kind[i]->served && strcmp(f->kind[i]->group, group) == 0 &&
                    strcmp(f->kind[i]->plural, plural) == 0 && (!version || kind_serves(f->kind[i], version)))
                        return f->kind[i];
        return NULL;
}

struct kind *kind_named(const struct fake *f, const char *api_version, const char *name)
{
        const char *slash = strchr(api_version, '/'), *version = slash ? slash + 1 : api_version;
        size_t len = slash ? (size_t)(slash - api_version) : 0;
        for (size_t i = 0; i < f->kinds; i++) {
                const struct kind *k = f->kind[i];
                if (k->served && strcmp(k->name, name) == 0 && kind_serves(k, version) && strlen(k->group) == len &&
                    strncmp(k->group, api_version, len) == 0)
                        return f->kind[i];
        }
        return NULL;
}

const char *kind_api_version(const struct kind *k, struct buf *b)
{
        buf_reset(b);
        buf_printf(b, "%s%s%s", k->group, *k->group ? "/" : "", k->version);
        return b->data;
}

const char *kind_resource(const struct kind *k, struct buf *b)
{
        buf_reset(b);
        buf_printf(b, "%s%s%s", k->plural, *k->group ? "." : "", k->group);
        return b->data;
}

/* --- custom kinds --- */

const json_t *kind_stored_version(const json_t *crd)
{
        size_t i;
        json_t *v;
        json_array_foreach(json_at(crd, "spec.versions"), i,
                           v) if (json_is_true(json_object_get(v, "storage"))) return v;
        return json_array_get(json_at(crd, "spec.versions"), 0);
}

static json_t *served_versions(const json_t *crd)
{
        json_t *list = json_array(), *v;
        size_t i;
        json_array_foreach(json_at(crd, "spec.versions"), i, v) if (json_is_true(json_object_get(v, "served")))
                json_array_append(list, json_object_get(v, "name"));
        return list;
}

static void replace_text(char **text, const char *with)
{
        mem_free(*text);
        *text = mem_string(with);
}

static void replace_json(json_t **value, const json_t *with)
{
        json_decref(*value);
        *value = with ? json_deep_copy(with) : NULL;
}

void kind_define(struct fake *f, const json_t *crd)
{
        const json_t *version = kind_stored_version(crd), *sub = json_object_get(version, "subresources");
        const char *group = text_at(crd, "spec.group"), *plural = text_at(crd, "spec.names.plural");
        struct kind *k = fake_kind_find(f, group, NULL, plural);
        if (!k)
                k = kind_new(f, group, "", plural);
        replace_text(&k->version, text_at(version, "name"));
        json_decref(k->versions);
        k->versions = served_versions(crd);
        replace_text(&k->singular, text_at(crd, "spec.names.singular"));
        replace_text(&k->name, text_at(crd, "spec.names.kind"));
        replace_json(&k->schema, json_at(version, "schema.openAPIV3Schema"));
        replace_json(&k->short_names, json_at(crd, "spec.names.shortNames"));
        replace_json(&k->categories, json_at(crd, "spec.names.categories"));
        k->namespaced = strcmp(text_at(crd, "spec.scope"), "Namespaced") == 0;
        k->has_status = json_object_get(sub, "status") != NULL;
        k->has_scale = json_object_get(sub, "scale") != NULL;
        k->custom = true;
        fake_notify(f);
}

void kind_remove(struct fake *f, const json_t *crd)
{
        struct kind *k = fake_kind_find(f, text_at(crd, "spec.group"), NULL, text_at(crd, "spec.names.plural"));
        if (!k || !k->custom)
                return;
        while (k->count > 0) {
                const json_t *last = k->object[k->count - 1].version->object;
                AUTO(mem_free) char *ns = mem_string(object_ns(last)), *name = mem_string(object_name(last));
                store_remove(f, k, ns, name);
        }
        k->served = false;
        fake_notify(f);
}

/* --- paths --- */

enum { SEGMENTS_MAX = 10 };

static size_t split_path(char *path, const char *part[static SEGMENTS_MAX])
{
        size_t n = 0;
        for (char *save = NULL, *p = strtok_r(path, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
                if (n == SEGMENTS_MAX)
                        return 0;
                part[n++] = p;
        }
        return n;
}

static bool is_namespace_sub(const char *s)
{
        return strcmp(s, "status") == 0 || strcmp(s, "finalize") == 0;
}

bool target_parse(struct fake *f, const char *path, struct target *ret)
{
        const char *part[SEGMENTS_MAX] = {0};
        *ret = (struct target){.ns = "", .name = "", .sub = "", .store = mem_string(path)};
        size_t n = split_path(ret->store, part), at;
        bool core = n > 2 && strcmp(part[0], "api") == 0;
        if (!core && (n < 4 || strcmp(part[0], "apis") != 0))
                return false;
        const char *group = core ? "" : part[1], *version = part[core ? 1 : 2];
        at = core ? 2 : 3;
        if (strcmp(part[at], "namespaces") == 0 && n > at + 2 &&
            !(core && n == at + 3 && is_namespace_sub(part[at + 2]))) {
                ret->ns = part[at + 1];
                at += 2;
        }
        ret->version = version;
        ret->kind = fake_kind_find(f, group, version, part[at]);
        if (n > at + 1)
                ret->name = part[at + 1];
        if (n > at + 2)
                ret->sub = part[at + 2];
        return ret->kind && n <= at + 3 && (*ret->ns == '\0' || ret->kind->namespaced) &&
               (*ret->name == '\0' || *ret->ns != '\0' || !ret->kind->namespaced);
}

char *target_api_version(const struct target *t)
{
        return mem_printf("%s%s%s", t->kind->group, *t->kind->group ? "/" : "", t->version);
}

void target_release(struct target *t)
{
        mem_free(t->store);
}
