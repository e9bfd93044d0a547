/*
 * Two things that libcurl with GnuTLS leaves out: whether a certificate was issued for servers, and why a certificate
 * was refused. For a refused certificate, libcurl's own text names only the CA file, and no cause.
 */
#ifndef HALFLIFE_SRC_NET_TLS_VERDICT_H
#define HALFLIFE_SRC_NET_TLS_VERDICT_H

#include <curl/curl.h>

#include "net/http.h"

/* Call it before the transfer: it has libcurl keep the server's certificates, where libcurl's TLS library is GnuTLS. */
CURLcode tls_verdict_prepare(CURL *easy);
/* Call it before a request is sent. false: the peer's certificate was not issued for servers, for instance a client
 * certificate by the cluster's CA. With TLS libraries other than GnuTLS libcurl checks that, and the result is true. */
bool tls_is_of_server(CURL *easy);
/* Why the server's certificate was refused, after a transfer that ended with CURLE_PEER_FAILED_VERIFICATION. The caller
 * frees the text (mem_free). NULL: no better text than libcurl's is known. */
char *tls_verdict(CURL *easy, const struct http_peer *p);

#endif
