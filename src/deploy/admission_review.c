#include <assert.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

#include "admission_private.h"
#include "base/yaml.h"
#include "core/kind.h"

const char *admission_result_name(enum admission_result r)
{
        static const char *const name[ADMISSION_RESULTS] = {
                [ADMISSION_PATCHED] = "patched",
                [ADMISSION_STANDS] = "stands",
                [ADMISSION_KEPT] = "kept",
                [ADMISSION_NO_TARGET] = "no_target",
                [ADMISSION_OTHER_MODE] = "other_mode",
                [ADMISSION_OWN] = "own",
                [ADMISSION_PROBED] = "probed",
                [ADMISSION_NO_OWNER] = "no_owner",
                [ADMISSION_UNREADABLE] = "unreadable",
                [ADMISSION_NOT_READY] = "not_ready",
        };
        assert(r < ADMISSION_RESULTS);
        return name[r];
}

/* --- the review --- */

static void read_kind(struct json *j, struct arena *a, struct admission *ret)
{
        struct text key;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "group"))
                        ret->group = json_text(j, a);
                else if (text_is(key, "version"))
                        ret->version = json_text(j, a);
                else if (text_is(key, "kind"))
                        ret->kind = json_text(j, a);
                else
                        json_skip(j);
}

static struct text admission_read_user(struct json *j, struct arena *a)
{
        struct text key, name = {"", 0};
        if (!json_enter(j, '{'))
                return name;
        while (json_key(j, &key))
                if (text_is(key, "username"))
                        name = json_text(j, a);
                else
                        json_skip(j);
        return name;
}

static struct text read_manager(struct json *j, struct arena *a)
{
        struct text key, name = {"", 0};
        if (json_peek(j) != '{') {
                json_skip(j); /* null means no options */
                return name;
        }
        json_enter(j, '{');
        while (json_key(j, &key))
                if (text_is(key, "fieldManager"))
                        name = json_text(j, a);
                else
                        json_skip(j);
        return name;
}

/* The raw JSON of an object; null counts as none. */
static struct text admission_read_object(struct json *j)
{
        bool object = json_peek(j) == '{';
        struct text raw = json_raw(j);
        return object ? raw : (struct text){"", 0};
}

static void admission_read_request(struct json *j, struct arena *a, struct admission *ret)
{
        struct text key;
        if (!json_enter(j, '{'))
                return;
        while (json_key(j, &key))
                if (text_is(key, "uid"))
                        ret->uid = json_text(j, a);
                else if (text_is(key, "kind"))
                        read_kind(j, a, ret);
                else if (text_is(key, "subResource"))
                        ret->subresource = json_text(j, a);
                else if (text_is(key, "namespace"))
                        ret->ns = json_text(j, a);
                else if (text_is(key, "name"))
                        ret->name = json_text(j, a);
                else if (text_is(key, "operation"))
                        ret->operation = json_text(j, a);
                else if (text_is(key, "userInfo"))
                        ret->user = admission_read_user(j, a);
                else if (text_is(key, "options"))
                        ret->manager = read_manager(j, a);
                else if (text_is(key, "dryRun"))
                        ret->dry_run = json_bool(j);
                else if (text_is(key, "object"))
                        ret->object = admission_read_object(j);
                else if (text_is(key, "oldObject"))
                        ret->old_object = admission_read_object(j);
                else
                        json_skip(j);
}

int admission_read(struct text body, struct arena *a, struct admission *ret, struct err *err)
{
        struct json j;
        struct text key, version = {"", 0}, kind = {"", 0};
        struct admission r = {0};
        json_init(&j, body.p, body.len);
        bool object = json_peek(&j) == '{' && json_enter(&j, '{');
        if (!object)
                json_skip(&j);
        while (object && json_key(&j, &key))
                if (text_is(key, "apiVersion"))
                        version = json_text(&j, a);
                else if (text_is(key, "kind"))
                        kind = json_text(&j, a);
                else if (text_is(key, "request"))
                        admission_read_request(&j, a, &r);
                else
                        json_skip(&j);
        int rc = json_done(&j, err);
        if (rc < 0)
                return err ? err_wrap(err, "admission review") : rc;
        if (!text_is(version, "admission.k8s.io/v1") || !text_is(kind, "AdmissionReview"))
                return err_set(
                        err, ERR_INVALID,
                        "admission review: '%.*s %.*s' is not admission.k8s.io/v1 AdmissionReview: list v1 in the "
                        "webhook's admissionReviewVersions",
                        (int)(version.len > 64 ? 64 : version.len), version.p, (int)(kind.len > 64 ? 64 : kind.len),
                        kind.p);
        if (r.uid.len == 0)
                return err_set(err, ERR_INVALID, "admission review: request.uid is missing");
        struct object_view meta;
        if (r.object.len > 0 && decode_object(r.object, a, &meta, NULL) == 0) {
                r.owner = meta.owner;
                r.probe = text_is(meta.annotation.probe, PROBE_ASKED);
        }
        *ret = r;
        return 0;
}

