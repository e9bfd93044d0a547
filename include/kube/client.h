/*
 * Requests to the API server: credentials, limits, retries of what may be retried, and errors read from Status objects.
 *
 * Asynchronous, on the loop's thread. GET is tried again on transport errors and 429/5xx with Retry-After (at most 10
 * times, within its deadline); writes only where the server says 429; a watch never, and a list not once its reader has
 * seen bytes: their owners back off themselves. A 401 refreshes the credentials and tries once more.
 */
#ifndef HALFLIFE_KUBE_CLIENT_H
#define HALFLIFE_KUBE_CLIENT_H

#include <jansson.h>

#include "kube/access.h"
#include "net/http.h"

struct client_options {
        const char *user_agent;    /* "halflife/v1 (linux/amd64)" */
        const char *field_manager; /* "halflife" */
        double rate;               /* requests a second */
        int concurrency;
        /* Told of each request that ended (metrics, debug log); verb "get", "list", "watch", "patch"…; id as in the
         * logs. May be NULL. */
        void (*observe)(void *arg, const char *verb, const char *path, int status, int64_t took_ms, const char *id);
        /* A Warning header, or credentials that cannot be renewed (path: where they are from; once). May be NULL. */
        void (*warned)(void *arg, const char *path, const char *text);
        void *arg;
};

struct client;
struct client *client_new(struct loop *l, struct access *a, const struct client_options *o);
void client_free(struct client *c); /* calls under way end without a callback */
struct loop *client_loop(const struct client *c);
const char *client_field_manager(const struct client *c);
void client_set_limits(struct client *c, double rate, int concurrency);

struct call {
        enum http_method method;
        const char *path;         /* "/apis/apps/v1/namespaces/web/deployments/shop"; use path_* below to build it */
        const char *query;        /* "fieldManager=halflife&force=true" or NULL */
        const char *content_type; /* NULL: application/json when there is a body */
        struct text body;
        int64_t deadline_ms; /* 0: 30 s */
        size_t body_max;     /* of the answer; 0: 4 MiB */
        bool urgent;         /* see http_request */
};

struct client_answer {
        int status; /* 0: none */
        struct wall date;
        int64_t retry_after_ms; /* -1: none */
        struct text body;       /* lives until the callback returns */
        /*
         * code 0 for 2xx. Else what the caller can do: ERR_RETRY (no answer, 429, 5xx), ERR_STALE (409 Conflict, 422 of
         * a JSON patch that does not apply), ERR_CONFLICT (409 FieldManagerConflict or AlreadyExists), ERR_GONE (410),
         * ERR_NOTFOUND (404), ERR_DENIED (401, 403: the text is the server's and names verb, resource and user),
         * ERR_INVALID (other 4xx), ERR_TOOBIG. The text ends with the server's own message, cut.
         */
        struct err err;
};
typedef void client_done(void *arg, const struct client_answer *a);

/* Start a call. The handle is valid until done is called; done may be NULL. */
struct client_call;
struct client_call *client_start(struct client *c, const struct call *call, client_done *done, void *arg);
void client_cancel(struct client *c, struct client_call *call);
/*
 * Who called may not write any more: every write that is not urgent is given up. What waits is not sent; what was sent
 * is not waited for, whether it was done is not known. Each ends with ERR_RETRY and the text why, from within.
 */
void client_drop_writes(struct client *c, const char *why);

/* For commands: turn the loop until the answer is there; its body is copied to *ret_body (NUL-terminated, the caller's)
 * when not NULL. */
int client_wait(struct client *c, const struct call *call, char **ret_body, size_t *ret_len, struct err *err);

/* A streamed GET (lists, watches, metrics): bytes as they come. Errors (non-2xx) are read here and come as the answer
 * of done. */
struct client_stream_request {
        const char *path, *query;
        bool watch;          /* outside rate and concurrency */
        bool gzip;           /* lists may be compressed, watches never */
        int64_t deadline_ms; /* 0: 5 min for a list, none for a watch */
        int64_t silence_ms;
        /* A 2xx answer begins, date is its Date header (ms 0: none); again where the call is tried again. May be NULL.
         */
        void (*head)(void *arg, struct wall date);
        int (*data)(void *arg, const char *p, size_t len); /* of a 2xx answer only; < 0 ends it with that code */
        /* whole: the body ended properly; where a 2xx answer did not, a->err says why (ERR_RETRY, or what data
         * returned). */
        void (*done)(void *arg, const struct client_answer *a, bool whole);
        void *arg;
};
struct client_call *client_stream(struct client *c, const struct client_stream_request *r);

/* Paths. group "" is the core API; ns NULL: cluster-wide; name NULL: the collection; subresource NULL: none. Parts are
 * escaped. The caller's. */
char *path_of(const char *group, const char *version, const char *ns, const char *plural, const char *name,
              const char *subresource);
char *path_escape(const char *s);

/* Kinds, found by discovery and kept for a while: ERR_NOTFOUND where the server has no such kind now (asks again on the
 * next call after 30 s). done is called once, not from within: r is NULL when err has a code. Returns 0; ERR_INVALID or
 * ERR_TOOBIG (1024 kinds are under way or fresh) without a call. */
void client_undiscover(struct client *c, const char *group, const char *kind); /* what was found may be old */
struct api_resource {
        char group[128], version[32], kind[64], plural[64];
        bool namespaced;
};
int client_discover(struct client *c, const char *group, const char *kind,
                    void (*done)(void *arg, const struct api_resource *r, const struct err *err), void *arg);

#endif
