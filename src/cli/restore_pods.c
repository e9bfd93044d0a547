/*
 * Restores pods that run with halflife's values although their template has none. Where the server and the node support
 * it, they are resized; other pods are left and listed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/noun.h"
#include "base/yaml.h"
#include "kube/known_resource.h"
#include "kube/resource_list.h"
#include "list_client.h"
#include "restore.h"

#define JSON_PATCH "application/json-patch+json"

/* --- one pod --- */

static char *pod_path(const struct restore_target *t, const struct restore_pod *p, const char *subresource)
{
        return known_resource_path(KNOWN_PODS, t->ns, p->name, subresource);
}

/* Remove halflife's annotations from a restored pod, where they are no longer true. This restarts nothing. */
static int clear_notes(struct restoring *r, const struct restore_target *t, const struct restore_pod *p,
                       const char *object, struct err *err)
{
        AUTO(mem_free) char *path = pod_path(t, p, NULL);
        AUTO(json_decref) json_t *pod = json_loads(object, 0, NULL);
        bool basis = restore_basis_is_ours(r, t->ns, json_object_get(pod, "metadata"));
        json_t *patch = NULL;
        int rc = restore_pod_notes(text_of(object), basis, &patch, err);
        if (rc == 0 && patch) {
                AUTO(mem_free) char *answer = restore_patch(r, path, JSON_PATCH, patch, err);
                rc = answer ? 0 : err->code;
        }
        json_decref(patch);
        return rc;
}

/* Whether the API server has pods/resize, asked once. If it does not tell, assume so: then the resize shows it. */
static bool restore_pod_resizes(struct restoring *r)
{
        if (r->discovered)
                return r->resizes;
        AUTO(mem_free) char *path = known_resource_version_path(KNOWN_PODS);
        struct err err = {0};
        AUTO(mem_free) char *text = restore_get(r, path, &err);
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        r->discovered = list != NULL;
        r->resizes = !list || resource_list_find(list, "pods/resize", NULL);
        return r->resizes;
}

static int restore_pod_resize(struct restoring *r, const struct restore_target *t, const struct restore_pod *p,
                              json_t *patch, struct err *err)
{
        AUTO(mem_free) char *path = pod_path(t, p, "resize");
        AUTO(mem_free) char *answer = restore_patch(r, path, JSON_PATCH, patch, err);
        return answer ? clear_notes(r, t, p, answer, err) : err->code;
}

/* Whether no later try can succeed, because the pod, its node or the server cannot do the resize. */
static bool is_final(const struct err *err)
{
        return err->code == ERR_INVALID || err->code == ERR_NOTFOUND || err->code == ERR_CONFLICT;
}

static bool restore_pod_leave(struct restore_target *t, struct restore_pod *p, const char *changes, const char *why)
{
        p->left = true;
        if (!t->left || strlen(t->left) < ERR_TEXT_MAX)
                restore_add(&t->left, "pod '%s' keeps halflife's value (%s): %s", p->name, changes, why);
        t->next_pod++;
        return true;
}

static bool restore_pod_skip(struct restore_target *t)
{
        t->next_pod++;
        return true;
}

static bool restore_pod_put_back(struct restoring *r, struct restore_target *t, struct restore_pod *p, const char *text,
                                 bool own)
{
        struct restore did;
        struct err err = {0};
        json_t *patch = NULL;
        if (restore_pod_requests(text_of(text), t->admitted, own, &did, &patch, &err) < 0)
                return restore_pod_leave(t, p, "its annotations", err.text);
        if (patch && !restore_pod_resizes(r)) {
                json_decref(patch);
                return restore_pod_leave(t, p, did.changes, "this API server cannot resize pods");
        }
        if (r->dry_run) {
                if (patch)
                        restore_add(&t->changes, "pod '%s' %s", p->name, did.changes);
                json_decref(patch);
                return restore_pod_skip(t);
        }
        int rc = patch ? restore_pod_resize(r, t, p, patch, &err) : clear_notes(r, t, p, text, &err);
        json_decref(patch);
        if (rc < 0 && patch && is_final(&err))
                return restore_pod_leave(t, p, did.changes, err.text);
        if (rc < 0)
                return restore_troubled(t, &err, p->name);
        if (patch)
                restore_add(&t->changes, "pod '%s' %s", p->name, did.changes);
        return restore_pod_skip(t);
}

static bool restore_pod_is_same(const json_t *object, const struct restore_pod *p)
{
        const char *phase = restore_text(object, "status.phase");
        return strcmp(restore_text(object, "metadata.uid"), p->uid) == 0 && strcmp(phase, "Succeeded") != 0 &&
               strcmp(phase, "Failed") != 0 &&
               !json_object_get(json_object_get(object, "metadata"), "deletionTimestamp");
}

