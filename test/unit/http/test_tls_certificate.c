/*
 * Certificates that change while the listener is open: files swapped as mounted Secrets are, halves written one after
 * the other, pairs that do not fit, and pairs handed over in memory; and none of it costs a request.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "../../fake/apiserver.h"
#include "../../support/fetch.h"
#include "../../support/slowed.h"
#include "../../support/stand.h"
#include "../../support/tmp.h"
#include "../../support/wire.h"
#include "base/mem.h"
#include "http/tls_certificate.h"
#include "net/tls_files.h"

/* Two authorities, and a pair of each: a test server makes them as it starts. */
static struct fake *fakes[2];

static int make_pairs(void **state)
{
        (void)state;
        for (int i = 0; i < 2; i++)
                fakes[i] = fake_new(&(struct fake_options){.tls = true});
        return fakes[0] && fakes[1] ? 0 : -1;
}

static int free_pairs(void **state)
{
        (void)state;
        for (int i = 0; i < 2; i++)
                fake_free(fakes[i]);
        return 0;
}

static const char *cert(int i)
{
        return fake_client_certificate(fakes[i]);
}

static const char *key(int i)
{
        return fake_client_key(fakes[i]);
}

/* A mounted Secret: tls.crt and tls.key are links into ..data, itself a link that is swapped. */
static void mount_pair(int version, const char *cert_pem, const char *key_pem)
{
        AUTO(mem_free) char *folder = mem_printf("mkdir -p %s/v%d", tmp_dir(), version);
        assert_int_equal(system(folder), 0);
        AUTO(mem_free) char *crt_name = mem_printf("v%d/tls.crt", version);
        AUTO(mem_free) char *key_name = mem_printf("v%d/tls.key", version);
        mem_free(tmp_file(crt_name, cert_pem));
        mem_free(tmp_file(key_name, key_pem));
        AUTO(mem_free)
        char *swap =
                mem_printf("cd %s && ln -sfn v%d ..next && mv -T ..next ..data && ln -sf ..data/tls.crt tls.crt && "
                           "ln -sf ..data/tls.key tls.key",
                           tmp_dir(), version);
        assert_int_equal(system(swap), 0);
}

static void test_looking_at_files(void **state)
{
        (void)state;
        static const char broken[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        struct certificate *c = NULL;
        struct err err = {0};
        AUTO(mem_free) char *crt_path = tmp_path("tls.crt");
        AUTO(mem_free) char *key_path = tmp_path("tls.key");
        assert_int_equal(certificate_new(crt_path, key_path, &c, &err), ERR_NOTFOUND);
        mount_pair(0, cert(0), key(1));
        assert_int_equal(certificate_new(crt_path, key_path, &c, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "tls.crt"));
        mount_pair(1, cert(0), key(0));
        assert_int_equal(certificate_new(crt_path, key_path, &c, &err), 0);
        const struct {
                const char *what, *cert, *key;
                enum certificate_look want[3]; /* at three looks */
        } row[] = {
                {"the same again", cert(0), key(0), {CERTIFICATE_RENEWED, CERTIFICATE_SAME, CERTIFICATE_SAME}},
                {"another pair", cert(1), key(1), {CERTIFICATE_RENEWED, CERTIFICATE_SAME, CERTIFICATE_SAME}},
                {"half of it", cert(0), key(1), {CERTIFICATE_SAME, CERTIFICATE_REFUSED, CERTIFICATE_SAME}},
                {"no certificate", broken, key(1), {CERTIFICATE_SAME, CERTIFICATE_REFUSED, CERTIFICATE_SAME}},
                {"empty", "", "", {CERTIFICATE_SAME, CERTIFICATE_REFUSED, CERTIFICATE_SAME}},
                {"well again", cert(0), key(0), {CERTIFICATE_RENEWED, CERTIFICATE_SAME, CERTIFICATE_SAME}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                mount_pair((int)i + 2, row[i].cert, row[i].key);
                for (int look = 0; look < 3; look++) {
                        enum certificate_look is = certificate_look(c, mono_read(), &err);
                        if (is != row[i].want[look])
                                fail_msg("%s, look %d: %d (%s)", row[i].what, look, is, err.text);
                }
        }
        unlink(crt_path);
        unlink(key_path);
        assert_int_equal(certificate_look(c, mono_read(), &err), CERTIFICATE_SAME);
        assert_int_equal(certificate_look(c, mono_read(), &err), CERTIFICATE_REFUSED);
        assert_int_equal(certificate_look(c, mono_read(), &err), CERTIFICATE_SAME);
        certificate_free(c);
}

/* What a handshake under way was given stays for a while, then it goes. */
static void test_old_pairs_go(void **state)
{
        (void)state;
        struct certificate *c = NULL;
        struct err err = {0};
        gnutls_pcert_st *chain;
        unsigned count;
        gnutls_privkey_t private;
        assert_int_equal(certificate_new(NULL, NULL, &c, &err), 0);
        certificate_mine(c);
        assert_true(certificate_retrieve(NULL, NULL, 0, NULL, 0, &chain, &count, &private) < 0);
        assert_int_equal(certificate_set(c, cert(0), key(0), &err), 0);
        assert_int_equal(certificate_retrieve(NULL, NULL, 0, NULL, 0, &chain, &count, &private), 0);
        for (int i = 0; i < 20; i++)
                assert_int_equal(certificate_set(c, cert(i % 2), key(i % 2), &err), 0);
        assert_int_equal(certificate_set(c, cert(0), key(1), &err), ERR_INVALID);
        struct mono later = {mono_read().ns + (int64_t)2 * MINUTE_MS * 1000000};
        assert_int_equal(certificate_look(c, mono_read(), &err), CERTIFICATE_SAME);
        assert_int_equal(gnutls_privkey_get_pk_algorithm(private, NULL), GNUTLS_PK_ECDSA); /* still there */
        assert_int_equal(certificate_look(c, later, &err), CERTIFICATE_SAME);
        certificate_mine(NULL);
        certificate_free(c);
}

/* --- under load --- */

struct load {
        const char *url;
        bool fresh; /* a connection for each request */
        atomic_bool stop;
        int done, failed;
        char why[CURL_ERROR_SIZE];
};

static size_t swallow(char *data, size_t size, size_t count, void *arg)
{
        (void)data, (void)arg;
        return size * count;
}

static void *press(void *arg)
{
        struct load *l = arg;
        CURL *c = curl_easy_init();
        struct curl_slist *headers = curl_slist_append(NULL, "Authorization: Bearer good");
        curl_easy_setopt(c, CURLOPT_URL, l->url);
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L); /* whose it is, is seen beside (shown_by) */
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, swallow);
        curl_easy_setopt(c, CURLOPT_ERRORBUFFER, l->why);
        curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, (long)l->fresh);
        curl_easy_setopt(c, CURLOPT_SSL_SESSIONID_CACHE, 0L);
        while (!atomic_load(&l->stop)) {
                long status = 0;
                CURLcode rc = curl_easy_perform(c);
                curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
                l->done++;
                l->failed += rc != CURLE_OK || status != 200;
                (void)poll(NULL, 0, 1); /* by the clock of test/pace time passes only while all wait */
        }
        curl_slist_free_all(headers);
        curl_easy_cleanup(c);
        return NULL;
}

