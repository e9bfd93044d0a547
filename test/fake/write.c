/* POST, PUT, PATCH and DELETE: what comes in is merged with what is there, completed, checked, owned, and stored. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "write.h"

static const char apply_type[] = "application/apply-patch+yaml";

/* --- small parts --- */

static bool type_is(const struct request *rq, const char *type)
{
        return rq->type && strncmp(rq->type, type, strlen(type)) == 0;
}

static bool is_status(const struct target *t)
{
        return strcmp(t->sub, "status") == 0;
}

static bool is_scale(const struct target *t)
{
        return strcmp(t->sub, "scale") == 0;
}

static bool name_good(const char *name)
{
        size_t len = strlen(name);
        if (len == 0 || len > 253 || !isalnum((unsigned char)name[0]) || !isalnum((unsigned char)name[len - 1]))
                return false;
        for (size_t i = 0; i < len; i++)
                if (!(islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) || name[i] == '-' ||
                      name[i] == '.'))
                        return false;
        return true;
}

static json_t *strip_times(const json_t *object)
{
        json_t *copy = json_deep_copy(object), *meta = json_object_get(copy, "metadata"), *e;
        size_t i;
        json_object_del(meta, "resourceVersion");
        json_array_foreach(json_object_get(meta, "managedFields"), i, e) json_object_del(e, "time");
        return copy;
}

static bool same_but_times(const json_t *a, const json_t *b)
{
        AUTO(json_decref) json_t *x = strip_times(a);
        AUTO(json_decref) json_t *y = strip_times(b);
        return json_same(x, y);
}

static bool same_content(const struct kind *k, const json_t *a, const json_t *b)
{
        static const char *const outside[] = {"metadata", "status", "kind", "apiVersion"};
        if (!k->custom)
                return json_same(json_object_get(a, "spec"), json_object_get(b, "spec"));
        AUTO(json_decref) json_t *x = json_copy((json_t *)(uintptr_t)a);
        AUTO(json_decref) json_t *y = json_copy((json_t *)(uintptr_t)b);
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
                json_object_del(x, outside[i]);
                json_object_del(y, outside[i]);
        }
        return json_same(x, y);
}

void write_conflict(struct writing *w)
{
        struct buf r = {0};
        buf_init(&r, 512);
        reply_refuse(w->rp, 409, "Conflict", w->t, NULL,
                     "Operation cannot be fulfilled on %s \"%s\": the object has been modified; please apply your "
                     "changes to the latest "
                     "version and try again",
                     kind_resource(w->t->kind, &r), w->t->name);
        buf_release(&r);
}

static void reply_not_found(struct reply *rp, const struct target *t)
{
        struct buf r = {0};
        buf_init(&r, 512);
        reply_refuse(rp, 404, "NotFound", t, NULL, "%s \"%s\" not found", kind_resource(t->kind, &r), t->name);
        buf_release(&r);
}

static void reply_causes(struct writing *w, json_t *causes)
{
        struct buf all = {0};
        size_t i;
        json_t *c;
        buf_init(&all, 6000);
        json_array_foreach(causes, i, c)
                buf_printf(&all, "%s%s: %s", i ? ", " : "", text_at(c, "field"), text_at(c, "message"));
        reply_refuse(w->rp, 422, "Invalid", w->t, causes, "%s%s%s \"%s\" is invalid: %s%s%s", w->t->kind->name,
                     *w->t->kind->group ? "." : "", w->t->kind->group, w->t->name, i > 1 ? "[" : "",
                     all.data ? all.data : "", i > 1 ? "]" : "");
        buf_release(&all);
}

void write_reply(const struct target *t, struct reply *rp, int status, const struct version *v)
{
        AUTO(mem_free) char *api_version = target_api_version(t);
        struct buf b = {0};
        buf_init(&b, v->len + 512);
        version_print(v, t->kind, api_version, &b);
        rp->status = status;
        rp->type = "application/json";
        rp->len = b.len;
        rp->text = buf_steal(&b);
}

