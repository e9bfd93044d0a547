#include "http_call.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "tls_verdict.h"

const char *http_method_name(enum http_method m)
{
        static const char *const name[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
        assert(m <= HTTP_DELETE);
        return name[m];
}

static int call_code_of(CURLcode rc)
{
        switch (rc) {
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_ISSUER_ERROR:
                return ERR_DENIED;
        case CURLE_URL_MALFORMAT:
        case CURLE_NOT_BUILT_IN:
        case CURLE_UNKNOWN_OPTION:
        case CURLE_BAD_FUNCTION_ARGUMENT:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CACERT_BADFILE:
                return ERR_INVALID;
        default:
                return ERR_RETRY;
        }
}

/* Text that follows an error of libcurl, about what the reader can check; "": nothing. */
static const char *cure_of(CURLcode rc)
{
        switch (rc) {
        case CURLE_PEER_FAILED_VERIFICATION:
                return "; is the configured certificate authority the server's, and tls-server-name, where set, the "
                       "server's name?";
        case CURLE_SSL_CONNECT_ERROR: /* also when the CA has the right name but another key */
                return "; does that port speak TLS, and is the configured certificate authority the server's?";
        case CURLE_SSL_CERTPROBLEM:
                return "; do the client certificate and its key belong together?";
        case CURLE_NOT_BUILT_IN:
        case CURLE_UNKNOWN_OPTION:
                return "; this libcurl lacks a feature: halflife needs a build with TLS and HTTP/2";
        case CURLE_URL_MALFORMAT:
                return "; is the address of the form https://host:port?";
        default:
                return "";
        }
}

char *http_call_route(const struct http_call *c)
{
        AUTO(mem_free) char *proxy = proxy_choice_text(&c->proxy);
        return mem_printf("%s%s%s", c->r.peer->base_url, proxy ? " " : "", proxy ? proxy : "");
}

void http_call_judge(struct http_call *c, CURLcode rc)
{
        struct http_reply *reply = &c->reply;
        if (reply->err.code)
                return; /* halflife ended the request and has set the cause */
        if (rc == CURLE_OK && reply->status == 0)
                rc = CURLE_WEIRD_SERVER_REPLY;
        if (rc == CURLE_OK && !c->headed) { /* libcurl takes headers cut off by the connection's end for complete */
                rc = CURLE_PARTIAL_FILE;
                snprintf(c->curl_error, sizeof c->curl_error, "the connection ended within the headers");
        }
        if (rc == CURLE_OK) {
                reply->whole = true;
                return;
        }
        AUTO(mem_free) char *route = http_call_route(c);
        if (rc == CURLE_ABORTED_BY_CALLBACK && c->sent > 1) {
                err_set(&reply->err, ERR_RETRY,
                        "%s: the connection was lost while %s was sent; the server may have executed it", route,
                        http_method_name(c->r.method));
                return;
        }
        if (rc == CURLE_COULDNT_CONNECT && c->no_descriptor) {
                err_set(&reply->err, ERR_RETRY, "%s: %s: too many files are open in this process", route,
                        c->sent > 0 ? "the connection was lost; the server may have executed the request"
                                    : "not connected");
                return;
        }
        AUTO(mem_free)
        char *verdict = rc == CURLE_PEER_FAILED_VERIFICATION ? tls_verdict(c->easy, c->r.peer) : NULL;
        const char *why = verdict ? verdict : c->curl_error[0] ? c->curl_error : curl_easy_strerror(rc);
        err_set(&reply->err, call_code_of(rc), "%s: %s%s%s", route, reply->status ? "the answer was cut: " : "", why,
                cure_of(rc));
}
