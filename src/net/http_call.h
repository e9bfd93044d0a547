/*
 * One request and its transfer, between http.c (who may start when, and on which connections) and http_call.c (what
 * libcurl is told and what it tells).
 */
#ifndef HALFLIFE_SRC_NET_HTTP_CALL_H
#define HALFLIFE_SRC_NET_HTTP_CALL_H

#include <curl/curl.h>

#include "net/http.h"

enum { HEADER_BYTES_MAX = 64 << 10 }; /* of one answer's headers together */

struct http_call {
        struct http *http;
        struct http_call *before, *after; /* on the list its state names */
        enum { CALL_PROMPT, CALL_WAITING, CALL_RUNNING, CALL_ENDED, CALL_LISTS } state;
        bool cancelled; /* within a callback of libcurl: taken away as soon as that has returned */
        bool head_told; /* r.head was called */

        struct http_request r; /* its strings are this call's own */
        struct pool *pool;
        CURL *easy;
        struct curl_slist *headers, *connect_to;
        char curl_error[CURL_ERROR_SIZE];
        struct loop_timer deadline, silence;
        struct mono last_byte;
        bool any_byte;
        bool no_descriptor; /* for a socket: the process has as many files open as it may */
        int sent;           /* how often the request line went out */

        size_t header_bytes;
        char content_type[256], warning[1024];
        struct http_reply reply;
};

struct http_call *http_call_new(struct http *h, const struct http_request *r);
void http_call_free(struct http_call *c);

/* Make the easy handle, ready for a multi handle. ERR_INVALID in reply.err where the peer's settings cannot work. */
int http_call_prepare(struct http_call *c, struct loop *l, const char *user_agent);

/* Complete reply from libcurl's verdict. */
void http_call_judge(struct http_call *c, CURLcode rc);

struct loop *http_loop(const struct http *h);
/* Callbacks of libcurl run between enter and leave; nothing may be done to its handles there. */
void http_enter(struct http *h);
void http_leave(struct http *h);

#endif
