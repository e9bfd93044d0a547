/*
 * The certificate in its Secret and in the MutatingWebhookConfiguration: made once however many replicas begin at once,
 * changed in an order that loses nothing, put right where others changed it, and left to others where they keep it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gnutls/gnutls.h>
#include <jansson.h>

#include "../support/api.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "serving/certificate_authority.h"
#include "serving/webhook_certificate.h"

#define DAY_MS (24 * (int64_t)HOUR_MS)
#define SECRET "/api/v1/namespaces/halflife/secrets/halflife-certificate"
#define HOOKS  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/halflife"

enum { REPLICAS = 3 };

struct replica {
        struct webhook *webhook;
        char *cert, *roots;
        int shown;
        bool refuses;
};

static struct {
        struct api api;
        struct replica replica[REPLICAS];
        int replicas;
} stage;

/* What is shown must be trusted by what stands in the configuration at that very moment. */
static char *bundle(void)
{
        AUTO(mem_free) char *text = fake_get(stage.api.fake, HOOKS);
        AUTO(json_decref) json_t *hooks = text ? json_loads(text, 0, NULL) : NULL;
        json_t *hook = json_array_get(json_object_get(hooks, "webhooks"), 0);
        const char *b64 = json_string_value(json_object_get(json_object_get(hook, "clientConfig"), "caBundle"));
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)b64, b64 ? (unsigned)strlen(b64) : 0}, out;
        if (!b64 || gnutls_base64_decode2(&in, &out) < 0)
                return mem_string("");
        char *s = mem_string_n((char *)out.data, out.size);
        gnutls_free(out.data);
        return s;
}

