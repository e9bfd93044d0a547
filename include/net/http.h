/*
 * The HTTP client: libcurl's multi interface on the event loop. It uses HTTP/2 where the peer supports it, verifies
 * TLS, and passes bodies to the caller as they arrive. A request ends at its deadline or after too long a silence; a
 * stream has no deadline. The size of an answer's headers is bounded; the caller's data callback bounds bodies.
 */
#ifndef HALFLIFE_NET_HTTP_H
#define HALFLIFE_NET_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "net/loop.h"
#include "net/proxy.h"

/* The server that requests go to, and how both sides authenticate. The caller owns the strings, which must live as long
 * as requests to the peer run. PEM is text. */
struct http_peer {
        const char *base_url;           /* "https://host:port", no trailing slash */
        const char *ca_pem;             /* CA certificates that verify the server; NULL: the system's */
        const char *cert_pem, *key_pem; /* client certificate; NULL: none */
        const char *server_name;        /* name for SNI and verification; NULL: the URL's host */
        const char *proxy_url;          /* NULL: as the environment says, see net/proxy.h */
        bool insecure;                  /* do not verify the server at all */
        bool no_gzip;                   /* never ask for compressed answers, whatever the request's `gzip` says */
        unsigned revision; /* raise it with each change of a field above; connections of older revisions get no new
                              requests */
};

struct http;
struct http_limits {
        const char *user_agent;
        double rate;     /* requests started a second, by a token bucket with a burst of the same number; 0: no bound */
        int concurrency; /* requests running at once, without streams and urgent ones; 0: no bound. Further requests
                            wait in order */
        const struct proxy_settings *proxies; /* must outlive the client; NULL: the settings of this process */
};
enum { HTTP_WAITING_MAX = 10000 }; /* requests that may wait in a queue; a further request ends with ERR_TOOBIG */
/* The first call makes the process ignore SIGPIPE. */
struct http *http_new(struct loop *l, const struct http_limits *limits);
void http_free(struct http *h); /* ends all requests without calling `done`; do not call it within a callback */
void http_set_limits(struct http *h, double rate, int concurrency);

/* The queues in which requests wait for rate and concurrency. The queues take turns, so that requests which halflife's
 * clients cause delay halflife's own requests by no more than those turns. HTTP_FOR_CLIENTS may run at most half of
 * `concurrency`, rounded up. */
enum http_queue { HTTP_OWN, HTTP_FOR_CLIENTS, HTTP_QUEUES };

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE };
const char *http_method_name(enum http_method m);

/* The longest Retry-After that halflife follows. A gateway's error page often asks for an hour, and halflife must not
 * miss the cluster's changes for so long. */
enum { HTTP_RETRY_AFTER_MOST_MS = 5 * MINUTE_MS };
struct http_reply {
        int status;               /* HTTP status; 0: no answer at all, see err */
        struct wall date;         /* Date header; ms 0: none */
        int64_t retry_after_ms;   /* Retry-After header, at most HTTP_RETRY_AFTER_MOST_MS; -1: none */
        const char *content_type; /* "": none */
        const char *warning;      /* text of the first "Warning: 299" header; NULL: none */
        bool whole;               /* the body arrived completely */
        bool unsent;              /* never sent, because too many requests wait: err says nothing about the peer */
        struct err err; /* code 0: a complete answer of any status. ERR_RETRY: no answer in time, or connection lost.
                           ERR_DENIED: the server's certificate does not verify. ERR_INVALID: unusable URL, certificate
                           or libcurl. ERR_TOOBIG: headers too long or too many requests wait. Else the negative result
                           of `data` */
};

struct http_request {
        enum http_method method;
        const struct http_peer *peer;
        const char *path_query; /* "/api/v1/pods?limit=500", URL-escaped by the caller; copied */
        const char *bearer;     /* token for the Authorization header; NULL: none; copied */
        const char *basic;      /* "user:password" for basic authentication; NULL: none; copied */
        /* Sign the request by AWS Signature Version 4, with `basic` as "key:secret"; `sign` is
         * "aws:amz:REGION:SERVICE". Only where http_can_sign, and with a body below 1 MiB. NULL: do not sign;
         * copied. */
        const char *sign;
        const char *passed; /* token for a halflife behind the API server's proxy, which does not pass Authorization on;
                               sent as X-Halflife-Authorization; NULL: none; copied */
        bool relayed;       /* send X-Halflife-Relayed: the halflife asked must not relay the request again */
        const char *headers;      /* further headers, each "Name: value\n", checked by the caller; NULL: none; copied */
        const char *content_type; /* of the body; NULL: application/json */
        const char *accept;       /* NULL: application/json */
        struct text body;         /* copied. Only a GET is ever sent again after a lost connection */
        bool gzip;                /* accept a gzip answer; ignored for a stream */
        bool stream; /* a watch: no default deadline, exempt from rate and concurrency, on its own connections */
        enum http_queue queue;
        bool urgent; /* for Lease renewals: does not wait, exempt from rate and concurrency, on its own connections */
        int64_t deadline_ms; /* for the whole request with its waiting time; 0: 30 s, for a stream no deadline */
        int64_t silence_ms;  /* longest time without a received byte; 0: only the deadline bounds it */
        /* Called once, when all headers of the answer have arrived. May be NULL. */
        void (*head)(void *arg, const struct http_reply *head);
        /* Called with each part of the body; a negative result ends the request with that code. `head` is the reply so
         * far (status and headers). */
        int (*data)(void *arg, const struct http_reply *head, const char *p, size_t len);
        /* Called once at the end, never from within http_start. */
        void (*done)(void *arg, const struct http_reply *reply);
        void *arg;
};

/* Whether libcurl can sign requests with all of their headers, as it does from version 7.86 on. */
bool http_can_sign(void);
const char *http_library_version(void); /* libcurl's, "7.88.1" */

/* Start a request. The handle is valid until done is called or the caller cancels the request. */
struct http_call;
struct http_call *http_start(struct http *h, const struct http_request *r);
void http_cancel(struct http *h, struct http_call *c); /* done is not called */

#endif
