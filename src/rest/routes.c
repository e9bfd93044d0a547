#include <assert.h>
#include <stdio.h>

#include "core/kind.h"
#include "handlers.h"
#include "routes_private.h"

enum { PATH_MAX_BYTES = 2048, SEGMENTS = 9, NAME_MOST = 253, NS_MOST = 63 };

/* --- the table --- */

static const struct door {
        enum route_name name;
        const char *method, *allow;
        const char *path; /* segments in braces are taken as they come */
        const char *verb;
} doors[] = {
        {ROUTE_OPENAPI, "GET", "GET, HEAD", "openapi.yaml", NULL},
        {ROUTE_LIST, "GET", "GET, HEAD", "api/v1/workloads", "list"},
        {ROUTE_LIST, "GET", "GET, HEAD", "api/v1/namespaces/{ns}/workloads", "list"},
        {ROUTE_WORKLOAD, "GET", "GET, HEAD", "api/v1/namespaces/{ns}/workloads/{kind}/{name}", "get"},
        {ROUTE_HISTOGRAM, "GET", "GET, HEAD", "api/v1/namespaces/{ns}/workloads/{kind}/{name}/histogram", "get"},
        {ROUTE_HISTORY, "GET", "GET, HEAD", "api/v1/namespaces/{ns}/workloads/{kind}/{name}/history", "get"},
        {ROUTE_EXPLAIN, "GET", "GET, HEAD", "api/v1/namespaces/{ns}/workloads/{kind}/{name}/explain", "get"},
        {ROUTE_RENDER, "POST", "POST", "api/v1/namespaces/{ns}/render", "get"},
};
enum { DOORS = sizeof doors / sizeof doors[0] };
enum variable { VARIABLE_NS, VARIABLE_KIND, VARIABLE_NAME, VARIABLES };

struct path {
        struct text segment[SEGMENTS];
        int count;
};

static bool route_split(struct text path, struct path *ret)
{
        ret->count = 0;
        if (path.len == 0 || path.p[0] != '/')
                return false;
        for (size_t at = 1; at <= path.len; ret->count++) {
                const char *slash = at < path.len ? memchr(path.p + at, '/', path.len - at) : NULL;
                size_t end = slash ? (size_t)(slash - path.p) : path.len;
                if (ret->count == SEGMENTS)
                        return false;
                ret->segment[ret->count] = (struct text){path.p + at, end - at};
                at = end + 1;
        }
        return true;
}

static bool route_fits(const struct door *d, const struct path *p, struct text ret[static VARIABLES])
{
        const char *want = d->path;
        for (int i = 0; i < p->count; i++) {
                size_t len = strcspn(want, "/");
                if (*want == '{')
                        ret[want[1] == 'k'   ? VARIABLE_KIND
                            : want[2] == 's' ? VARIABLE_NS
                                             : VARIABLE_NAME] = p->segment[i];
                else if (!text_equal(p->segment[i], (struct text){want, len}))
                        return false;
                want += len;
                if (*want != '/')
                        return !*want && i == p->count - 1;
                want++;
        }
        return false;
}

/* --- what is in braces --- */

