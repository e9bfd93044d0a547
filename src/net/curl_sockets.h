/*
 * Watches the sockets of a multi handle of libcurl on the event loop. Each socket is watched by a copy of its
 * descriptor. libcurl silently closes a socket that could not connect, and ends the watch only later; by then the
 * descriptor's number may be another thread's, so a watch of the number itself could touch a stranger's descriptor.
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

/* `act` is called when a socket is ready, with events of CURL_CSELECT_*. `unwatched` is called, from within libcurl,
 * when no descriptor is free to watch a socket of the transfer `easy`; nothing then tells when that socket is ready. */
void curl_sockets_init(struct curl_sockets *s, struct loop *l, CURLM *multi,
                       void (*act)(void *arg, curl_socket_t fd, int events), void (*unwatched)(void *arg, CURL *easy),
                       void *arg);
void curl_sockets_release(struct curl_sockets *s); /* call it after curl_multi_cleanup */

#endif
