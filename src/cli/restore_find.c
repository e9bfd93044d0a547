/*
 * Finds the workloads, pods and autoscalers that carry halflife's values. It asks the API server alone, so it works
 * without the controller, its profiles and its Recommendations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "kube/known_resource.h"
#include "list_client.h"
#include "objects/target_key.h"
#include "restore.h"

/* --- kinds --- */

static bool same_kind(const struct restore_kind *k, struct text group, struct text kind)
{
        return text_is(group, k->is.group) && text_is(kind, k->is.kind);
}

struct discovering {
        bool done;
        struct api_resource found;
        struct err err;
};

static void on_discovered(void *arg, const struct api_resource *found, const struct err *err)
{
        struct discovering *d = arg;
        d->done = true;
        if (found)
                d->found = *found;
        else
                d->err = *err;
}

static int restore_find_discover(struct restoring *r, struct restore_kind *k, struct err *err)
{
        struct discovering d = {0};
        int rc = client_discover(r->session.client, k->is.group, k->is.kind, on_discovered, &d);
        if (rc < 0)
                return err_set(err, rc, "kind '%s' of group '%s' cannot be looked up", k->is.kind, k->is.group);
        while (!d.done)
                loop_turn(r->session.loop, -1);
        k->absent = d.err.code == ERR_NOTFOUND;
        if (d.err.code == 0)
                k->is = d.found;
        return d.err.code == 0 || k->absent ? 0 : err_copy(err, &d.err);
}

static bool restore_find_is_built_in(const struct kind *row)
{
        return row && (!*row->group || strcmp(row->group, "apps") == 0 || strcmp(row->group, "batch") == 0);
}

/* Whether targets of this kind are pods without an owner, which have no template. */
static bool is_pod_alone(const struct restore_kind *k)
{
        return k->row == &kind_of_dimension[DIMENSION_POD];
}

struct restore_kind *restore_kind_get(struct restoring *r, struct text group, struct text kind, struct err *err)
{
        for (int i = 0; i < r->kinds; i++)
                if (same_kind(r->kind[i], group, kind))
                        return r->kind[i];
        if (r->kinds == RESTORE_KINDS) {
                err_set(err, ERR_TOOBIG, "more than %d kinds", RESTORE_KINDS);
                return NULL;
        }
        struct restore_kind *k = MEM_NEW(struct restore_kind);
        enum dimension d = kind_dimension(group, kind);
        k->row = d == DIMENSION_POD ? &kind_of_dimension[d] : kind_find(group, kind);
        k->template_path = k->row ? k->row->template_path : "/spec/template";
        snprintf(k->is.group, sizeof k->is.group, "%.*s", TEXT_ARG(group));
        snprintf(k->is.kind, sizeof k->is.kind, "%.*s", TEXT_ARG(kind));
        if (restore_find_is_built_in(k->row)) {
                snprintf(k->is.version, sizeof k->is.version, "%s", k->row->version);
                snprintf(k->is.plural, sizeof k->is.plural, "%s", k->row->plural);
        } else if (restore_find_discover(r, k, err) < 0) {
                mem_free(k);
                return NULL;
        }
        r->kind[r->kinds++] = k;
        return k;
}

/* --- targets --- */

/* The target of a workload; NULL: it is not a target yet. */
static struct restore_target *restore_find_target(const struct restoring *r, const char *ns, const char *group,
                                                  const char *kind, const char *name)
{
        AUTO(mem_free) char *key = target_key_new(text_of(ns), text_of(group), text_of(kind), text_of(name));
        return map_get(&r->by_key, text_of(key));
}

struct restore_target *restore_target_get(struct restoring *r, const char *ns, const struct restore_kind *k,
                                          const char *name)
{
        struct restore_target *t = restore_find_target(r, ns, k->is.group, k->is.kind, name);
        if (t)
                return t;
        t = MEM_NEW(struct restore_target);
        t->key = target_key_new(text_of(ns), text_of(k->is.group), text_of(k->is.kind), text_of(name));
        t->ns = mem_string(ns);
        t->name = mem_string(name);
        t->kind = k;
        map_put(&r->by_key, text_of(t->key), t);
        r->target = mem_resize(r->target, r->targets + 1, sizeof *r->target);
        r->target[r->targets++] = t;
        return t;
}

bool restore_wanted(const struct restore_target *t)
{
        return t->carries || t->pods > 0 || t->scalers > 0;
}

