#include "check_permissions.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/noun.h"
#include "kube/patch.h"
#include "kube/resource_list.h"

int check_may(struct checking *c, const struct access *a, struct err *err)
{
        enum known_resource_id review_of = a->user ? KNOWN_SUBJECTACCESSREVIEWS : KNOWN_SELFSUBJECTACCESSREVIEWS;
        AUTO(mem_free) char *path = known_resource_path(review_of, NULL, NULL, NULL);
        json_t *attributes =
                json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*}", "group", a->group, "resource", a->resource, "verb",
                          a->verb, "subresource", a->subresource, "namespace", a->ns, "name", a->name);
        AUTO(json_decref)
        json_t *review =
                json_pack("{s:s, s:s, s:{s:o, s:s*}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                          known_resources[review_of].kind, "spec", "resourceAttributes", attributes, "user", a->user);
        AUTO(json_decref) json_t *answer = check_ask(c, HTTP_POST, path, review, err);
        if (!answer)
                return err->code;
        return json_is_true(json_object_get(json_object_get(answer, "status"), "allowed"));
}

/* The name of halflife's certificate Secret or of its Lease, as the settings give it. */
static const char *check_set_name(const struct checking *c, enum known_resource_id of)
{
        return of == KNOWN_SECRETS ? c->settings.controller.certificate_secret : c->settings.controller.lease_name;
}

/* Ask the API server about one permission of a user (NULL: of the credentials in use). Returns as check_may does. */
static int check_permission(struct checking *c, const struct permission *p, enum permission_verb verb, const char *user,
                            struct err *err)
{
        const struct known_resource *r = &known_resources[p->of];
        struct access a = {permission_verb_name[verb], r->group, r->plural, p->subresource, p->ns, p->name, user};
        if (p->own_ns) {
                a.ns = c->ns;
                a.name = verb == VERB_CREATE ? NULL : check_set_name(c, p->of);
        }
        return check_may(c, &a, err);
}

static void check_tell_missing(struct checking *c, const struct permission *p, enum permission_verb verb,
                               const char *way_out)
{
        const struct known_resource *r = &known_resources[p->of];
        char line[512], of[128] = "";
        if (p->name)
                snprintf(of, sizeof of, " '%s'", p->name);
        else if (*r->group)
                snprintf(of, sizeof of, ".%s", r->group);
        snprintf(line, sizeof line, "no permission to %s %s%s%s%s%s%s, needed for %s", permission_verb_name[verb],
                 r->plural, p->subresource ? "/" : "", p->subresource ? p->subresource : "", of,
                 p->own_ns ? " in namespace " : "", p->own_ns ? c->ns : "", p->why);
        check_tell(c, BAD, line, way_out);
}

char *check_user(struct checking *c)
{
        struct err err = {0};
        json_t *body = json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1", "kind", "SelfSubjectReview");
        AUTO(json_decref)
        json_t *review = check_ask(c, HTTP_POST, "/apis/authentication.k8s.io/v1/selfsubjectreviews", body, &err);
        json_decref(body);
        const json_t *info = json_object_get(json_object_get(review, "status"), "userInfo");
        return mem_string(json_string_value(json_object_get(info, "username")));
}

void check_permissions(struct checking *c)
{
        bool never = c->settings.controller.live.apply_never, serves = c->settings.controller.serve_listen != NULL;
        bool reads_certificate = c->settings.controller.certificate != CERTIFICATE_FILES;
        unsigned uses = 1u << PERMISSION_ALWAYS | (unsigned)serves << PERMISSION_TO_SERVE |
                        (unsigned)!never << PERMISSION_TO_WRITE | (unsigned)reads_certificate << PERMISSION_CERTIFICATE;
        char line[ERR_TEXT_MAX + 128];
        const struct permission *p;
        enum permission_verb verb;
        int good = 0;
        for (size_t at = 0; (p = permission_next(uses, &at, &verb));) {
                struct err err = {0};
                int allowed = check_permission(c, p, verb, NULL, &err);
                if (allowed < 0) {
                        snprintf(line, sizeof line, "permissions: %s", err.text);
                        check_tell(c, BAD, line,
                                   "only the anonymous user may not ask for permissions: does the kubeconfig hold "
                                   "credentials?");
                        return;
                }
                good += allowed;
                if (!allowed)
                        check_tell_missing(c, p, verb,
                                           "add a rule to halflife's role; manifests/base/rbac.yaml has all rules");
        }
        AUTO(mem_free) char *user = check_user(c);
        snprintf(line, sizeof line, "%s granted to %s", NOUN_COUNT(good, "permission"),
                 user ? user : "the credentials in use");
        check_tell(c, GOOD, line, NULL);
}