/* --- completing and checking --- */

void object_begin(struct fake *f, json_t *object)
{
        char uid[37];
        json_t *meta = json_object_get(object, "metadata");
        fake_uid(f, object_ns(object), object_name(object), uid);
        json_object_set_new(meta, "uid", json_string(uid));
        json_object_set_new(meta, "creationTimestamp", fake_time(f));
        json_object_set_new(meta, "generation", json_integer(1));
}

static void keep(json_t *to, const json_t *from, const char *name)
{
        json_t *v = json_object_get(from, name);
        if (v)
                json_object_set_new(to, name, json_deep_copy(v));
        else
                json_object_del(to, name);
}

/* What no writer decides. */
static void keep_system(const struct kind *k, json_t *object, const json_t *before)
{
        static const char *const fields[] = {"uid", "creationTimestamp", "generation", "deletionTimestamp",
                                             "deletionGracePeriodSeconds"};
        json_t *meta = json_object_get(object, "metadata");
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                keep(meta, json_object_get(before, "metadata"), fields[i]);
        if (k->has_status)
                keep(object, before, "status");
}

/* Mutating admission; takes the object and gives the one to store. */
static json_t *admitted(const struct writing *w, json_t *object)
{
        if (!w->f->admit)
                return object;
        char *text = json_dumps(object, JSON_COMPACT);
        char *other = w->f->admit(w->f->admit_arg, w->t->kind->name, text);
        json_t *changed = other ? json_loads(other, 0, NULL) : NULL;
        free(text);
        free(other);
        if (!changed)
                return object;
        json_decref(object);
        return changed;
}

static bool check_schema(struct writing *w, json_t *object)
{
        const json_t *schema = w->t->kind->schema;
        AUTO(json_decref) json_t *unknown = json_array();
        if (!w->t->kind->custom)
                return true;
        schema_prune(schema, object, true, "", unknown);
        if (json_array_size(unknown) > 0 && strcmp(query_get(w->rq, "fieldValidation"), "Strict") == 0) {
                reply_error(
                        w->rp, 400, "BadRequest",
                        "%s in version \"%s\" cannot be handled as a %s: strict decoding error: unknown field \"%s\"",
                        w->t->kind->name, w->t->version, w->t->kind->name,
                        json_string_value(json_array_get(unknown, 0)));
                return false;
        }
        schema_default(schema, object);
        json_t *causes = json_array();
        schema_check(schema, object, "", causes);
        if (json_array_size(causes) > 0) {
                reply_causes(w, causes);
                return false;
        }
        json_decref(causes);
        return true;
}

static bool check_identity(struct writing *w, json_t *object)
{
        const struct target *t = w->t;
        AUTO(mem_free) char *of_path = target_api_version(t);
        json_t *meta = json_object_get(object, "metadata");
        const char *kind = text_at(object, "kind"), *api = text_at(object, "apiVersion");
        bool good = json_is_object(meta);
        if (!good)
                reply_error(w->rp, 422, "Invalid", "metadata: Required value");
        else if (is_scale(t))
                good = true;
        else if ((*kind && strcmp(kind, t->kind->name) != 0) || (*api && strcmp(api, of_path) != 0)) {
                reply_error(w->rp, 400, "BadRequest",
                            "the object provided is unrecognized: %s %s where %s was expected", api, kind,
                            t->kind->name);
                good = false;
        } else if (*t->name && *object_name(object) && strcmp(object_name(object), t->name) != 0) {
                reply_error(w->rp, 400, "BadRequest",
                            "the name of the object (%s) does not match the name on the URL (%s)", object_name(object),
                            t->name);
                good = false;
        } else if (t->kind->namespaced && *object_ns(object) && strcmp(object_ns(object), t->ns) != 0) {
                reply_error(w->rp, 400, "BadRequest",
                            "the namespace of the provided object does not match the namespace sent on the request");
                good = false;
        }
        return good;
}

