/*
 * The sockets of a multi handle of libcurl on the event loop. Each is watched by a copy of its descriptor: libcurl
 * closes a socket that could not connect without a word, and ends its watch only later. Another thread may have got the
 * number meanwhile, so a watch of the number itself could touch a stranger's descriptor.
 */
#ifndef HALFLIFE_NET_CURL_SOCKETS_H
#define HALFLIFE_NET_CURL_SOCKETS_H

#include <curl/curl.h>

#include "base/list.h"
#include "net/loop.h"

struct curl_sockets {
        struct loop *loop;
        CURLM *multi;
        void (*act)(void *arg, curl_socket_t fd, int events);
        void (*unwatched)(void *arg, CURL *easy);
        void *arg;
        LIST_HEAD(, curl_socket) of;
};

/* When a socket is ready, act is called with events of CURL_CSELECT_*. When there is no descriptor to watch a socket of
 * easy by, unwatched is called within libcurl. Nothing then tells that the socket is ready. */
void curl_sockets_init(struct curl_sockets *s, struct loop *l, CURLM *multi,
                       void (*act)(void *arg, curl_socket_t fd, int events), void (*unwatched)(void *arg, CURL *easy),
                       void *arg);
void curl_sockets_release(struct curl_sockets *s); /* call it after curl_multi_cleanup */

#endif
