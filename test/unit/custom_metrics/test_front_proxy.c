/*
 * Authentication of the front proxy: the settings in the ConfigMap, and certificates of all kinds checked against them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "../../support/pki.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "custom_metrics/front_proxy.h"

static struct pki *proxies, *others;

static int make(void **state)
{
        (void)state;
        proxies = pki_new("front proxy CA");
        others = pki_new("another CA");
        return 0;
}

static int drop(void **state)
{
        (void)state;
        pki_free(proxies);
        pki_free(others);
        return 0;
}

static json_t *configmap(const char *ca, const char *names, const char *headers)
{
        return json_pack("{s:{s:s*, s:s*, s:s*, s:s}}", "data", "requestheader-client-ca-file", ca,
                         "requestheader-allowed-names", names, "requestheader-username-headers", headers,
                         "client-ca-file", "of no interest");
}

static struct front_proxy *trusting(const char *ca, const char *names)
{
        struct front_proxy *f = NULL;
        struct err err = {0};
        AUTO(json_decref) json_t *map = configmap(ca, names, "[\"X-Remote-User\",\"X-User\"]");
        if (front_proxy_read(map, &f, &err) < 0)
                fail_msg("%s", err.text);
        return f;
}

static void test_reading(void **state)
{
        (void)state;
        const char *const ca = pki_ca(proxies);
        const struct {
                const char *what, *ca, *names, *headers, *says; /* NULL: it can be read */
        } row[] = {
                {"as kubeadm has it", ca, "[\"front-proxy-client\"]", "[\"X-Remote-User\"]", NULL},
                {"any name", ca, "[]", "[\"X-Remote-User\"]", NULL},
                {"no names told", ca, NULL, "[\"X-Remote-User\"]", NULL},
                {"no CA", NULL, "[]", "[\"X-Remote-User\"]", "requestheader-client-ca-file"},
                {"an empty CA", "", "[]", "[\"X-Remote-User\"]", "requestheader-client-ca-file"},
                {"no certificate in it", "what?", "[]", "[\"X-Remote-User\"]", "holds no certificate"},
                {"half a certificate", "-----BEGIN CERTIFICATE-----\nMII", "[]", "[\"X-Remote-User\"]",
                 "holds no certificate"},
                {"no headers", ca, "[]", NULL, "requestheader-username-headers"},
                {"an empty list of headers", ca, "[]", "[]", "requestheader-username-headers"},
                {"an empty header", ca, "[]", "[\"\"]", "requestheader-username-headers"},
                {"names that are no list", ca, "front-proxy-client", "[\"X-Remote-User\"]",
                 "requestheader-allowed-names"},
                {"a name that is no text", ca, "[1]", "[\"X-Remote-User\"]", "requestheader-allowed-names"},
                {"too many", ca, "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", "[\"X-Remote-User\"]", "at most 16"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct front_proxy *f = NULL;
                struct err err = {0};
                AUTO(json_decref) json_t *map = configmap(row[i].ca, row[i].names, row[i].headers);
                int rc = front_proxy_read(map, &f, &err);
                if ((rc == 0) != (row[i].says == NULL) || (rc < 0 && !strstr(err.text, row[i].says)))
                        fail_msg("%s: %d %s", row[i].what, rc, err.text);
                front_proxy_free(f);
        }
        AUTO(json_decref) json_t *nothing = json_object();
        struct front_proxy *f = NULL;
        assert_int_equal(front_proxy_read(nothing, &f, &(struct err){0}), ERR_INVALID);
        assert_null(f);
}

/* arg: the one header that there is, or NULL; its value is "system:kube-controller-manager". */
static const char *header(void *arg, const char *name)
{
        const char *has = arg;
        return has && strcmp(name, has) == 0 ? "system:kube-controller-manager" : NULL;
}

static gnutls_datum_t der_of(const char *pem)
{
        const gnutls_datum_t from = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};
        gnutls_x509_crt_t c;
        gnutls_datum_t der;
        gnutls_x509_crt_init(&c);
        assert_int_equal(gnutls_x509_crt_import(c, &from, GNUTLS_X509_FMT_PEM), 0);
        assert_int_equal(gnutls_x509_crt_export2(c, GNUTLS_X509_FMT_DER, &der), 0);
        gnutls_x509_crt_deinit(c);
        return der;
}

#define CLIENT GNUTLS_KP_TLS_WWW_CLIENT
#define USER   "X-Remote-User"