static char *read_pod(struct restoring *r, const struct restore_target *t, const struct restore_pod *p,
                      json_t **ret_object, struct err *err)
{
        AUTO(mem_free) char *path = pod_path(t, p, NULL);
        char *text = restore_get(r, path, err);
        *ret_object = text ? json_loads(text, 0, NULL) : NULL;
        if (!*ret_object || restore_pod_is_same(*ret_object, p))
                return text;
        mem_free(text);
        json_decref(*ret_object);
        *ret_object = NULL;
        err_set(err, ERR_NOTFOUND, "another pod has that name");
        return NULL;
}

/* --- all pods of a workload --- */

static bool restore_pod_rolls(const struct restore_target *t)
{
        bool never = t->kind->row && (t->kind->row->flags & (KIND_BY_RUNS | KIND_IMMUTABLE));
        return !never;
}

static bool restore_pod_finish(struct restoring *r, struct restore_target *t)
{
        int left = 0;
        for (int i = 0; i < t->pods; i++)
                left += t->pod[i].left;
        if (left > 0 && r->restart && !t->restarted && restore_pod_rolls(t)) {
                for (int i = 0; i < t->pods; i++)
                        t->pod[i].left = false;
                t->step = STEP_RESTART;
                if (!r->dry_run)
                        return true;
                restore_restarted(t);
        }
        restore_end(t, t->changes ? RESULT_RESTORED : t->left ? RESULT_LEFT : RESULT_UNCHANGED);
        return true;
}

bool restore_step_pods(struct restoring *r, struct restore_target *t)
{
        if (t->next_pod == t->pods) {
                t->next_pod = 0;
                t->step = STEP_VERDICT;
                return true;
        }
        struct restore_pod *p = &t->pod[t->next_pod];
        struct err err = {0};
        json_t *object = NULL;
        AUTO(mem_free) char *text = read_pod(r, t, p, &object, &err);
        bool own = text && restore_records_are_own(r, t->ns, json_object_get(object, "metadata"));
        json_decref(object);
        if (!text)
                return err.code == ERR_NOTFOUND ? restore_pod_skip(t) : restore_troubled(t, &err, p->name);
        /* a dry run leaves out pods that the rollout of their template replaces */
        return r->dry_run && t->carries ? restore_pod_skip(t) : restore_pod_put_back(r, t, p, text, own);
}

/* Whether the kubelet's report is about an older state of the pod. A report without a generation counts as new. */
static bool is_unheard(const json_t *object)
{
        const json_t *meta = json_object_get(object, "metadata"), *status = json_object_get(object, "status");
        json_int_t observed = json_integer_value(json_object_get(status, "observedGeneration"));
        return observed && observed < json_integer_value(json_object_get(meta, "generation"));
}

/* The message of the pod's condition PodResizePending, with its reason; NULL: no resize is pending. */
static const char *restore_pod_pending(const json_t *object, const char **ret_reason)
{
        size_t i;
        json_t *c;
        json_array_foreach(json_object_get(json_object_get(object, "status"), "conditions"), i, c)
        {
                if (strcmp(restore_text(c, "type"), "PodResizePending") != 0 ||
                    strcmp(restore_text(c, "status"), "True") != 0)
                        continue;
                *ret_reason = restore_text(c, "reason");
                return restore_text(c, "message");
        }
        return NULL;
}

bool restore_step_verdict(struct restoring *r, struct restore_target *t)
{
        if (t->next_pod == t->pods || r->dry_run)
                return restore_pod_finish(r, t);
        struct restore_pod *p = &t->pod[t->next_pod];
        const char *reason = "";
        struct err err = {0};
        json_t *object = NULL;
        if (p->left)
                return restore_pod_skip(t);
        AUTO(mem_free) char *text = read_pod(r, t, p, &object, &err);
        if (!text)
                return err.code == ERR_NOTFOUND ? restore_pod_skip(t) : restore_troubled(t, &err, p->name);
        const char *message = restore_pod_pending(object, &reason);
        bool further = true;
        if (is_unheard(object)) {
                err_set(&t->trouble, ERR_RETRY, "pod '%s': its node has not seen the resize yet", p->name);
                further = false;
        } else if (!message) {
                restore_pod_skip(t);
        } else if (strcmp(reason, "Infeasible") == 0) {
                AUTO(mem_free) char *why = mem_printf("its node cannot resize the pod: %s", message);
                restore_pod_leave(t, p, "resize not in force", why);
        } else {
                err_set(&t->trouble, ERR_RETRY, "pod '%s' waits for its node: %s %s", p->name, reason, message);
                further = false;
        }
        json_decref(object);
        return further;
}

/* --- why pods do not come --- */

