#include "kube/access.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access_config.h"
#include "base/mem.h"
#include "exec.h"

#define POD_MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum {
        FILES_EVERY_MS = MINUTE_MS,
        /* The least time between two runs of a plug-in, so that a failing one does not run without pause. */
        EXEC_EVERY_MS = 10 * SECOND_MS,
        /* How long before expiry credentials are renewed; a fifth of their lifetime if that is shorter. */
        EXEC_EARLY_MS = MINUTE_MS,
};

struct access {
        struct access_config config;
        struct http_peer peer;
        char *warning;
        struct mono files_read;
        struct exec_run *run;
        struct exec_result from_exec;
        struct mono exec_rests;                 /* no run of the plug-in before this time; {0}: at any time */
        struct wall exec_due;                   /* when to renew the plug-in's credentials; ms 0: only when forced */
        struct err files_trouble, exec_trouble; /* why the last attempt failed; code 0: it succeeded */
};

/* --- loading --- */

static int load_config(const struct access_options *o, struct access_config *ret, struct err *err)
{
        const char *listed = getenv("KUBECONFIG"), *home = getenv("HOME");
        const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
        if (o->kubeconfig)
                return kubeconfig_load(o->kubeconfig, o->context, ret, err);
        if (listed && listed[0])
                return kubeconfig_load(listed, o->context, ret, err);
        AUTO(mem_free) char *usual = mem_printf("%s/.kube/config", home ? home : "");
        if (access(usual, F_OK) == 0)
                return kubeconfig_load(usual, o->context, ret, err);
        if (o->context)
                return err_set(err, ERR_NOTFOUND,
                               "context '%s' was requested, but there is no kubeconfig: not by option, not "
                               "in KUBECONFIG, not at %s",
                               o->context, usual);
        if (host && host[0] && port && port[0])
                return pod_config_load(POD_MOUNT, host, port, ret, err);
        return err_set(err, ERR_NOTFOUND,
                       "no API server is known: there is no kubeconfig by option, in KUBECONFIG or at %s, and this is "
                       "not a pod",
                       usual);
}

static char *make_warning(const struct access_config *c)
{
        if (strncmp(c->server, "http://", 7) == 0)
                return mem_printf("%s is reached without TLS: anybody on the way can read and change what is sent",
                                  c->server);
        if (c->insecure)
                return mem_printf(
                        "the certificate of %s is not verified (insecure-skip-tls-verify): anybody on the way can "
                        "take the credentials",
                        c->server);
        return NULL;
}

static void point_peer(struct access *a)
{
        bool by_exec = a->from_exec.cert != NULL;
        a->peer.base_url = a->config.server;
        a->peer.ca_pem = a->config.ca.text;
        a->peer.cert_pem = by_exec ? a->from_exec.cert : a->config.cert.text;
        a->peer.key_pem = by_exec ? a->from_exec.key : a->config.key.text;
        a->peer.server_name = a->config.server_name;
        a->peer.proxy_url = a->config.proxy_url;
        a->peer.insecure = a->config.insecure;
        a->peer.no_gzip = a->config.no_gzip;
        a->peer.revision++;
}

/* --- credential plug-ins --- */

static bool access_differ(const char *a, const char *b)
{
        return a && b ? strcmp(a, b) != 0 : a != b;
}

static void access_adopt(struct access *a, struct exec_result *fresh, struct wall now)
{
        bool moved = access_differ(a->from_exec.cert, fresh->cert) || access_differ(a->from_exec.key, fresh->key);
        struct exec_result old = a->from_exec;
        a->from_exec = *fresh;
        a->exec_due.ms = 0;
        if (fresh->expires.ms) {
                int64_t life = fresh->expires.ms - now.ms;
                int64_t early = life / 5 < EXEC_EARLY_MS ? life / 5 : EXEC_EARLY_MS;
                a->exec_due.ms = fresh->expires.ms - (early > 0 ? early : 0);
        }
        if (moved)
                point_peer(a);
        exec_result_release(&old);
}

/* Check the running plug-in once. Returns 1 while it runs, 0 when its credentials were adopted, < 0 when it failed. */
static int exec_look(struct access *a, struct now now, struct err *err)
{
        struct exec_result fresh = {0};
        int rc = exec_poll(a->run, now.mono, &fresh, err);
        if (rc == 1)
                return 1;
        exec_free(a->run);
        a->run = NULL;
        if (rc == 0)
                access_adopt(a, &fresh, now.wall);
        return rc;
}