static bool check_version(struct writing *w, const json_t *object, const struct version *before)
{
        const char *uid = text_at(object, "metadata.uid"), *rv = text_at(object, "metadata.resourceVersion");
        bool stale = *rv && strcmp(rv, text_at(before->object, "metadata.resourceVersion")) != 0;
        bool other = *uid && strcmp(uid, text_at(before->object, "metadata.uid")) != 0;
        if (stale || other)
                write_conflict(w);
        return !stale && !other;
}

/* --- storing --- */

static void define_if_crd(struct fake *f, const struct kind *k, const json_t *object)
{
        if (strcmp(k->name, "CustomResourceDefinition") == 0)
                kind_define(f, object);
}

static void crd_status(struct fake *f, json_t *object)
{
        json_t *time = fake_time(f);
        json_object_set_new(object, "status",
                            json_pack("{s:[{s:s,s:s,s:s,s:s,s:O},{s:s,s:s,s:s,s:s,s:O}], s:O, s:[O]}", "conditions",
                                      "type", "NamesAccepted", "status", "True", "reason", "NoConflicts", "message",
                                      "no conflicts found", "lastTransitionTime", time, "type", "Established", "status",
                                      "True", "reason", "InitialNamesAccepted", "message",
                                      "the initial names have been accepted", "lastTransitionTime", time,
                                      "acceptedNames", json_at(object, "spec.names"), "storedVersions",
                                      json_object_get(kind_stored_version(object), "name")));
        json_decref(time);
}

/* Takes the object. */
static void commit(struct writing *w, const struct version *before, json_t *object)
{
        struct kind *k = w->t->kind;
        json_t *meta = json_object_get(object, "metadata");
        int status = before ? 200 : 201;
        if (before && same_but_times(before->object, object)) {
                write_reply(w->t, w->rp, 200, before);
                json_decref(object);
                return;
        }
        if (w->dry) {
                reply_json(w->rp, status, object);
                return;
        }
        struct version *v = store_write(w->f, k, object);
        define_if_crd(w->f, k, v->object);
        write_reply(w->t, w->rp, status, v);
        controllers_note(w->f, k, v->object);
        if (json_object_get(meta, "deletionTimestamp") && json_array_size(json_object_get(meta, "finalizers")) == 0)
                object_remove(w->f, k, v->object);
        controllers_run(w->f);
}

static bool namespace_open(struct writing *w)
{
        const struct target *t = w->t;
        if (!t->kind->namespaced)
                return true;
        const struct object *ns = store_find(fake_kind_find(w->f, "", "v1", "namespaces"), "", t->ns);
        if (!*t->ns)
                reply_error(w->rp, 405, "MethodNotAllowed",
                            "the server does not allow this method on the requested resource");
        else if (!ns)
                reply_error(w->rp, 404, "NotFound", "namespaces \"%s\" not found", t->ns);
        else if (json_at(ns->version->object, "metadata.deletionTimestamp"))
                reply_refuse(w->rp, 403, "Forbidden", t, NULL,
                             "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being "
                             "terminated",
                             t->kind->plural, t->name, t->ns);
        else
                return true;
        return false;
}

static void name_generated(struct fake *f, json_t *meta)
{
        static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
        char tail[6] = {0};
        for (size_t i = 0; i < 5; i++)
                tail[i] = letters[fake_random(f, text_at(meta, "namespace"), text_at(meta, "generateName")) %
                                  (sizeof letters - 1)];
        AUTO(mem_free) char *name = mem_printf("%s%s", text_at(meta, "generateName"), tail);
        json_object_set_new(meta, "name", json_string(name));
}