static bool is_pod(const struct admission *r)
{
        return r->group.len == 0 && text_is(r->kind, "Pod");
}

bool admission_wants_owner(const struct admission *r, const struct snapshot *v)
{
        if (!is_pod(r) || r->subresource.len > 0 || !text_is(r->operation, "CREATE") || r->owner.kind.len == 0)
                return false;
        if (!v->ready || !snapshot_find_ns(v, r->ns))
                return false; /* the answer is ADMISSION_NOT_READY, whoever owns the pod */
        const struct kind *k = kind_find(kind_group(r->owner.api_version), r->owner.kind);
        return k && (k->flags & KIND_UNOWNED_ONLY ||
                     !snapshot_find(v, r->ns, text_of(k->group), text_of(k->kind), r->owner.name));
}

/* --- shared by both subjects --- */

struct deploy_container *admission_containers(struct arena *a, const struct container_view *c, int count,
                                              const struct our_annotations *notes)
{
        struct deploy_container *to = arena_new(a, (size_t)(count + 1) * sizeof *to);
        for (int i = 0; i < count; i++) {
                to[i].name = c[i].name;
                to[i].role = c[i].role;
                memcpy(to[i].request, c[i].request, sizeof to[i].request);
                memcpy(to[i].limit, c[i].limit, sizeof to[i].limit);
                memcpy(to[i].read, c[i].read, sizeof to[i].read);
                memcpy(to[i].restarts, c[i].restarts, sizeof to[i].restarts);
                decode_runtime_heap(&c[i], a, &to[i].heap);
        }
        return deploy_recall(to, (size_t)count, notes, a, NULL) == 0 ? to : NULL;
}

/* The CPU or memory request to write. A pod never loses a request, even if the owner's template has none: the API
 * server would put the limit in its place, which may be the namespace's default. */
static struct amount admission_wanted(const struct deploy_answer *d, size_t i, enum resource r, bool pod,
                                      struct amount from)
{
        struct amount to = deploy_request(d, i, r);
        return pod && from.set && !to.set ? d->row[i].origin[r].effective : to;
}

static struct patch_container *admission_changes(struct admission_work *w, const struct deploy_subject *s,
                                                 const struct deploy_answer *d, int *ret_count)
{
        struct patch_container *to = arena_new(w->arena, (s->containers + 1) * sizeof *to);
        *ret_count = 0;
        for (size_t i = 0; i < s->containers; i++) {
                struct patch_container c = {.name = arena_text(w->arena, s->container[i].name)};
                for (enum resource r = CPU; r < RESOURCES; r++) {
                        c.to[r] = admission_wanted(d, i, r, is_pod(w->request), s->container[i].request[r]);
                        c.write[r] = !amount_equal(c.to[r], s->container[i].request[r]);
                }
                if (c.write[CPU] || c.write[MEMORY])
                        to[(*ret_count)++] = c;
        }
        return to;
}

json_t *admission_patch(struct admission_work *w, struct text object, const char *template_path,
                        const struct deploy_subject *s, const struct deploy_answer *d,
                        const struct deploy_notes *before)
{
        struct patch_resources want = {.template_path = template_path, .object = object, .deploys = !before};
        const struct deploy_notes notes = before ? *before : deploy_record(s, d, w->arena);
        want.container = admission_changes(w, s, d, &want.containers);
        want.original = notes.original;
        want.applied = notes.applied;
        want.basis = notes.basis;
        want.basis_stands = d->profile && apply_policy_owns_no_basis(&d->profile->spec->apply);
        return patch_build(&want, NULL);
}

/* --- the response --- */

static int add_base64(struct buf *out, const char *p, size_t len)
{
        gnutls_datum_t from = {(unsigned char *)(uintptr_t)p, (unsigned)len}, to;
        if (gnutls_base64_encode2(&from, &to) < 0)
                return ERR_NOSPACE;
        int rc = buf_add(out, to.data, to.size);
        gnutls_free(to.data);
        return rc;
}

