/* Authentication, authorization, SelfSubjectAccessReviews, and mutating admission. */
#include <string.h>

#include "fake.h"

bool access_known(struct fake *f, const struct request *rq, struct reply *rp)
{
        static const char bearer[] = "Bearer ";
        const char *has = rq->authorization ? rq->authorization : "";
        if (!f->token || (strncmp(has, bearer, strlen(bearer)) == 0 && strcmp(has + strlen(bearer), f->token) == 0))
                return true;
        reply_error(rp, 401, "Unauthorized", "Unauthorized");
        return false;
}

void fake_set_token(struct fake *f, const char *token)
{
        fake_lock(f);
        mem_free(f->token);
        f->token = mem_string(token);
        fake_unlock(f);
}

void fake_deny(struct fake *f, const struct fake_rule *r)
{
        json_t *rule = json_object();
        fake_lock(f);
        if (r->verb)
                json_object_set_new(rule, "verb", json_string(r->verb));
        if (r->group)
                json_object_set_new(rule, "group", json_string(r->group));
        if (r->resource)
                json_object_set_new(rule, "resource", json_string(r->resource));
        if (r->ns)
                json_object_set_new(rule, "namespace", json_string(r->ns));
        json_array_append_new(f->denied, rule);
        fake_unlock(f);
}

void fake_allow_all(struct fake *f)
{
        fake_lock(f);
        json_array_clear(f->denied);
        fake_unlock(f);
}

static bool rule_says(const json_t *rule, const char *name, const char *value)
{
        const char *want = json_string_value(json_object_get(rule, name));
        return !want || strcmp(want, value) == 0;
}

static bool denied(const struct fake *f, const char *verb, const char *group, const char *resource, const char *ns)
{
        size_t i;
        json_t *rule;
        json_array_foreach(f->denied, i, rule) if (rule_says(rule, "verb", verb) && rule_says(rule, "group", group) &&
                                                   rule_says(rule, "resource", resource) &&
                                                   rule_says(rule, "namespace", ns)) return true;
        return false;
}

/* The user of a request that shows a person's token; NULL: it is halflife's own, which may all but what is denied. */
static const char *access_person(const struct fake *f, const struct request *rq)
{
        static const char bearer[] = "Bearer ";
        if (rq->inside || !rq->authorization || strncmp(rq->authorization, bearer, sizeof bearer - 1) != 0)
                return NULL;
        return json_string_value(
                json_object_get(json_object_get(f->people, rq->authorization + sizeof bearer - 1), "user"));
}

/* A person may what was granted. */
static bool access_granted(const struct fake *f, const char *person, const struct request *rq, const struct target *t)
{
        size_t i;
        json_t *grant;
        json_array_foreach(f->grants, i, grant) if (rule_says(grant, "user", person) &&
                                                    rule_says(grant, "resource", t->kind->plural) &&
                                                    rule_says(grant, "verb", rq->verb) &&
                                                    rule_says(grant, "namespace", t->ns) &&
                                                    rule_says(grant, "name", t->name)) return true;
        return false;
}

bool access_allowed(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        const struct kind *k = t->kind;
        AUTO(mem_free) char *resource = mem_printf("%s%s%s", k->plural, *t->sub ? "/" : "", t->sub);
        const char *person = access_person(f, rq), *what = denied(f, rq->verb, k->group, resource, t->ns) ||
                                                                           (person && !access_granted(f, person, rq, t))
                                                                   ? rq->verb
                                                                   : NULL;
        bool creates = strcmp(rq->verb, "patch") == 0 && rq->type &&
                       strncmp(rq->type, "application/apply-patch", 23) == 0 && !store_find(k, t->ns, t->name);
        if (!what && creates && denied(f, "create", k->group, resource, t->ns))
                what = "create";
        if (!what)
                return true;
        struct buf r = {0};
        buf_init(&r, 512);
        AUTO(mem_free)
        char *where = *t->ns ? mem_printf("in the namespace \"%s\"", t->ns) : mem_string("at the cluster scope");
        reply_refuse(rp, 403, "Forbidden", t, NULL,
                     "%s%s%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\" %s",
                     kind_resource(k, &r), *t->name ? " \"" : "", t->name, *t->name ? "\"" : "",
                     person ? person : f->user, what, resource, k->group, where);
        buf_release(&r);
        return false;
}

void fake_set_admission(struct fake *f, fake_admission *admit, void *arg)
{
        fake_lock(f);
        f->admit = admit;
        f->admit_arg = arg;
        fake_unlock(f);
}

/* --- reviews --- */

void fake_person(struct fake *f, const char *token, const char *user, const char *audience)
{
        fake_lock(f);
        if (user)
                json_object_set_new(f->people, token,
                                    json_pack("{s:s, s:s}", "user", user, "audience",
                                              audience ? audience : "https://kubernetes.default.svc"));
        else
                json_object_del(f->people, token);
        fake_unlock(f);
}