/* Takes the object, which has been merged and is to be stored as a new one. */
static void create(struct writing *w, json_t *object)
{
        struct kind *k = w->t->kind;
        object = admitted(w, object);
        json_t *meta = json_object_get(object, "metadata");
        if (k->namespaced)
                json_object_set_new(meta, "namespace", json_string(w->t->ns));
        else
                json_object_del(meta, "namespace");
        if (!name_good(object_name(object))) {
                reply_refuse(w->rp, 422, "Invalid", w->t, NULL,
                             "%s \"%.300s\" is invalid: metadata.name: Invalid value: a lowercase RFC 1123 subdomain "
                             "must consist of lower "
                             "case alphanumeric characters, '-' or '.'",
                             k->name, object_name(object));
                json_decref(object);
                return;
        }
        if (k->has_status)
                json_object_del(object, "status");
        object_begin(w->f, object);
        if (!namespace_open(w) || !check_schema(w, object)) {
                json_decref(object);
                return;
        }
        if (strcmp(k->name, "CustomResourceDefinition") == 0)
                crd_status(w->f, object);
        if (!k->custom)
                defaults_set(k, object);
        if (!w->apply) {
                AUTO(json_decref) json_t *nothing = json_object();
                json_object_del(meta, "managedFields");
                fields_update(w->f, k, nothing, object, w->manager, "");
        }
        commit(w, NULL, object);
}

/* Takes the object, whole as the writer wants it; only the part that the endpoint is for counts. */
static void replace(struct writing *w, const struct version *before, json_t *object)
{
        struct kind *k = w->t->kind;
        if (is_status(w->t)) {
                json_t *whole = json_deep_copy(before->object);
                keep(whole, object, "status");
                keep(json_object_get(whole, "metadata"),
                     json_object_get(w->apply ? object : before->object, "metadata"), "managedFields");
                json_decref(object);
                object = whole;
        } else {
                object = admitted(w, object);
                keep_system(k, object, before->object);
                if (!w->apply)
                        keep(json_object_get(object, "metadata"), json_object_get(before->object, "metadata"),
                             "managedFields");
                if (!k->custom && strcmp(k->name, "Pod") == 0 && !pod_update(w, before->object, object)) {
                        json_decref(object);
                        return;
                }
        }
        if (!check_schema(w, object)) {
                json_decref(object);
                return;
        }
        if (!k->custom)
                defaults_set(k, object);
        if (!is_status(w->t) && !same_content(k, before->object, object)) {
                json_int_t generation = json_integer_value(json_at(before->object, "metadata.generation"));
                json_object_set_new(json_object_get(object, "metadata"), "generation", json_integer(generation + 1));
        }
        if (!w->apply)
                fields_update(w->f, k, before->object, object, w->manager, is_scale(w->t) ? "" : w->t->sub);
        commit(w, before, object);
}

/* --- verbs --- */

static json_t *body_read(struct writing *w)
{
        json_error_t why;
        struct err err = {0};
        bool yaml = type_is(w->rq, apply_type) || type_is(w->rq, "application/yaml");
        json_t *body = yaml ? yaml_read(w->rq->body, w->rq->len, &err) : json_loadb(w->rq->body, w->rq->len, 0, &why);
        if (!body)
                reply_error(w->rp, 400, "BadRequest", "the object provided is unrecognized: %s",
                            yaml ? err.text : why.text);
        return body;
}

static void serve_create(struct writing *w)
{
        json_t *body = body_read(w);
        if (!body)
                return;
        if (!check_identity(w, body)) {
                json_decref(body);
                return;
        }
        json_t *meta = json_object_get(body, "metadata");
        if (!*object_name(body) && *text_at(meta, "generateName"))
                name_generated(w->f, meta);
        struct target named = *w->t;
        AUTO(mem_free) char *name = mem_string(object_name(body));
        named.name = name;
        w->t = &named;
        if (store_find(w->t->kind, w->t->ns, name)) {
                struct buf r = {0};
                buf_init(&r, 512);
                reply_refuse(w->rp, 409, "AlreadyExists", w->t, NULL, "%s \"%s\" already exists",
                             kind_resource(w->t->kind, &r), name);
                buf_release(&r);
                json_decref(body);
        } else {
                create(w, body);
        }
}

