/*
 * The certificate in its Secret, in the MutatingWebhookConfiguration and in APIServices: halflife rotate makes it and
 * changes it in an order that loses nothing, restores what others changed, and leaves it to others where they keep it.
 * Replicas only read the Secret.
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
#include "../support/halflife.h"
#include "../support/tmp.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "serving/certificate_authority.h"
#include "serving/certificate_reader.h"
#include "serving/certificate_rotator.h"

#define DAY_MS (24 * (int64_t)HOUR_MS)
#define SECRET "/api/v1/namespaces/halflife/secrets/halflife-certificate"
#define HOOKS  "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/halflife"

#define V1           "v1beta1.custom.metrics.k8s.io"
#define V2           "v1beta2.custom.metrics.k8s.io"
#define API_SERVICES "/apis/apiregistration.k8s.io/v1/apiservices/"

enum { REPLICAS = 3, ROTATORS = 2 };

struct replica {
        struct certificate_reader *reader;
        char *cert, *roots;
        struct admission_paths paths;
        int shown;
        bool refuses;
};

static struct {
        struct api api;
        struct rotator *rotator[ROTATORS];
        struct replica replica[REPLICAS];
        int rotators, replicas;
} stage;

/* The decoded caBundle under this member of an object; "": none. The caller's. */
static char *bundle_of(const json_t *holder)
{
        const char *b64 = json_string_value(json_object_get(holder, "caBundle"));
        gnutls_datum_t in = {(unsigned char *)(uintptr_t)b64, b64 ? (unsigned)strlen(b64) : 0}, out;
        if (!b64 || gnutls_base64_decode2(&in, &out) < 0)
                return mem_string("");
        char *s = mem_string_n((char *)out.data, out.size);
        gnutls_free(out.data);
        return s;
}

static json_t *read_object(const char *path)
{
        AUTO(mem_free) char *text = fake_get(stage.api.fake, path);
        return text ? json_loads(text, 0, NULL) : NULL;
}

/* What is shown must be trusted by what stands in the configuration at that very moment. */
static char *bundle(void)
{
        AUTO(json_decref) json_t *hooks = read_object(HOOKS);
        json_t *hook = json_array_get(json_object_get(hooks, "webhooks"), 0);
        return bundle_of(json_object_get(hook, "clientConfig"));
}

