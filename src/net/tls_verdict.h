/*
 * Why libcurl refused a server's certificate, where libcurl does not say: with GnuTLS it names the file of the CA,
 * which tells nobody anything, and no cause.
 */
#ifndef HALFLIFE_SRC_NET_TLS_VERDICT_H
#define HALFLIFE_SRC_NET_TLS_VERDICT_H

#include <curl/curl.h>

#include "net/http.h"

/* Before the transfer: have libcurl keep the server's certificates, where its TLS library is GnuTLS. */
CURLcode tls_verdict_prepare(CURL *easy);
/* After it failed by CURLE_PEER_FAILED_VERIFICATION. The caller frees it (mem_free); NULL: libcurl's own text says it.
 */
char *tls_verdict(CURL *easy, const struct http_peer *p);

#endif
