#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/kind.h"
#include "handlers.h"
#include "routes_private.h"

enum { PATH_MAX_BYTES = 2048, SEGMENTS = 9, NAME_MOST = 253, NS_MOST = 63 };

/* --- the table --- */

#define WORKLOAD "api/v1/namespaces/{ns}/workloads/{kind}/{name}"

enum wants {
        WANTS_BODY = 1,    /* the request's body */
        WANTS_LEARNED = 2, /* data that only the halflife that learns has: histories, or the log of changes */
        WANTS_WORKER = 4,  /* a worker thread, because the answer is long */
};

static const struct endpoint {
        enum route_name name;
        const char *method; /* "GET" takes HEAD as well */
        const char *path;   /* a segment in braces matches any text */
        const char *verb;
        unsigned wants;
        void (*answer)(struct ask *k); /* NULL: the function of routes.h for this `name` answers */
} endpoints[] = {
        {ROUTE_OPENAPI, "GET", "openapi.yaml", NULL, WANTS_WORKER, answer_openapi},
        {ROUTE_PAGE, "GET", "ui", NULL, WANTS_WORKER, answer_page},
        {ROUTE_PAGE, "GET", "ui/{file}", NULL, WANTS_WORKER, answer_page},
        {ROUTE_LIST, "GET", "api/v1/workloads", "list", WANTS_WORKER, answer_list},
        {ROUTE_LIST, "GET", "api/v1/namespaces/{ns}/workloads", "list", WANTS_WORKER, answer_list},
        {ROUTE_SUMMARY, "GET", "api/v1/summary", "list", WANTS_WORKER, answer_summary},
        {ROUTE_SUMMARY, "GET", "api/v1/namespaces/{ns}/summary", "list", WANTS_WORKER, answer_summary},
        {ROUTE_PROFILES, "GET", "api/v1/profiles", "list", WANTS_WORKER, answer_profiles},
        {ROUTE_PROFILES, "GET", "api/v1/namespaces/{ns}/profiles", "list", WANTS_WORKER, answer_profiles},
        {ROUTE_WHAT_IF, "GET", "api/v1/profiles/what-if", "list", WANTS_LEARNED, NULL},
        {ROUTE_WHAT_IF, "GET", "api/v1/namespaces/{ns}/profiles/what-if", "list", WANTS_LEARNED, NULL},
        {ROUTE_CHANGES, "GET", "api/v1/changes", "list", WANTS_LEARNED | WANTS_WORKER, answer_changes},
        {ROUTE_CHANGES, "GET", "api/v1/namespaces/{ns}/changes", "list", WANTS_LEARNED | WANTS_WORKER, answer_changes},
        {ROUTE_NODES, "GET", "api/v1/nodes", "list", WANTS_LEARNED, NULL},
        {ROUTE_REPORT, "GET", "api/v1/report", "list", WANTS_LEARNED, NULL},
        {ROUTE_REPORT, "GET", "api/v1/namespaces/{ns}/report", "list", WANTS_LEARNED, NULL},
        {ROUTE_WORKLOAD, "GET", WORKLOAD, "get", 0, answer_workload},
        {ROUTE_HISTOGRAM, "GET", WORKLOAD "/histogram", "get", WANTS_LEARNED, answer_histogram},
        {ROUTE_HISTORY, "GET", WORKLOAD "/history", "get", WANTS_LEARNED, answer_history},
        {ROUTE_DAYS, "GET", WORKLOAD "/days", "get", WANTS_LEARNED, NULL},
        {ROUTE_EXPLAIN, "GET", WORKLOAD "/explain", "get", WANTS_LEARNED, answer_explain},
        {ROUTE_RENDER, "POST", "api/v1/namespaces/{ns}/render", "get", WANTS_BODY, NULL},
};
enum { ENDPOINTS = sizeof endpoints / sizeof endpoints[0] };
enum variable { VARIABLE_NS, VARIABLE_KIND, VARIABLE_NAME, VARIABLE_FILE, VARIABLES };

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

