#include "scan_profiles.h"

#include <string.h>

#include "base/yaml.h"
#include "objects/label_selector.h"

/* --- changes of a profile's spec --- */

/* Returns the object at a key of `object`. If there is none, adds an empty one. */
static json_t *scan_profile_member(json_t *object, const char *key)
{
        json_t *member = json_object_get(object, key);
        if (!json_is_object(member)) {
                member = json_object();
                json_object_set_new(object, key, member);
        }
        return member;
}

static void scan_profile_switch_memory(json_t *resources, bool on)
{
        json_object_set_new(scan_profile_member(resources, "memory"), "enabled", json_boolean(on));
}

/* Judge CPU alone, without minHistory. One measurement shows no peaks, so it does not tell the memory that a container
 * needs. */
static void scan_profile_judge_once(json_t *spec)
{
        size_t i;
        json_t *container;
        json_object_set_new(scan_profile_member(spec, "apply"), "minHistory", json_string("0s"));
        scan_profile_switch_memory(scan_profile_member(spec, "resources"), false);
        json_array_foreach(json_object_get(spec, "containers"), i, container)
        {
                json_t *resources = json_object_get(container, "resources");
                if (json_is_object(json_object_get(resources, "memory")))
                        scan_profile_switch_memory(resources, false);
        }
}

static void scan_profile_judge_deploy(json_t *spec)
{
        json_t *apply = scan_profile_member(spec, "apply");
        const char *mode = json_string_value(json_object_get(apply, "mode"));
        if (!json_object_get(apply, "mode") || (mode && strcmp(mode, "Recommend") == 0))
                json_object_set_new(apply, "mode", json_string("OnDeploy"));
}

static void scan_profile_require(json_t *spec, const struct selector *labels)
{
        static const char *const operators[RELATIONS] = {
                [OP_IN] = "In", [OP_NOT_IN] = "NotIn", [OP_EXISTS] = "Exists", [OP_DOES_NOT_EXIST] = "DoesNotExist"};
        json_t *selector = scan_profile_member(spec, "selector");
        if (!json_is_array(json_object_get(selector, "matchExpressions")))
                json_object_set_new(selector, "matchExpressions", json_array());
        json_t *all = json_object_get(selector, "matchExpressions");
        for (size_t i = 0; labels && i < labels->count; i++) {
                const struct requirement *r = &labels->of[i];
                json_t *values = json_array();
                for (size_t k = 0; k < r->values; k++)
                        json_array_append_new(values, json_string(r->value[k]));
                json_t *one = json_pack("{s:s, s:s}", "key", r->key, "operator", operators[r->op]);
                if (r->values)
                        json_object_set(one, "values", values);
                json_decref(values);
                json_array_append_new(all, one);
        }
}

/* --- profiles --- */

static json_t *scan_profile_default(const struct cluster_scan_options *o)
{
        json_t *profile =
                json_pack("{s:s, s:{s:s}, s:{}}", "kind", "ClusterProfile", "metadata", "name", "default", "spec");
        json_t *spec = json_object_get(profile, "spec");
        scan_profile_switch_memory(scan_profile_member(spec, "resources"), true);
        /* a namespace given by its name is scanned even if it is one of the system's */
        if (o->ns)
                json_object_set_new(spec, "namespaceSelector",
                                    json_pack("{s:{s:s}}", "matchLabels", "kubernetes.io/metadata.name", o->ns));
        return profile;
}

static int scan_profile_check(const json_t *profile, struct err *err)
{
        const char *kind = json_string_value(json_object_get(profile, "kind"));
        if (!json_is_object(profile))
                return err_set(err, ERR_INVALID, "is not an object with kind, metadata and spec");
        if (!kind || (strcmp(kind, "ClusterProfile") != 0 && strcmp(kind, "Profile") != 0))
                return err_set(err, ERR_INVALID, "kind '%.64s' is not ClusterProfile or Profile", kind ? kind : "");
        if (!json_is_object(json_object_get(profile, "spec")))
                return err_set(err, ERR_INVALID, "spec is missing: write {} for the defaults");
        if (!json_is_string(json_object_get(json_object_get(profile, "metadata"), "name")))
                return err_set(err, ERR_INVALID, "metadata.name is missing");
        return 0;
}

static const struct profile *scan_profile_find(const struct cache *w, const char *ns, const char *name)
{
        AUTO(mem_free) char *key = mem_printf("%s/%s", ns, name);
        return map_get(&w->profiles, text_of(key));
}

static int scan_profile_take(struct cache *w, const struct cluster_scan_options *o, const struct selector *labels,
                             json_t *profile, struct err *err)
{
        int rc = scan_profile_check(profile, err);
        if (rc < 0)
                return rc;
        bool cluster = strcmp(json_string_value(json_object_get(profile, "kind")), "ClusterProfile") == 0;
        json_t *spec = json_object_get(profile, "spec"), *meta = json_object_get(profile, "metadata");
        scan_profile_judge_deploy(spec);
        if (!o->prometheus)
                scan_profile_judge_once(spec);
        if (labels)
                scan_profile_require(spec, labels);
        if (!cluster && !json_is_string(json_object_get(meta, "namespace")))
                json_object_set_new(meta, "namespace", json_string(o->profiles_ns));
        char *text = json_dumps(profile, 0);
        rc = profile_upsert(w, cluster, text_of(text), 1, err);
        free(text);
        if (rc < 0)
                return rc;
        const char *ns = cluster ? "" : json_string_value(json_object_get(meta, "namespace"));
        const struct profile *p = scan_profile_find(w, ns, json_string_value(json_object_get(meta, "name")));
        if (!p->error)
                return 0;
        return err_set(err, ERR_INVALID, "%s '%.64s': %s", profile_kind(p), p->name, p->error);
}

static int scan_profiles_take_all(struct cache *w, const struct cluster_scan_options *o, const struct selector *labels,
                                  struct err *err)
{
        AUTO(json_decref)
        json_t *all = o->profiles ? json_deep_copy(o->profiles) : json_pack("[o]", scan_profile_default(o));
        size_t i;
        json_t *profile;
        json_array_foreach(all, i, profile)
        {
                int rc = scan_profile_take(w, o, labels, profile, err);
                const char *file = o->profiles_file;
                if (rc < 0)
                        return file ? err_wrap(err, "profile '%s': profile %zu", file, i + 1)
                                    : err_wrap(err, "profile %zu", i + 1);
        }
        return 0;
}

int scan_profiles_take(struct cache *w, const struct cluster_scan_options *o, struct err *err)
{
        struct arena a = {0};
        struct selector *labels = NULL;
        int rc = o->labels ? selector_parse(text_of(o->labels), &a, &labels, err) : 0;
        if (rc < 0)
                err_wrap(err, "selector");
        else
                rc = scan_profiles_take_all(w, o, labels, err);
        arena_release(&a);
        return rc;
}