bool route_is_dns(struct text t, size_t most, bool dots)
{
        if (t.len < 1 || t.len > most)
                return false;
        for (size_t i = 0; i < t.len; i++) {
                char c = t.p[i];
                bool inner = (c == '-' || (dots && c == '.')) && i > 0 && i + 1 < t.len;
                if (!inner && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
                        return false;
        }
        return true;
}

static int route_read_ns(struct text raw, struct arena *a, struct route *ret, struct answer *ret_answer)
{
        struct text ns = url_decode(raw, false, a);
        if (!ns.p || !route_is_dns(ns, NS_MOST, false))
                return answer_bad_parameter(
                        ret_answer, "ns",
                        "'%.64s' is not a namespace's name: at most 63 lower-case letters, digits and '-'",
                        ns.p ? ns.p : "");
        memcpy(ret->ns, ns.p, ns.len + 1);
        return 0;
}

static int route_read_name(struct text raw, struct arena *a, struct route *ret, struct answer *ret_answer)
{
        struct text name = url_decode(raw, false, a);
        if (!name.p || !route_is_dns(name, NAME_MOST, true))
                return answer_bad_parameter(
                        ret_answer, "name",
                        "'%.64s' is not a workload's name: at most 253 lower-case letters, digits, '-' and '.'",
                        name.p ? name.p : "");
        ret->workload = name.p;
        return 0;
}

static int read_variables(const struct text variable[static VARIABLES], const struct snapshot *v, struct arena *a,
                          struct route *ret, struct answer *ret_answer)
{
        int rc = variable[VARIABLE_NS].p ? route_read_ns(variable[VARIABLE_NS], a, ret, ret_answer) : 0;
        if (rc == 0 && variable[VARIABLE_NAME].p)
                rc = route_read_name(variable[VARIABLE_NAME], a, ret, ret_answer);
        if (rc == 0 && variable[VARIABLE_KIND].p)
                rc = route_read_kind(variable[VARIABLE_KIND], v, a, ret, ret_answer);
        if (rc < 0 || !ret->kind)
                return rc;
        char name[KIND_NAME_MAX];
        kind_recommendation_name(text_of(ret->group), text_of(ret->kind), text_of(ret->workload), name);
        ret->recommendation = arena_text(a, text_of(name));
        return 0;
}

/* --- matching --- */

static int no_door(struct answer *ret_answer)
{
        answer_problem(ret_answer, PROBLEM_NOT_FOUND, "there is no such path: /openapi.yaml lists those there are");
        return ERR_INVALID;
}

static int wrong_method(const struct door *d, struct text method, struct answer *ret_answer)
{
        answer_problem(ret_answer, PROBLEM_METHOD_NOT_ALLOWED, "'%.*s' is not answered here: %s %s",
                       (int)(method.len < 32 ? method.len : 32), method.p, d->allow,
                       strchr(d->allow, ',') ? "are" : "is");
        answer_header(ret_answer, "Allow", d->allow);
        return ERR_INVALID;
}

static bool route_takes(const struct door *d, struct text method)
{
        return text_is(method, d->method) || (text_is(method, "HEAD") && d->name != ROUTE_RENDER);
}

static int read_dry_run(const struct query *q, struct route *ret, struct answer *ret_answer)
{
        struct text value = q->value[PARAM_DRY_RUN];
        if (!query_has(q, PARAM_DRY_RUN) || text_is(value, "false"))
                return 0;
        if (value.len && !text_is(value, "true"))
                return answer_bad_parameter(ret_answer, "dryRun", "dryRun is true, false or without a value");
        ret->dry_run = true;
        return 0;
}

static int route_enter(const struct door *d, const struct text variable[static VARIABLES], const struct request *r,
                       const struct snapshot *v, struct arena *a, struct route *ret, struct answer *ret_answer)
{
        struct query *q = arena_new(a, sizeof *q);
        *ret = (struct route){
                .name = d->name,
                .verb = d->verb,
                .wants_body = d->name == ROUTE_RENDER,
                .wants_learned = d->name == ROUTE_HISTOGRAM || d->name == ROUTE_HISTORY || d->name == ROUTE_EXPLAIN,
                .query = q,
        };
        if (!route_takes(d, r->method))
                return wrong_method(d, r->method, ret_answer);
        int rc = read_variables(variable, v, a, ret, ret_answer);
        if (rc == 0)
                rc = query_read(r->query, d->name, a, q, ret_answer);
        return rc == 0 ? read_dry_run(q, ret, ret_answer) : rc;
}

int route_match(const struct request *r, const struct snapshot *v, struct arena *a, struct route *ret,
                struct answer *ret_answer)
{
        struct path path;
        if (r->path.len > PATH_MAX_BYTES || !route_split(r->path, &path))
                return no_door(ret_answer);
        for (int i = 0; i < DOORS; i++) {
                struct text variable[VARIABLES] = {0};
                if (route_fits(&doors[i], &path, variable))
                        return route_enter(&doors[i], variable, r, v, a, ret, ret_answer);
        }
        return no_door(ret_answer);
}

/* --- answering --- */

/* What was true when all could last be asked, and for how long that is: no view is made while nobody can. */
void answer_age(const struct snapshot *v, struct wall now, struct arena *a, struct answer *ret)
{
        char age[24];
        int64_t ms = now.ms - v->source_since_ms;
        if (!v->source_error)
                return;
        snprintf(age, sizeof age, "%lld", (long long)(ms > 0 ? ms / SECOND_MS : 0));
        answer_header(ret, "Warning",
                      "110 halflife \"the API server or its metrics cannot be asked: this is what was known before\"");
        answer_header(ret, "Age", arena_text(a, text_of(age)));
}

void route_answer(const struct route *route, const struct request *r, const struct snapshot *v,
                  const struct learned_copy *learned, size_t copies, struct arena *a, struct answer *ret)
{
        static void (*const answers[ROUTES])(struct ask * k) = {
                [ROUTE_WORKLOAD] = answer_workload,   [ROUTE_LIST] = answer_list,
                [ROUTE_HISTOGRAM] = answer_histogram, [ROUTE_EXPLAIN] = answer_explain,
                [ROUTE_HISTORY] = answer_history,     [ROUTE_OPENAPI] = answer_openapi,
        };
        assert(route->name != ROUTE_RENDER);
        struct ask k = {route, route->query, v, NULL, learned, copies, a, ret};
        if (route->kind)
                k.target = snapshot_find(v, text_of(route->ns), text_of(route->group), text_of(route->kind),
                                         text_of(route->workload));
        answers[route->name](&k);
        if (ret->status == 200)
                answer_tag(ret, r->if_none_match, a);
        if (route->name != ROUTE_OPENAPI)
                answer_age(v, r->at, a, ret);
}