/* Whether the scope names no workload, so that every workload that carries a value of halflife belongs to it. */
static bool is_open(const struct restoring *r)
{
        return r->scope.words == 0 && !r->scope.labels && !r->scope.orphaned;
}

const char *restore_text(const json_t *value, const char *path)
{
        char key[64];
        while (value && *path) {
                size_t len = strcspn(path, ".");
                snprintf(key, sizeof key, "%.*s", (int)len, path);
                value = json_object_get(value, key);
                path += len + (path[len] == '.');
        }
        const char *text = json_string_value(value);
        return text ? text : "";
}

static const char *restore_find_note(const json_t *meta, const char *key)
{
        return json_string_value(json_object_get(json_object_get(meta, "annotations"), key));
}

/* --- Recommendations --- */

static bool restore_find_is_orphaned(const json_t *recommendation)
{
        const json_t *conditions = json_object_get(json_object_get(recommendation, "status"), "conditions");
        size_t i;
        json_t *c;
        json_array_foreach((json_t *)(uintptr_t)conditions, i, c)
        {
                if (strcmp(restore_text(c, "reason"), "Orphaned") == 0)
                        return true;
        }
        return false;
}

static int take_recommendation(void *arg, json_t *item, struct err *err)
{
        struct restoring *r = arg;
        const char *api = restore_text(item, "spec.targetRef.apiVersion");
        const char *kind = restore_text(item, "spec.targetRef.kind"), *name = restore_text(item, "spec.targetRef.name");
        const char *dimension = restore_text(item, "spec.dimension");
        /* A namespace's or a node's own Recommendation is skipped, because no template or pod carries its values. */
        bool whole = strcmp(dimension, dimension_name(DIMENSION_NAMESPACE)) == 0 ||
                     strcmp(dimension, dimension_name(DIMENSION_NODE)) == 0;
        if (!*kind || !*name || whole || (r->scope.orphaned && !restore_find_is_orphaned(item)))
                return 0;
        struct restore_kind *k = restore_kind_get(r, kind_group(text_of(api)), text_of(kind), err);
        if (!k)
                return err->code;
        struct restore_target *t = restore_target_get(r, restore_text(item, "metadata.namespace"), k, name);
        mem_free(t->recommendation);
        mem_free(t->hold);
        t->recommendation = mem_string(restore_text(item, "metadata.name"));
        t->hold = mem_string(restore_find_note(json_object_get(item, "metadata"), ANNOTATION_HOLD));
        const json_t *applied = json_object_get(json_object_get(item, "status"), "applied");
        json_decref(t->admitted);
        t->admitted = json_incref(json_object_get(applied, "admitted"));
        return 0;
}

static int restore_find_named(struct restoring *r, const struct workload *w, struct err *err)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_RECOMMENDATIONS, r->scope.ns, w->recommendation, NULL);
        AUTO(json_decref) json_t *item = listing_ask(r->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        if (item)
                return take_recommendation(r, item, err);
        if (err->code != ERR_NOTFOUND)
                return err->code;
        r->no_crds |= session_no_kinds(err);
        *err = (struct err){0};
        return 0;
}

int restore_find_recommendations(struct restoring *r, struct err *err)
{
        int rc = 0;
        for (int i = 0; rc == 0 && i < r->scope.words; i++)
                rc = restore_find_named(r, &r->scope.word[i], err);
        if (rc < 0 || r->scope.words > 0)
                return rc;
        AUTO(mem_free) char *path = known_resource_path(KNOWN_RECOMMENDATIONS, r->scope.ns, NULL, NULL);
        const struct listing all = {path, r->scope.labels, NULL, take_recommendation, r};
        rc = listing_read(r->session.client, &all, err);
        if (rc == 0 || !session_no_kinds(err))
                return rc;
        r->no_crds = true;
        *err = (struct err){0};
        return 0;
}

/* --- workloads --- */

/* An annotation of the object's pod template; NULL: the template does not have it. */
static const char *template_note(const json_t *object, const char *template_path, const char *key)
{
        const json_t *at = object;
        while (at && *template_path == '/') {
                size_t len = strcspn(++template_path, "/");
                at = json_object_getn(at, template_path, len);
                template_path += len;
        }
        return restore_find_note(json_object_get(at, "metadata"), key);
}

