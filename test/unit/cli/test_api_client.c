/* Which addresses a token may be shown to, and where a token comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/tmp.h"
#include "base/file_read.h"
#include "base/mem.h"
#include "base/yaml.h"
#include "cli/api_client.h"

static void test_addresses(void **state)
{
        (void)state;
        static const struct {
                const char *url, *says; /* NULL: taken */
        } row[] = {
                {"https://halflife.halflife.svc", NULL},
                {"https://halflife.halflife.svc/", NULL},
                {"https://[2001:db8::1]:8443", NULL},
                {"http://127.0.0.1:8443", NULL},
                {"http://127.0.0.1", NULL},
                {"http://localhost:1/", NULL},
                {"http://[::1]:8443", NULL},
                {"http://halflife.halflife:8443", "without TLS"},
                {"http://127.0.0.1.example.com", "without TLS"},
                {"http://localhost.example.com:80", "without TLS"},
                {"http://localhost@example.com", "is not an address"},
                {"https://example.com/path", "is not an address"},
                {"https://example.com?x", "is not an address"},
                {"https://", "is not an address"},
                {"https:///", "is not an address"},
                {"halflife:8443", "is not an address"},
                {"ftp://halflife", "is not an address"},
                {"", "is not an address"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err = {0};
                int rc = api_client_check(row[i].url, &err);
                if ((rc == 0) != (row[i].says == NULL) || (row[i].says && !strstr(err.text, row[i].says)))
                        fail_msg("'%s': %d '%s'", row[i].url, rc, err.text);
        }
}

static void test_tokens(void **state)
{
        (void)state;
        AUTO(mem_free) char *file = tmp_file("token", "of-a-file\n"), *empty = tmp_file("empty", "");
        const struct {
                const char *file, *variable, *want;
                int rc;
        } row[] = {
                {NULL, NULL, NULL, 0},
                {NULL, "", NULL, 0},
                {NULL, "of-it", "of-it", 0},
                {file, NULL, "of-a-file", 0},
                {file, "of-it", "of-a-file", 0},
                {empty, NULL, "", 0},
                {"/nonexistent", "of-it", NULL, ERR_NOTFOUND},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                char *token = NULL;
                struct err err = {0};
                row[i].variable ? setenv("HALFLIFE_TOKEN", row[i].variable, 1) : unsetenv("HALFLIFE_TOKEN");
                assert_int_equal(api_client_token(row[i].file, &token, &err), row[i].rc);
                if (row[i].want)
                        assert_string_equal(token, row[i].want);
                else
                        assert_null(token);
                mem_free(token);
        }
        unsetenv("HALFLIFE_TOKEN");
}

static void test_parameters(void **state)
{
        (void)state;
        AUTO(buf_release) struct buf path;
        buf_init(&path, 1000);
        buf_add_text(&path, "/api/v1/nodes");
        api_client_add_parameter(&path, "namespace", NULL);
        api_client_add_parameter(&path, "labelSelector", "a in (b,c)&d");
        api_client_add_parameter(&path, "limit", "7");
        assert_string_equal(path.data, "/api/v1/nodes?labelSelector=a%20in%20%28b%2Cc%29%26d&limit=7");
}

static json_t *find(json_t *documents, const char *kind, const char *name)
{
        size_t i;
        json_t *d;
        json_array_foreach(documents, i, d)
        {
                const char *is = json_string_value(json_object_get(d, "kind"));
                const char *called = json_string_value(json_object_get(json_object_get(d, "metadata"), "name"));
                if (is && called && strcmp(is, kind) == 0 && strcmp(called, name) == 0)
                        return d;
        }
        return NULL;
}

static json_t *read_manifest(const char *path)
{
        size_t len;
        struct err err = {0};
        AUTO(mem_free) char *text = file_read(path, 1 << 20, &len, &err);
        json_t *ret = text ? yaml_read_all(text, len, &err) : NULL;
        if (!ret)
                fail_msg("%s", err.text);
        return ret;
}

/* What is asked for through the API server is what the manifests install, and lets people knock at. */
static void test_manifests(void **state)
{
        (void)state;
        struct session s = {0};
        struct api_client r = {0};
        AUTO(mem_free)
        char *config = tmp_file("kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                              "contexts: [{name: c, context: {cluster: c}}]\n"
                                              "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n");
        struct err err = {0};
        assert_int_equal(session_open(&s, config, NULL, &err), 0);
        api_client_through(&r, &s, "halflife", "token");
        AUTO(json_decref) json_t *people = read_manifest("manifests/base/rbac-people.yaml");
        AUTO(json_decref) json_t *controller = read_manifest("manifests/base/controller.yaml");
        json_t *ports = json_object_get(json_object_get(find(controller, "Service", "halflife"), "spec"), "ports");
        json_t *rule = json_array_get(json_object_get(find(people, "Role", "halflife-rest-proxy"), "rules"), 0), *port,
               *name;
        size_t i;
        bool served = false, allowed = false;
        json_array_foreach(ports, i, port)
        {
                AUTO(mem_free)
                char *want = mem_printf("/api/v1/namespaces/halflife/services/https:halflife:%s/proxy",
                                        json_string_value(json_object_get(port, "name")));
                served |= strcmp(want, r.prefix) == 0;
        }
        json_array_foreach(json_object_get(rule, "resourceNames"), i, name)
        {
                allowed |= strstr(r.prefix, json_string_value(name)) != NULL;
        }
        assert_true(served && allowed);
        api_client_release(&r);
        session_release(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_tokens),
                cmocka_unit_test(test_parameters),
                cmocka_unit_test(test_manifests),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
