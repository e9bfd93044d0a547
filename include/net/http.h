/*
 * HTTP out: libcurl's multi interface on the loop. HTTP/2 where the peer speaks it, TLS verified, bodies streamed to
 * the caller as they come. Bounded: every request has a deadline, or (streams) a longest silence; headers and bodies
 * have sizes.
 */
#ifndef HALFLIFE_NET_HTTP_H
#define HALFLIFE_NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "net/loop.h"

/* Where requests go and how both sides prove who they are. Strings are the caller's, kept as long as requests run. PEM
 * as text. */
struct http_peer {
        const char *base_url;           /* "https://host:port", no trailing slash */
        const char *ca_pem;             /* NULL: the system's */
        const char *cert_pem, *key_pem; /* client certificate; NULL: none */
        const char *server_name;        /* name to verify and to ask for by SNI, where it is not the URL's; NULL */
        const char *proxy_url;          /* NULL: none (the environment's proxies are not used) */
        bool insecure;                  /* no verification at all */
        unsigned revision; /* raise it when any of the above changes: pooled connections of older ones are not used
                              again */
};

struct http;
struct http_limits {
        const char *user_agent;
        double rate;     /* requests a second started, token bucket with a burst of the same; 0: no bound */
        int concurrency; /* requests under way at once (streams do not count); 0: no bound. The rest waits in order */
};
enum { HTTP_WAITING_MAX = 10000 }; /* requests that may wait; one more ends with ERR_TOOBIG */
/* The first one makes the process ignore SIGPIPE. */
struct http *http_new(struct loop *l, const struct http_limits *limits);
void http_free(struct http *h); /* requests under way end without a call; not from within data or done */
void http_set_limits(struct http *h, double rate, int concurrency);

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE };
const char *http_method_name(enum http_method m);

/* One page of a gateway that asks for hours of patience (3600 is usual) must not leave us blind for so long. */
enum { HTTP_RETRY_AFTER_MOST_MS = 5 * MINUTE_MS };
struct http_reply {
        int status;               /* 0: no answer at all (err says why) */
        struct wall date;         /* the Date header; ms 0: none */
        int64_t retry_after_ms;   /* -1: none given; at most HTTP_RETRY_AFTER_MOST_MS */
        const char *content_type; /* "" where none */
        const char *warning;      /* text of the first Warning: 299 header, NULL: none */
        bool whole;               /* the body ended as HTTP says it should (not cut) */
        struct err err; /* code 0 when an answer came whole, whatever its status; else what cut it: ERR_RETRY (no
                           answer in time, connection lost), ERR_DENIED (the certificate does not verify),
                           ERR_INVALID (settings that cannot work), ERR_TOOBIG, or what data returned */
};

struct http_request {
        enum http_method method;
        const struct http_peer *peer;
        const char *path_query;   /* "/api/v1/pods?limit=500", already escaped; copied */
        const char *bearer;       /* NULL: none; copied */
        const char *basic;        /* "user:password" for a server that asks for those; NULL: none; copied */
        const char *passed;       /* a bearer for who is behind a proxy that keeps Authorization to itself (the API
                                     server's), in X-Halflife-Authorization; NULL: none; copied */
        bool relayed;             /* says so (X-Halflife-Relayed): whoever is asked must not relay it once more */
        const char *content_type; /* of the body; NULL: none */
        const char *accept;       /* NULL: application/json */
        struct text body;         /* copied. What is not a GET is sent at most once, even where a connection is lost */
        bool gzip;                /* may be offered (never on a watch) */
        bool stream; /* a watch: no deadline, outside rate and concurrency, on a connection apart from short requests */
        bool urgent; /* goes before those waiting (lease renewals) and outside rate and concurrency, on a connection of
                        its own */
        int64_t deadline_ms; /* whole request, waiting included; 0: 30 s */
        int64_t silence_ms;  /* longest time without a byte; 0: none for streams, else the deadline */
        /* Called once, when all headers of the answer are there. May be NULL. */
        void (*head)(void *arg, const struct http_reply *head);
        /* Called as the body comes; a return < 0 ends the request with that code. head: the reply so far (status,
         * headers). */
        int (*data)(void *arg, const struct http_reply *head, const char *p, size_t len);
        /* Called once at the end, never from within http_start. */
        void (*done)(void *arg, const struct http_reply *reply);
        void *arg;
};

/* Start a request; the handle is valid until done is called or http_cancel. */
struct http_call;
struct http_call *http_start(struct http *h, const struct http_request *r);
void http_cancel(struct http *h, struct http_call *c); /* done is not called */

#endif