static bool is_rolling(const json_t *object, const struct restore_kind *k)
{
        struct arena arena = {0};
        struct workload_view *v = arena_new(&arena, sizeof *v);
        char *text = json_dumps(object, 0);
        bool readable = decode_workload(text_of(text), k->template_path, FIELD_MANAGER, &arena, v, NULL) == 0;
        const struct rollout roll = restore_rollout(k, v);
        bool rolling = readable && !restore_stands_still(&roll) && !rollout_is_done(&roll);
        free(text);
        arena_release(&arena);
        return rolling;
}

struct taking {
        struct restoring *restoring;
        const struct restore_kind *kind;
};

/* The reference to the owner that is an object's controller; NULL: the object has none. */
static const json_t *controller_of(const json_t *meta)
{
        size_t i;
        json_t *o;
        json_array_foreach(json_object_get(meta, "ownerReferences"), i, o)
        {
                if (json_is_true(json_object_get(o, "controller")))
                        return o;
        }
        return NULL;
}

static int restore_find_take_workload(void *arg, json_t *item, struct err *err)
{
        const struct taking *taking = arg;
        struct restoring *r = taking->restoring;
        const struct restore_kind *k = taking->kind;
        const json_t *meta = json_object_get(item, "metadata");
        const char *ns = restore_text(meta, "namespace"), *name = restore_text(meta, "name");
        bool carries = template_note(item, k->template_path, ANNOTATION_APPLIED) != NULL;
        (void)err;
        if (k->row && (k->row->flags & KIND_UNOWNED_ONLY) && controller_of(meta))
                return 0; /* of an object with an owner, the owner's template counts */
        if (!carries && !restore_find_target(r, ns, k->is.group, k->is.kind, name))
                return 0;
        struct restore_target *t = restore_target_get(r, ns, k, name);
        t->carries = carries;
        t->rolling =
                t->hold && is_rolling(item, k); /* an earlier restore set the hold, and its rollout has not finished */
        return 0;
}

static int find_workload(struct restoring *r, const char *ns, const struct restore_kind *k, const char *name,
                         struct err *err)
{
        AUTO(mem_free) char *path = path_of(k->is.group, k->is.version, ns, k->is.plural, name, NULL);
        AUTO(json_decref)
        json_t *item = k->absent ? NULL : listing_ask(r->session.client, path, NULL, LISTING_ITEM_BYTES, err);
        struct taking taking = {r, k};
        if (item) {
                restore_target_get(r, ns, k, name)->missing = false;
                return is_pod_alone(k) ? 0 : restore_find_take_workload(&taking, item, err);
        }
        if (!k->absent && err->code != ERR_NOTFOUND)
                return err->code;
        *err = (struct err){0};
        AUTO(mem_free) char *key = mem_printf("%s/%s/%s/%s", ns, k->is.group, k->is.kind, name);
        struct restore_target *t = map_get(&r->by_key, text_of(key));
        if (t)
                t->missing = true;
        return 0;
}

/* Look up a workload of the command line. One that does not exist makes no target; restore_scope_check reports it. */
static int find_word(struct restoring *r, const struct workload *w, struct err *err)
{
        struct restore_target *t = NULL;
        for (size_t i = 0; i < r->targets && !t; i++)
                if (r->target[i]->recommendation && strcmp(r->target[i]->recommendation, w->recommendation) == 0)
                        t = r->target[i];
        const struct restore_kind *k = t          ? t->kind
                                       : w->known ? restore_kind_get(r, text_of(w->group), text_of(w->kind), err)
                                                  : NULL;
        return k ? find_workload(r, r->scope.ns, k, w->name, err) : err->code;
}

static int list_kind(struct restoring *r, const struct restore_kind *k, struct err *err)
{
        AUTO(mem_free) char *path = path_of(k->is.group, k->is.version, r->scope.ns, k->is.plural, NULL, NULL);
        struct taking taking = {r, k};
        const struct listing all = {path, r->scope.labels, NULL, restore_find_take_workload, &taking};
        int rc = k->absent ? 0 : listing_read(r->session.client, &all, err);
        if (rc != ERR_NOTFOUND)
                return rc;
        *err = (struct err){0}; /* the kind's CRD was deleted meanwhile */
        return 0;
}

/* Whether the kind's workloads are listed. Jobs are not: their template never changes, and their pods are found. */
static bool is_listed(const struct kind *row)
{
        return strcmp(row->kind, "Job") != 0;
}

