#include "kube/review.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"

enum { REVIEW_MS = 5 * SECOND_MS, ANSWER_MAX = 256 << 10 };

struct review {
        struct client *client;
        struct client_call *call;
        review_done *done;
        review_self_done *done_self;
        void *arg;
        char *audience, *verb, *group, *resource, *ns, *name;
};

static void review_free(struct review *r)
{
        char *const text[] = {r->audience, r->verb, r->group, r->resource, r->ns, r->name};
        for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
                mem_free(text[i]);
        mem_free(r);
}

static void review_finish(struct review *r, enum review_verdict v, const struct err *err)
{
        r->done(r->arg, v, err);
        review_free(r);
}

static void review_fail(struct review *r, const struct client_answer *a)
{
        review_finish(r, a->unsent ? REVIEW_BUSY : REVIEW_UNANSWERED, &a->err);
}

static void finish_odd(struct review *r, const char *what)
{
        struct err err = {0};
        err_set(&err, ERR_RETRY, "%s: the API server's answer cannot be read", what);
        review_finish(r, REVIEW_UNANSWERED, &err);
}

/* Send a review; takes ownership of body, and wipes its text, which may hold a token. */
static void review_ask(struct review *r, const char *path, json_t *body, client_done *done)
{
        char *text = json_dumps(body, JSON_COMPACT);
        struct call call = {.method = HTTP_POST,
                            .path = path,
                            .body = text_of(text),
                            .deadline_ms = REVIEW_MS,
                            .queue = HTTP_FOR_CLIENTS,
                            .body_max = ANSWER_MAX};
        r->call = client_start(r->client, &call, done, r);
        mem_wipe(text);
        json_decref(body);
}

/* --- SubjectAccessReview: may the user? --- */

static void on_access(void *arg, const struct client_answer *a)
{
        struct review *r = arg;
        if (a->err.code) {
                review_fail(r, a);
                return;
        }
        AUTO(json_decref) json_t *body = json_loadb(a->body.p, a->body.len, 0, NULL);
        const json_t *allowed = json_object_get(json_object_get(body, "status"), "allowed");
        if (json_is_boolean(allowed))
                review_finish(r, json_is_true(allowed) ? REVIEW_ALLOWED : REVIEW_FORBIDDEN, NULL);
        else
                finish_odd(r, "SubjectAccessReview");
}

static void set_text(json_t *to, const char *name, const char *text)
{
        if (text && *text)
                json_object_set_new(to, name, json_string(text));
}

static void copy_part(json_t *to, const char *name, const json_t *user, const char *from)
{
        json_t *part = json_object_get(user, from);
        if (part && !json_is_null(part))
                json_object_set(to, name, part);
}

static void ask_access(struct review *r, const json_t *user)
{
        json_t *spec = json_object(), *what = json_object();
        copy_part(spec, "user", user, "username");
        copy_part(spec, "uid", user, "uid");
        copy_part(spec, "groups", user, "groups");
        copy_part(spec, "extra", user, "extra");
        set_text(what, "verb", r->verb);
        set_text(what, "group", r->group);
        set_text(what, "resource", r->resource);
        set_text(what, "namespace", r->ns);
        set_text(what, "name", r->name);
        json_object_set_new(spec, "resourceAttributes", what);
        review_ask(r, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                   json_pack("{s:s, s:s, s:o}", "apiVersion", "authorization.k8s.io/v1", "kind", "SubjectAccessReview",
                             "spec", spec),
                   on_access);
}

/* --- TokenReview: who is the user? --- */

/* Is the token for the wanted audience? A server without support for audiences names none; its tokens are refused, as
 * they may be for anybody. */
static bool for_us(const struct review *r, const json_t *status)
{
        size_t i;
        const json_t *one;
        if (!r->audience)
                return true;
        json_array_foreach(json_object_get(status, "audiences"), i, one)
        {
                const char *text = json_string_value(one);
                if (text && strcmp(text, r->audience) == 0)
                        return true;
        }
        return false;
}

static void on_token(void *arg, const struct client_answer *a)
{
        struct review *r = arg;
        if (a->err.code) {
                review_fail(r, a);
                return;
        }
        AUTO(json_decref) json_t *body = json_loadb(a->body.p, a->body.len, 0, NULL);
        const json_t *status = json_object_get(body, "status"), *user = json_object_get(status, "user");
        const json_t *known = json_object_get(status, "authenticated");
        if (!json_is_object(status) || (known && !json_is_boolean(known)))
                finish_odd(r, "TokenReview");
        else if (!json_is_true(known) || !json_is_string(json_object_get(user, "username")) || !for_us(r, status))
                review_finish(r, REVIEW_UNKNOWN, NULL);
        else
                ask_access(r, user);
}

struct review *review_start(struct client *c, const struct review_question *q, review_done *done, void *arg)
{
        struct review *r = MEM_NEW(struct review);
        *r = (struct review){
                .client = c,
                .done = done,
                .arg = arg,
                .audience = mem_string(q->audience),
                .verb = mem_string(q->verb),
                .group = mem_string(q->group),
                .resource = mem_string(q->resource),
                .ns = mem_string(q->ns),
                .name = mem_string(q->name),
        };
        json_t *spec = json_pack("{s:s}", "token", q->token);
        if (q->audience)
                json_object_set_new(spec, "audiences", json_pack("[s]", q->audience));
        review_ask(r, "/apis/authentication.k8s.io/v1/tokenreviews",
                   json_pack("{s:s, s:s, s:o}", "apiVersion", "authentication.k8s.io/v1", "kind", "TokenReview", "spec",
                             spec),
                   on_token);
        return r;
}

void review_cancel(struct review *r)
{
        if (r->call)
                client_cancel(r->client, r->call);
        review_free(r);
}

/* --- SelfSubjectReview: which user is halflife? --- */

static void on_self(void *arg, const struct client_answer *a)
{
        struct review *r = arg;
        struct err err = a->err;
        AUTO(json_decref) json_t *body = err.code ? NULL : json_loadb(a->body.p, a->body.len, 0, NULL);
        const json_t *info = json_object_get(json_object_get(body, "status"), "userInfo");
        const char *user = json_string_value(json_object_get(info, "username"));
        if (!err.code && !user)
                err_set(&err, ERR_RETRY, "SelfSubjectReview: the API server's answer cannot be read");
        r->done_self(r->arg, user, user ? NULL : &err);
        review_free(r);
}

struct review *review_self_start(struct client *c, review_self_done *done, void *arg)
{
        struct review *r = MEM_NEW(struct review);
        *r = (struct review){.client = c, .done_self = done, .arg = arg};
        review_ask(r, "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                   json_pack("{s:s, s:s}", "apiVersion", "authentication.k8s.io/v1", "kind", "SelfSubjectReview"),
                   on_self);
        return r;
}
