#include "pki.h"

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

struct pki {
        gnutls_x509_crt_t crt;
        gnutls_x509_privkey_t key;
        char *pem;
        unsigned char serial;
};

static void must(int rc, const char *what)
{
        if (rc >= 0)
                return;
        fprintf(stderr, "%s: %s\n", what, gnutls_strerror(rc));
        abort();
}

static char *text_of_datum(gnutls_datum_t d)
{
        char *s = mem_string_n((const char *)d.data, d.size);
        gnutls_free(d.data);
        return s;
}

static gnutls_x509_privkey_t key_new(void)
{
        gnutls_x509_privkey_t key;
        must(gnutls_x509_privkey_init(&key), "key");
        must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
             "key");
        return key;
}

static gnutls_x509_crt_t crt_new(struct pki *p, const char *name, gnutls_x509_privkey_t key, long begins_s, long ends_s)
{
        gnutls_x509_crt_t c;
        time_t now = time(NULL);
        p->serial++;
        must(gnutls_x509_crt_init(&c), "certificate");
        must(gnutls_x509_crt_set_version(c, 3), "version");
        must(gnutls_x509_crt_set_serial(c, &p->serial, 1), "serial");
        must(gnutls_x509_crt_set_activation_time(c, now + begins_s), "activation");
        must(gnutls_x509_crt_set_expiration_time(c, now + ends_s), "expiration");
        must(gnutls_x509_crt_set_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)), "name");
        must(gnutls_x509_crt_set_key(c, key), "certificate's key");
        return c;
}

static char *pem_of(gnutls_x509_crt_t c)
{
        gnutls_datum_t pem;
        must(gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_PEM, &pem), "certificate");
        return text_of_datum(pem);
}

struct pki *pki_new(const char *name)
{
        struct pki *p = MEM_NEW(struct pki);
        p->key = key_new();
        p->crt = crt_new(p, name, p->key, -3600, 86400);
        must(gnutls_x509_crt_set_basic_constraints(p->crt, 1, -1), "constraints");
        must(gnutls_x509_crt_set_key_usage(p->crt, GNUTLS_KEY_KEY_CERT_SIGN), "usage");
        must(gnutls_x509_crt_sign2(p->crt, p->crt, p->key, GNUTLS_DIG_SHA256, 0), "signature");
        p->pem = pem_of(p->crt);
        return p;
}

void pki_free(struct pki *p)
{
        if (!p)
                return;
        gnutls_x509_crt_deinit(p->crt);
        gnutls_x509_privkey_deinit(p->key);
        mem_free(p->pem);
        mem_free(p);
}

const char *pki_ca(const struct pki *p)
{
        return p->pem;
}

struct pki_pair pki_issue(struct pki *p, const struct pki_want *w)
{
        static const unsigned char loopback[4] = {127, 0, 0, 1};
        static const char service[] = "halflife.halflife.svc";
        bool usual = w->begins_s == 0 && w->ends_s == 0;
        gnutls_x509_privkey_t key = key_new();
        gnutls_x509_crt_t c = crt_new(p, w->name, key, usual ? -3600 : w->begins_s, usual ? 86400 : w->ends_s);
        gnutls_datum_t pem;
        struct pki_pair ret;
        must(gnutls_x509_crt_set_basic_constraints(c, 0, -1), "constraints");
        must(gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE), "usage");
        must(gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_IPADDRESS, loopback, 4, GNUTLS_FSAN_SET), "address");
        must(gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_DNSNAME, service, sizeof service - 1,
                                                  GNUTLS_FSAN_APPEND),
             "service");
        if (!w->purpose || strcmp(w->purpose, GNUTLS_KP_TLS_WWW_SERVER) == 0)
                must(gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_SERVER, 0), "purpose");
        if (!w->purpose || strcmp(w->purpose, GNUTLS_KP_TLS_WWW_CLIENT) == 0)
                must(gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_CLIENT, 0), "purpose");
        must(gnutls_x509_crt_sign2(c, p->crt, p->key, GNUTLS_DIG_SHA256, 0), "signature");
        ret.certificate = pem_of(c);
        must(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem), "key");
        ret.key = text_of_datum(pem);
        gnutls_x509_crt_deinit(c);
        gnutls_x509_privkey_deinit(key);
        return ret;
}

void pki_pair_release(struct pki_pair *p)
{
        mem_free(p->certificate);
        mem_free(p->key);
        *p = (struct pki_pair){0};
}