static bool has_hooks(void)
{
        return fake_objects(stage.api.fake, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations") > 0;
}

static int show(void *arg, const char *cert, const char *key, struct err *err)
{
        struct replica *r = arg;
        assert_non_null(strstr(key, "PRIVATE KEY"));
        if (r->refuses)
                return err_set(err, ERR_INVALID, "it does not please");
        assert_true(!r->roots || certificate_authority_verifies(r->roots, cert));
        mem_free(r->cert);
        r->cert = mem_string(cert);
        r->shown++;
        return 0;
}

static void trust(void *arg, const char *roots)
{
        struct replica *r = arg;
        if (has_hooks()) {
                AUTO(mem_free) char *trusted = bundle();
                assert_non_null(strstr(trusted, roots));
        }
        mem_free(r->roots);
        r->roots = mem_string(roots);
}

static int roots_in(const char *pem)
{
        int count = 0;
        for (const char *at = pem; (at = strstr(at, "BEGIN CERTIFICATE")) != NULL; at++)
                count++;
        return count;
}

static void put_hooks(void)
{
        fake_put(stage.api.fake, "kubectl",
                 "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":\"MutatingWebhookConfiguration\","
                 "\"metadata\":{\"name\":\"halflife\"},\"webhooks\":[{\"name\":\"pods.halflife.dev\",\"clientConfig\":{"
                 "\"service\":{\"name\":\"halflife-serve\",\"namespace\":\"halflife\",\"path\":\"/admission\"}}},"
                 "{\"name\":\"other.example.com\",\"clientConfig\":{\"service\":{\"name\":\"other\",\"namespace\":"
                 "\"halflife\"},\"caBundle\":\"b3RoZXI=\"}},{\"name\":\"workloads.halflife.dev\",\"clientConfig\":{"
                 "\"service\":{\"name\":\"halflife-serve\",\"namespace\":\"halflife\"}}}]}");
}

static void begin(int replicas, bool given)
{
        const struct webhook_options o = {.given = given,
                                          .ns = "halflife",
                                          .secret = "halflife-certificate",
                                          .configuration = "halflife",
                                          .services = "halflife,halflife-serve",
                                          .show = show,
                                          .trust = trust};
        stage.replicas = replicas;
        for (int i = 0; i < replicas; i++) {
                struct webhook_options mine = o;
                struct err err = {0};
                mine.arg = &stage.replica[i];
                assert_int_equal(webhook_new(stage.api.client, &mine, &stage.replica[i].webhook, &err), 0);
        }
}

static int set_up(void **state)
{
        (void)state;
        api_begin(&stage.api, &(struct fake_options){0});
        fake_put(stage.api.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife\"}}");
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        for (int i = 0; i < stage.replicas; i++) {
                webhook_free(stage.replica[i].webhook);
                mem_free(stage.replica[i].cert);
                mem_free(stage.replica[i].roots);
        }
        api_end(&stage.api);
        memset(&stage, 0, sizeof stage);
        return 0;
}

static bool all_rest(void *arg)
{
        bool rest = true;
        (void)arg;
        for (int i = 0; i < stage.replicas; i++)
                rest &= !webhook_looks(stage.replica[i].webhook) && stage.replica[i].shown > 0;
        return rest;
}

static bool all_agree(void *arg)
{
        for (int i = 1; i < stage.replicas; i++)
                if (!stage.replica[i].cert || !stage.replica[0].cert ||
                    strcmp(stage.replica[i].cert, stage.replica[0].cert) != 0)
                        return false;
        return all_rest(arg);
}

/* Everybody looks at this time, until nothing is under way. */
static void look_at(int64_t at_ms)
{
        for (int i = 0; i < stage.replicas; i++)
                webhook_look(stage.replica[i].webhook, (struct wall){at_ms});
        assert_true(api_until(&stage.api, all_rest, NULL));
}

static void test_replicas_that_race_share_one(void **state)
{
        (void)state;
        put_hooks();
        begin(REPLICAS, false);
        assert_true(api_until(&stage.api, all_agree, NULL));
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
        AUTO(mem_free) char *hooks = fake_get(stage.api.fake, HOOKS);
        assert_non_null(strstr(hooks, "b3RoZXI=")); /* another's hook is left alone */
        assert_null(strstr(hooks, "PRIVATE"));
        for (int i = 0; i < REPLICAS; i++) {
                assert_int_equal(stage.replica[i].shown, 1);
                assert_true(webhook_expires_s(stage.replica[i].webhook) > 0);
        }
}

static void test_renewal_and_a_new_authority(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        assert_true(api_until(&stage.api, all_agree, NULL));
        AUTO(mem_free) char *first_root = mem_string(stage.replica[0].roots);
        AUTO(mem_free) char *first_cert = mem_string(stage.replica[0].cert);
        look_at(now + 61 * DAY_MS);
        look_at(now + 61 * DAY_MS);
        assert_true(all_agree(NULL));
        assert_string_not_equal(first_cert, stage.replica[0].cert);
        assert_string_equal(first_root, stage.replica[0].roots);
        int64_t old = now + 2440 * DAY_MS;
        for (int hour = 0; hour < 5; hour++)
                for (int twice = 0; twice < 2; twice++)
                        look_at(old + hour * HOUR_MS + twice * MINUTE_MS);
        assert_true(all_agree(NULL));
        AUTO(mem_free) char *trusted = bundle();
        assert_null(strstr(trusted, first_root));
        assert_int_equal(roots_in(trusted), 1);
}

/* The Secret is lost: whatever is shown, by whom, is trusted at any time, and within two minutes it is all new. */
static void test_a_lost_secret(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        assert_true(api_until(&stage.api, all_agree, NULL));
        AUTO(mem_free) char *first_root = mem_string(stage.replica[0].roots);
        AUTO(mem_free) char *first = mem_string(stage.replica[0].cert);
        fake_delete(stage.api.fake, SECRET);
        for (int64_t at = 0; at <= 3 * MINUTE_MS; at += 15 * SECOND_MS) {
                look_at(now + at);
                AUTO(mem_free) char *trusted = bundle();
                for (int i = 0; i < REPLICAS; i++)
                        if (!certificate_authority_verifies(trusted, stage.replica[i].cert))
                                fail_msg("replica %d is not trusted after %lld ms", i, (long long)at);
                assert_int_equal(roots_in(trusted), 2);
                if (at == 0)
                        assert_string_equal(first, stage.replica[0].cert);
        }
        assert_true(all_agree(NULL));
        assert_string_not_equal(first, stage.replica[0].cert);
        look_at(now + 2 * HOUR_MS);
        look_at(now + 2 * HOUR_MS);
        AUTO(mem_free) char *trusted = bundle();
        assert_int_equal(roots_in(trusted), 1);
        assert_null(strstr(trusted, first_root));
        assert_true(certificate_authority_verifies(trusted, stage.replica[0].cert));
}

static void test_a_lost_secret_while_the_clock_is_put_back(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        assert_true(api_until(&stage.api, all_agree, NULL));
        AUTO(mem_free) char *first = mem_string(stage.replica[0].cert);
        fake_delete(stage.api.fake, SECRET);
        look_at(now + MINUTE_MS);
        for (int64_t at = 0; at <= MINUTE_MS; at += 15 * SECOND_MS) {
                look_at(now + at);
                for (int i = 0; i < REPLICAS; i++)
                        assert_string_equal(first, stage.replica[i].cert);
        }
        look_at(now + 2 * MINUTE_MS);
        look_at(now + 2 * MINUTE_MS);
        assert_true(all_agree(NULL));
        assert_string_not_equal(first, stage.replica[0].cert);
}

static void test_put_right(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        begin(2, false); /* before there is a configuration */
        assert_true(api_until(&stage.api, all_agree, NULL));
        put_hooks();
        look_at(now);
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
        put_hooks(); /* applied again, without a bundle */
        fake_delete(stage.api.fake, SECRET);
        look_at(now);
        look_at(now);
        assert_true(all_agree(NULL));
        AUTO(mem_free) char *again = bundle();
        assert_string_equal(again, stage.replica[0].roots);
        assert_string_not_equal(again, trusted);
        fake_patch(stage.api.fake, SECRET, "kubectl",
                   "[{\"op\":\"replace\",\"path\":\"/data/ca.key\",\"value\":\"eA==\"}]");
        look_at(now);
        look_at(now);
        assert_true(all_agree(NULL));
        AUTO(mem_free) char *third = bundle();
        assert_string_equal(third, stage.replica[0].roots);
        assert_string_not_equal(third, again);
}

/* A write that lost a race, and an API server that is away, cost time and nothing else. */
static void test_faults(void **state)
{
        (void)state;
        static const struct {
                const char *verb, *path;
                int status;
        } row[] = {
                {"create", "/api/v1/namespaces/halflife/secrets", 409},
                {"get", SECRET, 503},
                {"get", HOOKS, 500},
                {"patch", HOOKS, 409},
                {"patch", HOOKS, 422},
        };
        put_hooks();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                fake_fault(stage.api.fake,
                           &(struct fake_fault){
                                   .verb = row[i].verb, .path = row[i].path, .status = row[i].status, .times = 1});
        begin(1, false);
        assert_true(api_until(&stage.api, all_agree, NULL));
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
}

static void test_without_the_right_to_hooks(void **state)
{
        (void)state;
        put_hooks();
        fake_deny(stage.api.fake,
                  &(struct fake_rule){NULL, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", NULL});
        stage.replica[0].refuses = false;
        begin(1, true); /* somebody else's Secret, which is not there yet */
        api_turn(&stage.api, 300);
        assert_int_equal(stage.replica[0].shown, 0);
        assert_int_equal(fake_objects(stage.api.fake, "/api/v1/namespaces/halflife/secrets"), 0);
}

static void put_secret(const struct certificate_authority *a)
{
        const char *const part[] = {a->roots, a->cert, a->cert_key};
        AUTO(json_decref) json_t *data = json_object();
        static const char *const key[] = {"ca.crt", "tls.crt", "tls.key"};
        for (int i = 0; i < 3; i++) {
                gnutls_datum_t in = {(unsigned char *)(uintptr_t)part[i], (unsigned)strlen(part[i])}, out;
                assert_int_equal(gnutls_base64_encode2(&in, &out), 0);
                json_object_set_new(data, key[i], json_stringn((char *)out.data, out.size));
                gnutls_free(out.data);
        }
        AUTO(json_decref)
        json_t *secret = json_pack("{s:s, s:s, s:{s:s, s:s}, s:O}", "apiVersion", "v1", "kind", "Secret", "metadata",
                                   "name", "halflife-certificate", "namespace", "halflife", "data", data);
        char *text = json_dumps(secret, 0);
        fake_put(stage.api.fake, "cert-manager", text);
        free(text);
}

static void test_a_given_secret(void **state)
{
        (void)state;
        static const char *const names[] = {"halflife-serve.halflife.svc"};
        struct certificate_authority a[2] = {0};
        struct err err = {0};
        enum certificate_authority_due due;
        int64_t now = now_read().wall.ms;
        for (int i = 0; i < 2; i++)
                assert_int_equal(certificate_authority_step(&a[i], names, 1, (struct wall){now}, &due, &err), 0);
        put_hooks();
        put_secret(&a[0]);
        begin(2, true);
        assert_true(api_until(&stage.api, all_agree, NULL));
        assert_string_equal(stage.replica[0].cert, a[0].cert);
        put_secret(&a[1]);
        look_at(now);
        assert_string_equal(stage.replica[1].cert, a[0].cert);
        look_at(now + WEBHOOK_SPREAD_MS + SECOND_MS); /* now everybody has learnt to trust it */
        assert_string_equal(stage.replica[1].cert, a[1].cert);
        AUTO(mem_free) char *trusted = bundle();
        assert_non_null(strstr(trusted, a[0].roots)); /* who still shows the old one is trusted */
        assert_non_null(strstr(trusted, a[1].roots));
        assert_int_equal(fake_count(stage.api.fake, "update", SECRET), 0);
        for (int i = 0; i < 2; i++)
                certificate_authority_release(&a[i]);
}

/* Without a root, as cert-manager writes it where it knows none: there is nothing to write. With one that does not end
 * its line: it is still two certificates. */
static void test_roots_of_others(void **state)
{
        (void)state;
        static const char *const names[] = {"halflife-serve.halflife.svc"};
        struct certificate_authority a[3] = {0};
        struct err err = {0};
        enum certificate_authority_due due;
        int64_t now = now_read().wall.ms;
        for (int i = 0; i < 3; i++)
                assert_int_equal(certificate_authority_step(&a[i], names, 1, (struct wall){now}, &due, &err), 0);
        put_hooks();
        mem_free(a[0].roots);
        a[0].roots = mem_string("");
        a[2].roots[strlen(a[2].roots) - 1] = '\0';
        for (int i = 0; i < 3; i++) {
                put_secret(&a[i]);
                if (i == 0) {
                        begin(1, true);
                        assert_true(api_until(&stage.api, all_rest, NULL));
                        assert_int_equal(fake_count(stage.api.fake, "patch", HOOKS), 0);
                } else {
                        look_at(now + i * WEBHOOK_SPREAD_MS);
                }
        }
        AUTO(mem_free) char *trusted = bundle();
        assert_true(certificate_authority_verifies(trusted, a[1].cert));
        assert_true(certificate_authority_verifies(trusted, a[2].cert));
        for (int i = 0; i < 3; i++)
                certificate_authority_release(&a[i]);
}

/* Somebody who takes away what we write, each time, is not raced. */
static void test_what_never_comes_back(void **state)
{
        (void)state;
        static const char stripped[] =
                "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"halflife-certificate\","
                "\"namespace\":\"halflife\"},\"type\":\"kubernetes.io/tls\",\"data\":{}}";
        fake_put(stage.api.fake, "kubectl", stripped);
        fake_fault(stage.api.fake,
                   &(struct fake_fault){
                           .verb = "get", .path = SECRET, .times = FAKE_ALWAYS, .status = 200, .body = stripped});
        begin(1, false);
        api_turn(&stage.api, 700);
        assert_in_range(fake_count(stage.api.fake, "update", SECRET), 1, 2);
}

static void test_names(void **state)
{
        (void)state;
        static const char *const bad[] = {"Halflife", "a b", "-a", "a,,b", "a.b", "1,2,3,4,5,6,7,8,9", ","};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                struct webhook *w = NULL;
                struct err err = {0};
                const struct webhook_options o = {.ns = "x", .secret = "s", .configuration = "c", .services = bad[i]};
                if (webhook_new(stage.api.client, &o, &w, &err) != ERR_INVALID || !strstr(err.text, bad[i]))
                        fail_msg("'%s': %s", bad[i], err.text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_replicas_that_race_share_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_renewal_and_a_new_authority, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_lost_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_lost_secret_while_the_clock_is_put_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_put_right, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_without_the_right_to_hooks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_given_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_roots_of_others, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_never_comes_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