bool check_use(struct checking *c, enum permission_use use, const char *way_out)
{
        const struct permission *p;
        enum permission_verb verb;
        for (size_t at = 0; (p = permission_next(1u << use, &at, &verb));) {
                struct err err = {0};
                if (check_permission(c, p, verb, NULL, &err) == 1)
                        continue;
                check_tell_missing(c, p, verb, way_out);
                return false;
        }
        return true;
}

/* --- the admission policy --- */

/* Whether the credentials in use are a service account's. The admission policy judges halflife's own accounts and no
 * person. */
static bool check_is_service_account(struct checking *c)
{
        AUTO(mem_free) char *user = check_user(c);
        return user && strncmp(user, "system:serviceaccount:", strlen("system:serviceaccount:")) == 0;
}

/* Try a patch without a change, as the admission policy refuses every patch in halflife's own namespace. */
void check_policy(struct checking *c)
{
        struct err err = {0};
        AUTO(mem_free) char *path = known_resource_path(KNOWN_DEPLOYMENTS, c->ns, "halflife", NULL);
        const struct call call = {.method = HTTP_PATCH,
                                  .path = path,
                                  .query = "dryRun=All",
                                  .content_type = "application/json-patch+json",
                                  .body = text_of("[{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"Deployment\"}]"),
                                  .deadline_ms = 10 * SECOND_MS};
        if (c->settings.controller.live.apply_never || !check_is_service_account(c))
                return;
        int rc = client_wait(c->session.client, &call, NULL, NULL, &err);
        if (rc == 0)
                check_tell(c, DOUBTFUL, "no policy of the API server bounds what halflife writes",
                           "kubectl apply -k manifests; in a namespace other than halflife, first change the namespace "
                           "in manifests/base/policy.yaml");
        else if (rc == ERR_DENIED && patch_refused_by_policy(&err))
                check_tell(c, GOOD, "a policy of the API server bounds what halflife writes", NULL);
        else if (rc != ERR_DENIED) /* without permission to patch, halflife writes nothing to bound */
                check_tell(c, DOUBTFUL,
                           "cannot tell whether a policy bounds what halflife writes: its Deployment "
                           "'halflife' cannot be patched",
                           err.text);
}

/* --- halflife rotate --- */

/* Print a line for each permission of the account of halflife rotate; `missing`: the verdict for a missing one. */
static void check_rotate_use(struct checking *c, enum permission_use use, enum verdict missing, const char *way_out)
{
        AUTO(mem_free) char *user = mem_printf("system:serviceaccount:%s:halflife-rotate", c->ns);
        const struct permission *p;
        enum permission_verb verb;
        for (size_t at = 0; (p = permission_next(1u << use, &at, &verb));) {
                struct err err = {0};
                int allowed = check_permission(c, p, verb, user, &err);
                const char *name = p->name ? p->name : check_set_name(c, p->of);
                AUTO(mem_free)
                char *line =
                        mem_printf("halflife-rotate %s %s %s '%s', needed for %s%s%s", allowed == 1 ? "may" : "may not",
                                   permission_verb_name[verb], known_resources[p->of].plural, name, p->why,
                                   allowed < 0 ? ": " : "", allowed < 0 ? err.text : "");
                check_tell(c, allowed == 1 ? GOOD : missing, line, way_out);
        }
}

