/*
 * halflife rotate makes and renews the certificate of halflife run and serve. It writes the CA, by which the cluster
 * trusts the certificate, and the path of admission into the webhook configuration. It is a process of its own so that
 * its rights, to write one Secret and a few objects by name, are not those of a process that tenants' HTTP requests
 * reach.
 */
#include <signal.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/session.h"
#include "cli/version.h"
#include "commands.h"
#include "control/proxy_log.h"
#include "custom_metrics/custom_metrics.h"
#include "http/server.h"
#include "serving/certificate_rotator.h"
#include "snapshot/snapshot.h"

enum { TURN_MS = SECOND_MS, CONNECTIONS_MAX = 64 };

static const char *const api_services[] = {CUSTOM_METRICS_V1 "." CUSTOM_METRICS_GROUP,
                                           CUSTOM_METRICS_V2 "." CUSTOM_METRICS_GROUP, NULL};

struct rotating {
        struct session session;
        struct settings settings;
        struct rotator *rotator;
        struct server *server; /* NULL: /healthz and /readyz are not served */
        struct loop_timer turn;
        bool ready; /* the rotator had nothing left to do once; since then /readyz answers ok */
};

static void rotate_turned(void *arg)
{
        struct rotating *r = arg;
        if (!r->ready && rotator_settled(r->rotator)) {
                struct snapshot *view = snapshot_new();
                view->ready = r->ready = true;
                server_publish(r->server, view);
        }
        server_turned(r->server, loop_now(r->session.loop).mono);
        loop_timer_set(r->session.loop, &r->turn, TURN_MS, rotate_turned, r);
}

static int rotate_write_address(const struct rotating *r, struct err *err)
{
        const char *file = r->settings.controller.listen_file;
        FILE *f = file ? fopen(file, "we") : NULL;
        if (file && (!f || fprintf(f, "%s\n", server_address(r->server)) < 0 || fclose(f) != 0))
                return err_set(err, ERR_IO, "write '%s': %m", file);
        return 0;
}

static int rotate_serve(struct rotating *r, struct err *err)
{
        const struct server_options o = {
                .listen = r->settings.controller.listen, .interval_ms = TURN_MS, .connections_max = CONNECTIONS_MAX};
        if (!o.listen)
                return 0;
        int rc = server_start(&o, &r->server, err);
        if (rc < 0)
                return rc;
        log_info("serves /healthz and /readyz", KV("address", server_address(r->server)));
        rotate_turned(r);
        return rotate_write_address(r, err);
}

static void rotate_on_signal(void *arg, int signo)
{
        struct rotating *r = arg;
        (void)signo;
        loop_stop(r->session.loop);
}

static int rotate_start(struct rotating *r, struct err *err)
{
        static const int signals[] = {SIGTERM, SIGINT};
        const struct settings *s = &r->settings;
        int rc = session_open(&r->session, s->kubeconfig, s->context, err);
        if (rc < 0)
                return rc;
        /* Block the signals before the server's thread starts, because threads inherit the mask. */
        for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
                if (loop_signal(r->session.loop, signals[i], rotate_on_signal, r) < 0)
                        return err_set(err, ERR_IO, "take signal %d: %m", signals[i]);
        const struct rotator_options o = {
                .given = s->controller.certificate == CERTIFICATE_SECRET,
                .ns = s->controller.ns ? s->controller.ns : access_namespace(r->session.access),
                .secret = s->controller.certificate_secret,
                .configuration = s->webhook_configuration,
                .api_services = api_services,
                .services = s->certificate_services,
        };
        rc = rotator_new(r->session.client, &o, &r->rotator, err);
        return rc < 0 ? rc : rotate_serve(r, err);
}

static int rotate_check(void *state, const struct command_line *line, struct err *err)
{
        struct rotating *r = state;
        int rc = settings_read(line->given, &r->settings, err);
        if (rc == 0 && r->settings.controller.certificate == CERTIFICATE_FILES)
                rc = err_set(err, ERR_INVALID,
                             "--webhook-certificate is 'files', and halflife rotates no files: set it to self or "
                             "secret");
        return rc;
}

static int rotate_run(void *state, struct err *err)
{
        struct rotating *r = state;
        log_setup(r->settings.log_level, r->settings.log_json);
        /* SIGHUP makes run and serve read their settings again. If it is sent to all processes of halflife, it must not
         * end rotate. */
        signal(SIGHUP, SIG_IGN);
        int rc = rotate_start(r, err);
        if (rc < 0)
                return rc;
        log_info("halflife rotates the certificate", KV("version", version_text()),
                 KV("access", access_source(r->session.access)));
        const struct http_peer *server = access_peer(r->session.access);
        proxy_log("API server", server->base_url, server->proxy_url);
        loop_run(r->session.loop);
        log_info("halflife ends");
        return EXIT_DONE;
}

static void rotate_release(void *state)
{
        struct rotating *r = state;
        if (r->session.loop)
                loop_timer_stop(r->session.loop, &r->turn);
        server_stop(r->server);
        rotator_free(r->rotator);
        session_release(&r->session);
        settings_release(&r->settings);
}

const struct command command_rotate = {
        .name = "rotate",
        .help = "make and renew the TLS certificate of run and serve, and its caBundle in the cluster",
        .usage = {"[option]..."},
        .intro = "Makes the TLS certificate that halflife run and serve show, and renews it in its Secret. Makes the "
                 "path of\n"
                 "admission in the same way. Writes that path, and the CA that verifies the certificate, into the "
                 "webhook\n"
                 "configuration; with custom metrics, writes the CA into the APIServices. One instance runs in a "
                 "cluster.\n"
                 "It creates nothing: the Secret must exist, and may be empty. With --webhook-certificate secret "
                 "another\n"
                 "program maintains the Secret, and halflife writes only the CA.\n"
                 "Settings of halflife run and serve are accepted and ignored, so that all may share a file. A changed "
                 "file\n"
                 "takes effect at the next start.\n",
        .settings = true,
        .heeds = FOR_ROTATE,
        .size = sizeof(struct rotating),
        .check = rotate_check,
        .run = rotate_run,
        .release = rotate_release,
};
