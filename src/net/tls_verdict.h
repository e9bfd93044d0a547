/*
 * What libcurl leaves out where its TLS library is GnuTLS: that a certificate is one for servers, and why one was
 * refused. Of a refusal it names the file of the CA, and no cause.
 */
#ifndef HALFLIFE_SRC_NET_TLS_VERDICT_H
#define HALFLIFE_SRC_NET_TLS_VERDICT_H

#include <curl/curl.h>

#include "net/http.h"

/* Before the transfer: have libcurl keep the server's certificates, where its TLS library is GnuTLS. */
CURLcode tls_verdict_prepare(CURL *easy);
/* Before a request is sent on a connection: false where the other side's certificate is none for servers, as one that a
 * cluster's CA issued to a client. With another TLS library libcurl has looked. */
bool tls_is_of_server(CURL *easy);
/* After it failed by CURLE_PEER_FAILED_VERIFICATION. The caller frees it (mem_free); NULL: libcurl's own text says it.
 */
char *tls_verdict(CURL *easy, const struct http_peer *p);

#endif