void check_rotate(struct checking *c)
{
        if (c->settings.controller.certificate == CERTIFICATE_FILES)
                return;
        check_rotate_use(c, PERMISSION_ROTATE, BAD,
                         "without it no certificate is made; manifests/base/rotate.yaml has the rule");
        check_rotate_use(c, PERMISSION_ROTATE_WEBHOOKS, DOUBTFUL,
                         "only admission needs it: kubectl apply -k manifests/overlays/admission has the rule");
        if (c->settings.controller.custom_listen)
                check_rotate_use(c, PERMISSION_ROTATE_API_SERVICES, BAD,
                                 "kubectl apply -k manifests/overlays/custom-metrics has the rule");
}

/* --- custom metrics --- */

void check_custom_permissions(struct checking *c)
{
        const struct permission *p;
        enum permission_verb verb;
        for (size_t at = 0; (p = permission_next(1u << PERMISSION_CUSTOM_METRICS, &at, &verb));) {
                struct err err = {0};
                if (check_permission(c, p, verb, NULL, &err) != 1)
                        check_tell_missing(c, p, verb,
                                           "kubectl apply -k manifests/overlays/custom-metrics has the rules");
        }
}

/* --- autoscalers --- */

static bool any_of(struct checking *c, enum known_resource_id profiles, const char *member, const char *inner,
                   const char *value)
{
        struct err err = {0};
        AUTO(mem_free) char *path = known_resource_path(profiles, NULL, NULL, NULL);
        AUTO(json_decref)
        json_t *list = check_ask(c, HTTP_GET, path, NULL, &err); /* NULL: an error, which check_apis has reported */
        size_t i;
        json_t *profile;
        json_array_foreach(json_object_get(list, "items"), i, profile)
        {
                const json_t *apply = json_object_get(json_object_get(profile, "spec"), "apply");
                const json_t *at = json_object_get(apply, member);
                const char *is = json_string_value(inner ? json_object_get(at, inner) : at);
                if (is && strcmp(is, value) == 0)
                        return true;
        }
        return false;
}

/* Whether any profile has this value in spec.apply, at `member`, or at `inner` within that member (inner NULL: at
 * `member` itself). */
static bool any_applies(struct checking *c, const char *member, const char *inner, const char *value)
{
        return any_of(c, KNOWN_CLUSTERPROFILES, member, inner, value) ||
               any_of(c, KNOWN_PROFILES, member, inner, value);
}

void check_autoscalers(struct checking *c)
{
        if (any_applies(c, "hpa", NULL, "Retune") &&
            check_use(c, PERMISSION_TO_RETUNE,
                      "until then hpa Retune acts as Hold; add manifests/components/retune, or kubectl apply -k "
                      "manifests/overlays/retune"))
                check_tell(c, GOOD, "permissions to retune autoscalers, for a profile with apply.hpa Retune", NULL);
}

/* --- pods that are resized --- */

void check_in_place(struct checking *c)
{
        struct err err = {0};
        bool in_place = any_applies(c, "mode", NULL, "InPlace");
        if (!in_place && !any_applies(c, "startup", "request", "Original"))
                return;
        const char *by = in_place ? "apply.mode InPlace" : "apply.startup Original";
        AUTO(mem_free) char *path = known_resource_version_path(KNOWN_PODS);
        AUTO(json_decref) json_t *list = check_ask(c, HTTP_GET, path, NULL, &err);
        AUTO(mem_free) char *cannot = mem_printf("a profile has %s, but this server cannot resize pods", by);
        AUTO(mem_free) char *may = mem_printf("permissions to resize pods, for a profile with %s", by);
        if (list && !resource_list_find(list, "pods/resize", NULL))
                check_tell(
                        c, DOUBTFUL, cannot,
                        "upgrade to Kubernetes 1.33 or newer; until then only new pods get the recommended requests");
        if (c->settings.controller.live.apply_never ||
            check_use(c, PERMISSION_TO_RESIZE, "kubectl apply -k manifests/overlays/in-place grants the permission"))
                check_tell(c, GOOD, may, NULL);
}