static void test_judging(void **state)
{
        (void)state;
        const struct {
                const char *what, *names;
                struct pki *by;
                struct pki_want is;
                const char *header;
                unsigned want;
                const char *says;
        } row[] = {
                {"the front proxy", "[\"proxy\"]", proxies, {"proxy", CLIENT, 0, 0}, USER, 0, ""},
                {"the second header", "[\"proxy\"]", proxies, {"proxy", CLIENT, 0, 0}, "X-User", 0, ""},
                {"any name", "[]", proxies, {"whoever", CLIENT, 0, 0}, USER, 0, ""},
                {"one of several names", "[\"a\",\"proxy\"]", proxies, {"proxy", CLIENT, 0, 0}, USER, 0, ""},
                {"for clients and servers", "[\"proxy\"]", proxies, {"proxy", NULL, 0, 0}, USER, 0, ""},
                {"another name",
                 "[\"proxy\"]",
                 proxies,
                 {"kubelet", CLIENT, 0, 0},
                 USER,
                 403,
                 "'kubelet' is not among"},
                {"the beginning of a name",
                 "[\"proxy\"]",
                 proxies,
                 {"pro", CLIENT, 0, 0},
                 USER,
                 403,
                 "'pro' is not among"},
                {"another CA", "[\"proxy\"]", others, {"proxy", CLIENT, 0, 0}, USER, 401, "not the front proxy's"},
                {"expired", "[\"proxy\"]", proxies, {"proxy", CLIENT, -7200, -60}, USER, 401, "expired"},
                {"of tomorrow", "[\"proxy\"]", proxies, {"proxy", CLIENT, 3600, 7200}, USER, 401, "not yet"},
                {"a server's",
                 "[\"proxy\"]",
                 proxies,
                 {"proxy", GNUTLS_KP_TLS_WWW_SERVER, 0, 0},
                 USER,
                 401,
                 "not the front proxy's"},
                {"nobody asks", "[\"proxy\"]", proxies, {"proxy", CLIENT, 0, 0}, NULL, 401, "X-Remote-User is missing"},
                {"another header",
                 "[\"proxy\"]",
                 proxies,
                 {"proxy", CLIENT, 0, 0},
                 "X-Remote-Group",
                 401,
                 "is missing"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct front_proxy *f = trusting(pki_ca(proxies), row[i].names);
                AUTO(pki_pair_release) struct pki_pair pair = pki_issue(row[i].by, &row[i].is);
                gnutls_datum_t der = der_of(pair.certificate);
                struct err why = {0};
                unsigned got = front_proxy_judge(f, &der, 1, header, (void *)(uintptr_t)row[i].header, &why);
                if (got != row[i].want || !strstr(why.text, row[i].says))
                        fail_msg("%s: %u %s", row[i].what, got, why.text);
                gnutls_free(der.data);
                front_proxy_free(f);
        }
}

static void test_no_certificate(void **state)
{
        (void)state;
        struct front_proxy *f = trusting(pki_ca(proxies), "[]");
        struct err why = {0};
        unsigned char nonsense[] = {0x30, 0x82, 1, 2, 3};
        const gnutls_datum_t broken = {nonsense, sizeof nonsense};
        assert_int_equal(front_proxy_judge(f, NULL, 0, header, NULL, &why), 401);
        assert_non_null(strstr(why.text, "no client certificate"));
        assert_int_equal(front_proxy_judge(f, &broken, 1, header, NULL, &why), 401);
        assert_non_null(strstr(why.text, "cannot be read"));
        front_proxy_free(f);
}

/* While the CA is exchanged its file holds both. */
static void test_two_roots(void **state)
{
        (void)state;
        AUTO(mem_free) char *both = mem_printf("%s%s", pki_ca(others), pki_ca(proxies));
        struct front_proxy *f = trusting(both, "[\"proxy\"]");
        struct pki *const by[] = {proxies, others};
        for (int i = 0; i < 2; i++) {
                AUTO(pki_pair_release)
                struct pki_pair pair = pki_issue(by[i], &(struct pki_want){"proxy", CLIENT, 0, 0});
                gnutls_datum_t der = der_of(pair.certificate);
                struct err why = {0};
                if (front_proxy_judge(f, &der, 1, header, (void *)(uintptr_t)USER, &why) != 0)
                        fail_msg("root %d: %s", i, why.text);
                gnutls_free(der.data);
        }
        front_proxy_free(f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reading),
                cmocka_unit_test(test_judging),
                cmocka_unit_test(test_no_certificate),
                cmocka_unit_test(test_two_roots),
        };
        return cmocka_run_group_tests(tests, make, drop);
}