/* Append a text as a JSON string: the uid of the review, which the API server expects back unchanged. */
static void admission_add_string(struct buf *out, struct text t)
{
        json_t *s = json_stringn(t.p, t.len);
        char *text = s ? json_dumps(s, JSON_ENCODE_ANY) : NULL;
        buf_add_text(out, text ? text : "\"\"");
        free(text);
        json_decref(s);
}

/* The warning that the API server shows to its client; NULL: none. */
static const char *warning_of(enum admission_result r)
{
        return r == ADMISSION_NO_OWNER     ? "the pod's owner was not found in time"
               : r == ADMISSION_UNREADABLE ? "the object could not be read"
               : r == ADMISSION_NOT_READY  ? "the cluster is still being read"
                                           : NULL;
}

static void admission_respond(const struct admission_work *w, struct buf *out)
{
        const char *warning = warning_of(w->result);
        char *patch = w->patch && (w->result == ADMISSION_PATCHED || w->result == ADMISSION_PROBED)
                              ? json_dumps(w->patch, JSON_COMPACT)
                              : NULL;
        buf_add_text(out,
                     "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{\"uid\":");
        admission_add_string(out, w->request->uid);
        buf_add_text(out, ",\"allowed\":true");
        if (patch) {
                size_t before = out->len;
                buf_add_text(out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
                if (add_base64(out, patch, strlen(patch)) < 0 || buf_add_text(out, "\"") < 0)
                        out->len = before; /* the patch is too large: leave the object unchanged */
        }
        if (warning)
                buf_printf(out, ",\"warnings\":[\"halflife: left unchanged: %s\"]", warning);
        if (patch || warning)
                buf_printf(out, ",\"auditAnnotations\":{\"%s\":\"%s\"}", patch ? "result" : "left-unchanged",
                           admission_result_name(w->result));
        buf_add_text(out, "}}");
        free(patch);
}

static bool is_write(const struct admission *r)
{
        return text_is(r->operation, "CREATE") || text_is(r->operation, "UPDATE");
}

/* The length of the prefix "system:serviceaccount:NAMESPACE:"; 0 if the user is not a service account. */
static size_t account_prefix(const char *user)
{
        static const char all[] = "system:serviceaccount:";
        const char *ns = strncmp(user, all, sizeof all - 1) == 0 ? user + sizeof all - 1 : NULL;
        const char *end = ns ? strchr(ns, ':') : NULL;
        return end ? (size_t)(end + 1 - user) : 0;
}

static bool is_own(const struct admission *r, const char *own_user)
{
        bool as_we_write = text_is(r->manager, FIELD_MANAGER);
        if (!own_user)
                return as_we_write;
        size_t account = account_prefix(own_user);
        return text_is(r->user, own_user) ||
               (as_we_write && account > 0 && r->user.len > account && memcmp(r->user.p, own_user, account) == 0);
}

/* Is the object a pod that is never stored, and only asks whether admission is called? The answer needs no snapshot. */
static bool is_probe(const struct admission *r)
{
        return r->probe && r->dry_run && is_pod(r) && text_is(r->operation, "CREATE");
}

static void admission_probe(struct admission_work *w)
{
        w->result = ADMISSION_PROBED;
        w->patch = json_pack("[{s:s, s:s, s:s}]", "op", "replace", "path", "/metadata/annotations/halflife.dev~1probe",
                             "value", PROBE_ANSWERED);
}

static void admission_judge(struct admission_work *w, const char *own_user)
{
        const struct admission *r = w->request;
        const struct kind *k = kind_find(r->group, r->kind);
        if (r->subresource.len > 0 || !is_write(r) || r->object.len == 0)
                w->result = ADMISSION_NO_TARGET;
        else if (is_own(r, own_user))
                w->result = ADMISSION_OWN;
        else if (is_probe(r))
                admission_probe(w);
        else if (!w->view->ready || !snapshot_find_ns(w->view, r->ns))
                w->result = ADMISSION_NOT_READY;
        else if (is_pod(r))
                admission_pod(w);
        else
                admission_workload(w, k ? k->template_path : "/spec/template");
}

void admission_answer(const struct admission *r, const struct snapshot *v, const struct admission_owner *owner,
                      const char *own_user, struct arena *a, struct buf *out, enum admission_result *ret)
{
        struct admission_work w = {.request = r, .view = v, .owner = owner, .arena = a};
        admission_judge(&w, own_user);
        admission_respond(&w, out);
        *ret = w.result;
        json_decref(w.patch);
}