static bool exec_is_due(const struct access *a, struct now now, bool force)
{
        return a->config.exec.command && now.mono.ns >= a->exec_rests.ns &&
               (force || (a->exec_due.ms && now.wall.ms >= a->exec_due.ms));
}

static int exec_begin(struct access *a, struct now now, struct err *err)
{
        a->run = exec_start(&a->config.exec, a->config.ca.text, now.mono, err);
        return a->run ? 0 : err->code;
}

static void exec_refresh(struct access *a, struct now now, bool force)
{
        if (a->run) {
                if (exec_look(a, now, &a->exec_trouble) == 0)
                        a->exec_trouble.code = 0;
        } else if (exec_is_due(a, now, force)) {
                a->exec_rests.ns = now.mono.ns + EXEC_EVERY_MS * INT64_C(1000000);
                (void)exec_begin(a, now, &a->exec_trouble);
        }
}

static int exec_first(struct access *a, struct err *err)
{
        int rc = exec_begin(a, now_read(), err);
        while (rc >= 0 && a->run) {
                exec_pause(a->run);
                rc = exec_look(a, now_read(), err);
        }
        return rc;
}

/* --- files --- */

/* Read all credential files again, the rest too after one has failed. The first failure is kept for access_refresh to
 * report. */
static void files_refresh(struct access *a, struct now now, bool force)
{
        if (!force && (now.mono.ns - a->files_read.ns) / 1000000 < FILES_EVERY_MS)
                return;
        a->files_read = now.mono;
        a->files_trouble.code = 0;
        struct access_config *c = &a->config;
        struct {
                struct access_text *text;
                enum credential what;
        } row[] = {{&c->token, CREDENTIAL_TOKEN},
                   {&c->ca, CREDENTIAL_PEM},
                   {&c->cert, CREDENTIAL_PEM},
                   {&c->key, CREDENTIAL_PEM}};
        bool moved = false;
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
                struct err why = {0};
                int rc = row[i].text->path ? access_text_read(row[i].text, row[i].what, &why) : 0;
                moved |= rc == 1 && row[i].what == CREDENTIAL_PEM;
                if (rc < 0 && !a->files_trouble.code)
                        a->files_trouble = why;
        }
        if (moved)
                point_peer(a);
}

/* --- public functions --- */

int access_load(const struct access_options *o, struct access **ret, struct err *err)
{
        struct access *a = MEM_NEW(struct access);
        int rc = load_config(o, &a->config, err);
        if (rc == 0) {
                a->warning = make_warning(&a->config);
                a->files_read = mono_read();
                point_peer(a);
                if (a->config.exec.command && (rc = exec_first(a, err)) < 0)
                        err_wrap(err, "%s", a->config.source);
        }
        if (rc < 0) {
                access_free(a);
                return rc;
        }
        *ret = a;
        return 0;
}

void access_free(struct access *a)
{
        if (!a)
                return;
        exec_free(a->run);
        exec_result_release(&a->from_exec);
        access_config_release(&a->config);
        mem_free(a->warning);
        mem_free(a);
}

int access_refresh(struct access *a, struct now now, bool force, struct err *err)
{
        files_refresh(a, now, force);
        exec_refresh(a, now, force);
        const struct err *trouble = a->files_trouble.code ? &a->files_trouble : &a->exec_trouble;
        return trouble->code ? err_copy(err, trouble) : 0;
}

bool access_busy(const struct access *a)
{
        return a->run != NULL;
}

const struct http_peer *access_peer(const struct access *a)
{
        return &a->peer;
}

const char *access_bearer(const struct access *a)
{
        return a->from_exec.token ? a->from_exec.token : a->config.token.text;
}

const char *access_namespace(const struct access *a)
{
        return a->config.ns ? a->config.ns : "default";
}

const char *access_source(const struct access *a)
{
        return a->config.source;
}

bool access_in_cluster(const struct access *a)
{
        return a->config.in_cluster;
}

const char *access_warning(const struct access *a)
{
        return a->warning;
}
