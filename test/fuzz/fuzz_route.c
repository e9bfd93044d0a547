/*
 * Any request to the REST API: the first line is "METHOD PATH?QUERY", the second If-None-Match. Every answer is one
 * of those there are, whole JSON or none, and a page's continue is taken again.
 */
#include "../unit/rest/routes_fixture.h"
#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"

static struct text cut(struct text *from, char at)
{
        const char *end = from->len ? memchr(from->p, at, from->len) : NULL;
        struct text piece = {from->p, end ? (size_t)(end - from->p) : from->len};
        *from = end ? (struct text){end + 1, from->len - piece.len - 1} : (struct text){"", 0};
        return piece;
}

static bool is_known(unsigned status)
{
        static const unsigned all[] = {200, 304, 400, 404, 405, 410, 413, 503};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
                if (status == all[i])
                        return true;
        return false;
}

static void check_utf8(struct text t)
{
        for (size_t step; t.len > 0; t.p += step, t.len -= step) {
                step = utf8_length(t.p, t.len);
                MUST(step > 0);
        }
}

/* The value of a member of the outermost object. */
static struct text member(struct text body, const char *name)
{
        struct json j;
        struct text key, found = {0};
        json_init(&j, body.p, body.len);
        if (json_enter(&j, '{'))
                while (json_key(&j, &key)) {
                        struct text value = json_raw(&j);
                        if (text_is(key, name))
                                found = value;
                }
        MUST(json_done(&j, NULL) == 0);
        return found;
}

static void check_answer(struct fixture *f)
{
        struct text body = buf_text(&f->got.body);
        MUST(is_known(f->got.status));
        MUST(f->got.type && f->got.headers <= ANSWER_HEADERS);
        MUST((f->got.status == 304) == (body.len == 0));
        if (!strstr(f->got.type, "json") || body.len == 0) /* a description, a file of the page, a table */
                return;
        check_utf8(body);
        bool problem = f->got.status >= 400;
        MUST((strcmp(f->got.type, "application/problem+json") == 0) == problem);
        MUST(member(body, problem ? "detail" : "status").len > 0 || f->route.name != ROUTE_WORKLOAD);
        MUST(problem || fixture_header(f, "ETag"));
}

static void check_next(struct fixture *f)
{
        struct text next = f->route.name == ROUTE_LIST && f->got.status == 200 && strstr(f->got.type, "json")
                                   ? member(buf_text(&f->got.body), "continue")
                                   : (struct text){0};
        char url[1024];
        if (next.len < 2)
                return;
        snprintf(url, sizeof url, "/api/v1/workloads?limit=1&continue=%.*s", (int)next.len - 2, next.p + 1);
        fixture_get(f, url);
        MUST(f->got.status == 200);
}

static void check_route(const struct route *r)
{
        MUST(strlen(r->ns) < sizeof r->ns && r->name < ROUTES);
        MUST((r->kind != NULL) == (r->recommendation != NULL) && (r->kind != NULL) == (r->workload != NULL));
        MUST(!r->recommendation || strlen(r->recommendation) <= 253);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct fixture f;
        if (!f.view)
                fixture_init(&f);
        struct text in = {(const char *)data, size}, line = cut(&in, '\n'), url;
        struct request r = {.method = cut(&line, ' ')};
        url = cut(&line, ' ');
        r.path = cut(&url, '?');
        r.query = url;
        r.if_none_match = cut(&in, '\n');
        f.no_learner = in.len > 0;
        fixture_request(&f, &r);
        if (f.matched)
                check_route(&f.route);
        if (f.matched && f.route.name == ROUTE_RENDER) {
                r.body = in;
                route_render(&f.route, &r, f.view, &f.arena, &f.got);
                MUST(f.got.status == 200 || f.got.status == 400 || f.got.status == 413);
                return 0;
        }
        check_answer(&f);
        check_next(&f);
        return 0;
}