static bool shown_by(const struct stand *s, int authority)
{
        AUTO(mem_free) char *url = mem_printf("https://%s/openapi.yaml", s->address);
        AUTO(got_release) struct got g = fetch(&(struct fetch){.url = url, .ca = fake_ca(fakes[authority])});
        return g.status == 200;
}

static int wanted_renewals;
static bool renewed(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        bool yes = s->renewals >= wanted_renewals;
        pthread_mutex_unlock(&s->lock);
        return yes;
}

static bool in_trouble(struct stand *s)
{
        pthread_mutex_lock(&s->lock);
        bool yes = s->troubles > 0;
        pthread_mutex_unlock(&s->lock);
        return yes;
}

static void test_rotation_under_load(void **state)
{
        (void)state;
        struct stand s;
        struct load load[2];
        pthread_t thread[2];
        mount_pair(100, cert(0), key(0));
        AUTO(mem_free) char *crt_path = tmp_path("tls.crt");
        AUTO(mem_free) char *key_path = tmp_path("tls.key");
        stand_begin(&s, &(struct rest_listener_options){.tls = true, .cert_file = crt_path, .key_file = key_path});
        AUTO(mem_free) char *url = mem_printf("https://%s%s", s.address, STAND_WEB);
        for (int i = 0; i < 2; i++) {
                load[i] = (struct load){.url = url, .fresh = i == 0};
                assert_int_equal(pthread_create(&thread[i], NULL, press, &load[i]), 0);
        }
        assert_true(shown_by(&s, 0));
        for (int i = 1; i <= 3; i++) {
                mount_pair(100 + i, cert(i % 2), key(i % 2));
                wanted_renewals = i;
                assert_true(stand_until(&s, renewed, 120000));
                assert_true(shown_by(&s, i % 2));
                assert_false(shown_by(&s, (i + 1) % 2));
        }
        mount_pair(200, cert(0), key(1));
        assert_true(stand_until(&s, in_trouble, 120000));
        assert_true(shown_by(&s, 1)); /* the old one */
        struct err err = {0};
        for (int i = 0; i < 100; i++)
                assert_int_equal(server_set_certificate(s.server, cert(i % 2), key(i % 2), &err), 0);
        assert_true(shown_by(&s, 1));
        for (int i = 0; i < 2; i++) {
                atomic_store(&load[i].stop, true);
                pthread_join(thread[i], NULL);
                if (load[i].failed || load[i].done < 10)
                        fail_msg("%d of %d requests failed: %s", load[i].failed, load[i].done, load[i].why);
        }
        assert_int_equal(s.troubles, 1);
        stand_end(&s);
}

/* --- what is spoken --- */

