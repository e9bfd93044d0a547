#include "certificate_authority.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <string.h>

#include "base/mem.h"

enum {
        EARLY_MS = 5 * MINUTE_MS /* certificates are valid from so long before they are made, because clocks differ */,
        ROOTS_MAX = 2,
        SERIAL_BYTES = 16
};

void certificate_authority_release(struct certificate_authority *a)
{
        mem_free(a->roots);
        mem_wipe(a->key);
        mem_free(a->cert);
        mem_wipe(a->cert_key);
        *a = (struct certificate_authority){0};
}

/* --- GnuTLS' values, freed by scope --- */

static inline void crt_free(gnutls_x509_crt_t c)
{
        gnutls_x509_crt_deinit(c);
}
MEM_AUTO(crt_free, gnutls_x509_crt_t)
static inline void key_free(gnutls_x509_privkey_t k)
{
        gnutls_x509_privkey_deinit(k);
}
MEM_AUTO(key_free, gnutls_x509_privkey_t)

static gnutls_datum_t authority_datum_of(const char *text)
{
        return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static char *text_of_datum(gnutls_datum_t *d)
{
        char *s = mem_string_n((const char *)d->data, d->size);
        explicit_bzero(d->data, d->size);
        gnutls_free(d->data);
        return s;
}

static gnutls_x509_crt_t crt_read(const char *pem)
{
        gnutls_x509_crt_t c;
        gnutls_datum_t d = authority_datum_of(pem);
        if (gnutls_x509_crt_init(&c) < 0)
                return NULL;
        if (gnutls_x509_crt_import(c, &d, GNUTLS_X509_FMT_PEM) < 0) {
                gnutls_x509_crt_deinit(c);
                return NULL;
        }
        return c;
}

static gnutls_x509_privkey_t key_read(const char *pem)
{
        gnutls_x509_privkey_t k;
        gnutls_datum_t d = authority_datum_of(pem);
        if (gnutls_x509_privkey_init(&k) < 0)
                return NULL;
        if (gnutls_x509_privkey_import2(k, &d, GNUTLS_X509_FMT_PEM, NULL, 0) < 0) {
                gnutls_x509_privkey_deinit(k);
                return NULL;
        }
        return k;
}

/* --- times --- */

static int64_t since_ms(gnutls_x509_crt_t c)
{
        return (int64_t)gnutls_x509_crt_get_activation_time(c) * SECOND_MS + EARLY_MS;
}

static int64_t until_ms(gnutls_x509_crt_t c)
{
        return (int64_t)gnutls_x509_crt_get_expiration_time(c) * SECOND_MS;
}

static bool is_old(gnutls_x509_crt_t c, struct wall now)
{
        int64_t since = since_ms(c), until = until_ms(c);
        return now.ms < since - EARLY_MS || now.ms >= since + (until - since) / 3 * 2;
}

struct wall certificate_authority_expiry(const char *cert_pem)
{
        AUTO(crt_free) gnutls_x509_crt_t c = cert_pem ? crt_read(cert_pem) : NULL;
        return (struct wall){c ? until_ms(c) : 0};
}

/* --- reading keys and certificates --- */

struct held {
        gnutls_x509_crt_t root[ROOTS_MAX]; /* oldest first */
        unsigned roots;
        gnutls_x509_privkey_t key;
        gnutls_x509_crt_t cert;
        gnutls_x509_privkey_t cert_key;
};

static void held_release(struct held *h)
{
        for (unsigned i = 0; i < h->roots; i++)
                gnutls_x509_crt_deinit(h->root[i]);
        if (h->key)
                gnutls_x509_privkey_deinit(h->key);
        if (h->cert)
                gnutls_x509_crt_deinit(h->cert);
        if (h->cert_key)
                gnutls_x509_privkey_deinit(h->cert_key);
        *h = (struct held){0};
}

static gnutls_x509_crt_t authority_newest(const struct held *h)
{
        return h->root[h->roots - 1];
}

static bool authority_is_pair(gnutls_x509_crt_t c, gnutls_x509_privkey_t k)
{
        unsigned char of_cert[64], of_key[64];
        size_t cert_size = sizeof of_cert, key_size = sizeof of_key;
        return gnutls_x509_crt_get_key_id(c, GNUTLS_KEYID_USE_SHA256, of_cert, &cert_size) == 0 &&
               gnutls_x509_privkey_get_key_id(k, GNUTLS_KEYID_USE_SHA256, of_key, &key_size) == 0 &&
               cert_size == key_size && memcmp(of_cert, of_key, cert_size) == 0;
}

static bool held_read(const struct certificate_authority *a, struct held *h)
{
        gnutls_datum_t roots = authority_datum_of(a->roots ? a->roots : "");
        h->roots = ROOTS_MAX;
        if (!a->roots || !a->key || !a->cert || !a->cert_key ||
            gnutls_x509_crt_list_import(h->root, &h->roots, &roots, GNUTLS_X509_FMT_PEM,
                                        GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED) < 1) {
                h->roots = 0;
                return false;
        }
        h->key = key_read(a->key);
        h->cert = crt_read(a->cert);
        h->cert_key = key_read(a->cert_key);
        return h->key && h->cert && h->cert_key && authority_is_pair(authority_newest(h), h->key) &&
               authority_is_pair(h->cert, h->cert_key);
}

/* Verify the signature: comparing issuer names is not enough, because all roots of halflife have the same name. */
static bool is_signed_by(gnutls_x509_crt_t c, gnutls_x509_crt_t root)
{
        unsigned verdict;
        return gnutls_x509_crt_verify(c, &root, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DO_NOT_ALLOW_SAME,
                                      &verdict) == 0 &&
               verdict == 0;
}

static bool has_names(gnutls_x509_crt_t c, const char *const *names, int count)
{
        for (int i = 0; i < count; i++)
                if (!gnutls_x509_crt_check_hostname2(c, names[i], GNUTLS_VERIFY_DO_NOT_ALLOW_WILDCARDS))
                        return false;
        return true;
}

static bool is_trusted(const struct held *h)
{
        for (unsigned i = 0; i < h->roots; i++)
                if (is_signed_by(h->cert, h->root[i]))
                        return true;
        return false;
}

/* --- making --- */

static int authority_failed(int rc, const char *what, struct err *err)
{
        return rc < 0 ? err_set(err, ERR_IO, "%s cannot be made: %s", what, gnutls_strerror(rc)) : 0;
}

static int authority_describe(gnutls_x509_crt_t c, const char *name, int64_t days, struct wall now)
{
        unsigned char serial[SERIAL_BYTES];
        int rc = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
        serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40); /* a positive number of fixed length */
        time_t since = (time_t)((now.ms - EARLY_MS) / SECOND_MS), until = (time_t)(now.ms / SECOND_MS + days * 86400);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_version(c, 3);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_serial(c, serial, sizeof serial);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_activation_time(c, since);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_expiration_time(c, until);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
        return rc;
}

