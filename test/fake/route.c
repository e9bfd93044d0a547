/* Which part answers a request. */
#include <string.h>

#include "fake.h"
#include "write.h"

/* Whether the path names one object rather than a collection. */
static bool names_object(const char *path)
{
        size_t n = 0, skip = strncmp(path, "/api/", 5) == 0 ? 2 : 3;
        const char *third = "", *p = path;
        while (*p) {
                p += strspn(p, "/");
                if (*p && ++n == skip + 1)
                        third = p;
                p += strcspn(p, "/");
        }
        bool spaced = strncmp(third, "namespaces/", 11) == 0 && n > skip + 2;
        return n > skip + (spaced ? 3u : 1u);
}

static bool is_review(const char *path)
{
        return strncmp(path, "/apis/authorization.k8s.io/", 27) == 0 ||
               strncmp(path, "/apis/authentication.k8s.io/", 28) == 0;
}

void route_verb(struct request *rq)
{
        const char *m = rq->method;
        bool resource = strncmp(rq->path, "/api", 4) == 0, object = resource && names_object(rq->path);
        if (strcmp(m, "GET") == 0)
                rq->verb = query_true(rq, "watch") ? "watch" : object || !resource ? "get" : "list";
        else if (strcmp(m, "POST") == 0)
                rq->verb = is_review(rq->path) ? "review" : "create";
        else if (strcmp(m, "PUT") == 0)
                rq->verb = "update";
        else if (strcmp(m, "PATCH") == 0)
                rq->verb = "patch";
        else if (strcmp(m, "DELETE") == 0)
                rq->verb = object ? "delete" : "deletecollection";
        else
                rq->verb = "other";
}

static void reply_no_page(struct reply *rp)
{
        rp->status = 404;
        rp->type = "text/plain; charset=utf-8";
        rp->text = strdup("404 page not found\n");
        rp->len = strlen(rp->text);
}

static void serve_crowd_object(struct fake *f, const struct target *t, struct reply *rp)
{
        struct buf b = {0};
        size_t i;
        buf_init(&b, 1 << 20);
        if (!t->kind->crowd->find(f, t->ns, t->name, &i)) {
                reply_refuse(rp, 404, "NotFound", t, NULL, "%s \"%s\" not found", t->kind->plural, t->name);
                return;
        }
        t->kind->crowd->render(f, i, false, &b);
        rp->status = 200;
        rp->type = "application/json";
        rp->len = b.len;
        rp->text = buf_steal(&b);
}

static void serve_object(struct fake *f, const struct target *t, struct reply *rp)
{
        const struct object *slot = store_find(t->kind, t->ns, t->name);
        struct buf r = {0};
        buf_init(&r, 512);
        if (t->kind->crowd) {
                serve_crowd_object(f, t, rp);
        } else if (!slot) {
                reply_refuse(rp, 404, "NotFound", t, NULL, "%s \"%s\" not found", kind_resource(t->kind, &r), t->name);
        } else if (strcmp(t->sub, "scale") == 0 && t->kind->has_scale) {
                reply_json(rp, 200, scale_of(slot->version->object));
        } else {
                write_reply(t, rp, 200, slot->version);
        }
        buf_release(&r);
}

static void serve_resource(struct fake *f, struct request *rq, const struct target *t, struct reply *rp)
{
        if (!rq->inside && !access_allowed(f, rq, t, rp))
                return;
        if (strcmp(rq->method, "GET") != 0)
                write_serve(f, rq, t, rp);
        else if (query_true(rq, "watch"))
                watch_serve(f, rq, t, rp);
        else if (*t->name)
                serve_object(f, t, rp);
        else
                list_serve(f, rq, t, rp);
}

void route(struct fake *f, struct request *rq, struct reply *rp)
{
        struct target t = {0};
        if (!rq->inside && !access_known(f, rq, rp))
                return;
        if (discovery_serve(f, rq, rp) || review_serve(f, rq, rp) || metrics_serve(f, rq, rp))
                return;
        if (target_parse(f, rq->path, &t))
                serve_resource(f, rq, &t, rp);
        else
                reply_no_page(rp);
        target_release(&t);
}