static int find_workloads(struct restoring *r, struct err *err)
{
        int rc = 0;
        for (int i = 0; rc == 0 && i < r->scope.words; i++)
                rc = find_word(r, &r->scope.word[i], err);
        if (r->scope.words > 0)
                return rc;
        if (r->scope.orphaned) {
                size_t known = r->targets;
                for (size_t i = 0; rc == 0 && i < known; i++)
                        rc = find_workload(r, r->target[i]->ns, r->target[i]->kind, r->target[i]->name, err);
                return rc;
        }
        for (size_t i = 0; rc == 0 && i < kinds_count; i++)
                if (is_listed(&kinds[i]) && !restore_kind_get(r, text_of(kinds[i].group), text_of(kinds[i].kind), err))
                        rc = err->code;
        for (int i = 0; rc == 0 && i < r->kinds; i++)
                if (!is_pod_alone(r->kind[i]) && (!r->kind[i]->row || is_listed(r->kind[i]->row)))
                        rc = list_kind(r, r->kind[i], err);
        return rc;
}

/* --- the target of a pod --- */

struct link {
        char *uid, *ns, *name;
        const struct restore_kind *kind;
        struct link *owner;
        bool sets_no_basis; /* the owner's template was read, and sets no utilization-basis */
        bool sets_nothing;  /* the owner's template was read, and records no request of halflife */
};

static struct link *link_get(struct restoring *r, const char *ns, const json_t *meta, int depth)
{
        enum { DEPTH_MAX = 8 };
        const json_t *ref = controller_of(meta);
        const char *uid = restore_text(ref, "uid");
        struct err err = {0};
        if (!ref || !*uid || depth == DEPTH_MAX)
                return NULL;
        struct link *l = map_get(&r->links, text_of(uid));
        if (l)
                return l;
        const char *api = restore_text(ref, "apiVersion");
        const struct restore_kind *k =
                restore_kind_get(r, kind_group(text_of(api)), text_of(restore_text(ref, "kind")), &err);
        if (!k || k->absent)
                return NULL;
        l = MEM_NEW(struct link);
        l->uid = mem_string(uid);
        l->ns = mem_string(ns);
        l->name = mem_string(restore_text(ref, "name"));
        l->kind = k;
        map_put(&r->links, text_of(l->uid), l);
        AUTO(mem_free) char *path = path_of(k->is.group, k->is.version, ns, k->is.plural, l->name, NULL);
        AUTO(json_decref) json_t *object = listing_ask(r->session.client, path, NULL, LISTING_ITEM_BYTES, &err);
        if (object) {
                l->sets_no_basis = !template_note(object, k->template_path, ANNOTATION_BASIS);
                l->sets_nothing = !template_note(object, k->template_path, ANNOTATION_APPLIED);
                l->owner = link_get(r, ns, json_object_get(object, "metadata"), depth + 1);
        }
        return l;
}

bool restore_basis_is_ours(struct restoring *r, const char *ns, const json_t *pod_meta)
{
        const struct link *l = link_get(r, ns, pod_meta, 0);
        return l && l->sets_no_basis && restore_find_note(pod_meta, ANNOTATION_APPLIED);
}

bool restore_records_are_own(struct restoring *r, const char *ns, const json_t *pod_meta)
{
        const struct link *l = link_get(r, ns, pod_meta, 0);
        return controller_of(pod_meta) ? l && l->sets_nothing : true;
}

struct restore_target *restore_owner_target(struct restoring *r, const char *ns, const json_t *meta)
{
        struct restore_target *known = NULL;
        const struct link *highest = NULL, *first = link_get(r, ns, meta, 0);
        for (const struct link *l = first; l; l = l->owner) {
                struct restore_target *t = restore_find_target(r, ns, l->kind->is.group, l->kind->is.kind, l->name);
                known = t ? t : known;
                if (l->kind->row)
                        highest = l;
        }
        if (known || !is_open(r) || !first)
                return known;
        highest = highest ? highest : first;
        return restore_target_get(r, ns, highest->kind, highest->name);
}

