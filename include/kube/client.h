/*
 * Requests to the API server: credentials, limits, safe retries, and errors read from Status objects.
 *
 * Requests are asynchronous, on the loop's thread. A GET is retried after transport errors, and after 429 or 5xx with
 * Retry-After, at most 10 times (a streamed list twice) and within its deadline. A write is retried only after 429. A
 * watch is never retried, nor is a list after its reader has seen bytes; the owner of the watch or list does that.
 * After a 401 the credentials are renewed and the request is sent once more.
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
        /* Called after each request, for metrics and the debug log. verb: "get", "list", "watch", "patch"…; id: the
         * request's id in the logs. May be NULL. */
        void (*observe)(void *arg, const char *verb, const char *path, int status, int64_t took_ms, const char *id);
        /* Called for each Warning header of an answer, and once when credentials cannot be renewed (`path` is then
         * access_source). May be NULL. */
        void (*warned)(void *arg, const char *path, const char *text);
        void *arg;
};

struct client;
struct client *client_new(struct loop *l, struct access *a, const struct client_options *o);
void client_free(struct client *c); /* pending calls are cancelled without a callback */
struct loop *client_loop(const struct client *c);
const char *client_field_manager(const struct client *c);
void client_set_limits(struct client *c, double rate, int concurrency);

struct call {
        enum http_method method;
        const char *path;         /* "/apis/apps/v1/namespaces/web/deployments/shop"; use path_* below to build it */
        const char *query;        /* "fieldManager=halflife&force=true" or NULL */
        const char *content_type; /* NULL: application/json when there is a body */
        const char *accept;       /* NULL: application/json; not copied */
        bool gzip;                /* the answer may be compressed */
        struct text body;
        int64_t deadline_ms; /* 0: 30 s */
        size_t body_max;     /* longest body of the answer, in bytes; 0: 4 MiB */
        bool urgent;         /* see http_request */
        enum http_queue queue;
};

struct client_answer {
        int status;             /* HTTP status; 0: there was no answer */
        struct wall date;       /* the Date header; ms 0: none */
        int64_t retry_after_ms; /* -1: none */
        bool unsent;            /* the last try was never sent, as in http_reply */
        struct text body;       /* lives until the callback returns */
        /*
         * code 0 for 2xx. Other codes say what the caller can do: ERR_RETRY (no answer, 408, 429, 5xx), ERR_STALE (409
         * Conflict, 422 for a JSON patch that does not apply), ERR_CONFLICT (409 FieldManagerConflict or
         * AlreadyExists), ERR_GONE (410), ERR_NOTFOUND (404), ERR_DENIED (401, 403: the server's text names verb,
         * resource and user), ERR_TOOBIG (413, or the body is too long), ERR_INVALID (the rest). The text ends with the
         * server's message, cut to one line.
         */
        struct err err;
};
typedef void client_done(void *arg, const struct client_answer *a);

/* Start a call. The handle is valid until `done` is called; `done` may be NULL. */
struct client_call;
struct client_call *client_start(struct client *c, const struct call *call, client_done *done, void *arg);
void client_cancel(struct client *c, struct client_call *call);
/*
 * Give up all writes that are not urgent, because this process may not write any more. Writes in the queue are never
 * sent. For writes that were sent, it stays unknown whether the server did them. Each such call ends with ERR_RETRY and
 * the text `why`; the callbacks run before this function returns.
 */
void client_drop_writes(struct client *c, const char *why);

/* For commands: turn the loop until the answer arrives. Its body is copied to *ret_body, if that is not NULL:
 * NUL-terminated, freed by the caller. Returns 0 or the answer's error. */
int client_wait(struct client *c, const struct call *call, char **ret_body, size_t *ret_len, struct err *err);

/* A streamed GET (lists, watches, metrics), whose bytes are passed on as they arrive. A response other than 2xx is
 * collected, and reported as the answer of done. */
struct client_stream_request {
        const char *path, *query;
        bool watch;          /* not limited by rate and concurrency */
        bool gzip;           /* lists may be compressed, watches never */
        int64_t deadline_ms; /* 0: 5 min for a list, none for a watch */
        int64_t silence_ms;  /* longest time without a byte; 0: as in http_request */
        /* A 2xx response begins; date is its Date header (ms 0: none). Called again after a retry. May be NULL. */
        void (*head)(void *arg, struct wall date);
        int (*data)(void *arg, const char *p, size_t len); /* for a 2xx response only; < 0 ends it with that code */
        /* `whole`: the body is complete. If the body of a 2xx response is incomplete, a->err says why: ERR_RETRY, or
         * the negative code that the callback data returned. */
        void (*done)(void *arg, const struct client_answer *a, bool whole);
        void *arg;
};
struct client_call *client_stream(struct client *c, const struct client_stream_request *r);

/* Build a path, which the caller frees. group "": the core API; ns NULL: cluster-wide; name NULL: the collection;
 * subresource NULL: none. Parts are percent-encoded. */
char *path_of(const char *group, const char *version, const char *ns, const char *plural, const char *name,
              const char *subresource);
char *path_escape(const char *s);

/* Find a kind by aggregated discovery: two requests (/api and /apis) list all kinds. Discovery sends up to 4 requests
 * at once, then one in 5 s. An answer is valid for 30 s, or for 10 minutes if the server has the kind. ERR_NOTFOUND:
 * the server has no such kind. `done` is called once, after this function has returned; its `r` is NULL when err has a
 * code. Returns 0, or ERR_INVALID if group or kind cannot be names: then `done` is not called. */
struct api_resource {
        char group[128], version[32], kind[64], plural[64];
};
typedef void discover_done(void *arg, const struct api_resource *r, const struct err *err);
int client_discover(struct client *c, const char *group, const char *kind, discover_done *done, void *arg);
/* As client_discover, for a kind that halflife reads only in `versions`: the best first, NULL at the end, an array that
 * must stay valid until `done`. The result is the first version that the server has; versions whose own API server does
 * not answer come last. */
int client_discover_version(struct client *c, const char *group, const char *kind, const char *const *versions,
                            discover_done *done, void *arg);
/* Give up the lookups in the group that have this `arg`: their `done` is not called. */
void client_discover_cancel(struct client *c, const char *group, const void *arg);
/* Forget what discovery found for the group: the next lookup asks the server. */
void client_undiscover(struct client *c, const char *group);
/* Whether a lookup begun at the time `asked` that did not find its kind would get the same answer now, without a
 * request. */
bool client_discover_stands(const struct client *c, const char *group, struct mono asked);

#endif
