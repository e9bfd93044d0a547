#include "http/server.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "http/plain_listener.h"
#include "rest_listener.h"
#include "snapshot/snapshot_ref.h"

enum { LATE_INTERVALS = 3, LATE_LEAST_MS = 10 * SECOND_MS };

struct server {
        struct plain_listener plain; /* for kubelet and Prometheus */
        struct rest_listener *rest;  /* NULL: REST and admission are not served */
        struct snapshot_ref views;
        _Atomic int64_t turned_ns, interval_ms;
};

/* --- views --- */

void server_publish(struct server *s, struct snapshot *v)
{
        snapshot_ref_put(&s->views, v);
}

struct snapshot_ref *server_views(struct server *s)
{
        return &s->views;
}

void server_turned(struct server *s, struct mono at)
{
        atomic_store(&s->turned_ns, at.ns);
}

void server_set_interval(struct server *s, int64_t interval_ms)
{
        atomic_store(&s->interval_ms, interval_ms);
}

/* --- answers --- */

static enum MHD_Result server_answer(struct MHD_Connection *c, unsigned status, const char *type, const char *body,
                                     size_t len)
{
        struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
        if (!r)
                return MHD_NO;
        MHD_add_response_header(r, "Content-Type", type);
        MHD_add_response_header(r, "Cache-Control", "no-store");
        if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
                MHD_add_response_header(r, "Allow", "GET, HEAD");
        enum MHD_Result rc = MHD_queue_response(c, status, r);
        MHD_destroy_response(r);
        return rc;
}

static enum MHD_Result server_say(void *server, struct MHD_Connection *c, unsigned status, const char *text)
{
        (void)server;
        return server_answer(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

static enum MHD_Result server_healthz(void *server, struct MHD_Connection *c)
{
        struct server *s = server;
        char text[96];
        int64_t turned = atomic_load(&s->turned_ns), late_ms = (mono_read().ns - turned) / 1000000;
        int64_t most_ms = LATE_INTERVALS * atomic_load(&s->interval_ms);
        if (most_ms < LATE_LEAST_MS)
                most_ms = LATE_LEAST_MS;
        if (turned && late_ms <= most_ms)
                return server_say(s, c, MHD_HTTP_OK, "ok\n");
        snprintf(text, sizeof text, "the loop has not turned for %lld s\n", (long long)(turned ? late_ms / 1000 : 0));
        return server_say(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result server_readyz(void *server, struct MHD_Connection *c)
{
        struct server *s = server;
        char text[320];
        struct snapshot *v = snapshot_ref_take(&s->views);
        bool ready = v->ready;
        snprintf(text, sizeof text, "waiting for: %s\n", v->waiting_for ? v->waiting_for : "the first cycle");
        snapshot_drop(v);
        return ready ? server_say(s, c, MHD_HTTP_OK, "ok\n") : server_say(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result server_metrics(void *server, struct MHD_Connection *c)
{
        struct server *s = server;
        struct snapshot *v = snapshot_ref_take(&s->views);
        enum MHD_Result rc = v->metrics ? server_answer(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                                                        v->metrics, v->metrics_len)
                                        : server_say(s, c, MHD_HTTP_SERVICE_UNAVAILABLE, "no cycle yet\n");
        snapshot_drop(v);
        return rc;
}

static const struct plain_route routes[] = {
        {"/healthz", server_healthz}, {"/readyz", server_readyz}, {"/metrics", server_metrics}};

/* --- from start to stop --- */

static int server_listen(struct server *s, const struct server_options *o, struct err *err)
{
        const struct plain_answers answers = {.route = routes,
                                              .routes = sizeof routes / sizeof routes[0],
                                              .not_found = "there are /healthz, /readyz and /metrics\n",
                                              .say = server_say,
                                              .arg = s};
        return plain_listener_start(&s->plain, o->listen, o->connections_max, &answers, err);
}

int server_start(const struct server_options *o, struct server **ret, struct err *err)
{
        struct server *s = MEM_NEW(struct server);
        pthread_mutex_init(&s->views.lock, NULL);
        s->views.view = snapshot_new(); /* an empty view that is not ready, so that a view always exists */
        atomic_store(&s->interval_ms, o->interval_ms);
        atomic_store(&s->turned_ns, mono_read().ns);
        int rc = o->listen ? server_listen(s, o, err) : 0;
        if (rc == 0 && o->rest.listen)
                rc = rest_listener_open(&o->rest, &s->views, &s->rest, err);
        if (rc < 0) {
                server_stop(s);
                return rc;
        }
        *ret = s;
        return 0;
}

const char *server_address(const struct server *s)
{
        return s->plain.address;
}

void server_stop(struct server *s)
{
        if (!s)
                return;
        plain_listener_stop(&s->plain);
        rest_listener_close(s->rest);
        snapshot_drop(s->views.view);
        pthread_mutex_destroy(&s->views.lock);
        mem_free(s);
}

/* --- REST and admission --- */

const char *server_rest_address(const struct server *s)
{
        return s->rest ? rest_listener_address(s->rest) : "";
}

int server_set_certificate(struct server *s, const char *cert_pem, const char *key_pem, struct err *err)
{
        if (!s->rest)
                return err_set(err, ERR_INVALID, "REST and admission are not served, so no certificate is used");
        return rest_listener_set_certificate(s->rest, cert_pem, key_pem, err);
}

void server_set_own_user(struct server *s, const char *user)
{
        if (s->rest)
                rest_listener_set_own_user(s->rest, user);
}

void server_set_admission_paths(struct server *s, const struct admission_paths *p)
{
        if (s->rest)
                rest_listener_set_admission_paths(s->rest, p);
}

void server_reviewed(struct server *s, const struct auth_key *k, enum server_verdict v)
{
        rest_listener_reviewed(s->rest, k, v);
}

void server_recalled(struct server *s, uint64_t ticket, struct learned_copy *copies, size_t count)
{
        rest_listener_recalled(s->rest, ticket, copies, count);
}

void server_listed_nodes(struct server *s, uint64_t ticket, struct node_table *t)
{
        rest_listener_listed_nodes(s->rest, ticket, t);
}

void server_tried_percentiles(struct server *s, uint64_t ticket, struct percentile_table *t)
{
        rest_listener_tried_percentiles(s->rest, ticket, t);
}

void server_reported(struct server *s, uint64_t ticket, struct ledger_report *r)
{
        rest_listener_reported(s->rest, ticket, r);
}

void server_relayed(struct server *s, uint64_t ticket, const struct server_relayed *r)
{
        rest_listener_relayed(s->rest, ticket, r);
}

void server_found_owner(struct server *s, uint64_t ticket, struct admission_owner *owner)
{
        rest_listener_found_owner(s->rest, ticket, owner);
}

struct server_counts server_counts(const struct server *s)
{
        return s->rest ? rest_listener_counts(s->rest) : (struct server_counts){0};
}