json_t *scale_of(const json_t *object)
{
        json_t *meta = json_object(), *replicas = json_at(object, "spec.replicas"),
               *have = json_at(object, "status.replicas");
        static const char *const fields[] = {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"};
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
                keep(meta, json_object_get(object, "metadata"), fields[i]);
        return json_pack("{s:s, s:s, s:o, s:{s:o}, s:{s:o}}", "kind", "Scale", "apiVersion", "autoscaling/v1",
                         "metadata", meta, "spec", "replicas", replicas ? json_incref(replicas) : json_integer(0),
                         "status", "replicas", have ? json_incref(have) : json_integer(0));
}

/* The object with the replicas of a Scale; takes the scale. */
static json_t *scaled(const json_t *object, json_t *scale)
{
        json_t *copy = json_deep_copy(object), *replicas = json_at(scale, "spec.replicas");
        json_object_set_new(json_object_get(copy, "metadata"), "resourceVersion",
                            json_string(text_at(scale, "metadata.resourceVersion")));
        json_object_set(json_object_get(copy, "spec"), "replicas", replicas);
        json_decref(scale);
        return copy;
}

static void replace_with(struct writing *w, const struct version *before, json_t *object)
{
        if (is_scale(w->t))
                object = scaled(before->object, object);
        if (!check_identity(w, object) || !check_version(w, object, before)) {
                json_decref(object);
                return;
        }
        json_object_set_new(json_object_get(object, "metadata"), "name", json_string(w->t->name));
        if (w->t->kind->namespaced)
                json_object_set_new(json_object_get(object, "metadata"), "namespace", json_string(w->t->ns));
        replace(w, before, object);
        if (is_scale(w->t) && w->rp->status == 200) {
                const struct object *now = store_find(w->t->kind, w->t->ns, w->t->name);
                reply_json(w->rp, 200, scale_of(now->version->object));
        }
}

static void serve_update(struct writing *w, struct version *before)
{
        json_t *body = body_read(w);
        if (!body)
                return;
        bool lease = strcmp(w->t->kind->name, "Lease") == 0;
        if ((w->t->kind->custom || lease) && !*text_at(body, "metadata.resourceVersion")) {
                json_t *causes = json_pack("[{s:s, s:s, s:s}]", "reason", "FieldValueInvalid", "message",
                                           "Invalid value: 0x0: must be specified for an update", "field",
                                           "metadata.resourceVersion");
                reply_causes(w, causes);
                json_decref(body);
                return;
        }
        replace_with(w, before, body);
}

static void serve_apply(struct writing *w, struct version *before)
{
        const struct target *t = w->t;
        if (!*query_get(w->rq, "fieldManager")) {
                reply_error(w->rp, 422, "Invalid",
                            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
                            "apply patch");
                return;
        }
        AUTO(json_decref) json_t *body = body_read(w);
        if (!body || !check_identity(w, body) || (before && !check_version(w, body, before)))
                return;
        if (!*text_at(body, "kind") || !*text_at(body, "apiVersion") || json_at(body, "metadata.managedFields")) {
                reply_error(w->rp, 400, "BadRequest",
                            "an applied object needs apiVersion and kind, and no metadata.managedFields");
                return;
        }
        json_object_del(json_object_get(body, "metadata"), "resourceVersion");
        json_t *causes = NULL;
        AUTO(json_decref) json_t *skeleton = json_pack("{s:{s:s}}", "metadata", "name", t->name);
        json_t *result = fields_apply(w->f, t->kind, before ? before->object : skeleton, body, w->manager,
                                      is_status(t) ? "status" : "", query_true(w->rq, "force"), &causes);
        if (!result) {
                size_t n = json_array_size(causes);
                const json_t *first = json_array_get(causes, 0);
                AUTO(mem_free)
                char *one = mem_string(text_at(first, "message")), *field = mem_string(text_at(first, "field"));
                reply_refuse(w->rp, 409, "Conflict", t, causes, "Apply failed with %zu conflict%s: %s: %s", n,
                             n > 1 ? "s" : "", one, field);
        } else if (before) {
                replace(w, before, result);
        } else {
                create(w, result);
        }
}

static void serve_patch(struct writing *w, struct version *before)
{
        bool ops = type_is(w->rq, "application/json-patch+json");
        if (!ops && !type_is(w->rq, "application/merge-patch+json")) {
                reply_error(w->rp, 415, "UnsupportedMediaType",
                            "the body of the request was in an unknown format - accepted media types include: "
                            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
                return;
        }
        AUTO(json_decref) json_t *patch = body_read(w);
        if (!patch)
                return;
        if (ops && json_array_size(patch) > 10000) {
                reply_error(w->rp, 413, "RequestEntityTooLarge",
                            "The allowed maximum operations in a JSON patch is 10000, got %zu", json_array_size(patch));
                return;
        }
        json_t *doc = is_scale(w->t) ? scale_of(before->object) : json_deep_copy(before->object);
        AUTO(mem_free) char *why = ops ? patch_json(&doc, patch) : NULL;
        if (!ops)
                patch_merge(&doc, patch);
        if (why) {
                /* The real one does not say which operation it was, nor of which object. */
                json_t *body =
                        status_json(422, "Invalid", "the server rejected our request due to an error in our request");
                json_object_set_new(body, "details", json_object());
                reply_json(w->rp, 422, body);
                json_decref(doc);
                return;
        }
        replace_with(w, before, doc);
}

/* --- what is asked --- */

static bool sub_exists(const struct fake *f, const struct target *t)
{
        return !*t->sub || (is_status(t) && t->kind->has_status) || (is_scale(t) && t->kind->has_scale) ||
               (strcmp(t->sub, "resize") == 0 && strcmp(t->kind->name, "Pod") == 0 && !f->old);
}

static void manager_of(struct writing *w)
{
        const char *named = query_get(w->rq, "fieldManager"), *agent = w->rq->agent ? w->rq->agent : "";
        if (*named)
                w->manager_memory = mem_string(named);
        else if (w->rq->manager)
                w->manager_memory = mem_string(w->rq->manager);
        else
                w->manager_memory = mem_string_n(agent, strcspn(agent, "/"));
        w->manager = w->manager_memory;
}

void write_serve(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        struct writing w = {.f = f, .rq = rq, .t = t, .rp = rp};
        const struct object *slot = store_find(t->kind, t->ns, t->name);
        struct version *before = slot ? version_take(slot->version) : NULL;
        const char *m = rq->method;
        w.dry = strcmp(query_get(rq, "dryRun"), "All") == 0;
        w.apply = strcmp(m, "PATCH") == 0 && type_is(rq, apply_type);
        manager_of(&w);
        if (!sub_exists(f, t) || (*t->name && !before && !(w.apply && !*t->sub))) {
                reply_not_found(rp, t);
        } else if (t->kind->crowd || (strcmp(m, "POST") == 0) == (*t->name != '\0')) {
                if (strcmp(m, "DELETE") == 0 && !t->kind->crowd)
                        delete_serve(&w, NULL);
                else
                        reply_error(rp, 405, "MethodNotAllowed",
                                    "the server does not allow this method on the requested resource");
        } else if (strcmp(m, "POST") == 0) {
                serve_create(&w);
        } else if (strcmp(m, "PUT") == 0) {
                serve_update(&w, before);
        } else if (strcmp(m, "DELETE") == 0) {
                delete_serve(&w, before);
        } else if (w.apply) {
                serve_apply(&w, before);
        } else {
                serve_patch(&w, before);
        }
        version_drop(before);
        mem_free(w.manager_memory);
}
