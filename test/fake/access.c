/* Who is asking, may they, SelfSubjectAccessReviews, and mutating admission. */
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

bool access_allowed(struct fake *f, const struct request *rq, const struct target *t, struct reply *rp)
{
        const struct kind *k = t->kind;
        AUTO(mem_free) char *resource = mem_printf("%s%s%s", k->plural, *t->sub ? "/" : "", t->sub);
        const char *what = denied(f, rq->verb, k->group, resource, t->ns) ? rq->verb : NULL;
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
                     kind_resource(k, &r), *t->name ? " \"" : "", t->name, *t->name ? "\"" : "", f->user, what,
                     resource, k->group, where);
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

bool review_serve(struct fake *f, const struct request *rq, struct reply *rp)
{
        if (strcmp(rq->path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") != 0)
                return false;
        json_t *body = json_loadb(rq->body, rq->len, 0, NULL);
        const json_t *a = json_at(body, "spec.resourceAttributes");
        if (!body || strcmp(rq->method, "POST") != 0) {
                reply_error(rp, 400, "BadRequest", "a SelfSubjectAccessReview is to be POSTed");
                json_decref(body);
                return true;
        }
        const char *sub = text_at(a, "subresource");
        AUTO(mem_free) char *resource = mem_printf("%s%s%s", text_at(a, "resource"), *sub ? "/" : "", sub);
        bool no = a && denied(f, text_at(a, "verb"), text_at(a, "group"), resource, text_at(a, "namespace"));
        json_object_set_new(
                body, "status",
                json_pack("{s:b, s:s}", "allowed", !no, "reason", no ? "" : "RBAC: allowed by the test server"));
        reply_json(rp, 201, body);
        return true;
}
