/* A CA of our own, a certificate for 127.0.0.1 and localhost, and one for a client; made at the start, never written
 * down. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

struct pair {
        char *certificate, *key;
};
struct tls {
        struct pair ca, server, client;
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

static void describe(gnutls_x509_crt_t c, const char *name, unsigned char serial, bool ca)
{
        static const unsigned char loopback[4] = {127, 0, 0, 1};
        time_t now = time(NULL);
        must(gnutls_x509_crt_set_version(c, 3), "version");
        must(gnutls_x509_crt_set_serial(c, &serial, 1), "serial");
        must(gnutls_x509_crt_set_activation_time(c, now - 3600), "activation");
        must(gnutls_x509_crt_set_expiration_time(c, now + 86400), "expiration");
        must(gnutls_x509_crt_set_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name)), "name");
        must(gnutls_x509_crt_set_basic_constraints(c, ca, -1), "constraints");
        must(gnutls_x509_crt_set_key_usage(c, ca ? GNUTLS_KEY_KEY_CERT_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE), "usage");
        if (ca)
                return;
        must(gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_DNSNAME, "localhost", 9, GNUTLS_FSAN_SET), "localhost");
        must(gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_IPADDRESS, loopback, 4, GNUTLS_FSAN_APPEND),
             "127.0.0.1");
        must(gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_SERVER, 0), "purpose");
        must(gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_CLIENT, 0), "purpose");
}

static gnutls_x509_privkey_t key_new(void)
{
        gnutls_x509_privkey_t key;
        must(gnutls_x509_privkey_init(&key), "key");
        must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
             "key");
        return key;
}

/* Signed by the CA, or by itself when there is none yet. */
static struct pair pair_new(const char *name, unsigned char serial, gnutls_x509_crt_t ca, gnutls_x509_privkey_t ca_key,
                            gnutls_x509_crt_t *ret_crt, gnutls_x509_privkey_t *ret_key)
{
        gnutls_x509_crt_t crt;
        gnutls_x509_privkey_t key = key_new();
        gnutls_datum_t pem;
        struct pair p;
        must(gnutls_x509_crt_init(&crt), "certificate");
        describe(crt, name, serial, ca == NULL);
        must(gnutls_x509_crt_set_key(crt, key), "certificate's key");
        must(gnutls_x509_crt_sign2(crt, ca ? ca : crt, ca ? ca_key : key, GNUTLS_DIG_SHA256, 0), "signature");
        must(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), "certificate");
        p.certificate = text_of_datum(pem);
        must(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem), "key");
        p.key = text_of_datum(pem);
        *ret_crt = crt;
        *ret_key = key;
        return p;
}

struct tls *tls_new(void)
{
        struct tls *t = MEM_NEW(struct tls);
        gnutls_x509_crt_t ca, crt;
        gnutls_x509_privkey_t ca_key, key;
        t->ca = pair_new("halflife test CA", 1, NULL, NULL, &ca, &ca_key);
        t->server = pair_new("kube-apiserver", 2, ca, ca_key, &crt, &key);
        gnutls_x509_crt_deinit(crt);
        gnutls_x509_privkey_deinit(key);
        t->client = pair_new("system:serviceaccount:halflife:halflife", 3, ca, ca_key, &crt, &key);
        gnutls_x509_crt_deinit(crt);
        gnutls_x509_privkey_deinit(key);
        gnutls_x509_crt_deinit(ca);
        gnutls_x509_privkey_deinit(ca_key);
        return t;
}

static void pair_release(struct pair *p)
{
        mem_free(p->certificate);
        mem_free(p->key);
}

void tls_free(struct tls *t)
{
        if (!t)
                return;
        pair_release(&t->ca);
        pair_release(&t->server);
        pair_release(&t->client);
        mem_free(t);
}

const char *tls_ca(const struct tls *t)
{
        return t ? t->ca.certificate : NULL;
}

const char *tls_certificate(const struct tls *t, bool server)
{
        return !t ? NULL : server ? t->server.certificate : t->client.certificate;
}

const char *tls_key(const struct tls *t, bool server)
{
        return !t ? NULL : server ? t->server.key : t->client.key;
}