static void test_versions(void **state)
{
        (void)state;
        static const struct {
                long version;
                bool spoken;
        } row[] = {
                {CURL_SSLVERSION_TLSv1_3 | CURL_SSLVERSION_MAX_TLSv1_3, true},
                {CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2, true},
                {CURL_SSLVERSION_TLSv1_1 | CURL_SSLVERSION_MAX_TLSv1_1, false},
                {CURL_SSLVERSION_TLSv1_0 | CURL_SSLVERSION_MAX_TLSv1_0, false},
        };
        struct stand s;
        struct err err = {0};
        stand_begin(&s, &(struct rest_listener_options){.tls = true});
        assert_false(shown_by(&s, 0)); /* none was brought yet */
        assert_int_equal(server_set_certificate(s.server, cert(0), key(0), &err), 0);
        AUTO(mem_free) char *url = mem_printf("https://%s/openapi.yaml", s.address);
        struct tls_files files = {0};
        assert_int_equal(tls_files_make(&files, &(struct http_peer){.ca_pem = fake_ca(fakes[0])}, &err), 0);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                CURL *c = curl_easy_init();
                curl_easy_setopt(c, CURLOPT_URL, url);
                curl_easy_setopt(c, CURLOPT_CAINFO, files.ca.path);
                curl_easy_setopt(c, CURLOPT_SSLVERSION, row[i].version);
                if (strncmp(curl_version_info(CURLVERSION_NOW)->ssl_version, "OpenSSL", 7) == 0)
                        curl_easy_setopt(c, CURLOPT_SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=0");
                curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, swallow);
                CURLcode rc = curl_easy_perform(c);
                if ((rc == CURLE_OK) != row[i].spoken)
                        fail_msg("row %zu: %s", i, curl_easy_strerror(rc));
                curl_easy_cleanup(c);
        }
        tls_files_release(&files);
        stand_end(&s);
}

static bool nobody_is_left(struct stand *s)
{
        return server_counts(s->server).connections == 0;
}

/* A client without TLS, or with half a handshake, is disconnected in time, and its place is free. (A whole request
 * would have no more time here than they have, which is too little where a sanitizer slows it.) */
static void test_half_a_handshake(void **state)
{
        (void)state;
        static const char *const starts[] = {"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02", "\x16"};
        enum { N = sizeof starts / sizeof starts[0] };
        struct stand s;
        struct err err = {0};
        bool ended;
        int fd[N];
        stand_begin(&s, &(struct rest_listener_options){.tls = true, .request_ms = 2000, .idle_ms = 3000});
        assert_int_equal(server_set_certificate(s.server, cert(0), key(0), &err), 0);
        for (int i = 0; i < N; i++) {
                fd[i] = wire_open(s.address);
                wire_say(fd[i], starts[i]);
        }
        for (int i = 0; i < N; i++) {
                mem_free(wire_hear(fd[i], NULL, WIRE_PATIENCE_MS, &ended));
                assert_true(ended);
                close(fd[i]);
        }
        assert_true(stand_until(&s, nobody_is_left, WIRE_PATIENCE_MS));
        stand_end(&s);
}

/* A request that is not complete in time gets 408 over TLS too. */
static void test_late_over_tls(void **state)
{
        (void)state;
        static const char half[] = "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n"
                                   "POST /api/v1/namespaces/shop/render HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                                   "good\r\nContent-Type: application/yaml\r\nContent-Length: 100\r\n\r\nkind:";
        struct stand s;
        struct err err = {0};
        gnutls_session_t session;
        gnutls_certificate_credentials_t credentials;
        static char heard[256 << 10];
        size_t len = 0;
        stand_begin(&s, &(struct rest_listener_options){
                                .tls = true, /* the handshake and the first request have to be done in it */
                                .request_ms = UNLESS_SLOWED(3000, 20000)});
        assert_int_equal(server_set_certificate(s.server, cert(0), key(0), &err), 0);
        int fd = wire_open(s.address);
        assert_int_equal(gnutls_certificate_allocate_credentials(&credentials), 0);
        assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT), 0);
        assert_int_equal(gnutls_set_default_priority(session), 0);
        assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials), 0);
        gnutls_transport_set_int(session, fd);
        assert_int_equal(gnutls_handshake(session), 0);
        assert_int_equal(gnutls_record_send(session, half, sizeof half - 1), sizeof half - 1);
        for (ssize_t n = 1; n > 0 && len + 1 < sizeof heard; len += n > 0 ? (size_t)n : 0)
                n = gnutls_record_recv(session, heard + len, sizeof heard - 1 - len);
        heard[len] = '\0';
        assert_non_null(strstr(heard, "HTTP/1.1 200"));
        assert_non_null(strstr(heard, "HTTP/1.1 408"));
        assert_non_null(strstr(heard, "problems/timeout"));
        gnutls_deinit(session);
        gnutls_certificate_free_credentials(credentials);
        close(fd);
        stand_end(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_looking_at_files),    cmocka_unit_test(test_old_pairs_go),
                cmocka_unit_test(test_rotation_under_load), cmocka_unit_test(test_versions),
                cmocka_unit_test(test_half_a_handshake),    cmocka_unit_test(test_late_over_tls),
        };
        return cmocka_run_group_tests(tests, make_pairs, free_pairs);
}