static bool route_fits(const struct endpoint *e, const struct path *p, struct text ret[static VARIABLES])
{
        const char *want = e->path;
        for (int i = 0; i < p->count; i++) {
                size_t len = strcspn(want, "/");
                if (*want == '{')
                        ret[want[1] == 'k'   ? VARIABLE_KIND
                            : want[1] == 'f' ? VARIABLE_FILE
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

/* --- the variables of a path --- */

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
        if (variable[VARIABLE_FILE].p)
                ret->file = arena_text(a, variable[VARIABLE_FILE]);
        if (rc < 0 || !ret->kind)
                return rc;
        char name[KIND_NAME_MAX];
        kind_recommendation_name(text_of(ret->group), text_of(ret->kind), text_of(ret->workload), name);
        ret->recommendation = arena_text(a, text_of(name));
        return 0;
}

/* --- matching --- */

static int no_such_path(struct answer *ret_answer)
{
        answer_problem(ret_answer, PROBLEM_NOT_FOUND, "this path does not exist: /openapi.yaml lists the paths");
        return ERR_INVALID;
}

static bool is_read(const struct endpoint *e)
{
        return strcmp(e->method, "GET") == 0;
}

static int wrong_method(const struct endpoint *e, struct text method, struct answer *ret_answer)
{
        const char *allow = is_read(e) ? "GET, HEAD" : e->method;
        answer_problem(ret_answer, PROBLEM_METHOD_NOT_ALLOWED, "method '%.*s' is not allowed on this path: use %s",
                       (int)(method.len < 32 ? method.len : 32), method.p, allow);
        answer_header(ret_answer, "Allow", allow);
        return ERR_INVALID;
}

static bool route_takes(const struct endpoint *e, struct text method)
{
        return text_is(method, e->method) || (text_is(method, "HEAD") && is_read(e));
}

static int read_dry_run(const struct query *q, struct route *ret, struct answer *ret_answer)
{
        struct text value = q->value[PARAM_DRY_RUN];
        if (!query_has(q, PARAM_DRY_RUN) || text_is(value, "false"))
                return 0;
        if (value.len && !text_is(value, "true"))
                return answer_bad_parameter(ret_answer, "dryRun", "dryRun is neither true, false nor empty");
        ret->dry_run = true;
        return 0;
}

static int route_enter(const struct endpoint *e, const struct text variable[static VARIABLES], const struct request *r,
                       const struct snapshot *v, struct arena *a, struct route *ret, struct answer *ret_answer)
{
        struct query *q = arena_new(a, sizeof *q);
        *ret = (struct route){
                .name = e->name,
                .verb = e->verb,
                .endpoint = e,
                .wants_body = e->wants & WANTS_BODY,
                .wants_learned = e->wants & WANTS_LEARNED,
                .wants_worker = e->wants & WANTS_WORKER,
                .query = q,
        };
        if (!route_takes(e, r->method))
                return wrong_method(e, r->method, ret_answer);
        int rc = read_variables(variable, v, a, ret, ret_answer);
        if (rc == 0)
                rc = query_read(r->query, e->name, a, q, ret_answer);
        if (rc == 0 && query_has(q, PARAM_NAMESPACE))
                rc = route_read_ns(q->value[PARAM_NAMESPACE], a, ret, ret_answer);
        if (rc == 0 && e->name == ROUTE_REPORT)
                rc = report_asked(q, a, ret, ret_answer);
        if (rc == 0 && e->name == ROUTE_DAYS)
                days_asked(a, ret);
        return rc == 0 ? read_dry_run(q, ret, ret_answer) : rc;
}

int route_match(const struct request *r, const struct snapshot *v, struct arena *a, struct route *ret,
                struct answer *ret_answer)
{
        struct path path;
        if (r->path.len > PATH_MAX_BYTES || !route_split(r->path, &path))
                return no_such_path(ret_answer);
        for (int i = 0; i < ENDPOINTS; i++) {
                struct text variable[VARIABLES] = {0};
                if (route_fits(&endpoints[i], &path, variable))
                        return route_enter(&endpoints[i], variable, r, v, a, ret, ret_answer);
        }
        return no_such_path(ret_answer);
}

/* --- answering --- */

/* While the API server cannot be asked, no new view is made. The answer shows the last state, and the header Age tells
 * its age in seconds. */
void answer_age(const struct snapshot *v, struct wall now, struct arena *a, struct answer *ret)
{
        char age[24];
        int64_t ms = now.ms - v->source_since_ms;
        if (!v->source_error)
                return;
        snprintf(age, sizeof age, "%lld", (long long)(ms > 0 ? ms / SECOND_MS : 0));
        answer_header(ret, "Warning",
                      "110 halflife \"the API server or its metrics cannot be asked: this answer is as old as Age\"");
        answer_header(ret, "Age", arena_text(a, text_of(age)));
}

void route_answer(const struct route *route, const struct request *r, const struct snapshot *v,
                  const struct learned_copy *learned, size_t copies, struct arena *a, struct answer *ret)
{
        assert(route->endpoint->answer);
        struct ask k = {route, route->query, v, NULL, learned, copies, a, ret};
        if (route->kind)
                k.target = snapshot_find(v, text_of(route->ns), text_of(route->group), text_of(route->kind),
                                         text_of(route->workload));
        route->endpoint->answer(&k);
        if (ret->status == 200)
                answer_tag(ret, r->if_none_match, a);
        if (route->name != ROUTE_OPENAPI && route->name != ROUTE_PAGE)
                answer_age(v, r->at, a, ret);
}