void fake_grant(struct fake *f, const struct fake_grant *g)
{
        json_t *grant = json_pack("{s:s, s:s}", "user", g->user, "resource", "recommendations");
        fake_lock(f);
        if (g->verb)
                json_object_set_new(grant, "verb", json_string(g->verb));
        if (g->ns)
                json_object_set_new(grant, "namespace", json_string(g->ns));
        if (g->name)
                json_object_set_new(grant, "name", json_string(g->name));
        json_array_append_new(f->grants, grant);
        fake_unlock(f);
}

void fake_grant_resource(struct fake *f, const char *user, const char *resource)
{
        fake_lock(f);
        json_array_append_new(f->grants, json_pack("{s:s, s:s}", "user", user, "resource", resource));
        fake_unlock(f);
}

void fake_revoke_all(struct fake *f)
{
        fake_lock(f);
        json_array_clear(f->grants);
        fake_unlock(f);
}

static bool granted(const struct fake *f, const char *user, const json_t *a)
{
        size_t i;
        json_t *grant;
        json_array_foreach(f->grants, i, grant)
        {
                if (rule_says(grant, "user", user) && rule_says(grant, "resource", text_at(a, "resource")) &&
                    rule_says(grant, "verb", text_at(a, "verb")) &&
                    rule_says(grant, "namespace", text_at(a, "namespace")) &&
                    rule_says(grant, "name", text_at(a, "name")))
                        return true;
        }
        return false;
}

/* Is the token for one of the audiences asked for? */
static json_t *audience_of(const json_t *person, const json_t *wanted)
{
        size_t i;
        json_t *one;
        const char *has = json_string_value(json_object_get(person, "audience"));
        if (json_array_size(wanted) == 0)
                return json_pack("[s]", has);
        json_array_foreach(wanted, i, one)
        {
                if (json_is_string(one) && strcmp(json_string_value(one), has) == 0)
                        return json_pack("[s]", has);
        }
        return NULL;
}

static json_t *review_token(struct fake *f, const json_t *body)
{
        const char *token = text_at(body, "spec.token");
        const json_t *person = json_object_get(f->people, token);
        json_t *audiences = person ? audience_of(person, json_at(body, "spec.audiences")) : NULL;
        if (!audiences)
                return json_pack("{s:{}, s:s}", "user", "error", "[invalid bearer token, Token has been invalidated]");
        return json_pack("{s:b, s:{s:s, s:s, s:[s, s], s:{s:[s]}}, s:o}", "authenticated", 1, "user", "username",
                         json_string_value(json_object_get(person, "user")), "uid", "u-1", "groups",
                         "system:serviceaccounts", "system:authenticated", "extra",
                         "authentication.kubernetes.io/credential-id", "JTI=1", "audiences", audiences);
}

static json_t *review_self(struct fake *f, const json_t *body)
{
        const json_t *a = json_at(body, "spec.resourceAttributes");
        const char *sub = text_at(a, "subresource");
        AUTO(mem_free) char *resource = mem_printf("%s%s%s", text_at(a, "resource"), *sub ? "/" : "", sub);
        bool no = a && denied(f, text_at(a, "verb"), text_at(a, "group"), resource, text_at(a, "namespace"));
        return json_pack("{s:b, s:s}", "allowed", !no, "reason", no ? "" : "RBAC: allowed by the test server");
}

static json_t *review_subject(struct fake *f, const json_t *body)
{
        const json_t *a = json_at(body, "spec.resourceAttributes");
        return json_pack("{s:b}", "allowed", granted(f, text_at(body, "spec.user"), a));
}

static json_t *review_oneself(struct fake *f, const json_t *body)
{
        (void)body;
        return json_pack("{s:{s:s}}", "userInfo", "username", f->user);
}

bool review_serve(struct fake *f, const struct request *rq, struct reply *rp)
{
        static const struct {
                const char *path, *group, *plural; /* group NULL: any authenticated user may send the request */
                json_t *(*status)(struct fake *f, const json_t *body);
        } kinds[] = {
                {"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, "selfsubjectaccessreviews",
                 review_self},
                {"/apis/authorization.k8s.io/v1/subjectaccessreviews", "authorization.k8s.io", "subjectaccessreviews",
                 review_subject},
                {"/apis/authentication.k8s.io/v1/selfsubjectreviews", NULL, "selfsubjectreviews", review_oneself},
                {"/apis/authentication.k8s.io/v1/tokenreviews", "authentication.k8s.io", "tokenreviews", review_token},
        };
        size_t k = 0;
        while (k < sizeof kinds / sizeof kinds[0] && strcmp(rq->path, kinds[k].path) != 0)
                k++;
        if (k == sizeof kinds / sizeof kinds[0])
                return false;
        json_t *body = json_loadb(rq->body, rq->len, 0, NULL);
        if (!body || strcmp(rq->method, "POST") != 0) {
                reply_error(rp, 400, "BadRequest", "one of %s is to be POSTed", kinds[k].plural);
                json_decref(body);
        } else if (kinds[k].group && denied(f, "create", kinds[k].group, kinds[k].plural, "")) {
                reply_error(rp, 403, "Forbidden", "%s.%s is forbidden: User \"%s\" cannot create it", kinds[k].plural,
                            kinds[k].group, f->user);
                json_decref(body);
        } else {
                json_object_set_new(body, "status", kinds[k].status(f, body));
                reply_json(rp, 201, body);
        }
        return true;
}
