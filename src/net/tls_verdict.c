#include "tls_verdict.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"

enum { CHAIN_MAX = 16 };

/* A server's certificates, its own first. */
struct chain {
        gnutls_x509_crt_t crt[CHAIN_MAX];
        unsigned count;
};

static bool has_gnutls;

static void ask_curl_once(void)
{
        const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
        has_gnutls = library && strncmp(library, "GnuTLS", 6) == 0;
}

static bool curl_has_gnutls(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, ask_curl_once);
        return has_gnutls;
}

CURLcode tls_verdict_prepare(CURL *easy)
{
        return curl_has_gnutls() ? curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L) : CURLE_OK;
}

bool tls_is_of_server(CURL *easy)
{
        static char server[] = GNUTLS_KP_TLS_WWW_SERVER;
        gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)server};
        struct curl_tlssessioninfo *tls = NULL;
        unsigned status = 0;
        if (!curl_has_gnutls() || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls ||
            !tls->internals) /* the connection has no TLS */
                return true;
        return gnutls_certificate_verify_peers(tls->internals, &purpose, 1, &status) == 0 && status == 0;
}

static void verdict_add(struct chain *c, char *pem)
{
        gnutls_datum_t text = {(unsigned char *)pem, (unsigned)strlen(pem)};
        if (c->count == CHAIN_MAX || gnutls_x509_crt_init(&c->crt[c->count]) < 0)
                return;
        if (gnutls_x509_crt_import(c->crt[c->count], &text, GNUTLS_X509_FMT_PEM) < 0)
                gnutls_x509_crt_deinit(c->crt[c->count]);
        else
                c->count++;
}

static void verdict_read_chain(struct chain *c, CURL *easy)
{
        static const char name[] = "Cert:";
        struct curl_certinfo *info = NULL;
        *c = (struct chain){.count = 0};
        if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || !info)
                return;
        for (int i = 0; i < info->num_of_certs; i++)
                for (struct curl_slist *line = info->certinfo[i]; line; line = line->next)
                        if (strncmp(line->data, name, strlen(name)) == 0)
                                verdict_add(c, line->data + strlen(name));
}

static void verdict_free_chain(struct chain *c)
{
        while (c->count > 0)
                gnutls_x509_crt_deinit(c->crt[--c->count]);
}

static int verdict_trust(gnutls_x509_trust_list_t trust, const char *ca_pem)
{
        if (!ca_pem)
                return gnutls_x509_trust_list_add_system_trust(trust, 0, 0);
        char *copy = mem_string(ca_pem); /* GnuTLS has not declared the text const */
        gnutls_datum_t text = {(unsigned char *)copy, (unsigned)strlen(copy)};
        int rc = gnutls_x509_trust_list_add_trust_mem(trust, &text, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        mem_free(copy);
        return rc;
}

/* Why GnuTLS refuses the certificate, as text without the full stop and blank that GnuTLS puts at the end. */
static char *status_text(unsigned status)
{
        gnutls_datum_t said = {0};
        char *text = NULL;
        if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &said, 0) == 0) {
                text = mem_printf("the server's certificate is refused: %.*s", (int)said.size, (char *)said.data);
                for (size_t len = strlen(text); len > 0 && (text[len - 1] == ' ' || text[len - 1] == '.'); len--)
                        text[len - 1] = '\0';
        }
        gnutls_free(said.data);
        return text;
}

char *tls_verdict(CURL *easy, const struct http_peer *p)
{
        struct chain c;
        gnutls_x509_trust_list_t trust;
        char *text = NULL;
        unsigned status = 0;
        if (!curl_has_gnutls() || gnutls_x509_trust_list_init(&trust, 0) < 0)
                return NULL;
        verdict_read_chain(&c, easy);
        if (c.count > 0 && verdict_trust(trust, p->ca_pem) >= 0 &&
            gnutls_x509_trust_list_verify_crt2(trust, c.crt, c.count, NULL, 0, 0, &status, NULL) == 0 && status)
                text = status_text(status);
        verdict_free_chain(&c);
        gnutls_x509_trust_list_deinit(trust, 1);
        return text;
}
