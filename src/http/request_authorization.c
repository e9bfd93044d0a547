#include "request_authorization.h"

#include <stddef.h>

#include "headers.h"
#include "request_bounds.h"
#include "request_step.h"

void http_request_allow(struct http_request *v)
{
        v->step = STEP_BODY;
        if (v->body_announced)
                (void)http_request_reserve(v, v->body_bytes);
}

void http_requests_judged(struct auth_waiter *w, enum auth_say say)
{
        while (w) {
                struct auth_waiter *next = w->next;
                struct http_request *v = (struct http_request *)((char *)w - offsetof(struct http_request, waiter));
                v->say = say;
                http_request_resume(v);
                w = next;
        }
}

/* Look up the verdict on the request's key. Where all questions are taken, an address without one gets a place for
 * one. */
static enum auth_say http_request_look_up(struct http_request *v, struct text token, bool *ret_ask)
{
        struct rest_listener *d = v->listener;
        struct auth_asker by = {text_of(v->from->text), token};
        struct auth_key withdrawn;
        struct auth_waiter *waiting;
        enum auth_say say = auth_look(d->auth, &v->key, by, d->now.mono, &v->waiter, ret_ask);
        if (say != AUTH_SAYS_SHARE_USED || !auth_withdraw(d->auth, by.address, d->now.mono, &withdrawn, &waiting))
                return say;
        if (d->o.calls.withdraw)
                d->o.calls.withdraw(d->o.calls.arg, &withdrawn);
        http_requests_judged(waiting, AUTH_SAYS_SHARE_USED);
        return auth_look(d->auth, &v->key, by, d->now.mono, &v->waiter, ret_ask);
}

void http_request_authorize(struct http_request *v)
{
        struct rest_listener *d = v->listener;
        const struct route *r = &v->job->route;
        const char *name = v->by_name ? r->recommendation : "";
        bool of_nodes = r->name == ROUTE_NODES && !v->for_names;
        const char *resource = of_nodes ? "nodes" : "recommendations.halflife.dev", *ns = of_nodes ? "" : r->ns;
        struct text token;
        bool ask;
        if (d->ending) {
                http_request_refuse_at_the_end(v);
                return;
        }
        if (!headers_token(v->connection, &token)) {
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED,
                                    "send a bearer token that the API server knows, as in "
                                    "'Authorization: Bearer TOKEN'");
                return;
        }
        v->key = auth_key_of(token, resource, r->verb, ns, name);
        enum auth_say say = http_request_look_up(v, token, &ask);
        if (ask) {
                const struct server_question q = {v->key, token.p, resource, r->verb, ns, name};
                atomic_fetch_add(&d->reviews, 1);
                d->o.calls.review(d->o.calls.arg, &q);
        }
        if (say == AUTH_SAYS_WAIT)
                http_request_suspend(v, STEP_VERDICT);
        else
                http_request_take_verdict(v, say);
}

/* Whether to ask about names next. A replica (without list_nodes) does not: the halflife that learns asks for
 * itself. */
static bool http_request_wants_names(const struct http_request *v)
{
        return v->job->route.name == ROUTE_NODES && !v->for_names && v->listener->o.calls.list_nodes;
}

static void http_request_take_permission(struct http_request *v, bool lately)
{
        v->job->lately |= lately;
        v->job->names = v->for_names;
        if (http_request_wants_names(v)) {
                v->for_names = true;
                http_request_authorize(v);
        } else {
                http_request_allow(v);
        }
}

static void http_request_take_refusal(struct http_request *v)
{
        if (v->for_names) {
                http_request_allow(v); /* the caller gets the nodes, without names of workloads */
        } else if (!v->by_name && v->job->route.recommendation) {
                v->by_name = true;
                http_request_authorize(v);
        } else if (v->job->route.name == ROUTE_NODES) {
                http_request_refuse(v, PROBLEM_FORBIDDEN, "this needs permission to list nodes");
        } else if (!*v->job->route.ns) {
                http_request_refuse(v, PROBLEM_FORBIDDEN,
                                    "this needs permission to list recommendations.halflife.dev in all namespaces");
        } else {
                http_request_refuse(
                        v, PROBLEM_FORBIDDEN,
                        "this needs permission to get or list recommendations.halflife.dev in the namespace; the "
                        "answer is the same whether the object exists or not");
        }
}

void http_request_take_verdict(struct http_request *v, enum auth_say say)
{
        switch (say) {
        case AUTH_SAYS_ALLOWED:
        case AUTH_SAYS_ALLOWED_LATELY:
                http_request_take_permission(v, say == AUTH_SAYS_ALLOWED_LATELY);
                break;
        case AUTH_SAYS_WHO:
                http_request_refuse(v, PROBLEM_UNAUTHENTICATED,
                                    "the API server does not know this bearer token: is it expired, or "
                                    "meant for another audience?");
                break;
        case AUTH_SAYS_FORBIDDEN:
                http_request_take_refusal(v);
                break;
        case AUTH_SAYS_LATER:
                http_request_overloaded(v, "the API server cannot be asked about this token now: try again");
                break;
        case AUTH_SAYS_BUSY:
                http_request_overloaded(v, "too many questions to the API server wait: try again");
                break;
        case AUTH_SAYS_SHARE_USED:
                http_request_overloaded(v, "too many new tokens come from this address, or from all: its share of the "
                                           "questions to the API server is used up: try again");
                break;
        case AUTH_SAYS_WAIT:
                break;
        }
}