static char *api_service_bundle(const char *name)
{
        AUTO(mem_free) char *path = mem_printf(API_SERVICES "%s", name);
        AUTO(json_decref) json_t *object = read_object(path);
        return bundle_of(json_object_get(object, "spec"));
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

static void admit_at(void *arg, const struct admission_paths *paths)
{
        struct replica *r = arg;
        r->paths = *paths;
}

/* The path of the first webhook as the API server calls it. The caller's. */
static char *path_called(void)
{
        AUTO(json_decref) json_t *hooks = read_object(HOOKS);
        const json_t *config = json_object_get(json_array_get(json_object_get(hooks, "webhooks"), 0), "clientConfig");
        const char *path = json_string_value(json_object_get(json_object_get(config, "service"), "path"));
        return mem_string(path ? path : "/");
}

/* What the API server calls is what every replica serves, at that very moment. */
static void check_paths(void)
{
        AUTO(mem_free) char *path = path_called();
        for (int i = 0; i < stage.replicas; i++)
                if (!admission_paths_has(&stage.replica[i].paths, text_of(path)))
                        fail_msg("replica %d does not serve %s", i, path);
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

/* As halflife writes it; a key of NULL leaves ca.key out, as cert-manager does. */
static void put_secret(const struct certificate_authority *a, const char *ca_key)
{
        const char *const part[] = {a->roots, a->cert, a->cert_key, ca_key};
        AUTO(json_decref) json_t *data = json_object();
        static const char *const key[] = {"ca.crt", "tls.crt", "tls.key", "ca.key"};
        for (int i = 0; i < 3 + (ca_key != NULL); i++) {
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

/* As the manifests ship it: without type and data. */
static void put_empty_secret(void)
{
        fake_put(stage.api.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"halflife-certificate\","
                 "\"namespace\":\"halflife\"}}");
}

static void begin_rotator(bool given)
{
        static const char *const api_services[] = {V1, V2, NULL};
        const struct rotator_options o = {.given = given,
                                          .ns = "halflife",
                                          .secret = "halflife-certificate",
                                          .configuration = "halflife",
                                          .api_services = api_services,
                                          .services = "halflife,halflife-serve"};
        struct err err = {0};
        assert_int_equal(rotator_new(stage.api.client, &o, &stage.rotator[stage.rotators++], &err), 0);
}

static void begin_replicas(int replicas, bool given)
{
        stage.replicas = replicas;
        for (int i = 0; i < replicas; i++) {
                const struct certificate_reader_options o = {.ns = "halflife",
                                                             .secret = "halflife-certificate",
                                                             .given = given,
                                                             .show = show,
                                                             .trust = trust,
                                                             .admit_at = admit_at,
                                                             .arg = &stage.replica[i]};
                stage.replica[i].reader = certificate_reader_new(stage.api.client, &o);
        }
}

static int set_up(void **state)
{
        (void)state;
        api_begin(&stage.api, &(struct fake_options){0});
        fake_put(stage.api.fake, "kubectl",
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"halflife\"}}");
        put_empty_secret();
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        for (int i = 0; i < stage.rotators; i++)
                rotator_free(stage.rotator[i]);
        for (int i = 0; i < stage.replicas; i++) {
                certificate_reader_free(stage.replica[i].reader);
                mem_free(stage.replica[i].cert);
                mem_free(stage.replica[i].roots);
        }
        api_end(&stage.api);
        memset(&stage, 0, sizeof stage);
        return 0;
}

static bool rotators_rest(void *arg)
{
        bool rest = true;
        (void)arg;
        for (int i = 0; i < stage.rotators; i++)
                rest &= !rotator_looks(stage.rotator[i]) && rotator_settled(stage.rotator[i]);
        return rest;
}

static bool replicas_rest(void *arg)
{
        bool rest = true;
        (void)arg;
        for (int i = 0; i < stage.replicas; i++)
                rest &= !certificate_reader_looks(stage.replica[i].reader) && stage.replica[i].shown > 0;
        return rest;
}

static bool all_agree(void *arg)
{
        for (int i = 1; i < stage.replicas; i++)
                if (!stage.replica[i].cert || !stage.replica[0].cert ||
                    strcmp(stage.replica[i].cert, stage.replica[0].cert) != 0)
                        return false;
        return replicas_rest(arg);
}

/* Begin halflife rotate, and the replicas once it has done its work. */
static void begin(int replicas, bool given)
{
        begin_rotator(given);
        assert_true(api_until(&stage.api, rotators_rest, NULL));
        begin_replicas(replicas, given);
        assert_true(api_until(&stage.api, all_agree, NULL));
}

/* Have halflife rotate look at this time until nothing is under way, and then every replica. */
static void look_at(int64_t at_ms)
{
        for (int i = 0; i < stage.rotators; i++)
                rotator_look(stage.rotator[i], (struct wall){at_ms});
        assert_true(api_until(&stage.api, rotators_rest, NULL));
        check_paths();
        for (int i = 0; i < stage.replicas; i++)
                certificate_reader_look(stage.replica[i].reader, (struct wall){at_ms});
        assert_true(api_until(&stage.api, replicas_rest, NULL));
        check_paths();
}

static void test_replicas_share_one(void **state)
{
        (void)state;
        put_hooks();
        begin(REPLICAS, false);
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
        AUTO(mem_free) char *hooks = fake_get(stage.api.fake, HOOKS);
        assert_non_null(strstr(hooks, "b3RoZXI=")); /* another's hook is left alone */
        assert_null(strstr(hooks, "PRIVATE"));
        for (int i = 0; i < REPLICAS; i++) {
                assert_int_equal(stage.replica[i].shown, 1);
                assert_true(certificate_reader_expires_s(stage.replica[i].reader) > 0);
        }
}

static void test_renewal_and_a_new_authority(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        AUTO(mem_free) char *first_root = mem_string(stage.replica[0].roots);
        AUTO(mem_free) char *first_cert = mem_string(stage.replica[0].cert);
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

/* The Secret is emptied. Every certificate that a replica shows is trusted at any time, and within two minutes all are
 * new. */
static void test_an_emptied_secret(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        AUTO(mem_free) char *first_root = mem_string(stage.replica[0].roots);
        AUTO(mem_free) char *first = mem_string(stage.replica[0].cert);
        put_empty_secret();
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

static void test_an_emptied_secret_while_the_clock_is_put_back(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        AUTO(mem_free) char *first = mem_string(stage.replica[0].cert);
        put_empty_secret();
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
        put_hooks();
        look_at(now);
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
        put_hooks(); /* applied again, without a bundle */
        put_empty_secret();
        look_at(now);
        look_at(now + 2 * MINUTE_MS);
        assert_true(all_agree(NULL));
        AUTO(mem_free) char *again = bundle();
        assert_string_equal(again, stage.replica[0].roots);
        assert_string_not_equal(again, trusted);
        fake_patch(stage.api.fake, SECRET, "kubectl",
                   "[{\"op\":\"replace\",\"path\":\"/data/ca.key\",\"value\":\"eA==\"}]");
        look_at(now + 3 * MINUTE_MS);
        look_at(now + 5 * MINUTE_MS);
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
                {"get", SECRET, 503},  {"update", SECRET, 409}, {"get", HOOKS, 500},
                {"patch", HOOKS, 409}, {"patch", HOOKS, 422},
        };
        put_hooks();
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
                fake_fault(stage.api.fake,
                           &(struct fake_fault){
                                   .verb = row[i].verb, .path = row[i].path, .status = row[i].status, .times = 1});
        begin(1, false);
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
}

/* Nothing is created. The Secret that was applied again is filled in. */
static void test_without_the_secret(void **state)
{
        (void)state;
        put_hooks();
        fake_delete(stage.api.fake, SECRET);
        begin_rotator(false);
        begin_replicas(1, false);
        api_turn(&stage.api, 300);
        assert_false(rotator_settled(stage.rotator[0]));
        assert_int_equal(fake_objects(stage.api.fake, "/api/v1/namespaces/halflife/secrets"), 0);
        assert_int_equal(fake_count(stage.api.fake, "create", "/api/v1/namespaces/halflife/secrets"), 0);
        assert_int_equal(stage.replica[0].shown, 0);
        put_empty_secret();
        look_at(now_read().wall.ms);
        assert_int_equal(stage.replica[0].shown, 1);
}

/* Two at once, as where a node is away: one of them writes, and the other reads what was written. */
static void test_two_rotators(void **state)
{
        (void)state;
        put_hooks();
        begin_rotator(false);
        begin(REPLICAS, false);
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, stage.replica[0].roots);
        assert_int_equal(roots_in(trusted), 1);
}

/* The Secret and the webhooks are as a replica and the manifests of the version before left them: authority,
 * certificate and path stay. */
static void test_upgrade(void **state)
{
        (void)state;
        static const char *const names[] = {"halflife.halflife.svc", "halflife.halflife.svc.cluster.local",
                                            "halflife-serve.halflife.svc", "halflife-serve.halflife.svc.cluster.local"};
        struct certificate_authority a = {0};
        struct err err = {0};
        enum certificate_authority_due due;
        assert_int_equal(certificate_authority_step(&a, names, 4, now_read().wall, &due, &err), 0);
        put_secret(&a, a.key);
        put_hooks();
        begin(1, false);
        assert_string_equal(stage.replica[0].cert, a.cert);
        AUTO(mem_free) char *trusted = bundle(), *path = path_called();
        assert_string_equal(trusted, a.roots);
        assert_string_equal(path, "/admission");
        look_at(now_read().wall.ms);
        assert_int_equal(stage.replica[0].shown, 1);
        certificate_authority_release(&a);
}

/* Take the path out of the webhooks, as a tool does that applied a configuration without it. */
static void drop_path(void)
{
        fake_patch(stage.api.fake, HOOKS, "kubectl",
                   "[{\"op\":\"remove\",\"path\":\"/webhooks/0/clientConfig/service/path\"}]");
}

/* An omitted path is set at once; an hour later a random one is in force; it is replaced after thirty days. */
static void test_paths(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        drop_path();
        begin(REPLICAS, false);
        AUTO(mem_free) char *well_known = path_called();
        assert_string_equal(well_known, "/admission");
        for (int64_t at = 0; at <= 3 * HOUR_MS; at += 5 * MINUTE_MS)
                look_at(now + at);
        AUTO(mem_free) char *first = path_called();
        assert_int_equal(strlen(first), 1 + ADMISSION_PATH_LEN);
        assert_false(admission_paths_has(&stage.replica[0].paths, TEXT("/admission")));
        assert_false(admission_paths_has(&stage.replica[0].paths, TEXT("/")));
        drop_path();
        look_at(now + 3 * HOUR_MS + MINUTE_MS);
        AUTO(mem_free) char *again = path_called();
        assert_string_equal(again, first);
        for (int64_t at = 31 * DAY_MS; at <= 31 * DAY_MS + 3 * HOUR_MS; at += 5 * MINUTE_MS)
                look_at(now + at);
        AUTO(mem_free) char *second = path_called();
        assert_int_equal(strlen(second), 1 + ADMISSION_PATH_LEN);
        assert_string_not_equal(second, first);
        assert_false(admission_paths_has(&stage.replica[0].paths, text_of(first)));
        AUTO(mem_free) char *hooks = fake_get(stage.api.fake, HOOKS);
        AUTO(json_decref) json_t *all = json_loads(hooks, 0, NULL);
        static const char *const want[] = {"same", "none", "same"}; /* the second webhook is another's */
        for (size_t i = 0; i < 3; i++) {
                const json_t *hook = json_array_get(json_object_get(all, "webhooks"), i);
                const char *path = json_string_value(
                        json_object_get(json_object_get(json_object_get(hook, "clientConfig"), "service"), "path"));
                if ((path && strcmp(path, second) == 0) != (strcmp(want[i], "same") == 0))
                        fail_msg("webhook %zu has path %s", i, path ? path : "(none)");
        }
}

/* The Secret is emptied while a random path is in force: that path goes on until a new one has spread. */
static void test_paths_of_an_emptied_secret(void **state)
{
        (void)state;
        int64_t now = now_read().wall.ms;
        put_hooks();
        begin(REPLICAS, false);
        look_at(now + 2 * HOUR_MS);
        look_at(now + 4 * HOUR_MS);
        AUTO(mem_free) char *first = path_called();
        assert_int_equal(strlen(first), 1 + ADMISSION_PATH_LEN);
        put_empty_secret();
        for (int64_t at = 0; at <= 3 * HOUR_MS; at += 5 * MINUTE_MS)
                look_at(now + 5 * HOUR_MS + at);
        AUTO(mem_free) char *second = path_called();
        assert_int_equal(strlen(second), 1 + ADMISSION_PATH_LEN);
        assert_string_not_equal(second, first);
}

/* The Secret is now another program's, which keeps no path: the well-known one is set. */
static void test_paths_of_a_given_secret(void **state)
{
        (void)state;
        static const char *const names[] = {"halflife-serve.halflife.svc"};
        struct certificate_authority a = {0};
        struct err err = {0};
        enum certificate_authority_due due;
        assert_int_equal(certificate_authority_step(&a, names, 1, now_read().wall, &due, &err), 0);
        put_secret(&a, NULL);
        put_hooks();
        fake_patch(stage.api.fake, HOOKS, "halflife",
                   "[{\"op\":\"replace\",\"path\":\"/webhooks/0/clientConfig/service/path\","
                   "\"value\":\"/00112233445566778899aabbccddeeff\"}]");
        begin(1, true);
        look_at(now_read().wall.ms);
        AUTO(mem_free) char *path = path_called();
        assert_string_equal(path, "/admission");
        assert_int_equal(fake_count(stage.api.fake, "update", SECRET), 0);
        certificate_authority_release(&a);
}

static void test_api_services(void **state)
{
        (void)state;
        api_put_service(&stage.api, "v1beta1", "halflife", ",\"caBundle\":\"b2xk\"");
        api_put_service(&stage.api, "v1beta2", "halflife", "");
        begin(1, false);
        AUTO(mem_free) char *first = api_service_bundle(V1);
        AUTO(mem_free) char *second = api_service_bundle(V2);
        assert_string_equal(first, stage.replica[0].roots);
        assert_string_equal(second, stage.replica[0].roots);
        AUTO(mem_free) char *text = fake_get(stage.api.fake, API_SERVICES V1);
        assert_non_null(strstr(text, "\"versionPriority\":100")); /* the rest stays as it is */
        uint64_t version = fake_version(stage.api.fake);
        look_at(now_read().wall.ms);
        assert_int_equal(fake_version(stage.api.fake), version);
        api_put_service(&stage.api, "v1beta1", "prometheus-adapter", "");
        api_put_service(&stage.api, "v1beta2", "halflife", ",\"insecureSkipTLSVerify\":true");
        look_at(now_read().wall.ms);
        AUTO(mem_free) char *others = api_service_bundle(V1);
        AUTO(mem_free) char *unverified = api_service_bundle(V2);
        assert_string_equal(others, "");
        assert_string_equal(unverified, "");
}

/* Where it may not read the objects, it still makes the certificate. */
static void test_without_the_right_to_hooks(void **state)
{
        (void)state;
        put_hooks();
        fake_deny(stage.api.fake,
                  &(struct fake_rule){NULL, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", NULL});
        begin_rotator(false);
        assert_true(api_until(&stage.api, rotators_rest, NULL));
        AUTO(mem_free) char *trusted = bundle();
        assert_string_equal(trusted, "");
        AUTO(mem_free) char *secret = fake_get(stage.api.fake, SECRET);
        assert_non_null(strstr(secret, "tls.crt"));
}

/* A pair that the listener refuses is tried again. */
static void test_a_refused_pair(void **state)
{
        (void)state;
        stage.replica[0].refuses = true;
        begin_rotator(false);
        assert_true(api_until(&stage.api, rotators_rest, NULL));
        begin_replicas(1, false);
        api_turn(&stage.api, 300);
        assert_int_equal(certificate_reader_expires_s(stage.replica[0].reader), 0);
        stage.replica[0].refuses = false;
        look_at(now_read().wall.ms);
        assert_int_equal(stage.replica[0].shown, 1);
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
        put_secret(&a[0], NULL);
        begin(2, true);
        assert_string_equal(stage.replica[0].cert, a[0].cert);
        put_secret(&a[1], NULL);
        look_at(now);
        assert_string_equal(stage.replica[1].cert, a[0].cert);
        look_at(now + CERTIFICATE_SPREAD_MS + SECOND_MS); /* by now every client trusts it */
        assert_string_equal(stage.replica[1].cert, a[1].cert);
        AUTO(mem_free) char *trusted = bundle();
        assert_non_null(strstr(trusted, a[0].roots)); /* a replica that still shows the old certificate is trusted */
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
                put_secret(&a[i], NULL);
                if (i == 0) {
                        begin(1, true);
                        assert_int_equal(fake_count(stage.api.fake, "patch", HOOKS), 0);
                } else {
                        look_at(now + i * CERTIFICATE_SPREAD_MS);
                }
        }
        AUTO(mem_free) char *trusted = bundle();
        assert_true(certificate_authority_verifies(trusted, a[1].cert));
        assert_true(certificate_authority_verifies(trusted, a[2].cert));
        for (int i = 0; i < 3; i++)
                certificate_authority_release(&a[i]);
}

/* Whichever of its requests fails, and in whatever way, the next look comes to the same end. */
static void test_every_request_may_fail(void **state)
{
        (void)state;
        static const struct fake_fault ways[] = {
                {.status = 500},
                {.refuse = true},
                {.cut = true, .cut_after = 20},
                {.status = 200, .body = "[]"},
                {.status = 200, .body = "no JSON"},
        };
        enum {
                REQUESTS = 7
        }; /* Secret, configuration, patch, two APIServices, the Secret's update, and its next look */
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
                for (unsigned nth = 0; nth < REQUESTS; nth++) {
                        struct fake_fault fault = ways[way];
                        fault.nth = nth;
                        put_hooks();
                        put_empty_secret();
                        fake_fault(stage.api.fake, &fault);
                        begin_rotator(false);
                        api_turn(&stage.api, 50);
                        fake_faults_clear(stage.api.fake);
                        look_at(now_read().wall.ms);
                        AUTO(mem_free) char *trusted = bundle(), *path = path_called();
                        AUTO(mem_free) char *secret = fake_get(stage.api.fake, SECRET);
                        if (roots_in(trusted) < 1 || strcmp(path, "/admission") != 0 || !strstr(secret, "tls.crt"))
                                fail_msg("way %zu, request %u: %s %s", way, nth, trusted, path);
                        rotator_free(stage.rotator[--stage.rotators]);
                }
}

/* If somebody removes each value that halflife writes, halflife does not race to restore it. */
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
        begin_rotator(false);
        api_turn(&stage.api, 700);
        assert_in_range(fake_count(stage.api.fake, "update", SECRET), 1, 2);
}

/* The program: ready once the Secret is filled in, without a key in its log; files cannot be rotated. */
static void test_the_program(void **state)
{
        (void)state;
        AUTO(mem_free) char *kubeconfig = tmp_path("kubeconfig"), *listen = tmp_path("listen");
        assert_true(fake_write_kubeconfig(stage.api.fake, kubeconfig));
        put_hooks();
        AUTO(mem_free)
        char *refused = HALFLIFE_RUN(2, "rotate", "--kubeconfig", kubeconfig, "--webhook-certificate=files");
        assert_non_null(strstr(refused, "halflife rotates no files"));
        struct halflife *h = halflife_command((const char *const[]){
                "rotate", "--kubeconfig", kubeconfig, "--namespace=halflife", "--webhook-certificate=self",
                "--listen=127.0.0.1:0", "--listen-file", listen, NULL});
        assert_true(halflife_await_log(h, "an authority and a certificate were made", 1, 20000));
        AUTO(mem_free) char *trusted = bundle();
        assert_int_equal(roots_in(trusted), 1);
        assert_int_equal(halflife_said(h, "PRIVATE"), 0);
        assert_int_equal(halflife_stop(h), 0);
        halflife_free(h);
}

static void test_names(void **state)
{
        (void)state;
        static const char *const bad[] = {"Halflife", "a b", "-a", "a,,b", "a.b", "1,2,3,4,5,6,7,8,9", ","};
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
                struct rotator *r = NULL;
                struct err err = {0};
                const struct rotator_options o = {.ns = "x", .secret = "s", .configuration = "c", .services = bad[i]};
                if (rotator_new(stage.api.client, &o, &r, &err) != ERR_INVALID || !strstr(err.text, bad[i]))
                        fail_msg("'%s': %s", bad[i], err.text);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_replicas_share_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_renewal_and_a_new_authority, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_an_emptied_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_an_emptied_secret_while_the_clock_is_put_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_put_right, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_faults, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_without_the_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_two_rotators, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_upgrade, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_paths_of_an_emptied_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_paths_of_a_given_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_api_services, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_without_the_right_to_hooks, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_refused_pair, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_a_given_secret, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_roots_of_others, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_every_request_may_fail, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_what_never_comes_back, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_the_program, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
