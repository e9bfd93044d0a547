/*
 * Two things that libcurl with GnuTLS leaves out: whether a certificate was issued for servers, and why a certificate
 * was refused. libcurl itself then names only the CA file, and no cause.
 */
#ifndef HALFLIFE_SRC_NET_TLS_VERDICT_H
#define HALFLIFE_SRC_NET_TLS_VERDICT_H

#include <curl/curl.h>

#include "net/http.h"

/* Before the transfer: have libcurl keep the server's certificates, where its TLS library is GnuTLS. */
CURLcode tls_verdict_prepare(CURL *easy);
/* Before a request is sent: false if the peer's certificate was not issued for servers, such as a client certificate by
 * the cluster's CA. With other TLS libraries libcurl checks that itself. */
bool tls_is_of_server(CURL *easy);
/* After it failed by CURLE_PEER_FAILED_VERIFICATION. The caller frees it (mem_free); NULL: libcurl's own text says it.
 */
char *tls_verdict(CURL *easy, const struct http_peer *p);

#endif