/* Find the target of a pod. *ret is NULL if the scope leaves the pod out. */
static int target_of_pod(struct restoring *r, const json_t *meta, struct restore_target **ret, struct err *err)
{
        const char *ns = restore_text(meta, "namespace"), *name = restore_text(meta, "name");
        *ret = controller_of(meta) ? restore_owner_target(r, ns, meta) : NULL;
        if (controller_of(meta))
                return 0;
        const struct kind *pod = &kind_of_dimension[DIMENSION_POD];
        *ret = restore_find_target(r, ns, pod->group, pod->kind, name);
        if (*ret || !is_open(r))
                return 0;
        const struct restore_kind *k = restore_kind_get(r, text_of(pod->group), text_of(pod->kind), err);
        *ret = k ? restore_target_get(r, ns, k, name) : NULL;
        return k ? 0 : err->code;
}

static int take_pod(void *arg, json_t *item, struct err *err)
{
        struct restoring *r = arg;
        const json_t *meta = json_object_get(item, "metadata");
        const char *phase = restore_text(item, "status.phase");
        bool ours = restore_find_note(meta, ANNOTATION_APPLIED) || restore_find_note(meta, ANNOTATION_RAISED);
        if (!ours || json_object_get(meta, "deletionTimestamp") || strcmp(phase, "Succeeded") == 0 ||
            strcmp(phase, "Failed") == 0)
                return 0;
        struct restore_target *t;
        int rc = target_of_pod(r, meta, &t, err);
        if (rc < 0 || !t)
                return rc;
        t->pod = mem_resize(t->pod, (size_t)t->pods + 1, sizeof *t->pod);
        t->pod[t->pods++] = (struct restore_pod){mem_string(restore_text(meta, "name")),
                                                 mem_string(restore_text(meta, "uid")), false};
        return 0;
}

/* --- autoscalers --- */

/* Take an HPA or ScaledObject with values of halflife. KEDA may leave out members that have a default. */
static int take_scaler(struct restoring *r, const json_t *item, const char *word, struct err *err)
{
        const json_t *meta = json_object_get(item, "metadata");
        const char *ns = restore_text(meta, "namespace"), *name = restore_text(item, "spec.scaleTargetRef.name");
        const char *api = restore_text(item, "spec.scaleTargetRef.apiVersion"),
                   *kind = restore_text(item, "spec.scaleTargetRef.kind"), *own = restore_text(meta, "name");
        bool hpa = strcmp(word, "HPA") == 0;
        if (!restore_find_note(meta, ANNOTATION_TARGETS))
                return 0;
        struct restore_kind *k = restore_kind_get(r, kind_group(text_of(*api ? api : "apps/v1")),
                                                  text_of(*kind ? kind : "Deployment"), err);
        if (!k)
                return err->code;
        if (!is_open(r) && !restore_find_target(r, ns, k->is.group, k->is.kind, name))
                return 0;
        struct restore_target *t = restore_target_get(r, ns, k, name);
        t->scaler = mem_resize(t->scaler, (size_t)t->scalers + 1, sizeof *t->scaler);
        t->scaler[t->scalers++] = (struct restore_scaler){
                .word = word,
                .triggers = !hpa,
                .name = mem_string(own),
                .path = known_resource_path(hpa ? KNOWN_HPAS : KNOWN_SCALEDOBJECTS, ns, own, NULL),
        };
        return 0;
}

static int take_hpa(void *arg, json_t *item, struct err *err)
{
        return take_scaler(arg, item, "HPA", err);
}

static int take_scaled_object(void *arg, json_t *item, struct err *err)
{
        return take_scaler(arg, item, "ScaledObject", err);
}

/* --- all targets --- */

static int restore_find_compare(const void *a, const void *b)
{
        const struct restore_target *const *x = a, *const *y = b;
        return strcmp((*x)->key, (*y)->key);
}

static void pods_clear(struct restore_target *t)
{
        for (int i = 0; i < t->pods; i++) {
                mem_free(t->pod[i].name);
                mem_free(t->pod[i].uid);
        }
        t->pods = 0;
}

/* Forget a target's autoscalers of the kind `word`, which must be the kind listed last; NULL: all of them. */
static void scalers_clear(struct restore_target *t, const char *word)
{
        while (t->scalers && (!word || strcmp(t->scaler[t->scalers - 1].word, word) == 0)) {
                struct restore_scaler *s = &t->scaler[--t->scalers];
                mem_free(s->name);
                mem_free(s->path);
        }
}

/* Forget the pods read so far, because a list that starts anew brings the same pods again. */
static void forget_pods(void *arg)
{
        const struct restoring *r = arg;
        for (size_t i = 0; i < r->targets; i++)
                pods_clear(r->target[i]);
}