static void add_values(struct buf *out, const json_t *values)
{
        size_t i;
        json_t *v;
        json_array_foreach((json_t *)(uintptr_t)values, i, v)
                buf_printf(out, "%s%s", i ? "," : "", json_string_value(v) ? json_string_value(v) : "");
}

/* The object's spec.selector as a label selector for a query; NULL: the object has none. */
static char *selector_of(const json_t *object)
{
        enum { SELECTOR_MAX = 16 << 10 };
        const json_t *selector = json_object_get(json_object_get(object, "spec"), "selector");
        struct buf out;
        const char *key, *between = "";
        json_t *value;
        size_t i;
        buf_init(&out, SELECTOR_MAX);
        json_object_foreach(json_object_get(selector, "matchLabels"), key, value)
        {
                buf_printf(&out, "%s%s=%s", between, key, json_string_value(value) ? json_string_value(value) : "");
                between = ",";
        }
        json_array_foreach(json_object_get(selector, "matchExpressions"), i, value)
        {
                const char *op = restore_text(value, "operator");
                bool none = strcmp(op, "DoesNotExist") == 0, exists = strcmp(op, "Exists") == 0;
                buf_printf(&out, "%s%s%s", between, none ? "!" : "", restore_text(value, "key"));
                if (!none && !exists) {
                        buf_printf(&out, " %s (", strcmp(op, "NotIn") == 0 ? "notin" : "in");
                        add_values(&out, json_object_get(value, "values"));
                        buf_add_text(&out, ")");
                }
                between = ",";
        }
        if (out.len > 0)
                return buf_steal(&out);
        buf_release(&out);
        return NULL;
}

struct waiting {
        int pods;
        char *message;
};

static int take_pending(void *arg, json_t *item, struct err *err)
{
        struct waiting *w = arg;
        size_t i;
        json_t *c;
        (void)err;
        if (strcmp(restore_text(item, "status.phase"), "Pending") != 0)
                return 0;
        w->pods++;
        json_array_foreach(json_object_get(json_object_get(item, "status"), "conditions"), i, c)
        {
                if (!w->message && strcmp(restore_text(c, "type"), "PodScheduled") == 0 &&
                    strcmp(restore_text(c, "status"), "False") == 0)
                        w->message = mem_string(restore_text(c, "message"));
        }
        return 0;
}

static char *pending_pods(struct restoring *r, const struct restore_target *t, const json_t *object)
{
        AUTO(mem_free) char *labels = selector_of(object);
        AUTO(mem_free) char *path = known_resource_path(KNOWN_PODS, t->ns, NULL, NULL);
        struct waiting w = {0};
        const struct listing all = {path, labels, NULL, take_pending, &w};
        struct err err = {0};
        if (labels)
                (void)listing_read(r->session.client, &all, &err);
        char *said = w.pods ? mem_printf("still Pending: %s%s%s", NOUN_COUNT(w.pods, "pod"), w.message ? ": " : "",
                                         w.message ? w.message : "")
                            : NULL;
        mem_free(w.message);
        return said;
}

/* The message of the newest FailedCreate Event about the object, which mostly says what refused a pod, such as a quota.
 * The caller frees it; NULL: there is none. */
static char *restore_pod_refusals(struct restoring *r, const struct restore_target *t, const json_t *object)
{
        AUTO(mem_free) char *path = known_resource_path(KNOWN_EVENTS, t->ns, NULL, NULL);
        AUTO(mem_free)
        char *fields = mem_printf("involvedObject.uid=%s,reason=FailedCreate", restore_text(object, "metadata.uid"));
        AUTO(mem_free) char *escaped = path_escape(fields);
        AUTO(mem_free) char *query = mem_printf("fieldSelector=%s", escaped);
        struct err err = {0};
        AUTO(json_decref) json_t *list = listing_ask(r->session.client, path, query, LISTING_ITEM_BYTES, &err);
        const json_t *items = json_object_get(list, "items"), *newest = NULL;
        size_t i;
        json_t *e;
        json_array_foreach((json_t *)(uintptr_t)items, i, e)
        {
                if (strcmp(restore_text(e, "lastTimestamp"), restore_text(newest, "lastTimestamp")) >= 0)
                        newest = e;
        }
        return newest ? mem_string(restore_text(newest, "message")) : NULL;
}

char *restore_found_data(struct restoring *r, const struct restore_target *t, const json_t *object)
{
        size_t i;
        json_t *c;
        json_array_foreach(json_object_get(json_object_get(object, "status"), "conditions"), i, c)
        {
                if (strcmp(restore_text(c, "type"), "ReplicaFailure") == 0 &&
                    strcmp(restore_text(c, "status"), "True") == 0)
                        return mem_string(restore_text(c, "message"));
        }
        char *said = pending_pods(r, t, object);
        return said ? said : restore_pod_refusals(r, t, object);
}
