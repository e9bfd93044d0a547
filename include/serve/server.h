/*
 * The HTTP server for whoever calls us: one thread, answering from an immutable view that the controller publishes once
 * a cycle.
 *
 *   GET /healthz   200 "ok" while the loop turned within 3 intervals, else 503 with since when
 *   GET /readyz    200 once the caches were synced and ever after, else 503 with what is missing
 *   GET /metrics   Prometheus' text, as of the last cycle
 */
#ifndef HALFLIFE_SERVE_SERVER_H
#define HALFLIFE_SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"

/* Immutable once published; counted: the server and the publisher each hold it, the last one frees it. */
struct view {
        int refs; /* atomic; view_new gives 1 */
        bool ready;
        char *waiting_for; /* what keeps it from being ready; NULL */
        char *metrics;     /* text */
        size_t metrics_len;
};
struct view *view_new(void);
struct view *view_hold(struct view *v);
void view_drop(struct view *v); /* frees with mem_free what it points to */

struct server_options {
        const char *listen;  /* "127.0.0.1:8080", ":8080", "[::1]:0" */
        int64_t interval_ms; /* for /healthz */
        /* One address has at most a quarter: who holds them all open must not keep the kubelet from /healthz. */
        int connections_max;
};
struct server;
/* Listen and answer, on a thread of its own, which inherits the caller's signal mask: what the loop takes is blocked
 * before. Returns 0, or ERR_INVALID (no such address), ERR_CONFLICT (another listens
 * there), ERR_IO. */
int server_start(const struct server_options *o, struct server **ret, struct err *err);
const char *server_address(const struct server *s);    /* "127.0.0.1:41234": the port bound */
void server_publish(struct server *s, struct view *v); /* from any thread; takes over one reference */
void server_turned(struct server *s, struct mono at);  /* the loop turned: an atomic store */
void server_set_interval(struct server *s, int64_t interval_ms);
void server_stop(struct server *s); /* ends the thread; NULL is fine */

#endif
