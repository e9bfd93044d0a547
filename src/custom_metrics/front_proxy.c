#include "custom_metrics/front_proxy.h"

#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/yaml.h"

enum { WORDS = 16, CHAIN_MAX = 8, CA_MAX = 1 << 20, NAME_MAX_BYTES = 256 };

struct words {
        char *word[WORDS];
        int count;
};

struct front_proxy {
        char *ca;                         /* PEM */
        struct words names, user_headers; /* names: allowed common names; if empty, any name is allowed */
        gnutls_x509_trust_list_t trust;
};

/* --- the ConfigMap --- */

static void words_release(struct words *w)
{
        for (int i = 0; i < w->count; i++)
                mem_free(w->word[i]);
        w->count = 0;
}

/* Read a list of texts from the ConfigMap's key, whose value is JSON such as '["a","b"]'; an absent key is an empty
 * list. */
static int words_read(const json_t *data, const char *key, struct words *ret, struct err *err)
{
        const char *text = json_string_value(json_object_get(data, key));
        AUTO(json_decref) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
        json_t *item;
        size_t i;
        if (text && (!json_is_array(list) || json_array_size(list) > WORDS))
                return err_set(err, ERR_INVALID, "%s is not a list of at most %d texts", key, WORDS);
        json_array_foreach(list, i, item)
        {
                const char *word = json_string_value(item);
                if (!word || !*word)
                        return err_set(err, ERR_INVALID, "%s: element %zu is not a text", key, i);
                ret->word[ret->count++] = mem_string(word);
        }
        return 0;
}

static int trust_read(struct front_proxy *f, struct err *err)
{
        const gnutls_datum_t pem = {(unsigned char *)f->ca, (unsigned)strlen(f->ca)};
        int rc = gnutls_x509_trust_list_init(&f->trust, 0);
        if (rc >= 0)
                rc = gnutls_x509_trust_list_add_trust_mem(f->trust, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
        if (rc <= 0)
                return err_set(err, ERR_INVALID, "requestheader-client-ca-file holds no certificate%s%s",
                               rc < 0 ? ": " : "", rc < 0 ? gnutls_strerror(rc) : "");
        return 0;
}

static int front_proxy_fill(struct front_proxy *f, const json_t *data, struct err *err)
{
        const char *ca = json_string_value(json_object_get(data, "requestheader-client-ca-file"));
        if (!ca || !*ca || strlen(ca) > CA_MAX)
                return err_set(err, ERR_INVALID,
                               "there is no requestheader-client-ca-file: does the API server run with "
                               "--requestheader-client-ca-file?");
        f->ca = mem_string(ca);
        int rc = words_read(data, "requestheader-allowed-names", &f->names, err);
        if (rc == 0)
                rc = words_read(data, "requestheader-username-headers", &f->user_headers, err);
        if (rc == 0 && f->user_headers.count == 0)
                rc = err_set(err, ERR_INVALID, "requestheader-username-headers names no header");
        return rc < 0 ? rc : trust_read(f, err);
}

int front_proxy_read(const json_t *configmap, struct front_proxy **ret, struct err *err)
{
        struct front_proxy *f = MEM_NEW(struct front_proxy);
        int rc = front_proxy_fill(f, json_object_get(configmap, "data"), err);
        if (rc < 0) {
                front_proxy_free(f);
                return rc;
        }
        *ret = f;
        return 0;
}

void front_proxy_free(struct front_proxy *f)
{
        if (!f)
                return;
        if (f->trust)
                gnutls_x509_trust_list_deinit(f->trust, 1);
        words_release(&f->names);
        words_release(&f->user_headers);
        mem_free(f->ca);
        mem_free(f);
}

/* --- one peer --- */

struct chain {
        gnutls_x509_crt_t crt[CHAIN_MAX];
        unsigned count;
};

static void chain_release(struct chain *c)
{
        for (unsigned i = 0; i < c->count; i++)
                gnutls_x509_crt_deinit(c->crt[i]);
}

static int chain_read(const gnutls_datum_t *der, unsigned count, struct chain *ret)
{
        int rc = 0;
        for (unsigned i = 0; i < count && i < CHAIN_MAX && rc >= 0; i++) {
                rc = gnutls_x509_crt_init(&ret->crt[i]);
                if (rc < 0)
                        break;
                ret->count++;
                rc = gnutls_x509_crt_import(ret->crt[i], &der[i], GNUTLS_X509_FMT_DER);
        }
        return rc;
}

/* Check that the request header CA signed the peer's certificate, that it is valid now, and that it is meant for
 * clients. */
static int check_trust(const struct front_proxy *f, struct chain *c, struct err *ret_why)
{
        gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                         .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
        gnutls_datum_t said = {0};
        unsigned status = 0;
        int rc = gnutls_x509_trust_list_verify_crt2(f->trust, c->crt, c->count, &purpose, 1, 0, &status, NULL);
        if (rc >= 0 && status == 0)
                return 0;
        if (rc < 0 || gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &said, 0) < 0)
                return err_set(ret_why, ERR_DENIED, "the client certificate cannot be verified: %s",
                               gnutls_strerror(rc));
        err_set(ret_why, ERR_DENIED, "the client certificate is not the front proxy's: %s", (const char *)said.data);
        gnutls_free(said.data);
        return ret_why->code;
}

static bool is_allowed(const struct front_proxy *f, const struct chain *c, char *ret_name, size_t size)
{
        size_t len = size;
        if (gnutls_x509_crt_get_dn_by_oid(c->crt[0], GNUTLS_OID_X520_COMMON_NAME, 0, 0, ret_name, &len) < 0)
                ret_name[0] = '\0';
        for (int i = 0; i < f->names.count; i++)
                if (strcmp(f->names.word[i], ret_name) == 0)
                        return true;
        return f->names.count == 0;
}

static unsigned judge_chain(const struct front_proxy *f, struct chain *c, struct err *ret_why)
{
        char name[NAME_MAX_BYTES];
        if (check_trust(f, c, ret_why) < 0)
                return MHD_HTTP_UNAUTHORIZED;
        if (is_allowed(f, c, name, sizeof name))
                return 0;
        err_set(ret_why, ERR_DENIED,
                "'%s' is not among requestheader-allowed-names: only the API server may send requests here", name);
        return MHD_HTTP_FORBIDDEN;
}

unsigned front_proxy_judge(const struct front_proxy *f, const gnutls_datum_t *der, unsigned count,
                           const char *(*header)(void *arg, const char *name), void *arg, struct err *ret_why)
{
        struct chain c = {0};
        if (!der || count == 0) {
                err_set(ret_why, ERR_DENIED,
                        "there is no client certificate: only the API server's front proxy may ask here");
                return MHD_HTTP_UNAUTHORIZED;
        }
        unsigned status = MHD_HTTP_UNAUTHORIZED;
        if (chain_read(der, count, &c) < 0)
                err_set(ret_why, ERR_DENIED, "the client certificate cannot be read");
        else
                status = judge_chain(f, &c, ret_why);
        chain_release(&c);
        for (int i = 0; status == 0 && i < f->user_headers.count; i++) {
                const char *user = header(arg, f->user_headers.word[i]);
                if (user && *user)
                        return 0;
        }
        if (status)
                return status;
        err_set(ret_why, ERR_DENIED, "the front proxy names no user: header %s is missing", f->user_headers.word[0]);
        return MHD_HTTP_UNAUTHORIZED;
}
