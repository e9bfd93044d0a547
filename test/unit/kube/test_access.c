#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/access.h"
#include "kube/access_config.h"

/* --- files of a folder that goes away ----------------------------------------------------- */

static char dir[64];

static char *at(const char *name)
{
        return mem_printf("%s/%s", dir, name);
}

/* Written aside and moved, as rotation does it. */
static void put(const char *name, const char *text)
{
        AUTO(mem_free) char *path = at(name);
        AUTO(mem_free) char *aside = at(".aside");
        FILE *f = fopen(aside, "w");
        assert_non_null(f);
        assert_true(fputs(text, f) >= 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(chmod(aside, 0700), 0);
        assert_int_equal(rename(aside, path), 0);
}

static void drop(const char *name)
{
        AUTO(mem_free) char *path = at(name);
        assert_int_equal(unlink(path), 0);
}

static int begin(void **state)
{
        (void)state;
        strcpy(dir, "/tmp/halflife-access-XXXXXX");
        if (!mkdtemp(dir))
                return -1;
        setenv("HOME", dir, 1);
        static const char *const unset[] = {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"};
        for (int i = 0; i < 3; i++)
                unsetenv(unset[i]);
        return 0;
}

static int end(void **state)
{
        (void)state;
        AUTO(mem_free) char *line = mem_printf("rm -rf '%s'", dir);
        return system(line);
}

#define PEM(word) "-----BEGIN " word "-----\nAAAA\n-----END " word "-----\n"
#define CLUSTER   "clusters: [{name: c, cluster: {server: 'https://h:6443'}}]\n"
#define CONTEXT   "contexts: [{name: x, context: {cluster: c, user: u, namespace: team}}]\ncurrent-context: x\n"

static int load(const char *context, struct access **ret, struct err *err)
{
        AUTO(mem_free) char *path = at("config");
        *err = (struct err){0};
        return access_load(&(struct access_options){.kubeconfig = path, .context = context}, ret, err);
}

/* --- kubeconfig: what is read ------------------------------------------------------------- */

static void a_whole_kubeconfig_is_read(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("ca.crt", PEM("CERTIFICATE"));
        put("config", "apiVersion: v1\nkind: Config\npreferences: {}\n"
                      "clusters:\n- name: prod\n  cluster:\n    server: https://[fd00::1]:6443/\n    "
                      "certificate-authority: ca.crt\n"
                      "    tls-server-name: kubernetes.default\n    proxy-url: socks5://127.0.0.1:1080\n"
                      "users:\n- name: me\n  user: {token: abc.DEF-123}\n"
                      "contexts:\n- name: dev\n  context: {cluster: prod, user: me}\n"
                      "- name: ops\n  context: {cluster: prod, namespace: team}\ncurrent-context: dev\n");
        assert_int_equal(load(NULL, &a, &err), 0);
        const struct http_peer *p = access_peer(a);
        assert_string_equal(p->base_url, "https://[fd00::1]:6443");
        assert_string_equal(p->ca_pem, PEM("CERTIFICATE"));
        assert_string_equal(p->server_name, "kubernetes.default");
        assert_string_equal(p->proxy_url, "socks5://127.0.0.1:1080");
        assert_false(p->insecure);
        assert_null(p->cert_pem);
        assert_string_equal(access_bearer(a), "abc.DEF-123");
        assert_string_equal(access_namespace(a), "default");
        assert_false(access_in_cluster(a));
        assert_null(access_warning(a));
        AUTO(mem_free) char *path = at("config");
        AUTO(mem_free) char *source = mem_printf("context 'dev' of %s", path);
        assert_string_equal(access_source(a), source);
        access_free(a);

        assert_int_equal(load("ops", &a, &err), 0);
        assert_string_equal(access_namespace(a), "team");
        assert_null(access_bearer(a));
        access_free(a);
}

/* As kubectl does, where a server's URL has more than a path. */
static void a_servers_query_is_left_out(void **state)
{
        (void)state;
        static const char *const row[][2] = {
                {"https://h:6443?x=1", "https://h:6443"},   {"https://h/base/?x=/y/", "https://h/base"},
                {"https://h:6443/#part", "https://h:6443"}, {"https://h/base#a?b", "https://h/base"},
                {"https://h/base//", "https://h/base"},     {"https://?x=h", NULL},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct access *a;
                struct err err;
                AUTO(mem_free)
                char *config = mem_printf("clusters: [{name: c, cluster: {server: '%s'}}]\nusers: []\n"
                                          "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n",
                                          row[i][0]);
                put("config", config);
                assert_int_equal(load(NULL, &a, &err), row[i][1] ? 0 : ERR_INVALID);
                if (!row[i][1])
                        continue;
                assert_string_equal(access_peer(a)->base_url, row[i][1]);
                access_free(a);
        }
}

static void data_wins_over_files(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("client.crt", PEM("CERTIFICATE"));
        put("client.key", PEM("PRIVATE KEY"));
        /* base64 of the PEM of "X" */
        put("config", "clusters: [{name: c, cluster: {server: 'https://h', insecure-skip-tls-verify: true}}]\n"
                      "users: [{name: u, user: {client-certificate: missing.crt, client-certificate-data: "
                      "LS0tLS1CRUdJTiBYLS0tLS0KLS0tLS1FTkQgWC0tLS0tCg==, client-key: client.key}}]\n" CONTEXT);
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_string_equal(access_peer(a)->cert_pem, "-----BEGIN X-----\n-----END X-----\n");
        assert_string_equal(access_peer(a)->key_pem, PEM("PRIVATE KEY"));
        assert_true(access_peer(a)->insecure);
        assert_non_null(strstr(access_warning(a), "insecure-skip-tls-verify"));
        assert_string_equal(access_namespace(a), "team");
        access_free(a);

        put("config", "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:8080'}}]\nusers: []\n"
                      "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n");
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_non_null(strstr(access_warning(a), "without TLS"));
        access_free(a);
}

static void several_files_are_merged(void **state)
{
        (void)state;
        struct access *a;
        struct err err = {0};
        AUTO(mem_free) char *sub = at("sub");
        mkdir(sub, 0700);
        put("sub/ca.crt", PEM("CERTIFICATE"));
        put("one", "contexts: [{name: x, context: {cluster: c, user: u}}]\n");
        put("sub/two", "clusters: [{name: c, cluster: {server: 'https://two', certificate-authority: ca.crt}}]\n"
                       "users: [{name: u, user: {token: second}}]\ncurrent-context: x\n");
        put("three",
            "clusters: [{name: c, cluster: {server: 'https://three'}}, {name: d, cluster: {server: 'https://d'}}]\n"
            "contexts: [{name: other, context: {cluster: d, user: u}}]\ncurrent-context: other\n");
        put("empty", "");
        AUTO(mem_free)
        char *list = mem_printf("%s/one::%s/absent:%s/empty:%s/sub/two:%s/three", dir, dir, dir, dir, dir);
        setenv("KUBECONFIG", list, 1);
        int rc = access_load(&(struct access_options){0}, &a, &err);
        if (rc < 0)
                print_error("%s\n", err.text);
        assert_int_equal(rc, 0);
        assert_string_equal(access_peer(a)->base_url, "https://two");    /* the first that has it */
        assert_string_equal(access_peer(a)->ca_pem, PEM("CERTIFICATE")); /* against its own folder */
        assert_string_equal(access_bearer(a), "second");
        access_free(a);
        assert_int_equal(access_load(&(struct access_options){.context = "other"}, &a, &err), 0);
        assert_string_equal(access_peer(a)->base_url, "https://d");
        access_free(a);

        setenv("KUBECONFIG", "/nowhere/a:/nowhere/b", 1);
        assert_int_equal(access_load(&(struct access_options){0}, &a, &err), ERR_NOTFOUND);
        assert_non_null(strstr(err.text, "/nowhere/a:/nowhere/b"));
        unsetenv("KUBECONFIG");
}

static void the_usual_places_are_tried(void **state)
{
        (void)state;
        struct access *a;
        struct err err = {0};
        assert_int_equal(access_load(&(struct access_options){0}, &a, &err), ERR_NOTFOUND);
        assert_non_null(strstr(err.text, "not a pod"));
        assert_non_null(strstr(err.text, ".kube/config"));
        assert_int_equal(access_load(&(struct access_options){.context = "q"}, &a, &err), ERR_NOTFOUND);
        assert_non_null(strstr(err.text, "'q'"));
        AUTO(mem_free) char *sub = at(".kube");
        mkdir(sub, 0700);
        put(".kube/config", CLUSTER CONTEXT "users: [{name: u, user: {}}]\n");
        assert_int_equal(access_load(&(struct access_options){0}, &a, &err), 0);
        assert_string_equal(access_peer(a)->base_url, "https://h:6443");
        access_free(a);
        drop(".kube/config");
}

/* --- kubeconfig: what is refused, and how it is said -------------------------------------- */

static void broken_kubeconfigs_are_refused_with_the_cure(void **state)
{
        (void)state;
        static const struct {
                const char *text, *context;
                int code;
                const char *says[3];
        } row[] = {
                {NULL, NULL, ERR_NOTFOUND, {"read kubeconfig", "config'"}},
                {"", NULL, ERR_INVALID, {"no context is chosen", "none"}},
                {"clusters: [{name: a", NULL, ERR_INVALID, {"read kubeconfig", "line"}},
                {"clusters:\n  - name: c\n    cluster:\n\tserver: x\n", NULL, ERR_INVALID, {"line"}},
                {"just a text", NULL, ERR_INVALID, {"not a mapping"}},
                {"[1, 2]", NULL, ERR_INVALID, {"not a mapping"}},
                {"contexts: [{name: a, context: {cluster: c}}, {name: b, context: {}}]\n" CLUSTER,
                 NULL,
                 ERR_INVALID,
                 {"no context is chosen", "it has: a, b"}},
                {"contexts: [{name: a, context: {cluster: c}}, {name: b, context: {}}]\n" CLUSTER,
                 "x",
                 ERR_NOTFOUND,
                 {"context 'x' is not in ", "it has: a, b"}},
                {"contexts: [{name: a, context: {cluster: c}}, {name: a, context: {}}]\n" CLUSTER,
                 "a",
                 ERR_INVALID,
                 {"'a' appears twice in contexts"}},
                {"contexts: [{name: a}]\n" CLUSTER, "a", ERR_INVALID, {"context 'a'", "is empty"}},
                {"contexts: [{name: a, context: {user: u}}]\n" CLUSTER,
                 "a",
                 ERR_INVALID,
                 {"context 'a'", "names no cluster"}},
                {CLUSTER CONTEXT, NULL, ERR_NOTFOUND, {"context 'x'", "user 'u' is not in", "none"}},
                {"users: [{name: u, user: {}}]\n" CONTEXT,
                 NULL,
                 ERR_NOTFOUND,
                 {"context 'x'", "cluster 'c' is not in", "none"}},
                {"clusters: [{name: c, cluster: {}}]\n" CONTEXT, NULL, ERR_INVALID, {"cluster 'c'", "names no server"}},
                {"clusters: [{name: c, cluster: {server: 'h:6443'}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"'h:6443'", "https://"}},
                {"clusters: [{name: c, cluster: {server: 5}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"server of 'c'", "must be a text"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', insecure-skip-tls-verify: 'yes'}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"true or false"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: gone.crt}}]\n" CONTEXT,
                 NULL,
                 ERR_NOTFOUND,
                 {"certificate-authority of 'c'", "gone.crt"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: half.crt}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"certificate-authority of 'c'", "half.crt", "PEM"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority-data: '%%%'}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"certificate-authority-data of 'c'", "base64"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority-data: "
                 "aGVsbG8=}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"certificate-authority-data of 'c'", "PEM"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: whole.crt, "
                 "insecure-skip-tls-verify: true}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"both", "drop one"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', proxy-url: 'ftp://me:secret@p'}}]\n" CONTEXT,
                 NULL,
                 ERR_INVALID,
                 {"proxy-url of cluster 'c'", "config: a proxy begins with http://"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {token: \"a\\nb\"}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"token of 'u'", "not allowed in a token"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {token: 123}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"token of 'u'", "quotes"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {tokenFile: gone}}]\n",
                 NULL,
                 ERR_NOTFOUND,
                 {"tokenFile of 'u'", "gone"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {client-certificate: whole.crt}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"client-certificate but no client-key"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {client-key: whole.crt}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"client-key but no client-certificate"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {username: a, password: b}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"username", "token"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {auth-provider: {name: gcp}}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"auth-provider", "exec"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {as: root}}]\n", NULL, ERR_INVALID, {"impersonate"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {exec: {command: x}}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"lacks apiVersion"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {exec: {apiVersion: x}}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"lacks command"}},
                {CLUSTER CONTEXT
                 "users: [{name: u, user: {exec: {apiVersion: x, command: run, interactiveMode: Always}}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"terminal"}},
                {CLUSTER CONTEXT "users: [{name: u, user: {exec: {apiVersion: x, command: run, env: [{name: A}]}}}]\n",
                 NULL,
                 ERR_INVALID,
                 {"env"}},
#ifndef EMULATED /* where a program begins before it is known whether it is there */
                {CLUSTER CONTEXT
                 "users: [{name: u, user: {exec: {apiVersion: x, command: no-such-plug-in, installHint: get it}}}]\n",
                 NULL,
                 ERR_NOTFOUND,
                 {"context 'x'", "no-such-plug-in", "get it"}},
#endif
        };
        put("half.crt", "-----BEGIN CERTIFICATE-----\nAAA");
        put("whole.crt", PEM("CERTIFICATE"));
        AUTO(mem_free) char *path = at("config");
        unlink(path);
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct access *a = NULL;
                struct err err;
                if (row[i].text)
                        put("config", row[i].text);
                int rc = load(row[i].context, &a, &err);
                bool ok = rc == row[i].code && err.code == rc && strlen(err.text) < 400;
                for (int k = 0; k < 3 && row[i].says[k]; k++)
                        ok = ok && strstr(err.text, row[i].says[k]);
                if (!ok)
                        print_error("row %zu: %d %s\n%s\n", i, rc, err.text, row[i].text);
                assert_true(ok);
                assert_null(a);
        }
}

/* A kubeconfig with so many units in place of its %. */
static int load_long(const char *form, const char *unit, size_t count, struct err *err)
{
        size_t before = strcspn(form, "%"), len = strlen(unit);
        AUTO(mem_free) char *field = mem_new(count * len + 1);
        for (size_t i = 0; i < count; i++)
                memcpy(field + i * len, unit, len);
        AUTO(mem_free) char *text = mem_printf("%.*s%s%s", (int)before, form, field, form + before + 1);
        struct access *a = NULL;
        put("config", text);
        int rc = load(NULL, &a, err);
        access_free(a);
        return rc;
}

#define USER(of)  CLUSTER CONTEXT "users: [{name: u, user: {" of "}}]\n"
#define EXEC(has) USER("exec: {apiVersion: x, " has "}")

static void what_is_too_long_is_refused_with_its_place(void **state)
{
        (void)state;
        enum { TEXT = 8192, PEM_DATA = 1 << 20, TOKEN = 32768, ITEM = 65536, ITEMS = 256 };
        static const struct {
                const char *text, *unit;
                size_t most;
                const char *says[3];
        } row[] = {
                {"current-context: %\n", "a", TEXT, {"config has a name", "more than 8192 bytes", "rename it"}},
                {CLUSTER "contexts: [{name: x, context: {cluster: c, namespace: %}}]\ncurrent-context: x\n",
                 "a",
                 TEXT,
                 {"namespace of 'x'", "config has 8193 bytes, and at most 8192 are read", "shorten it"}},
                {"clusters: [{name: c, cluster: {server: 'https://%'}}]\n" CONTEXT,
                 "a",
                 TEXT - 8,
                 {"context 'x'", "server of 'c'", "8193 bytes"}},
                {"clusters: [{name: c, cluster: {server: 'https://h', certificate-authority-data: %}}]\n" CONTEXT,
                 "A",
                 PEM_DATA,
                 {"certificate-authority-data of 'c'", "1048577 bytes", "shorten it"}},
                {USER("client-key: %"), "a", TEXT, {"client-key of 'u'", "8193 bytes", "shorten it"}},
                {USER("token: %"), "a", TOKEN, {"token of 'u'", "the token has 32769 bytes", "get a shorter one"}},
                {EXEC("command: %"), "a", TEXT, {"command of 'u'", "8193 bytes", "shorten it"}},
                {EXEC("command: no-such, args: [a, %]"), "a", ITEM, {"user 'u'", "args[1] has more", "into a file"}},
                {EXEC("command: no-such, args: [%]"), "a, ", ITEMS, {"user 'u'", "args has 257 elements", "a script"}},
                {EXEC("command: no-such, env: [{name: KEY, value: %}]"),
                 "a",
                 ITEM - 4,
                 {"user 'u'", "env[0] has more than 65536 bytes", "into a file"}},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err err;
                if (load_long(row[i].text, row[i].unit, row[i].most, &err) == ERR_TOOBIG)
                        fail_msg("row %zu, at most: %s", i, err.text);
                int rc = load_long(row[i].text, row[i].unit, row[i].most + 1, &err);
                bool ok = rc == ERR_TOOBIG && err.code == rc;
                for (int k = 0; k < 3 && row[i].says[k]; k++)
                        ok = ok && strstr(err.text, row[i].says[k]);
                if (!ok)
                        fail_msg("row %zu: %d %s", i, rc, err.text);
        }
}

/* What the kernel refuses to pass to a plug-in. */
static void too_much_for_a_plug_in_is_told(void **state)
{
        (void)state;
        struct err err;
#ifdef EMULATED /* where it is told as the end of a program that began */
        skip();
#endif
        assert_int_equal(load_long("clusters: [{name: c, cluster: {server: 'https://h', extensions: [{name: "
                                   "client.authentication.k8s.io/exec, extension: %}]}}]\n" CONTEXT
                                   "users: [{name: u, user: {exec: {apiVersion: x, command: /bin/true, "
                                   "provideClusterInfo: true}}}]\n",
                                   "a", 200000, &err),
                         ERR_IO);
        assert_non_null(strstr(err.text, "plug-in '/bin/true': Argument list too long; shorten args and env, or"));
}

/* --- rotation ----------------------------------------------------------------------------- */

static struct now later(int64_t ms)
{
        struct now now = now_read();
        now.mono.ns += ms * 1000000;
        now.wall.ms += ms;
        return now;
}

static void files_rotate_under_us(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("ca.crt", PEM("CERTIFICATE"));
        put("token", "first\n");
        put("config", "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n" CONTEXT
                      "users: [{name: u, user: {tokenFile: token, token: spare}}]\n");
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_string_equal(access_bearer(a), "first");
        unsigned revision = access_peer(a)->revision;

        put("token", "second");
        assert_int_equal(access_refresh(a, later(1000), false, &err), 0);
        assert_string_equal(access_bearer(a), "first"); /* not yet */
        assert_int_equal(access_refresh(a, later(61000), false, &err), 0);
        assert_string_equal(access_bearer(a), "second");
        assert_int_equal(access_peer(a)->revision, revision); /* connections stand */

        put("token", "third");
        assert_int_equal(access_refresh(a, later(62000), true, &err), 0); /* after a 401 */
        assert_string_equal(access_bearer(a), "third");

        put("ca.crt", PEM("NEW CERTIFICATE"));
        assert_int_equal(access_refresh(a, later(130000), false, &err), 0);
        assert_string_equal(access_peer(a)->ca_pem, PEM("NEW CERTIFICATE"));
        assert_int_equal(access_peer(a)->revision, revision + 1);

        /* half-written, empty, gone: the old values stand and it is said, the rest is read all the same */
        put("ca.crt", "-----BEGIN CERTIFICATE-----\nAA");
        put("token", "fourth");
        assert_int_equal(access_refresh(a, later(200000), false, &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "ca.crt"));
        assert_string_equal(access_peer(a)->ca_pem, PEM("NEW CERTIFICATE"));
        assert_string_equal(access_bearer(a), "fourth");
        put("ca.crt", PEM("NEW CERTIFICATE"));
        put("token", " \n");
        assert_int_equal(access_refresh(a, later(300000), false, &err), ERR_INVALID);
        assert_string_equal(access_bearer(a), "fourth");
        drop("token");
        assert_int_equal(access_refresh(a, later(400000), false, &err), ERR_NOTFOUND);
        assert_string_equal(access_bearer(a), "fourth");
        assert_int_equal(access_peer(a)->revision, revision + 1);
        access_free(a);

        assert_int_equal(load(NULL, &a, &err), 0); /* the file is gone: the token in place */
        assert_string_equal(access_bearer(a), "spare");
        access_free(a);
}

static void pods_are_read_from_their_mount(void **state)
{
        (void)state;
        struct access_config c;
        struct err err = {0};
        put("ca.crt", PEM("CERTIFICATE"));
        put("token", "pod-token");
        AUTO(mem_free) char *ns = at("namespace");
        unlink(ns);
        assert_int_equal(pod_config_load(dir, "10.0.0.1", "443", &c, &err), ERR_NOTFOUND);
        assert_non_null(strstr(err.text, "automountServiceAccountToken"));
        put("namespace", "halflife-system\n");
        assert_int_equal(pod_config_load(dir, "10.0.0.1", "443", &c, &err), 0);
        assert_string_equal(c.server, "https://10.0.0.1:443");
        assert_string_equal(c.ns, "halflife-system");
        assert_string_equal(c.token.text, "pod-token");
        assert_string_equal(c.ca.text, PEM("CERTIFICATE"));
        assert_true(c.in_cluster);
        access_config_release(&c);
        assert_int_equal(pod_config_load(dir, "fd00::1", "443", &c, &err), 0);
        assert_string_equal(c.server, "https://[fd00::1]:443");
        access_config_release(&c);
        put("token", "");
        assert_int_equal(pod_config_load(dir, "10.0.0.1", "443", &c, &err), ERR_INVALID);
}

/* --- credential plug-ins ------------------------------------------------------------------ */

#define CREDENTIAL(status)                                                                                             \
        "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{" status "}}"

#define SAY(text) "printf '%s\\n' '" text "'" /* not every echo leaves \\n alone */

static void put_exec(const char *script, const char *more)
{
        AUTO(mem_free) char *text = mem_printf("#!/bin/sh\n%s\n", script);
        AUTO(mem_free)
        char *config =
                mem_printf("clusters: [{name: c, cluster: {server: 'https://h:6443', tls-server-name: name}}]\n" CONTEXT
                           "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "
                           "./plug-in%s}}}]\n",
                           more);
        put("plug-in", text);
        put("config", config);
}

/* Look at a plug-in under way until it has ended. */
static int look(struct access *a, struct now now, struct err *err)
{
        int rc = 0;
        while (rc == 0 && access_busy(a)) {
                sched_yield();
                rc = access_refresh(a, now, false, err);
        }
        return rc;
}

static void plug_ins_are_told_and_heard(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put_exec("[ \"$1 $2\" = 'get token' ] && [ \"$WHO\" = \"a=b\" ] || exit 3\n"
                 "cat >/dev/null\n" /* stdin is empty, not ours */
                 "echo \"$KUBERNETES_EXEC_INFO\" >\"$HOME/info\"\n" SAY(CREDENTIAL("\"token\":\"from-plug-in\"")),
                 ", args: [get, token], env: [{name: WHO, value: a=b}], provideClusterInfo: true, interactiveMode: "
                 "IfAvailable");
        setenv("WHO", "not this", 1);
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_string_equal(access_bearer(a), "from-plug-in");
        access_free(a);
        AUTO(mem_free) char *path = at("info");
        json_error_t why;
        json_t *info = json_load_file(path, 0, &why);
        assert_non_null(info);
        const json_t *spec = json_object_get(info, "spec"), *cluster = json_object_get(spec, "cluster");
        assert_string_equal(json_string_value(json_object_get(info, "apiVersion")), "client.authentication.k8s.io/v1");
        assert_true(json_is_false(json_object_get(spec, "interactive")));
        assert_string_equal(json_string_value(json_object_get(cluster, "server")), "https://h:6443");
        assert_string_equal(json_string_value(json_object_get(cluster, "tls-server-name")), "name");
        json_decref(info);

        put_exec(SAY(CREDENTIAL("\"clientCertificateData\":\"-----BEGIN C-----\\n-----END "
                                "C-----\",\"clientKeyData\":\"-----BEGIN K-----\\n-----END K-----\"")),
                 "");
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_null(access_bearer(a));
        assert_string_equal(access_peer(a)->cert_pem, "-----BEGIN C-----\n-----END C-----");
        assert_string_equal(access_peer(a)->key_pem, "-----BEGIN K-----\n-----END K-----");
        access_free(a);
}

/* The expectations are what kubectl 1.36 hands to the same plug-in by the same kubeconfig. */
static void plug_ins_get_the_cluster_as_from_kubectl(void **state)
{
        (void)state;
#define RESERVED "client.authentication.k8s.io/exec"
#define SERVER   "\"server\":\"https://h:6443\""
#define CA_PEM   "-----BEGIN X-----\n-----END X-----\n"
#define CA_DATA  "LS0tLS1CRUdJTiBYLS0tLS0KLS0tLS1FTkQgWC0tLS0tCg=="
        static const struct {
                const char *more, *want; /* further members of the cluster; NULL: refused */
        } row[] = {
                {"", SERVER ",\"config\":null"},
                {"certificate-authority: ca.crt",
                 SERVER ",\"config\":null,\"certificate-authority-data\":\"" CA_DATA "\""},
                {"certificate-authority-data: " CA_DATA,
                 SERVER ",\"config\":null,\"certificate-authority-data\":\"" CA_DATA "\""},
                {"tls-server-name: name, insecure-skip-tls-verify: true",
                 SERVER ",\"config\":null,\"tls-server-name\":\"name\",\"insecure-skip-tls-verify\":true"},
                {"tls-server-name: '', insecure-skip-tls-verify: false, disable-compression: false, proxy-url: ''",
                 SERVER ",\"config\":null"},
                {"disable-compression: true", SERVER ",\"config\":null,\"disable-compression\":true"},
                {"proxy-url: 'http://me:secret@p:3128'",
                 SERVER ",\"config\":null,\"proxy-url\":\"http://me:secret@p:3128\""},
                {"extensions: [{name: other, extension: {a: b}}, {name: " RESERVED
                 ", extension: {audience: a, of: [1, null, {x: true}]}}]",
                 SERVER ",\"config\":{\"audience\":\"a\",\"of\":[1,null,{\"x\":true}]}"},
                {"extensions: [{name: " RESERVED ", extension: text}]", SERVER ",\"config\":\"text\""},
                {"extensions: [{name: " RESERVED ", extension: {}}]", SERVER ",\"config\":{}"},
                {"extensions: [{name: " RESERVED "}]", SERVER ",\"config\":null"},
                {"extensions: [{name: " RESERVED ", extension: 1}, {name: " RESERVED ", extension: 2}]", NULL},
        };
        AUTO(mem_free) char *info_path = at("info");
        put("ca.crt", CA_PEM);
        put("plug-in",
            "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >\"$HOME/info\"\n" SAY(CREDENTIAL("\"token\":\"a\"")) "\n");
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct access *a = NULL;
                struct err err;
                AUTO(mem_free)
                char *config =
                        mem_printf("clusters: [{name: c, cluster: {server: 'https://h:6443'%s%s}}]\n" CONTEXT
                                   "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
                                   "command: ./plug-in, provideClusterInfo: true}}}]\n",
                                   row[i].more[0] ? ", " : "", row[i].more);
                put("config", config);
                int rc = load(NULL, &a, &err);
                if (!row[i].want) {
                        assert_int_equal(rc, ERR_INVALID);
                        assert_non_null(strstr(err.text, "'" RESERVED "' appears twice"));
                        continue;
                }
                if (rc < 0)
                        fail_msg("row %zu: %s", i, err.text);
                assert_int_equal(access_peer(a)->no_gzip, strstr(row[i].more, "compression: true") != NULL);
                access_free(a);
                AUTO(mem_free)
                char *text =
                        mem_printf("{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
                                   "\"spec\":{\"interactive\":false,\"cluster\":{%s}}}",
                                   row[i].want);
                json_t *want = json_loads(text, 0, NULL), *got = json_load_file(info_path, 0, NULL);
                assert_true(want && got);
                if (!json_equal(want, got)) {
                        char *said = json_dumps(got, 0);
                        fail_msg("row %zu: %s, not %s", i, said, text);
                }
                json_decref(want);
                json_decref(got);
        }
}

/* A CA that was renewed is handed over anew. */
static void plug_ins_get_the_ca_as_last_read(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        struct now now = now_read();
        put("ca.crt", CA_PEM);
        put("plug-in",
            "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" >\"$HOME/info\"\n" SAY(CREDENTIAL("\"token\":\"a\"")) "\n");
        put("config",
            "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n" CONTEXT
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plug-in, "
            "provideClusterInfo: true}}}]\n");
        assert_int_equal(load(NULL, &a, &err), 0);
        put("ca.crt", "-----BEGIN Y-----\n-----END Y-----\n");
        now.mono.ns += HOUR_MS * INT64_C(1000000);
        assert_int_equal(access_refresh(a, now, true, &err), 0);
        assert_int_equal(look(a, now, &err), 0);
        access_free(a);
        AUTO(mem_free) char *info_path = at("info");
        json_t *info = json_load_file(info_path, 0, NULL);
        const json_t *cluster = json_object_get(json_object_get(info, "spec"), "cluster");
        assert_string_equal(json_string_value(json_object_get(cluster, "certificate-authority-data")),
                            "LS0tLS1CRUdJTiBZLS0tLS0KLS0tLS1FTkQgWS0tLS0tCg==");
        json_decref(info);
}

static void plug_ins_that_fail_are_reported(void **state)
{
        (void)state;
        static const struct {
                const char *script;
                int code;
                const char *says;
        } row[] = {
                {"echo please log in >&2; echo again >&2; exit 1", ERR_RETRY, "exit code 1: please log in again"},
                {"kill -9 $$", ERR_RETRY, "signal 9"},
                {"exit 0", ERR_INVALID, "not JSON"},
                {"echo '{'", ERR_INVALID, "not JSON"},
                {"echo '[]'", ERR_INVALID, "apiVersion is ''"},
                {"echo '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"status\":{\"token\":\"a\"}}'",
                 ERR_INVALID, "v1beta1"},
                {SAY(CREDENTIAL("")), ERR_INVALID, "neither a token"},
                {SAY(CREDENTIAL("\"clientCertificateData\":\"-----BEGIN C-----\\n-----END C-----\"")), ERR_INVALID,
                 "neither a token"},
                {SAY(CREDENTIAL("\"token\":\"a b\"")), ERR_INVALID, "not allowed in a token"},
                {SAY(CREDENTIAL("\"token\":\"a\",\"expirationTimestamp\":\"tomorrow\"")), ERR_INVALID, "tomorrow"},
                {"printf '" CREDENTIAL("\"token\":\"%s\"") "' $(head -c 32769 /dev/zero | tr '\\0' a)", ERR_TOOBIG,
                 "status.token: the token has 32769 bytes"},
                {"head -c 3000000 /dev/zero", ERR_TOOBIG, "more than"},
                {"head -c 300000 /dev/zero >&2; exit 7", ERR_RETRY, "exit code 7"},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct access *a = NULL;
                struct err err;
                put_exec(row[i].script, "");
                int rc = load(NULL, &a, &err);
                if (rc != row[i].code || !strstr(err.text, row[i].says))
                        print_error("row %zu: %d %s\n", i, rc, err.text);
                assert_int_equal(rc, row[i].code);
                assert_non_null(strstr(err.text, row[i].says));
                assert_non_null(strstr(err.text, "plug-in"));
                assert_null(a);
        }
}

/* Each run gives the next token, valid for a moment only. */
static void plug_ins_run_again_when_due(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("count", "");
        struct now now = now_read();
        char expires[WALL_TEXT_MAX];
        wall_print((struct wall){now.wall.ms + 3600000}, expires);
        AUTO(mem_free)
        char *script = mem_printf("echo run >>\"$HOME/count\"; n=$(wc -l <\"$HOME/count\"); [ \"$n\" = 4 ] && exit 9\n"
                                  "echo "
                                  "'{\"apiVersion\":\"client.authentication.k8s.io/"
                                  "v1\",\"status\":{\"token\":\"t'$n'\",\"expirationTimestamp\":\"%s\"}}'",
                                  expires);
        put_exec(script, "");
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_string_equal(access_bearer(a), "t1");
        assert_int_equal(access_refresh(a, later(3000000), false, &err), 0); /* a good while before */
        assert_false(access_busy(a));

        struct now due = later(3600000 - 50000);
        assert_int_equal(access_refresh(a, due, false, &err), 0); /* within the last minute */
        assert_string_equal(access_bearer(a), "t1");              /* the old ones stand meanwhile */
        assert_int_equal(look(a, due, &err), 0);
        assert_string_equal(access_bearer(a), "t2");

        due = later(3600000);
        assert_int_equal(access_refresh(a, due, true, &err), 0); /* a 401 */
        assert_int_equal(look(a, due, &err), 0);
        assert_string_equal(access_bearer(a), "t3");
        due.mono.ns += INT64_C(1000000000);
        assert_int_equal(access_refresh(a, due, true, &err), 0); /* another at once: not in a circle */
        assert_false(access_busy(a));

        due.mono.ns += INT64_C(20000000000);
        assert_int_equal(access_refresh(a, due, true, &err), 0);
        assert_int_equal(look(a, due, &err), ERR_RETRY); /* it fails: the last good ones stand */
        assert_non_null(strstr(err.text, "exit code 9"));
        assert_string_equal(access_bearer(a), "t3");
        access_free(a);
}

static void a_plug_in_that_hangs_is_killed(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("count", "");
        put_exec("echo run >>\"$HOME/count\"; n=$(wc -l <\"$HOME/count\"); echo $$ >\"$HOME/pid\"\n"
                 "[ \"$n\" = 1 ] || sleep 1000\necho '" CREDENTIAL("\"token\":\"t\"") "'",
                 "");
        assert_int_equal(load(NULL, &a, &err), 0);
        struct now now = later(20000);
        AUTO(mem_free) char *pid_path = at("pid");
        assert_int_equal(unlink(pid_path), 0);
        assert_int_equal(access_refresh(a, now, true, &err), 0);
        while (access(pid_path, F_OK) != 0) {
                assert_int_equal(access_refresh(a, now, false, &err), 0);
                assert_true(access_busy(a));
        }
        now.mono.ns += INT64_C(31) * 1000000000;
        assert_int_equal(access_refresh(a, now, false, &err), ERR_RETRY);
        assert_non_null(strstr(err.text, "it did not end within 30 s"));
        assert_false(access_busy(a));
        assert_string_equal(access_bearer(a), "t");
        access_free(a);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing of it is left */
        assert_int_equal(errno, ECHILD);
}

/* A plug-in is looked at on the loop: whatever it does, a look takes no time. */
static void no_plug_in_holds_up_the_loop(void **state)
{
        (void)state;
        static const char *const row[] = {
                "exec yes >&2", /* fills the pipe as fast as it is read */
                "exec yes",
                "exec perl -e 'setpgrp(0, getpgrp(getppid)); sleep 1000'", /* leaves its process group */
                "sleep 1000 & sleep 1000",
                "trap '' TERM HUP INT; while :; do sleep 1; done",
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
                struct access *a;
                struct err err;
                put("count", "");
                AUTO(mem_free)
                char *script = mem_printf("echo run >>\"$HOME/count\"\nif [ $(wc -l <\"$HOME/count\") != 1 ]; then %s; "
                                          "fi\necho '" CREDENTIAL("\"token\":\"t\"") "'",
                                          row[i]);
                put_exec(script, "");
                assert_int_equal(load(NULL, &a, &err), 0);
                struct now now = later(20000);
                (void)alarm(20); /* ends a test that would wait for ever */
                assert_int_equal(access_refresh(a, now, true, &err), 0);
                int rc = 0;
                for (int looks = 0; looks < 50 && rc == 0; looks++) {
                        usleep(10000);
                        struct mono before = mono_read();
                        rc = access_refresh(a, now, false, &err);
                        assert_true(mono_read().ns - before.ns < INT64_C(1000000000));
                }
                now.mono.ns += INT64_C(31) * 1000000000;
                assert_true(rc < 0 || access_refresh(a, now, false, &err) < 0);
                assert_false(access_busy(a));
                assert_string_equal(access_bearer(a), "t");
                access_free(a);
                (void)alarm(0);
        }
}

/* A token file is read again on the loop. A pipe would hold it up until somebody writes. */
static void only_files_are_read_again(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("token", "first\n");
        put("config", CLUSTER CONTEXT "users: [{name: u, user: {tokenFile: token}}]\n");
        assert_int_equal(load(NULL, &a, &err), 0);
        AUTO(mem_free) char *token = at("token");
        static const struct {
                const char *make, *says;
        } row[] = {{"mkfifo", "it is a pipe, not a file"}, {"mkdir", "it is a folder, not a file"}};
        (void)alarm(20);
        for (size_t i = 0; i < 2; i++) {
                AUTO(mem_free) char *line = mem_printf("rm -rf '%s'; %s '%s'", token, row[i].make, token);
                assert_int_equal(system(line), 0);
                assert_true(access_refresh(a, later(61000 * (int64_t)(i + 1)), true, &err) < 0);
                assert_non_null(strstr(err.text, row[i].says));
                assert_string_equal(access_bearer(a), "first");
        }
        (void)alarm(0);
        assert_int_equal(rmdir(token), 0);
        access_free(a);
}

/* As a shell's <(…): a kubeconfig is read once, at the start. */
static void a_kubeconfig_may_be_a_pipe(void **state)
{
        (void)state;
        struct access *a;
        struct err err;
        put("real", CLUSTER CONTEXT "users: [{name: u, user: {token: t}}]\n");
        AUTO(mem_free) char *path = at("config");
        AUTO(mem_free)
        char *line = mem_printf("rm -f '%s'; mkfifo '%s'; (sleep 0.1; cat '%s/real' >'%s') &", path, path, dir, path);
        assert_int_equal(system(line), 0);
        assert_int_equal(load(NULL, &a, &err), 0);
        assert_string_equal(access_bearer(a), "t");
        access_free(a);
        drop("config");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_whole_kubeconfig_is_read),
                cmocka_unit_test(a_servers_query_is_left_out),
                cmocka_unit_test(data_wins_over_files),
                cmocka_unit_test(several_files_are_merged),
                cmocka_unit_test(the_usual_places_are_tried),
                cmocka_unit_test(broken_kubeconfigs_are_refused_with_the_cure),
                cmocka_unit_test(what_is_too_long_is_refused_with_its_place),
                cmocka_unit_test(too_much_for_a_plug_in_is_told),
                cmocka_unit_test(files_rotate_under_us),
                cmocka_unit_test(pods_are_read_from_their_mount),
                cmocka_unit_test(plug_ins_get_the_cluster_as_from_kubectl),
                cmocka_unit_test(plug_ins_get_the_ca_as_last_read),
                cmocka_unit_test(plug_ins_are_told_and_heard),
                cmocka_unit_test(plug_ins_that_fail_are_reported),
                cmocka_unit_test(plug_ins_run_again_when_due),
                cmocka_unit_test(a_plug_in_that_hangs_is_killed),
                cmocka_unit_test(no_plug_in_holds_up_the_loop),
                cmocka_unit_test(only_files_are_read_again),
                cmocka_unit_test(a_kubeconfig_may_be_a_pipe),
        };
        return cmocka_run_group_tests(tests, begin, end);
}