static void forget_scalers(void *arg)
{
        const struct restoring *r = arg;
        for (size_t i = 0; i < r->targets; i++)
                scalers_clear(r->target[i], NULL);
}

static void forget_scaled_objects(void *arg)
{
        const struct restoring *r = arg;
        for (size_t i = 0; i < r->targets; i++)
                scalers_clear(r->target[i], "ScaledObject");
}

static void restore_find_sort(struct restoring *r)
{
        if (r->targets)
                qsort(r->target, r->targets, sizeof *r->target, restore_find_compare);
}

/* Find the ScaledObjects. Without KEDA in the cluster there are none, so a missing permission is an error only with
 * KEDA. */
static int find_scaled_objects(struct restoring *r, struct err *err)
{
        AUTO(mem_free) char *objects = known_resource_path(KNOWN_SCALEDOBJECTS, r->scope.ns, NULL, NULL);
        const struct listing all = {objects, NULL, forget_scaled_objects, take_scaled_object, r};
        AUTO(mem_free) char *version = known_resource_version_path(KNOWN_SCALEDOBJECTS);
        struct err none = {0};
        AUTO(json_decref) json_t *served = listing_ask(r->session.client, version, NULL, LISTING_ITEM_BYTES, &none);
        if (!served && none.code == ERR_NOTFOUND)
                return 0;
        return listing_read(r->session.client, &all, err);
}

int restore_find(struct restoring *r, struct err *err)
{
        AUTO(mem_free) char *pods = known_resource_path(KNOWN_PODS, r->scope.ns, NULL, NULL);
        AUTO(mem_free) char *hpas = known_resource_path(KNOWN_HPAS, r->scope.ns, NULL, NULL);
        const struct listing all_hpas = {hpas, NULL, forget_scalers, take_hpa, r};
        const struct listing all_pods = {pods, NULL, forget_pods, take_pod, r};
        int rc = restore_find_recommendations(r, err);
        if (rc == 0)
                rc = find_workloads(r, err);
        if (rc == 0)
                rc = listing_read(r->session.client, &all_pods, err);
        if (rc == 0)
                rc = listing_read(r->session.client, &all_hpas, err);
        if (rc == 0)
                rc = find_scaled_objects(r, err);
        restore_find_sort(r);
        r->wanted = r->bare = 0;
        for (size_t i = 0; i < r->targets; i++) {
                bool wanted = restore_wanted(r->target[i]);
                r->wanted += wanted;
                r->bare += wanted && !r->target[i]->recommendation;
        }
        return rc;
}

int restore_find_again(struct restoring *r, struct err *err)
{
        int again = 0;
        size_t wanted = r->wanted, bare = r->bare;
        for (size_t i = 0; i < r->targets; i++)
                r->target[i]->carries = r->target[i]->rolling = false;
        forget_pods(r);
        forget_scalers(r);
        int rc = restore_find(r, err);
        r->wanted = wanted;
        r->bare = bare;
        for (size_t i = 0; rc == 0 && i < r->targets; i++) {
                struct restore_target *t = r->target[i];
                if (!restore_wanted(t) || t->left || t->result == RESULT_FAILED)
                        continue;
                t->step = STEP_WAITING;
                t->result = RESULT_NONE;
                again++;
        }
        return rc < 0 ? rc : again;
}

/* --- freeing --- */

static void target_free(struct restore_target *t)
{
        pods_clear(t);
        scalers_clear(t, NULL);
        mem_free(t->pod);
        mem_free(t->scaler);
        mem_free(t->key);
        mem_free(t->ns);
        mem_free(t->name);
        mem_free(t->recommendation);
        json_decref(t->admitted);
        mem_free(t->hold);
        mem_free(t->changes);
        mem_free(t->left);
        mem_free(t->why);
        mem_free(t);
}

void restoring_release(struct restoring *r)
{
        struct text key;
        void *value;
        for (size_t at = 0; map_next(&r->links, &at, &key, &value);) {
                struct link *l = value;
                mem_free(l->uid);
                mem_free(l->ns);
                mem_free(l->name);
                mem_free(l);
        }
        map_release(&r->links);
        map_release(&r->by_key);
        for (size_t i = 0; i < r->targets; i++)
                target_free(r->target[i]);
        for (int i = 0; i < r->kinds; i++)
                mem_free(r->kind[i]);
        mem_free(r->target);
        session_release(&r->session);
}