static int describe_root(gnutls_x509_crt_t c)
{
        int rc = gnutls_x509_crt_set_basic_constraints(c, 1, 0);
        return rc < 0 ? rc : gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_KEY_CERT_SIGN);
}

static int describe_leaf(gnutls_x509_crt_t c, const char *const *names, int count)
{
        int rc = gnutls_x509_crt_set_basic_constraints(c, 0, -1);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_SERVER, 0);
        for (int i = 0; rc >= 0 && i < count; i++)
                rc = gnutls_x509_crt_set_subject_alt_name(c, GNUTLS_SAN_DNSNAME, names[i], (unsigned)strlen(names[i]),
                                                          GNUTLS_FSAN_APPEND);
        return rc;
}

static int key_make(gnutls_x509_privkey_t *ret)
{
        int rc = gnutls_x509_privkey_init(ret);
        return rc < 0 ? rc
                      : gnutls_x509_privkey_generate(*ret, GNUTLS_PK_ECDSA,
                                                     GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

/* Set the key identifiers, by which verifiers choose between two roots of the same name. */
static int authority_identify(gnutls_x509_crt_t c, gnutls_x509_crt_t root)
{
        unsigned char id[64];
        size_t size = sizeof id;
        int rc = gnutls_x509_crt_get_key_id(c, 0, id, &size);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_subject_key_id(c, id, size);
        size = sizeof id;
        if (rc >= 0)
                rc = gnutls_x509_crt_get_key_id(root, 0, id, &size);
        return rc < 0 ? rc : gnutls_x509_crt_set_authority_key_id(c, id, size);
}

static int authority_print(gnutls_x509_crt_t c, gnutls_x509_privkey_t k, char **ret_cert, char **ret_key)
{
        gnutls_datum_t cert, key;
        int rc = gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_PEM, &cert);
        if (rc < 0)
                return rc;
        rc = gnutls_x509_privkey_export2_pkcs8(k, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &key);
        if (rc < 0) {
                gnutls_free(cert.data);
                return rc;
        }
        *ret_cert = text_of_datum(&cert);
        *ret_key = text_of_datum(&key);
        return 0;
}

/* Make a key and a certificate that root signs. names NULL: make a self-signed root. */
static int authority_make(const char *const *names, int count, gnutls_x509_crt_t root, gnutls_x509_privkey_t root_key,
                          struct wall now, char **ret_cert, char **ret_key)
{
        AUTO(crt_free) gnutls_x509_crt_t c = NULL;
        AUTO(key_free) gnutls_x509_privkey_t k = NULL;
        int rc = gnutls_x509_crt_init(&c);
        if (rc >= 0)
                rc = key_make(&k);
        if (rc >= 0)
                rc = authority_describe(c, names ? "halflife" : "halflife CA",
                                        names ? AUTHORITY_LEAF_DAYS : AUTHORITY_ROOT_DAYS, now);
        if (rc >= 0)
                rc = names ? describe_leaf(c, names, count) : describe_root(c);
        if (rc >= 0)
                rc = gnutls_x509_crt_set_key(c, k);
        if (rc >= 0)
                rc = authority_identify(c, root ? root : c);
        if (rc >= 0)
                rc = gnutls_x509_crt_sign2(c, root ? root : c, root ? root_key : k, GNUTLS_DIG_SHA256, 0);
        return rc < 0 ? rc : authority_print(c, k, ret_cert, ret_key);
}

/* --- keeping a former root trusted --- */

/* The root that signed the certificate; NULL: none of roots_pem did. */
static gnutls_x509_crt_t signer_of(const char *roots_pem, const char *cert_pem)
{
        struct held h = {.roots = ROOTS_MAX};
        gnutls_x509_crt_t signer = NULL;
        gnutls_datum_t roots = authority_datum_of(roots_pem);
        if (gnutls_x509_crt_list_import(h.root, &h.roots, &roots, GNUTLS_X509_FMT_PEM,
                                        GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED) < 1)
                return NULL;
        h.cert = crt_read(cert_pem);
        for (unsigned i = 0; h.cert && !signer && i < h.roots; i++)
                if (is_signed_by(h.cert, h.root[i])) {
                        signer = h.root[i];
                        h.root[i] = h.root[--h.roots];
                }
        held_release(&h);
        return signer;
}

bool certificate_authority_verifies(const char *roots_pem, const char *cert_pem)
{
        AUTO(crt_free) gnutls_x509_crt_t signer = signer_of(roots_pem, cert_pem);
        return signer != NULL;
}

void certificate_authority_keep(struct certificate_authority *a, const char *roots_pem, const char *cert_pem)
{
        AUTO(crt_free) gnutls_x509_crt_t signer = signer_of(roots_pem, cert_pem);
        gnutls_datum_t pem;
        if (!signer || gnutls_x509_crt_export2(signer, GNUTLS_X509_FMT_PEM, &pem) < 0)
                return;
        AUTO(mem_free) char *kept = text_of_datum(&pem);
        char *roots = mem_printf("%s%s", kept, a->roots);
        mem_free(a->roots);
        a->roots = roots;
}

/* --- the step that is due --- */

static int authority_sign(struct certificate_authority *a, gnutls_x509_crt_t root, gnutls_x509_privkey_t root_key,
                          const char *const *names, int count, struct wall now, struct err *err)
{
        char *cert, *key;
        int rc = authority_failed(authority_make(names, count, root, root_key, now, &cert, &key), "a certificate", err);
        if (rc < 0)
                return rc;
        struct certificate_authority old = {.cert = a->cert, .cert_key = a->cert_key};
        a->cert = cert;
        a->cert_key = key;
        certificate_authority_release(&old);
        return 0;
}

static int authority_begin(struct certificate_authority *a, const char *const *names, int count, struct wall now,
                           struct err *err)
{
        struct certificate_authority fresh = {0};
        int rc = authority_failed(authority_make(NULL, 0, NULL, NULL, now, &fresh.roots, &fresh.key), "an authority",
                                  err);
        if (rc < 0)
                return rc;
        AUTO(crt_free) gnutls_x509_crt_t root = crt_read(fresh.roots);
        AUTO(key_free) gnutls_x509_privkey_t key = key_read(fresh.key);
        rc = root && key ? authority_sign(&fresh, root, key, names, count, now, err)
                         : err_set(err, ERR_IO, "an authority cannot be read back");
        if (rc < 0) {
                certificate_authority_release(&fresh);
                return rc;
        }
        certificate_authority_release(a);
        *a = fresh;
        return 0;
}

static int add_root(struct certificate_authority *a, struct wall now, struct err *err)
{
        char *root, *key;
        int rc = authority_failed(authority_make(NULL, 0, NULL, NULL, now, &root, &key), "an authority", err);
        if (rc < 0)
                return rc;
        struct certificate_authority old = {.roots = a->roots, .key = a->key};
        a->roots = mem_printf("%s%s", old.roots, root);
        a->key = key;
        mem_free(root);
        certificate_authority_release(&old);
        return 0;
}

static int drop_root(struct certificate_authority *a, gnutls_x509_crt_t keep, struct err *err)
{
        gnutls_datum_t pem;
        int rc = authority_failed(gnutls_x509_crt_export2(keep, GNUTLS_X509_FMT_PEM, &pem), "the roots", err);
        if (rc < 0)
                return rc;
        mem_free(a->roots);
        a->roots = text_of_datum(&pem);
        return 0;
}

/* Whether clients accept the certificate now. One that is not valid yet was made by a process whose clock was ahead. */
static bool authority_is_valid(gnutls_x509_crt_t c, struct wall now)
{
        return now.ms >= since_ms(c) - EARLY_MS && now.ms < until_ms(c);
}

/* The step that is due, by the first of these rules that applies. */
static enum certificate_authority_due authority_due(const struct held *h, const char *const *names, int count,
                                                    struct wall now)
{
        bool by_newest = is_signed_by(h->cert, authority_newest(h)),
             spread = now.ms - since_ms(authority_newest(h)) >= AUTHORITY_SPREAD_MS;
        if (!is_trusted(h) || now.ms >= until_ms(authority_newest(h)))
                return AUTHORITY_NEW;
        if (h->roots == 1 && is_old(authority_newest(h), now))
                return AUTHORITY_ADDS_ROOT;
        if (by_newest && (is_old(h->cert, now) || !has_names(h->cert, names, count)))
                return AUTHORITY_SIGNS;
        if (!by_newest && (spread || !authority_is_valid(h->cert, now) || !has_names(h->cert, names, count)))
                return AUTHORITY_SIGNS;
        if (h->roots > 1 && by_newest && now.ms - since_ms(h->cert) >= AUTHORITY_SPREAD_MS)
                return AUTHORITY_DROPS_ROOT;
        return AUTHORITY_STANDS;
}

int certificate_authority_step(struct certificate_authority *a, const char *const *names, int count, struct wall now,
                               enum certificate_authority_due *ret, struct err *err)
{
        struct held h = {0};
        int rc = 0;
        *ret = held_read(a, &h) ? authority_due(&h, names, count, now) : AUTHORITY_NEW;
        switch (*ret) {
        case AUTHORITY_STANDS:
                break;
        case AUTHORITY_NEW:
                rc = authority_begin(a, names, count, now, err);
                break;
        case AUTHORITY_ADDS_ROOT:
                rc = add_root(a, now, err);
                break;
        case AUTHORITY_SIGNS:
                rc = authority_sign(a, authority_newest(&h), h.key, names, count, now, err);
                break;
        case AUTHORITY_DROPS_ROOT:
                rc = drop_root(a, authority_newest(&h), err);
                break;
        }
        held_release(&h);
        return rc;
}
