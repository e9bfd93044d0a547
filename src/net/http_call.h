/*
 * One request and its transfer. http.c decides when a request starts and on which connections; http_call.c sets up
 * libcurl's handle and reads the answer from libcurl's callbacks.
 */
#ifndef HALFLIFE_SRC_NET_HTTP_CALL_H
#define HALFLIFE_SRC_NET_HTTP_CALL_H

#include <curl/curl.h>

#include "base/list.h"
#include "net/http.h"
#include "tls_files.h"

enum { HEADER_BYTES_MAX = 64 << 10 }; /* the most bytes of all headers of one answer */

struct http_call {
        struct http *http;
        TAILQ_ENTRY(http_call) link; /* in the list of the call's state (http.list) */
        enum {
                CALL_PROMPT,
                CALL_WAITING, /* in queue HTTP_OWN; the other queues follow */
                CALL_RUNNING = CALL_WAITING + HTTP_QUEUES,
                CALL_ENDED,
                CALL_LISTS
        } state;
        bool cancelled; /* cancelled within a libcurl callback; freed when libcurl has returned */
        bool headed;    /* all headers of the answer have come; r.head was called */

        struct http_request r; /* strings are copies that this call owns */
        struct pool *pool;
        CURL *easy;
        struct curl_slist *headers, *connect_to;
        char curl_error[CURL_ERROR_SIZE];
        struct proxy_choice proxy;
        struct loop_timer deadline, silence, resume;
        struct mono last_byte;
        size_t turn_bytes; /* bytes of the body handed over since the transfer last paused */
        bool any_byte;
        bool no_descriptor; /* libcurl got no socket, because no file descriptor was free */
        CURLcode broken;    /* what ends the call at the next turn; CURLE_OK: nothing */
        int sent;           /* how often libcurl sent the request */

        size_t header_bytes;
        int codings; /* how often the body is compressed */
        char content_type[256], warning[1024];
        struct http_reply reply;
};

struct http_call *http_call_new(struct http *h, const struct http_request *r);
void http_call_free(struct http_call *c);

/* Create libcurl's easy handle for the call, ready for a multi handle. `files`: the TLS files of the connections, which
 * are made if they do not exist yet. Returns 0, or a code with the reason in reply.err; ERR_INVALID: the peer's URL or
 * certificates are unusable. */
int http_call_prepare(struct http_call *c, struct tls_files *files, struct loop *l, const char *user_agent);

/* The peer's address and, where it matters, the proxy, as text for messages. The caller frees it (mem_free). */
char *http_call_route(const struct http_call *c);

/* Complete the reply from libcurl's result. An error that is already set stays. */
void http_call_judge(struct http_call *c, CURLcode rc);

struct loop *http_loop(const struct http *h);
const struct proxy_settings *http_proxies(const struct http *h);
/* Call http_enter before and http_leave after a caller's callback that runs within libcurl. In between, libcurl's
 * handles must not be changed. */
void http_enter(struct http *h);
void http_leave(struct http *h);
/* Let the client handle, at the loop's next turn, calls that ended or may start. */
void http_kick(struct http *h);

#endif
